"""A running `amem watch`, as a person or a program at its side sees it."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.conftest import Program

# Only a test that fails waits so long; a loaded machine may need a good part of it.
PATIENCE = 240.0


class RunningWatcher:
    """`amem watch --json` in a process of its own, and all it has told."""

    def __init__(
        self,
        amem: Program,
        vault: Path,
        *options: str,
        settle: float | None = 0,
        **variables: str,
    ) -> None:
        self.vault = vault
        self.told: list[dict[str, Any]] = []
        self.complaints: list[str] = []
        rest = [] if settle is None else ["--settle", str(settle)]
        line = ["--json", "--vault", str(vault), "watch", *rest, *options]
        self.process = amem.start(*line, **variables)
        self._readers = [threading.Thread(target=read) for read in (self._listen, self._hear)]
        for reader in self._readers:
            reader.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.told.append(json.loads(line))

    def _hear(self) -> None:
        assert self.process.stderr is not None
        self.complaints.extend(self.process.stderr)

    def until(self, holds: Callable[[], object], seconds: float = PATIENCE) -> None:
        """Wait until something holds; what was told is shown where it never does."""
        end = time.monotonic() + seconds
        while not holds():
            shown = [(each.get("event"), each.get("text")) for each in self.told[-40:]]
            assert time.monotonic() < end, (shown, self.complaints)
            time.sleep(0.02)

    def until_told(self, event: str, **fields: object) -> None:
        """Wait for a line."""
        self.until(lambda: self.lines(event, **fields))

    def lines(self, event: str, **fields: object) -> list[dict[str, Any]]:
        """The lines of one event that hold these fields."""
        return [
            each
            for each in list(self.told)
            if each.get("event") == event and all(each.get(key) == fields[key] for key in fields)
        ]

    def ended(self) -> int:
        """Wait for its end; the exit code."""
        code = self.process.wait(PATIENCE)
        for reader in self._readers:
            reader.join(PATIENCE)
        return code

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """End it by a signal; the exit code."""
        self.process.send_signal(number)
        return self.ended()


@contextmanager
def watching(
    amem: Program, vault: Path, *options: str, settle: float | None = 0, **variables: str
) -> Iterator[RunningWatcher]:
    """A watcher that watches, and is gone afterwards.

    Args:
        settle: seconds that a note rests; None leaves that to the settings.
    """
    watcher = RunningWatcher(amem, vault, *options, settle=settle, **variables)
    try:
        watcher.until(lambda: watcher.lines("watching") or watcher.process.poll() is not None)
        assert watcher.process.poll() is None, watcher.complaints
        yield watcher
    finally:
        if watcher.process.poll() is None:
            watcher.process.kill()
        watcher.ended()


def journal_events(vault: Path, kind: str = "") -> list[dict[str, Any]]:
    """The journal's events of one kind or any, of all machines."""
    lines = [
        json.loads(line)
        for path in sorted((vault / ".amem/journal").glob("*.jsonl"))
        for line in path.read_text("utf-8").splitlines(keepends=True)
        # The last one may be being written.
        if line.endswith("\n")
    ]
    return [line for line in lines if kind in ("", line["kind"])]


def times_processed(vault: Path) -> Counter[str]:
    """How often each note went through the memory process, by path."""
    return Counter(str(event["path"]) for event in journal_events(vault, "process"))
