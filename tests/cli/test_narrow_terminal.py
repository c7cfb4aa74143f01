"""On a terminal a long line goes on below its beginning."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import Program
from tests.terminal import at_terminal, plain

CONTEXT = (
    "Why the beans of the northern bed climb on poles of hazel and those of the southern do not."
)


def test_what_does_not_fit_into_a_line_goes_on_below_its_beginning(amem: Program) -> None:
    amem("init", "vault")
    words = ("add", "Beans climb on poles.", "--context", CONTEXT, "--no-llm")
    code, shown = at_terminal(amem.folder / "vault", words, (), COLUMNS="60")
    assert code == 0
    lines = plain(shown.rsplit("\x1b[2K", 1)[-1]).replace("\r", "").splitlines()
    first = next(number for number, line in enumerate(lines) if "context" in line)
    column = lines[first].index("Why")
    assert [line[:column].strip() for line in lines[first + 1 : first + 2]] == [""]
    told = " ".join(line[column:].strip() for line in lines[first : first + 2])
    assert told.removesuffix(" (kept)") == CONTEXT


def test_a_very_narrow_terminal_gets_every_word(amem: Program) -> None:
    amem("init", "vault")
    words = ("add", "Beans climb on poles.", "--context", CONTEXT, "--no-llm")
    code, shown = at_terminal(Path(amem.folder, "vault"), words, (), COLUMNS="24")
    assert code == 0
    assert set(CONTEXT.split()) <= set(plain(shown).split())
