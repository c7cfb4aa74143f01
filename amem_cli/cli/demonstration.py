"""The demonstration: the whole job on a sample vault, told as it happens."""

from __future__ import annotations

import shlex
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from amem_cli.cli.session import Session

if TYPE_CHECKING:
    from amem_cli.core.graph_overview import Overview
    from amem_cli.rendering.console import Console
    from amem_cli.services.outcome import Outcome
    from amem_cli.services.query import Hit
    from amem_cli.wiring import Workspace


def demonstrate(session: Session, keep: Path | None, *, llm: bool) -> None:
    """Make a vault from the template, add three notes, search, show the graph."""
    from amem_cli.adapters.vault_template import create_vault

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
    from amem_cli.rendering.documents import (
        graph_document,
        outcome_document,
        search_document,
    )
    from amem_cli.services.demo_notes import DEMO_QUERY
    from amem_cli.services.graph_overview import vault_overview
    from amem_cli.services.init import take_stock

    overrides = {} if llm else {"llm_backend": "none"}
    workspace = session.opened(root, overrides)
    show = _Narrator(session)
    try:
        notes = take_stock(workspace.ports)
        show.heading("A vault of plain markdown notes")
        show.line(f"amem copied its template into {root}: {notes} notes, a person's own.")
        workspace.embed_missing()
        outcomes = _add_notes(session, workspace, show)
        hits = workspace.search(DEMO_QUERY, limit=3).hits
        show.found(DEMO_QUERY, hits)
        seen = vault_overview(workspace.ports)
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
    from amem_cli.services.add import NewNote
    from amem_cli.services.demo_notes import DEMO_NOTES

    outcomes = []
    for number, demo in enumerate(DEMO_NOTES, 1):
        show.heading(f"{number}. You add a note")
        show.line(f'$ amem add --title "{demo.title}" "…"')
        show.quote(demo.content)
        new = NewNote(demo.content, title=demo.title, folder=workspace.settings.notes_dir)
        path = workspace.add(new, wait=False).outcome.path
        show.line("It is on disk and searchable. Now it is described and linked …")
        outcome = workspace.remember(path, new_text=True)
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
        from amem_cli.rendering.console import Styled

        if self._console is not None:
            self._console.print()
            self._console.print(Styled((text, "bold underline")))

    def line(self, text: str) -> None:
        from amem_cli.rendering.console import Styled

        if self._console is not None:
            self._console.print(Styled(text))

    def quote(self, text: str) -> None:
        from amem_cli.rendering.console import Styled

        if self._console is not None:
            for line in text.strip().splitlines():
                self._console.print(Styled(("  │ ", "dim"), line))

    def outcome(self, outcome: Outcome) -> None:
        from amem_cli.rendering.text import show_outcome

        if self._console is not None:
            show_outcome(self._console, outcome)

    def found(self, query: str, hits: Sequence[Hit]) -> None:
        from amem_cli.rendering.text import show_hits

        self.heading("You ask")
        self.line(f'$ amem search "{query}"')
        if self._console is not None:
            show_hits(self._console, hits, query)
        if any(hit.via for hit in hits):
            self.line("Notes marked ↳ share few words with the question: a link brought them in.")

    def network(self, seen: Overview, outcomes: list[Outcome]) -> None:
        from amem_cli.core.graph import neighbourhood
        from amem_cli.rendering.graph_text import show_neighbourhood, show_overview

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
