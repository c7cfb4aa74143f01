"""The demonstration: the whole job on a sample vault, told as it happens.

The three notes that the demo adds to the template vault, and the question it then asks.
"""

from __future__ import annotations

import shlex
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from amem_cli.cli.session import Session

if TYPE_CHECKING:
    from amem_cli.graph.overview import Overview
    from amem_cli.memory.outcome import Outcome
    from amem_cli.search.search import Hit
    from amem_cli.terminal.output import Console
    from amem_cli.workspace.workspace import Workspace


def demonstrate(session: Session, keep: Path | None, *, llm: bool) -> None:
    """Make a vault from the template, add three notes, search, show the graph."""
    from amem_cli.vault.template import create_vault

    root = keep.expanduser().resolve() if keep else Path(tempfile.mkdtemp(prefix="amem-demo-"))
    try:
        create_vault(root)
        _run(session, root, llm=llm)
        if not session.output.as_json:
            _Narrator(session).next_steps(root if keep else None)
    finally:
        if not keep:
            shutil.rmtree(root, ignore_errors=True)


def _run(session: Session, root: Path, *, llm: bool) -> None:
    from amem_cli.workspace.documents import graph_document, outcome_document, search_document

    overrides = {} if llm else {"llm_backend": "none"}
    workspace = session.opened(root, overrides)
    show = _Narrator(session)
    try:
        notes = workspace.take_stock()
        show.heading("A vault of plain markdown notes")
        show.line(f"amem copied its template into {root}: {notes} notes, a person's own.")
        workspace.embed_missing()
        outcomes = _add_notes(session, workspace, show)
        hits = workspace.search(DEMO_QUERY, limit=3).hits
        show.found(DEMO_QUERY, hits)
        seen = workspace.overview()
        show.network(seen, outcomes)
    finally:
        workspace.close()
    if session.output.as_json:
        document = {
            "vault": str(root),
            "added": [outcome_document(outcome) for outcome in outcomes],
            "search": search_document(DEMO_QUERY, "hybrid", hits),
            "graph": graph_document(seen.graph),
        }
        session.output.json_line(document, indent=2)


def _add_notes(session: Session, workspace: Workspace, show: _Narrator) -> list[Outcome]:
    from amem_cli.editing.add import NewNote

    outcomes = []
    for number, demo in enumerate(DEMO_NOTES, 1):
        show.heading(f"{number}. You add a note")
        show.line(f'$ amem add --title "{demo.title}" "…"')
        show.quote(demo.content)
        new = NewNote(demo.content, title=demo.title, folder=workspace.settings.notes_dir)
        path = workspace.add(new, wait=False).outcome.path
        show.line("It is on disk and searchable. Now it is described and linked …")
        outcome = workspace.process_note(path, new_text=True)
        show.outcome(outcome)
        outcomes.append(outcome)
    return outcomes


def _program() -> str:
    """How this program is called: `amem`, or its path where the shell would not find it."""
    called = Path(sys.argv[0])
    return "amem" if shutil.which("amem") or called.name != "amem" else str(called)


class _Narrator:
    """Tells the story on stdout; silent where a JSON document is wanted."""

    def __init__(self, session: Session) -> None:
        self._console: Console | None = None if session.output.as_json else session.output.console()

    def heading(self, text: str) -> None:
        from amem_cli.terminal.output import Styled

        if self._console is not None:
            self._console.print()
            self._console.print(Styled((text, "bold underline")))

    def line(self, text: str) -> None:
        from amem_cli.terminal.output import Styled

        if self._console is not None:
            self._console.print(Styled(text))

    def quote(self, text: str) -> None:
        from amem_cli.terminal.output import Styled

        if self._console is not None:
            for line in text.strip().splitlines():
                self._console.print(Styled(("  │ ", "dim"), line))

    def outcome(self, outcome: Outcome) -> None:
        from amem_cli.terminal.notes import show_outcome

        if self._console is not None:
            show_outcome(self._console, outcome)

    def found(self, query: str, hits: Sequence[Hit]) -> None:
        from amem_cli.terminal.notes import show_hits

        self.heading("You ask")
        self.line(f'$ amem search "{query}"')
        if self._console is not None:
            show_hits(self._console, hits, query)
        if any(hit.via for hit in hits):
            self.line("Notes marked ↳ share few words with the question: a link brought them in.")

    def network(self, seen: Overview, outcomes: list[Outcome]) -> None:
        from amem_cli.graph.graph import neighbourhood
        from amem_cli.terminal.graph import show_neighbourhood, show_overview

        self.heading("The network now")
        if self._console is not None:
            show_overview(self._console, seen)
            self.heading(f"Around “{outcomes[0].title}”")
            around = neighbourhood(seen.graph, outcomes[0].path, 1)
            show_neighbourhood(self._console, seen.graph, around)
        self.line(
            "\nEvery change is a line in .amem/journal: `amem history` tells what, why, when."
        )

    def next_steps(self, kept: Path | None) -> None:
        """What a newcomer may type now."""
        name = _program()
        if kept is None:
            look = (f"{name} demo --keep ~/amem-demo", "the same vault, kept for you to look at")
        else:
            look = (f"cd {shlex.quote(str(kept))}", "this vault; Obsidian opens it as it is")
        steps = (
            look,
            (f"{name} init ~/notes", "a vault of your own, with sample notes"),
            (f"{name} init FOLDER --adopt", "or of a folder of notes that you have"),
            (f"{name} --help", "all commands"),
        )
        self.heading("What next")
        width = max(len(command) for command, _ in steps)
        for command, purpose in steps:
            self.line(f"$ {command:<{width}}   {purpose}")


@dataclass(frozen=True, slots=True)
class DemoNote:
    """A note as a person would add it: no metadata, so that the machine's part is visible."""

    title: str
    content: str


DEMO_NOTES: tuple[DemoNote, ...] = (
    DemoNote(
        title="Weekly review moves to Friday lunch",
        content=(
            "From this week I do the weekly review on Friday at half past twelve, in the canteen. "
            "It replaces the Sunday evening review, which I missed four times in nine weeks: "
            "visitors, late trains, tired children. On Friday the notes of the week are still "
            "warm, and a wrong link made by the program is only days old. The three questions "
            "stay the same. New is a limit: thirty minutes, then I stop, even in the middle of a "
            "note. I try this for three weeks and write down how it went."
        ),
    ),
    DemoNote(
        title="The handover sheet on ward six",
        content=(
            "On ward six, where my sister works, the evening nurse fills in a sheet and is gone "
            "before the night shift comes. Nobody can be asked at three in the morning. 'Bed 4 as "
            "yesterday' costs a phone call, so every line stands alone: name, drug, dose in "
            "milligrams, hour, and why. She imagines a tired stranger who has never met the "
            "patient, and puts down what that stranger must be told. Write for a reader who has "
            "forgotten, I once told myself; here I met him, at three in the morning."
        ),
    ),
    DemoNote(
        title="An hour on the first Monday of the month",
        content=(
            "The trial is over. I kept all three dates, so the hour was right and half an hour "
            "too short: for fifteen notes I checked the links and never came to splitting or "
            "rewriting one. From now on an hour on the first Monday of the month replaces the "
            "weekly review at Friday lunch. In between I only look at what the program did, on "
            "the train, with the list of changes open."
        ),
    ),
)
"""Added in this order. The first supersedes a practice of the template's. The second supports a
note with a case from elsewhere. The third changes what the first means, whose metadata the machine
wrote a moment before."""

DEMO_QUERY = "what did Friday lunch in the canteen replace?"
"""Its best hits are the notes on Friday and Monday. What they replaced, the Sunday evening, shares
no word with the question: a link that the machine made brings it in."""
