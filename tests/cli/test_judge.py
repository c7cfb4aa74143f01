"""The judge of links at the command line, with the real model."""

from __future__ import annotations

import pytest

from amem_cli.models.judge import WORDS
from tests.conftest import Program

pytestmark = pytest.mark.models
ON = {"AMEM_LLM_JUDGE": "on"}
OLDER = (
    "The rye starter takes the whole night to double in the hallway, and smells of vinegar. I feed"
    " it twice a day and still the bread is flat. The hallway has 18 degrees."
)
NEWER = (
    "I moved the rye starter from the hallway to the oven with the lamp on. At 28 degrees it"
    " doubles in five hours, and the vinegar smell is gone. The bread rose as it should."
)


def test_links_are_judged(amem: Program) -> None:
    for day, name, text in ((1, "Too slow", OLDER), (2, "In the oven", NEWER)):
        note = f"---\ncreated: 2026-05-0{day}\n---\n{text}\n"
        (amem.folder / f"{name}.md").write_text(note, encoding="utf-8")
    assert amem("init", ".", "--adopt", **ON).code == 0
    # `add` gives it two seconds, which a busy machine may need for other work; this a minute.
    evolved = amem("evolve", "--all", "--json", **ON)
    assert evolved.code == 0, evolved.err
    assert "Too slow" in evolved.out and "evidence alone" not in evolved.out
    events = amem("history", "In the oven", "--json", **ON).out
    assert f"judge-{WORDS['version']}" in events


def test_what_is_here_is_told(amem: Program) -> None:
    amem("init", ".", "--adopt")
    listed = amem("model", "list", "--json", **ON).json["judge"]
    assert listed["on"] and listed["name"] and listed["problem"] is None
    assert amem("model", "list", "--json").json["judge"]["on"] is False
    assert amem("setup", "--json", **ON).json["judges_links"] is True
    assert amem("setup", "--json").json["judges_links"] is False
    assert "judge" not in amem("doctor", **ON).out
