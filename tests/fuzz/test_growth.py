"""The measure of growth tells a reader that is safe from one that an attacker can hang."""

from __future__ import annotations

import re

import pytest

from tests.fuzz.growth import grows_in_proportion


def test_a_commonplace_expression_for_wikilinks_is_found_out() -> None:
    expression = re.compile(r"\[\[(.+?)\]\]")

    with pytest.raises(AssertionError, match="grows faster than the text"):
        grows_in_proportion(expression.findall, lambda size: "[[a" * (size // 3), 50_000)
