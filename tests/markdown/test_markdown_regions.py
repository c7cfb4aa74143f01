"""Code and comments are told from text."""

from __future__ import annotations

import pytest

from amem_cli.markdown.regions import find_regions


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a `b` c", [("code", "`b`", "b")]),
        ("``a`b``", [("code", "``a`b``", "a`b")]),
        ("x\n```py\ncode\n```\ny", [("fence", "```py\ncode\n```\n", "code\n")]),
        ("- ```\n  code\n  ```", [("fence", "```\n  code\n  ```", "  code\n")]),
        ("```\r\ncode\r\n```\r\n", [("fence", "```\r\ncode\r\n```\r\n", "code\r\n")]),
        ("```\nopen", [("fence", "```\nopen", "open")]),
        ("> ~~~\n> a\nb", [("fence", "~~~\n> a\n", "> a\n")]),
        ("    a\n\n    b\n\nc", [("indented", "    a\n\n    b\n", "    a\n\n    b\n")]),
        ("x %%a `b%% c`", [("comment", "%%a `b%%", "")]),
        ("`%%` <!-- ` -->", [("code", "`%%`", "%%"), ("comment", "<!-- ` -->", "")]),
        ("%%\n```\n%%\nx", [("comment", "%%\n```\n%%", "")]),
        ("  <!-- open\n\nend", [("comment", "<!-- open\n\nend", "")]),
        ("# H\n    a\nb", [("indented", "    a\n", "    a\n")]),
        ("# H\r\n    a\r\nb", [("indented", "    a\r\n", "    a\r\n")]),
        ("H\n===\n\ta", [("indented", "\ta", "\ta")]),
        ("***\n    a", [("indented", "    a", "    a")]),
        ("- a\n- - -\n    b", [("indented", "    b", "    b")]),
        ("- a\n\n# H\n    b", [("indented", "    b", "    b")]),
        ("```\n```\n    a", [("fence", "```\n```\n", ""), ("indented", "    a", "    a")]),
        ("- a\n\n      b\n\n      c\n- d", [("indented", *["      b\n\n      c\n"] * 2)]),
        ("10. a\n\n\t\tb", [("indented", "\t\tb", "\t\tb")]),
        ("- a\n  - b\n\n        c", [("indented", "        c", "        c")]),
        ("- a\n\n      - b", [("indented", "      - b", "      - b")]),
        ("- a\n\nb\n\n    c", [("indented", "    c", "    c")]),
        ("- a\n> b\n\n    c", [("indented", "    c", "    c")]),
        ("[^1]: a\n\n        b", [("indented", "        b", "        b")]),
        (">     a\n>\n>     b\n> c", [("indented", *[">     a\n>\n>     b\n"] * 2)]),
        ("> a\n>\n>\tb", []),
        ("> - a\n>\n>       b\nc", [("indented", ">       b\n", ">       b\n")]),
        ("- > a\n  >\n  >     b", [("indented", "  >     b", "  >     b")]),
        ("x\n>     a\n", [("indented", ">     a\n", ">     a\n")]),
        ("- a\n\n    b", []),
        ("- a\n      b\n      - c", []),
        ("1. a\n\n\tb\n\n\t- c\n\n\t\td", []),
        ("- a\n\t- b\n\t\t- c\n\n\t\t\td", []),
        ("> a\n    b", []),
        ("[^1]: a\n\n    b", []),
        ("- \n  a\n\n     b", []),
        ("x\n    a", []),
        ("- # H\n\n    a", []),
        ("- a\n  ***\n    b", []),
        ("$$\na\n\n- b\n$$ c", [("math", "$$\na\n\n- b\n$$", "$$\na\n\n- b\n$$")]),
        ("a $$b$$ c", [("math", "$$b$$", "$$b$$")]),
        ("a $$b\n\nc$$", []),
        ("$$\nopen", []),
        ("> $$\n> a\n> $$", [("math", "$$\n> a\n> $$", "$$\n> a\n> $$")]),
        ("a $b_c$, $d$", [("math", "$b_c$", "$b_c$"), ("math", "$d$", "$d$")]),
        (r"a $b\$c$ d", [("math", r"$b\$c$", r"$b\$c$")]),
        ("$5 and $10, 7 $ and $ 8 $", []),
        ("a $5\nb 6$", []),
        (r"\$a$", []),
        ("[[a$b]] and [[c$d]]", []),
        ("$5 for [[c$d]]", []),
        ("$`a$`", [("math", "$`a$", "$`a$")]),
        ("<pre>\na\n\nb\n</PRE>c", [("html", "<pre>\na\n\nb\n</PRE>", "\na\n\nb\n")]),
        ('<pre class="x">a', [("html", '<pre class="x">a', "a")]),
        ("a <Code>b</code> c", [("html", "<Code>b</code>", "b")]),
        ("a <code>b\n\nc</code>", []),
        ("<prefix>a</prefix>", []),
        ("<style>\na {}\n\n</style>", [("html", "<style>\na {}\n\n</style>", "\na {}\n\n")]),
        ("`a\n\n`b", []),
        ("plain", []),
    ],
)
def test_regions(text: str, expected: list[tuple[str, str, str]]) -> None:
    found = [
        (region.kind, text[region.start : region.end], text[region.inner_start : region.inner_end])
        for region in find_regions(text)
    ]
    assert found == expected
