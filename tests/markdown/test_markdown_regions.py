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
