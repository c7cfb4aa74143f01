"""The conversations of a path: those of LoCoMo's own file, or hand-written vaults with answers.

The shape, as LoCoMo's paper and its readers describe it: a JSON list of samples, each with
`sample_id`, `conversation` (`speaker_a`, `speaker_b`, `session_1`, `session_1_date_time`, …) and
`qa`. A turn has `speaker`, `dia_id`, `text`, and `blip_caption` where a picture was sent. A
question has `question`, `category` (1 to 5), `evidence` (names of turns) and `answer`, or
`adversarial_answer` where the category is 5.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from retrieval_data import UNDATED, Asked, Group, Turn, gold_vaults, moment_of

from amem_cli.editing.add import NewNote

UNANSWERABLE = ("5", "none")
_SESSION = re.compile(r"session_(\d+)")
# "D1:3", and what else stands in the data: "D1:3; D2:4", "D1:3 D2:4", "D:11:26", "D30:05", "D".
_EVIDENCE = re.compile(r"D:?(\d+):(\d+)")


def is_answerable(asked: Asked) -> bool:
    """Whether the right thing to do is to answer."""
    return asked.category not in UNANSWERABLE


def conversations(path: Path) -> list[Group]:
    """Those of a JSON file in LoCoMo's shape, or of `PATH/gold/*/questions.jsonl`.

    Raises:
        SystemExit: there is neither.
    """
    if path.is_file():
        return read_locomo(path)
    found = gold_vaults(path)
    if not found:
        raise SystemExit(f"{path} is no file in LoCoMo's shape, and has no gold/*/questions.jsonl")
    for vault in found:
        vault.questions += vault.unanswerable
    return found


def read_locomo(file: Path) -> list[Group]:
    """The conversations of a file in LoCoMo's shape.

    Raises:
        SystemExit: the file is not of that shape.
    """
    try:
        samples = json.loads(file.read_text(encoding="utf-8"))
        return [_conversation(sample, at) for at, sample in enumerate(samples, 1)]
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise SystemExit(f"{file} is no file in LoCoMo's shape: {error!r}") from None


def _conversation(sample: Mapping[str, Any], place: int) -> Group:
    name = str(sample.get("sample_id") or f"sample-{place}")
    group = Group(name)
    told: Mapping[str, Any] = sample["conversation"]
    last = UNDATED
    for number in _sessions(told):
        moment = moment_of(str(told.get(f"session_{number}_date_time") or ""))
        if moment is None:
            group.problems.append(f"{name}: session {number} has no date that can be read")
        # A session without a date belongs to the day of the one before.
        last = moment or last
        for at, turn in enumerate(told[f"session_{number}"], 1):
            created = last + timedelta(seconds=len(group.turns))
            group.turns.append(_turn(turn, f"D{number}:{at}", created))
    known = {turn.id for turn in group.turns}
    for at, asked in enumerate(sample.get("qa") or ()):
        question = _question(asked, name, f"{name}/q{at}", known)
        if question is None:
            group.problems.append(f"{name}: question {at} has no text or category")
        else:
            group.questions.append(question)
    return group


def _sessions(told: Mapping[str, Any]) -> list[int]:
    """Numbers of the sessions that have turns; some have a date alone, some are missing."""
    found = (_SESSION.fullmatch(key) for key, value in told.items() if isinstance(value, list))
    return sorted(int(match.group(1)) for match in found if match)


def _turn(turn: Mapping[str, Any], usual_name: str, created: datetime) -> Turn:
    name, *_ = (*evidence_ids(_text(turn.get("dia_id"))), usual_name)
    said, caption = (" ".join(_text(turn.get(each)).split()) for each in ("text", "blip_caption"))
    bare = " ".join(part for part in (f"[Image: {caption}]" if caption else "", said) if part)
    speaker = _text(turn.get("speaker"))
    text = f"{speaker}: {bare}" if speaker else bare
    return Turn(name, NewNote(text, created=created), bare)


def _question(
    asked: Mapping[str, Any], group: str, number: str, known: Collection[str]
) -> Asked | None:
    text = " ".join(_text(asked.get("question")).split())
    category = _text(asked.get("category"))
    if not text or not category:
        return None
    named = asked.get("evidence") or ()
    evidence = evidence_ids(" ".join(map(str, [named] if isinstance(named, str) else named)))
    gold = tuple(each for each in evidence if each in known)
    return Asked(group, category, text, gold, _text(asked.get("answer")), number)


def _text(value: Any) -> str:
    """A value as text; some answers are numbers, some lists."""
    if value is None:
        return ""
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value).strip()


def evidence_ids(named: str) -> tuple[str, ...]:
    """The turns that a text names, each once: `D30:05; D:2:4` names `D30:5` and `D2:4`."""
    found = (f"D{int(session)}:{int(turn)}" for session, turn in _EVIDENCE.findall(named))
    return tuple(dict.fromkeys(found))
