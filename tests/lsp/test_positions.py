"""Places in a text as editors count them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types as lsp

from amem_cli.lsp.editor import Positions

TEXT = st.text(st.sampled_from("ab é漢字😀🇩🇪\u0301\u2028\x0b\x85\r\n"), max_size=40)
ENCODINGS = {"utf-8": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}
WIDTHS = {"utf-8": 1, "utf-16": 2, "utf-32": 4}


@given(TEXT, st.sampled_from(sorted(ENCODINGS)), st.data())
def test_a_place_is_counted_as_the_encoding_counts_it(
    text: str, encoding: str, data: st.DataObject
) -> None:
    offset = data.draw(st.integers(0, len(text)))
    before = text[:offset].replace("\r\n", "\n").replace("\r", "\n").split("\n")
    # A place between the two characters of a line end is no place of the protocol.
    if text[offset - 1 : offset + 1] == "\r\n" and offset:
        return
    units = len(before[-1].encode(ENCODINGS[encoding])) // WIDTHS[encoding]
    positions = Positions(text, encoding)
    assert positions.position(offset) == lsp.Position(len(before) - 1, units)
    assert positions.offset(lsp.Position(len(before) - 1, units)) == offset


@given(TEXT, st.sampled_from(sorted(ENCODINGS)), st.integers(0, 50), st.integers(0, 200))
def test_no_position_leads_out_of_its_line(
    text: str, encoding: str, line: int, character: int
) -> None:
    positions = Positions(text, encoding)
    offset = positions.offset(lsp.Position(line, character))
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    assert 0 <= offset <= len(text)
    assert positions.position(offset).line == min(line, len(lines) - 1)


@pytest.mark.parametrize(("encoding", "units"), [("utf-8", 9), ("utf-16", 5), ("utf-32", 4)])
def test_an_emoji_has_the_width_of_its_encoding(encoding: str, units: int) -> None:
    # Within the emoji is before it.
    assert Positions("a漢😀b", encoding).position(4) == lsp.Position(0, units)
    inside = Positions("😀b", encoding).offset(lsp.Position(0, 1))
    assert inside == (1 if encoding == "utf-32" else 0)
