"""Passages of long notes."""

from __future__ import annotations

from amem_cli.notes.passages import USUAL_MAXIMUM, split_passages


def test_a_short_note_is_one_passage() -> None:
    [passage] = split_passages("\n# Title\n\nA short note.\n\n")
    assert passage == "# Title\n\nA short note."


def test_blank_text_has_no_passage() -> None:
    assert split_passages(" \n\t\n") == []


def test_a_heading_stays_with_what_follows() -> None:
    text = "".join(f"## Part {n}\n\n{'word ' * 80}\n\n" for n in range(5))
    passages = split_passages(text)
    assert len(passages) == 5
    assert all(passage.startswith(f"## Part {n}") for n, passage in enumerate(passages))


def test_a_code_block_that_fits_stays_whole() -> None:
    code = "```py\n" + "x = 1\n\n" * 60 + "```"
    text = f"{'word ' * 150}\n\n{code}\n\n{'more ' * 150}"
    assert any(code in passage for passage in split_passages(text))


def test_long_paragraphs_are_cut_between_sentences() -> None:
    text = "This is one sentence of the paragraph. " * 100
    assert all(passage.endswith("paragraph.") for passage in split_passages(text))


def test_chinese_counts_by_characters() -> None:
    text = "这是一个很长的段落。" * 60
    passages = split_passages(text)
    assert all(len(passage) <= USUAL_MAXIMUM // 3 for passage in passages)
    assert all(passage.endswith("。") for passage in passages)


def test_limits_can_be_chosen() -> None:
    passages = split_passages("word " * 100, target_chars=50, max_chars=80)
    assert all(len(passage) <= 80 for passage in passages)
