"""What a run has come to, on disk line by line, so that a killed run goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

FAILURES_IN_A_ROW = 3


@dataclass(frozen=True)
class Reply:
    """What one row said to one question.

    Attributes:
        said: the answer itself, without what frames it; empty where it was refused.
        how: as `amem ask` tells it: `model`, `extract` or `nothing`.
        seconds, wall: of the model alone, and from the question to the answer.
        shown, cited: ids of the turns that it was made from, and of those it names.
        whole: share of the conversation's turns that fitted, where all were to be shown.
        failed: the model gave no answer.
        unread: no answer could be read from what it gave, or it was not asked at all.
        k: how many notes the search found; 0 if the row's number does not follow `--k`.
    """

    row: str
    question: str
    said: str
    held: bool
    how: str
    shown: tuple[str, ...] = ()
    cited: tuple[str, ...] = ()
    calls: int = 0
    prompt_tokens: int = 0
    answer_tokens: int = 0
    seconds: float = 0.0
    wall: float = 0.0
    whole: float = 1.0
    failed: bool = False
    problems: tuple[str, ...] = ()
    unread: bool = False
    k: int = 0

    @property
    def refused(self) -> bool:
        """Whether it was said that there is no answer."""
        return not (self.held or self.failed or self.unread)


class LineLog:
    """JSON objects, a line each, of which the last may have been cut off."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.rows: list[dict[str, Any]] = []
        raw = file.read_bytes() if file.exists() else b""
        whole = 0
        for line in raw.splitlines(keepends=True):
            try:
                row = json.loads(line)
            except ValueError:
                break
            if not line.endswith(b"\n"):
                break
            self.rows.append(row)
            whole += len(line)
        if whole < len(raw):
            with file.open("r+b") as opened:
                opened.truncate(whole)

    def emptied(self) -> LineLog:
        """The same log with nothing in it."""
        self.file.unlink(missing_ok=True)
        return LineLog(self.file)

    def write(self, row: Mapping[str, Any]) -> None:
        """Append one object, at once."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with self.file.open("a", encoding="utf-8") as opened:
            opened.write(json.dumps(row, ensure_ascii=False) + "\n")
        self.rows.append(dict(row))


@dataclass
class Breaker:
    """Keeps back what failed until something works, and stops the run where nothing does."""

    log: LineLog
    held_back: list[Mapping[str, Any]] = field(default_factory=list)

    def write(self, row: Mapping[str, Any], *, failed: bool, why: str = "") -> None:
        """Keep a row; of failures only those that a success follows.

        Raises:
            SystemExit: the model failed several times in a row; nothing of that is kept.
        """
        self.held_back.append(row)
        if not failed:
            self.flush()
        elif len(self.held_back) >= FAILURES_IN_A_ROW:
            raise SystemExit(
                f"the model failed {FAILURES_IN_A_ROW} times in a row: {why}\n"
                "What was answered before is kept where --results names a folder."
            )

    def flush(self) -> None:
        """Keep what was held back."""
        for row in self.held_back:
            self.log.write(row)
        self.held_back.clear()


class Results:
    """The folder of a run.

    Args:
        settings: all that decides about answers; a folder of other settings is refused.

    Raises:
        SystemExit: the folder belongs to other settings.
    """

    def __init__(self, folder: Path, settings: Mapping[str, Any]) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "settings.json"
        if file.exists():
            former = json.loads(file.read_text(encoding="utf-8"))
            other = [key for key in settings if former.get(key) != settings[key]]
            if other:
                names = ", ".join(f"{key} {former.get(key)!r}" for key in other)
                raise SystemExit(f"{folder} holds answers made with {names}; name another folder")
        else:
            file.write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")
        self.answers = LineLog(folder / "answers.jsonl")

    def replies(self) -> dict[tuple[str, str, int], Reply]:
        """By row, question and k."""
        made = (_reply(row) for row in self.answers.rows)
        return {(reply.row, reply.question, reply.k): reply for reply in made}

    def notes(self, conversation: str, memory: str) -> LineLog:
        """What became of each turn of one conversation in one kind of memory."""
        return LineLog(self.folder / f"{_plain(conversation)}-{memory}.jsonl")

    def vault(self, conversation: str, memory: str) -> Path:
        """Where its vault is."""
        return self.folder / "vaults" / f"{_plain(conversation)}-{memory}"


def _plain(name: str) -> str:
    return "".join(sign if sign.isalnum() or sign in "-_" else "_" for sign in name)


def _reply(row: Mapping[str, Any]) -> Reply:
    values: Any = {
        key: tuple(value) if isinstance(value, list) else value for key, value in row.items()
    }
    return Reply(**values)


def as_row(reply: Reply) -> dict[str, Any]:
    """A reply as a line of the log."""
    return asdict(reply)
