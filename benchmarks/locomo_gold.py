"""Finds the conversations of a path: LoCoMo's own file, or hand-written vaults with answers."""

from __future__ import annotations

from pathlib import Path

from locomo_data import UNDATED, Conversation, Question, Turn, read_locomo
from memory_gold import rows
from retrieval_data import gold_vault


def conversations(path: Path) -> list[Conversation]:
    """Those of a JSON file in LoCoMo's shape, or of `PATH/gold/*/questions.jsonl`.

    Raises:
        SystemExit: there is neither.
    """
    if path.is_file():
        return read_locomo(path)
    found = sorted((path / "gold").glob("*/questions.jsonl"))
    if found:
        return [gold_conversation(each.parent) for each in found]
    if (path / "locomo10.json").is_file():
        return read_locomo(path / "locomo10.json")
    raise SystemExit(f"{path} is no file in LoCoMo's shape, and holds no gold/*/questions.jsonl")


def gold_conversation(folder: Path) -> Conversation:
    """A written vault; its category `none` asks for what no note holds."""
    turns = [
        Turn(each.id, each.bare, each.new.created or UNDATED, title=each.new.title)
        for each in gold_vault(folder).turns
    ]
    questions = [
        Question(
            id=row["query_id"],
            conversation=folder.name,
            category=row["type"],
            text=row["query"],
            answer=row["answer"] if row["gold"] else "",
            trap="",
            evidence=tuple(row["gold"]),
        )
        for row in rows(folder / "questions.jsonl")
    ]
    return Conversation(folder.name, turns, questions)
