"""Code and comments are told from text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amem_cli.markdown.regions import blank_out, find_regions


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


marks = st.sampled_from(["`", "``", "```", "~~~", "%%", "<!--", "-->", "\n", "    ", "> ", "- "])


@given(st.lists(st.one_of(marks, st.text(max_size=3)), max_size=30).map("".join))
def test_regions_are_in_order_and_blanking_keeps_offsets(text: str) -> None:
    regions = find_regions(text)
    position = 0
    for region in regions:
        assert position <= region.start < region.end <= len(text)
        assert region.start <= region.inner_start <= region.inner_end <= region.end
        position = region.end
    blank = blank_out(text, ((region.start, region.end) for region in regions))
    assert len(blank) == len(text)
    assert blank.count("\n") == text.count("\n")
