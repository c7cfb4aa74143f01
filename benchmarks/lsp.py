"""How long does an editor wait for `amem lsp`: for its start, and for completion at each key?

    python benchmarks/lsp.py [--notes 1000,10000] [--keys 60] [--runs 5]

Whole processes on vaults that are made here. `greeting` is from the start of the process to the
answer to `initialize`, `first` to the first completion; both are medians of the runs. Then one
process completes `[[`, and each key that follows, in paragraphs of notes: p50 and p95 of the
answers, in milliseconds, once the encoder is loaded; `words` are those without a paragraph, by
names alone. `processor` is the processor time of the server for one answer, to be compared where
other work keeps the machine busy.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil
from common import by_commas, median_and_p95, parser_of

SUBJECTS = (
    *("walrus", "glacier", "engine", "violin", "harvest"),
    *("budget", "kernel", "orchid", "bridge", "letter"),
)
DEEDS = (
    *("grows", "fails", "sings", "breaks", "returns"),
    *("sleeps", "moves", "shrinks", "leads", "waits"),
)
PLACES = (
    *("winter", "Lisbon", "practice", "summer", "public"),
    *("theory", "secret", "spring", "private", "autumn"),
)
TYPED = ("", "w", "wa", "wal", "gl", "budget", "the orchid", "note 7", "zzz", "bridge l")
NO_TIME = 120.0


def make_vault(folder: Path, notes: int) -> None:
    """A vault of so many notes of two sentences, with tags, and the index with all its vectors."""
    folder.mkdir()
    for number in range(notes):
        subject, deed = SUBJECTS[number % 10], DEEDS[number // 10 % 10]
        place, other = PLACES[number // 100 % 10], SUBJECTS[number // 1000 % 10]
        text = f"---\ntags: [{subject}, {place}]\n---\n"
        text += f"The {subject} {deed} in {place}. Nobody asked the {other} about it.\n"
        name = f"The {subject} {deed} in {place} beside the {other} {number}.md"
        (folder / name).write_text(text, encoding="utf-8")
    environment = {**os.environ, "AMEM_LLM_BACKEND": "none"}
    for line in (["init", "--adopt", str(folder)], ["--vault", str(folder), "index"]):
        command = [sys.executable, "-m", "amem_cli", *line]
        subprocess.run(command, env=environment, check=True, capture_output=True)


class Editor:
    """A client of a server in a process of its own."""

    def __init__(self, vault: Path) -> None:
        self._number = 0
        self._version = 0
        self.began = time.perf_counter()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "amem_cli", "--vault", str(vault), "lsp"],
            env={**os.environ, "AMEM_LLM_BACKEND": "none"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.uri = (vault / "New.md").as_uri()
        self.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
        self.greeted = time.perf_counter() - self.began
        self.tell("initialized", {})
        document = {"uri": self.uri, "languageId": "markdown", "version": 0, "text": ""}
        self.tell("textDocument/didOpen", {"textDocument": document})

    def tell(self, method: str, params: object, number: int | None = None) -> None:
        message: dict[str, object] = {"jsonrpc": "2.0", "method": method, "params": params}
        if number is not None:
            message["id"] = number
        body = json.dumps(message).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def ask(self, method: str, params: object) -> Any:
        self._number += 1
        self.tell(method, params, self._number)
        while (answer := self._next()).get("id") != self._number:
            pass
        return answer["result"]

    def _next(self) -> Any:
        assert self.process.stdout is not None
        length = 0
        while (line := self.process.stdout.readline().strip()) or not length:
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        return json.loads(self.process.stdout.read(length))

    def complete(self, text: str) -> tuple[float, list[Any]]:
        """Seconds until the answer at the end of a text, and its items."""
        self._version += 1
        identity = {"uri": self.uri, "version": self._version}
        changes = {"textDocument": identity, "contentChanges": [{"text": text}]}
        lines = text.split("\n")
        place = {"line": len(lines) - 1, "character": len(lines[-1])}
        began = time.perf_counter()
        self.tell("textDocument/didChange", changes)
        where = {"textDocument": {"uri": self.uri}, "position": place}
        found = self.ask("textDocument/completion", where)
        return time.perf_counter() - began, found["items"]

    def await_encoder(self) -> None:
        """Wait until notes are found by meaning."""
        end = time.monotonic() + NO_TIME
        while time.monotonic() < end:
            _, items = self.complete("Frozen water. [[something that is in no name")
            if items:
                return
            time.sleep(0.1)
        raise SystemExit("no note is found by meaning")

    def processor(self) -> float:
        times = psutil.Process(self.process.pid).cpu_times()
        return float(times.user + times.system)

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


def keys(editor: Editor, count: int, paragraph: bool) -> list[float]:
    """Seconds of each answer, with a new paragraph for every ten keys."""
    found = []
    for number in range(count):
        about = f"{SUBJECTS[number // 10 % 10]} {DEEDS[number % 7]}"
        text = f"Yesterday I heard that the {about}, case {number // 10}. " if paragraph else ""
        seconds, _ = editor.complete(f"{text}[[{TYPED[number % 10]}")
        found.append(seconds)
        # As fast as a person types.
        time.sleep(0.05)
    return found


def milliseconds(seconds: list[float]) -> str:
    return " ".join(f"{1000 * each:7.1f}" for each in median_and_p95(seconds))


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--notes", default="1000,10000")
    parser.add_argument("--keys", type=int, default=60)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    print("  notes greeting  first | p50 ms  p95 ms | words p50     p95 | processor ms")
    with tempfile.TemporaryDirectory() as folder:
        for notes in map(int, by_commas(options.notes)):
            vault = Path(folder) / str(notes)
            make_vault(vault, notes)
            greetings, firsts = [], []
            for _ in range(options.runs):
                editor = Editor(vault)
                editor.complete("[[w")
                firsts.append(time.perf_counter() - editor.began)
                greetings.append(editor.greeted)
                editor.end()
            editor = Editor(vault)
            editor.await_encoder()
            time.sleep(2.0)
            before = editor.processor()
            meant = keys(editor, options.keys, True)
            used = 1000 * (editor.processor() - before) / options.keys
            named = keys(editor, options.keys, False)
            editor.end()
            start = f"{statistics.median(greetings):8.2f} {statistics.median(firsts):6.2f}"
            answers = f"{milliseconds(meant)} |   {milliseconds(named)} | {used:7.1f}"
            print(f"{notes:7} {start} | {answers}", flush=True)


if __name__ == "__main__":
    main()
