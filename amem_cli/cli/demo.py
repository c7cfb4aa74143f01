"""`amem demo`: add three notes to the template vault, search it, and show its graph."""

from __future__ import annotations

import io
import json
import shutil
import sys
import tempfile
from contextlib import closing, redirect_stdout
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option

from amem_cli.cli.session import LlmOption, Session, session_of
from amem_cli.data import table
from amem_cli.system.command_lines import joined
from amem_cli.terminal.output import Console, plural


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
    session = session_of(context)
    root = keep.expanduser().resolve() if keep else Path(tempfile.mkdtemp(prefix="amem-demo-"))
    try:
        document = _story(session, root, llm=llm)
        if session.output.as_json:
            session.output.json_line(document, indent=2)
        else:
            _next_steps(session.output.console(), root if keep else None)
    finally:
        if not keep:
            shutil.rmtree(root, ignore_errors=True)


def _story(session: Session, root: Path, *, llm: bool) -> dict[str, Any]:
    """Run commands in a new vault, each below its line; returns their JSON documents, if asked."""
    from amem_cli.cli.main import app
    from amem_cli.editing.edit import record_baseline
    from amem_cli.vault.template import create_vault

    as_json = session.output.as_json
    # The story goes nowhere if the result is a JSON document.
    console = Console(io.StringIO()) if as_json else session.output.console()
    options = ["--vault", str(root), *(["--json"] if as_json else [])]

    def run(heading: str, shown: str, *line: str) -> Any:
        console.print((f"\n{heading}", "bold underline"))
        console.print(f"$ amem {shown}")
        written = io.BytesIO()
        page = io.TextIOWrapper(written, encoding="utf-8", write_through=True)
        with redirect_stdout(page if as_json else sys.stdout):
            app([*options, *line], prog_name="amem", standalone_mode=False)
        return json.loads(written.getvalue()) if as_json else None

    create_vault(root)
    with closing(session.open(root, llm=llm)) as workspace:
        notes = record_baseline(workspace.ports)
        workspace.embed_missing()
        judge = workspace.models.judge
    console.print(("\nA vault of plain markdown notes", "bold underline"))
    console.print(f"amem copied its template into {root}: {plural(notes, 'note')} by a person.")
    if judge is not None:
        console.print("A small trained model, run by llama.cpp on this machine, judges the links.")
    story = table("demo.toml")
    query, added, how = story["query"], [], [] if llm else ["--no-llm"]
    for number, note in enumerate(story["notes"], 1):
        title, content = note["title"], note["content"]
        heading = f"{number}. You add a note"
        shown = f'add --title "{title}" "{content}"'
        added.append(run(heading, shown, "add", content, "--title", title, *how))
    document = {
        "vault": str(root),
        "added": added,
        "search": run("You ask", f'search "{query}"', "search", query, "-k", "3", "--neighbors"),
        "graph": run("The network now", "graph", "graph"),
    }
    around = story["notes"][0]["title"]
    run("Around a note", f'graph "{around}" --depth 1', "graph", around, "--depth", "1")
    console.print(
        "\nEvery change is a line in .amem/journal: `amem history` shows what, why, when."
    )
    return document


def _next_steps(console: Console, kept: Path | None) -> None:
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
    console.print(("\nWhat next", "bold underline"))
    width = max(map(len, steps))
    for command, purpose in steps.items():
        console.print(f"$ {command:<{width}}   {purpose}")
