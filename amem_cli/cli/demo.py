"""`amem demo`: add three notes to the template vault, search it, and show its graph."""

from __future__ import annotations

import contextlib
import io
import shlex
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from amem_cli.cli.options import LlmOption
from amem_cli.cli.session import Session, session_of
from amem_cli.terminal.output import Console, PlainConsole, Styled, plural

if TYPE_CHECKING:
    from amem_cli.memory.outcome import Outcome
    from amem_cli.workspace.workspace import Workspace


def demo(
    context: typer.Context,
    keep: Annotated[Path | None, typer.Option(help="Keep the demo's vault in this folder.")] = None,
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
        with contextlib.closing(
            session.open(root, {} if llm else {"llm_backend": "none"})
        ) as vault:
            document = _run(vault, root, console := _console(session))
        if session.output.as_json:
            session.output.json_line(document, indent=2)
        _next_steps(console, root if keep else None)
    finally:
        if not keep:
            shutil.rmtree(root, ignore_errors=True)


def _console(session: Session) -> Console:
    """The console for the story, which goes nowhere if the result is a JSON document."""
    return PlainConsole(io.StringIO()) if session.output.as_json else session.output.console()


def _run(workspace: Workspace, root: Path, console: Console) -> dict[str, object]:
    from amem_cli.graph.graph import neighbourhood
    from amem_cli.terminal.graph import show_neighbourhood, show_overview
    from amem_cli.terminal.notes import show_hits
    from amem_cli.workspace.documents import graph_document, outcome_document, search_document

    notes = workspace.take_stock()
    _heading(console, "A vault of plain markdown notes")
    console.print(
        Styled(f"amem copied its template into {root}: {plural(notes, 'note')} by a person.")
    )
    workspace.embed_missing()
    outcomes = _add_notes(workspace, console)
    hits = workspace.search(DEMO_QUERY, limit=3).hits
    _heading(console, "You ask")
    console.print(Styled(f'$ amem search "{DEMO_QUERY}"'))
    show_hits(console, hits, DEMO_QUERY)
    if any(hit.via for hit in hits):
        console.print(
            Styled("Notes marked ↳ share few words with the question: a link brought them in.")
        )
    overview = workspace.overview()
    _heading(console, "The network now")
    show_overview(console, overview)
    _heading(console, f"Around “{outcomes[0].title}”")
    around = neighbourhood(overview.graph, outcomes[0].path, 1)
    show_neighbourhood(console, overview.graph, around)
    console.print(
        Styled("\nEvery change is a line in .amem/journal: `amem history` shows what, why, when.")
    )
    return {
        "vault": str(root),
        "added": [outcome_document(outcome) for outcome in outcomes],
        "search": search_document(DEMO_QUERY, "hybrid", hits),
        "graph": graph_document(overview.graph),
    }


def _add_notes(workspace: Workspace, console: Console) -> list[Outcome]:
    from amem_cli.editing.add import NewNote
    from amem_cli.terminal.notes import show_outcome

    outcomes = []
    for number, note in enumerate(DEMO_NOTES, 1):
        _heading(console, f"{number}. You add a note")
        console.print(Styled(f'$ amem add --title "{note.title}" "…"'))
        console.print(Styled(("  │ ", "dim"), note.content))
        new = NewNote(note.content, title=note.title, folder=workspace.settings.notes_dir)
        # In two steps, to show that a note is safe before the model begins.
        path = workspace.add(new, wait=False).outcome.path
        console.print(Styled("It is on disk and searchable. Now amem describes and links it …"))
        outcomes.append(workspace.process_note(path, new_text=True))
        show_outcome(console, outcomes[-1])
    return outcomes


def _heading(console: Console, text: str) -> None:
    console.print()
    console.print(Styled((text, "bold underline")))


def _next_steps(console: Console, kept: Path | None) -> None:
    """What a newcomer may type now."""
    called = Path(sys.argv[0])
    # As it was called, if the shell would not find `amem`.
    name = "amem" if shutil.which("amem") or called.name != "amem" else str(called)
    if kept is None:
        look = (f"{name} demo --keep ~/amem-demo", "the same vault, to look at later")
    else:
        look = (f"cd {shlex.quote(str(kept))}", "this vault; Obsidian opens it as it is")
    steps = (
        look,
        (f"{name} init ~/notes", "a vault of your own, with sample notes"),
        (f"{name} init FOLDER --adopt", "or from notes that you have"),
        (f"{name} --help", "all commands"),
    )
    _heading(console, "What next")
    width = max(len(command) for command, _ in steps)
    for command, purpose in steps:
        console.print(Styled(f"$ {command:<{width}}   {purpose}"))


@dataclass(frozen=True, slots=True)
class DemoNote:
    """A note without metadata, so that the demo shows what amem adds."""

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
