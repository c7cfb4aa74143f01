"""Links and hashtags are read where Obsidian reads them, and nowhere else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amem_cli.markdown.links import WikiLink, find_hashtags, find_links, format_link, parse_link
from amem_cli.markdown.plain_text import plain_text


def targets(text: str) -> list[str]:
    return [link.target for link in find_links(text)]


def only(text: str) -> WikiLink:
    (link,) = find_links(text)
    return link


@pytest.mark.parametrize(
    ("text", "target", "fragment", "display"),
    [
        ("[[Note]]", "Note", "", ""),
        ("[[Note.md]]", "Note.md", "", ""),
        ("[[Folder/Note|shown]]", "Folder/Note", "", "shown"),
        ("[[Note#Heading#Sub|x]]", "Note", "Heading#Sub", "x"),
        ("[[Note#^block]]", "Note", "^block", ""),
        ("[[#Heading here]]", "", "Heading here", ""),
        ("[[ Note | x ]]", "Note", "", "x"),
        ("[[Note|]]", "Note", "", ""),
        (r"[[Note\|shown]]", "Note", "", "shown"),
        ("[[Note|[1]]]", "Note", "", "[1]"),
        ("[shown](Folder/Note%20two.md#h)", "Folder/Note two.md", "h", "shown"),
        ("[shown](<Folder/Note two.md>)", "Folder/Note two.md", "", "shown"),
        ('[a [b] c](Note.md "title")', "Note.md", "", "a [b] c"),
        ("[x](Note_(old).md)", "Note_(old).md", "", "x"),
        (r"[x](Note\).md)", "Note).md", "", "x"),
        ("[`code`](Note.md)", "Note.md", "", "`code`"),
        ("[x](#heading)", "", "heading", "x"),
    ],
)
def test_a_link_has_its_parts(text: str, target: str, fragment: str, display: str) -> None:
    link = only(f"before {text} after")
    assert (link.target, link.fragment, link.display) == (target, fragment, display)
    assert (link.start, link.end) == (7, 7 + len(text))
    assert not link.embed


@pytest.mark.parametrize("text", ["![[picture.png|450]]", "![alt](picture.png)"])
def test_an_embed_includes_its_exclamation_mark(text: str) -> None:
    link = only(f"see{text}")
    assert link.embed
    assert (link.target, link.start) == ("picture.png", 3)


@pytest.mark.parametrize(
    "text",
    [
        "[[]] [[ ]] [[|x]] [[#]]",
        "[[two\nlines]]",
        r"\[[Note]]",
        r"\[x](Note.md)",
        "[x](https://example.org) [x](mailto:a@b.c) [x](//host/n.md) [x](obsidian://open?f=n)",
        "[x](Note two.md)",
        "[x]() [x] (Note.md)",
        "[[1]](https://example.org)",
        "`[[Note]]` and ``[[No`te]]`` and [[a`b]]`c]]",
        "```\n[[Note]]\n```",
        "~~~md\n[[Note]]\n```\n[[Note]]\n~~~",
        "```\n[[Note]]",
        "> ```\n> [[Note]]\n> ```",
        "- item\n  ```\n  [[Note]]\n  ```",
        "text\n\n    [[Note]]\n\n\t[[Note]]",
        "<!-- [[Note]]\n\n[[Note]] -->",
        "%% [[Note]]\n\n[[Note]] %%",
        "%%\n[[Note]]",
        "[x](Note\n\n.md)",
    ],
)
def test_text_that_is_no_link(text: str) -> None:
    assert find_links(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "a ` b\n\nc ` [[Note]]",
        "- a ` b\n- c ` [[Note]]",
        r"\`[[Note]]\`",
        "100%% [[Note]]",
        "a <!-- b [[Note]]",
        "%%x%%[[Note]]%%y%%",
        "> ```\n> code\n[[Note]]",
        "```\ncode\n    ```\n```\n[[Note]]",
        "````\n```\n````\n[[Note]]",
        "```x``` [[Note]]",
        "- item\n\n    [[Note]]",
        "[^1]: foot\n\n    [[Note]]",
        "text\n    [[Note]]",
        "[[lost [[Note]]",
        "[[[Note]]",
        "[[lost\n[[Note]]",
        "`a`[[Note]]`b`",
        "| a | [[Note]] |",
        "\ufeff[[Note]]\r\n",
    ],
)
def test_text_that_only_looks_hidden(text: str) -> None:
    assert targets(text) == ["Note"]


def test_links_come_in_the_order_of_the_text() -> None:
    text = "[[A]] [b](B.md) ![[C]] [![pic](D.png)](E.md) `[[F]]` [[G]]"
    assert targets(text) == ["A", "B.md", "C", "E.md", "D.png", "G"]


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("#one two #Three/four-5", ["one", "Three/four-5"]),
        ("#a #A #b", ["a", "b"]),
        ("# heading\n## other", []),
        ("#2024 #y2024 #2024-03", ["y2024", "2024-03"]),
        ("a#b (#c) [x](#d) ##e \\#f", []),
        ("#tag, #tag2. #标签，后面", ["tag", "tag2", "标签"]),
        ("#🎉 #naïve", ["🎉", "naïve"]),
        ("`#a` %%#b%% <!-- #c --> [[N #d]] [x #e](f)", []),
        ("```\n#a\n```\n#b/", ["b"]),
        ("[![pic](a) #b](c) #d", ["d"]),
        ("no hash", []),
    ],
)
def test_hashtags(text: str, tags: list[str]) -> None:
    assert find_hashtags(text) == tags


@pytest.mark.parametrize("text", ["[[A|b]]", "  [[A|b]]\n", "\t[b](A)"])
def test_a_property_value_is_one_link(text: str) -> None:
    link = parse_link(text)
    assert link is not None
    assert (link.target, link.display) == ("A", "b")
    assert text[link.start : link.end] == text.strip()


@pytest.mark.parametrize("text", ["", "A", "[[A]] [[B]]", "see [[A]]", "[[A]]: why", "[[ ]]"])
def test_a_property_value_that_is_no_link(text: str) -> None:
    assert parse_link(text) is None


def test_links_are_written_as_wikilinks() -> None:
    assert format_link("Folder/Note") == "[[Folder/Note]]"
    assert format_link("Note", "Note") == "[[Note]]"
    assert format_link("Note", "a | b]]\nc") == "[[Note|a b c]]"


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("## Heading [[A|shown]] ##", "Heading shown"),
        ("[[Folder/Note.md#Head]] ![[pic.png|4]] ![[Note#^b]]", "Note Head Note"),
        ("[text](http://x.y) [n](N%20o.md) ![alt](p.png)", "text n alt"),
        ("**bold** *it* __u__ ~~s~~ ==hl== snake_case 2**3 a == b * c", None),
        ("重点**内容**在", "重点内容在"),
        ("> [!note] Title\n> - [x] done", "Title\ndone"),
        ("a %%no%% b <!-- no --> c", "a b c"),
        ("```py\ndef __init__(self): # **x**\n```", "def __init__(self): # **x**"),
        ("use `a * b` now", "use a * b now"),
        ("| a | b |\n|---|---|\n| [[x\\|y]] | c |", "a b\n\ny c"),
        ("H<sub>2</sub>O<br>x <https://x.y/_a_> https://a.b/_c_", None),
        ("a[^1] b ^block\n\n***\n\n[^1]: note\n[ref]: http://x", "a b\n\nnote"),
        (r"\*literal\* \# a", "*literal* # a"),
        ("", ""),
    ],
)
def test_plain_text_keeps_the_words(text: str, plain: str | None) -> None:
    expected = {
        "*": "bold it u s hl snake_case 2**3 a == b * c",
        "H": "H2O x https://x.y/_a_ https://a.b/_c_",
    }
    assert plain_text(text) == (expected[text[0]] if plain is None else plain)


@given(st.text(st.characters(exclude_characters="[]|#\\`%<\n\r\0"), min_size=1), st.text())
def test_a_written_link_is_read_again(target: str, display: str) -> None:
    link = parse_link(format_link(target, display))
    assert (link.target if link else "") == target.strip()
