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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from memory_gold import rows
from retrieval_data import gold_vault

UNANSWERABLE = ("5", "none")
UNDATED = datetime(2024, 1, 1)
_SESSION = re.compile(r"session_(\d+)")
# "D1:3", and what else stands in the data: "D1:3; D2:4", "D1:3 D2:4", "D:11:26", "D30:05", "D".
_EVIDENCE = re.compile(r"D:?(\d+):(\d+)")
_MOMENTS = ("%I:%M %p on %d %B, %Y", "%d %B, %Y", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d")


@dataclass(frozen=True)
class Turn:
    """One thing said, or one note.

    Attributes:
        text: what a memory holds of it, with who said it.
        date: as the data write it; empty where they do not.
    """

    id: str
    text: str
    created: datetime
    date: str = ""
    title: str = ""


@dataclass(frozen=True)
class Question:
    """A question about one conversation.

    Attributes:
        answer: empty where there is none.
        trap: the wrong answer that an adversarial question is after.
        evidence: ids of the turns that hold the answer.
    """

    id: str
    conversation: str
    category: str
    text: str
    answer: str
    trap: str
    evidence: tuple[str, ...]

    @property
    def is_answerable(self) -> bool:
        """Whether the right thing to do is to answer."""
        return self.category not in UNANSWERABLE


@dataclass
class Conversation:
    """A conversation or vault, its turns in time order.

    Attributes:
        problems: what of the data could not be used, one line each.
    """

    name: str
    turns: list[Turn] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def read_locomo(file: Path) -> list[Conversation]:
    """The conversations of a file in LoCoMo's shape.

    Raises:
        SystemExit: the file is not of that shape.
    """
    try:
        samples = json.loads(file.read_text(encoding="utf-8"))
        return [_conversation(sample, at) for at, sample in enumerate(samples, 1)]
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise SystemExit(f"{file} is no file in LoCoMo's shape: {error!r}") from None


def _conversation(sample: Mapping[str, Any], place: int) -> Conversation:
    name = str(sample.get("sample_id") or f"sample-{place}")
    conversation = Conversation(name)
    told: Mapping[str, Any] = sample["conversation"]
    last = UNDATED
    for number in _sessions(told):
        date = str(told.get(f"session_{number}_date_time") or "")
        moment = moment_of(date)
        if moment is None:
            conversation.problems.append(f"{name}: session {number} has no date that can be read")
        # A session without a date belongs to the day of the one before.
        last = moment or last
        for turn in told[f"session_{number}"]:
            seconds = timedelta(seconds=len(conversation.turns))
            conversation.turns.append(_turn(turn, number, last + seconds, date, conversation))
    known = {turn.id for turn in conversation.turns}
    for at, asked in enumerate(sample.get("qa") or ()):
        question = _question(asked, f"{name}/q{at}", name, known)
        if question is None:
            conversation.problems.append(f"{name}: question {at} has no text or category")
        else:
            conversation.questions.append(question)
    return conversation


def _sessions(told: Mapping[str, Any]) -> list[int]:
    """Numbers of the sessions that have turns; some have a date alone, some are missing."""
    found = (_SESSION.fullmatch(key) for key, value in told.items() if isinstance(value, list))
    return sorted(int(match.group(1)) for match in found if match)


def _turn(
    turn: Mapping[str, Any], session: int, created: datetime, date: str, into: Conversation
) -> Turn:
    at = sum(each.id.startswith(f"D{session}:") for each in into.turns) + 1
    name = evidence_ids(str(turn.get("dia_id") or "")) or (f"D{session}:{at}",)
    said = " ".join(str(turn.get("text") or "").split())
    caption = " ".join(str(turn.get("blip_caption") or "").split())
    picture = f"[Image: {caption}]" if caption else ""
    speaker = str(turn.get("speaker") or "").strip()
    text = " ".join(part for part in (picture, said) if part)
    return Turn(name[0], f"{speaker}: {text}" if speaker else text, created, date)


def _question(
    asked: Mapping[str, Any], number: str, conversation: str, known: Sequence[str] | set[str]
) -> Question | None:
    text = " ".join(str(asked.get("question") or "").split())
    category = str(asked.get("category") or "")
    if not text or not category:
        return None
    named = asked.get("evidence") or ()
    evidence = evidence_ids(" ".join(map(str, [named] if isinstance(named, str) else named)))
    return Question(
        id=number,
        conversation=conversation,
        category=category,
        text=text,
        answer=_text(asked.get("answer")),
        trap=_text(asked.get("adversarial_answer")),
        evidence=tuple(each for each in evidence if each in known),
    )


def _text(value: Any) -> str:
    """An answer as text; some are numbers, some lists."""
    if value is None:
        return ""
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value).strip()


def evidence_ids(named: str) -> tuple[str, ...]:
    """The turns that a text names, each once: `D30:05; D:2:4` names `D30:5` and `D2:4`."""
    found = (f"D{int(session)}:{int(turn)}" for session, turn in _EVIDENCE.findall(named))
    return tuple(dict.fromkeys(found))


def moment_of(date: str) -> datetime | None:
    """A date as the data write it; None where it cannot be read."""
    for form in _MOMENTS:
        try:
            return datetime.strptime(date.strip(), form)
        except ValueError:
            continue
    return None


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
