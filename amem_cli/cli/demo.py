"""`amem demo`: add three notes to the template vault, search it, and show its graph."""

from __future__ import annotations

import contextlib
import io
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from amem_cli.cli.session import LlmOption, session_of
from amem_cli.data import table
from amem_cli.system.command_lines import joined
from amem_cli.terminal.output import Console, Hyperlinks, Part, PlainConsole, Styled, plural

if TYPE_CHECKING:
    from amem_cli.memory.outcome import Outcome
    from amem_cli.workspace.workspace import Workspace


def demo(
    context: typer.Context,
    keep: Annotated[Path | None, Option(help="Keep the demo's vault in this folder.")] = None,
    llm: LlmOption = True,
) -> None:
    """Show add, link, evolve, search and graph on a sample vault.

    Examples:

        amem demo
        amem demo --keep ~/amem-demo
    """
    from amem_cli.vault.template import create_vault

    session = session_of(context)
    root = keep.expanduser().resolve() if keep else Path(tempfile.mkdtemp(prefix="amem-demo-"))
    try:
        create_vault(root)
        as_json = session.output.as_json
        # The story goes nowhere if the result is a JSON document.
        console = PlainConsole(io.StringIO()) if as_json else session.output.console()
        with contextlib.closing(session.open(root, llm=llm)) as vault:
            document = _run(vault, root, console)
        if as_json:
            session.output.json_line(document, indent=2)
        _next_steps(console, root if keep else None)
    finally:
        if not keep:
            shutil.rmtree(root, ignore_errors=True)


def _run(workspace: Workspace, root: Path, console: Console) -> dict[str, object]:
    from amem_cli.editing.edit import record_baseline
    from amem_cli.graph.graph import neighbourhood
    from amem_cli.graph.overview import vault_overview
    from amem_cli.terminal.graph import show_neighbourhood, show_overview
    from amem_cli.terminal.notes import show_hits
    from amem_cli.workspace.documents import graph_document, outcome_document, search_document

    notes = record_baseline(workspace.ports)
    _heading(console, "A vault of plain markdown notes")
    _say(console, f"amem copied its template into {root}: {plural(notes, 'note')} by a person.")
    workspace.embed_missing()
    outcomes = _add_notes(workspace, console)
    query = table("demo.toml")["query"]
    found = workspace.search(query, limit=3)
    _heading(console, "You ask")
    _say(console, f'$ amem search "{query}"')
    show_hits(console, found, Hyperlinks(), all_linked=True)
    if any(hit.via for hit in found.hits):
        _say(console, "Notes marked ↳ share few words with the question: a link brought them in.")
    overview = vault_overview(workspace.ports)
    _heading(console, "The network now")
    show_overview(console, overview)
    _heading(console, f"Around “{outcomes[0].title}”")
    around = neighbourhood(overview.graph, outcomes[0].path, 1)
    show_neighbourhood(console, overview.graph, around)
    _say(
        console, "\nEvery change is a line in .amem/journal: `amem history` shows what, why, when."
    )
    return {
        "vault": str(root),
        "added": [outcome_document(outcome) for outcome in outcomes],
        "search": search_document(found),
        "graph": graph_document(overview.graph),
    }


def _add_notes(workspace: Workspace, console: Console) -> list[Outcome]:
    from amem_cli.editing.add import NewNote
    from amem_cli.terminal.notes import show_outcome

    outcomes = []
    if workspace.settings.llm_backend == "none":
        _say(
            console,
            "No language model is asked: amem's own analysis writes keywords, tags and links, "
            "and no contexts.",
        )
    for number, note in enumerate(table("demo.toml")["notes"], 1):
        _heading(console, f"{number}. You add a note")
        title, content = note["title"], note["content"]
        _say(console, f'$ amem add --title "{title}" "…"')
        _say(console, ("  │ ", "dim"), content)
        new = NewNote(content, title=title, folder=workspace.settings.notes_dir)
        # In two steps, to show that a note is safe before the model begins.
        path = workspace.add(new, wait=False).outcome.path
        _say(console, "It is on disk and searchable. Now amem describes and links it …")
        outcomes.append(workspace.process_note(path, new_text=True))
        show_outcome(console, outcomes[-1])
    return outcomes


def _say(console: Console, *parts: Part) -> None:
    console.print(Styled(*parts))


def _heading(console: Console, text: str) -> None:
    console.print()
    _say(console, (text, "bold underline"))


def _next_steps(console: Console, kept: Path | None) -> None:
    """What a newcomer may type now."""
    called = Path(sys.argv[0])
    # As it was called, if the shell would not find `amem`.
    name = "amem" if shutil.which("amem") or called.name != "amem" else str(called)
    look, at = f"{name} demo --keep ~/amem-demo", "the same vault, to look at later"
    if kept is not None:
        look, at = joined(["cd", str(kept)]), "this vault; Obsidian opens it as it is"
    steps = {
        look: at,
        f"{name} init ~/notes": "a vault of your own, with sample notes",
        f"{name} init FOLDER --adopt": "or from notes that you have",
        f"{name} setup": "language models for contexts and more links; none is asked so far",
        f"{name} --help": "all commands",
    }
    _heading(console, "What next")
    width = max(map(len, steps))
    for command, purpose in steps.items():
        _say(console, f"$ {command:<{width}}   {purpose}")
