"""`amem import` and `amem export`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from amem_cli.cli.session import session_of
from amem_cli.core.errors import SettingsError


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("import")(import_notes)
    app.command("export")(export_notes)


def import_notes(
    context: typer.Context,
    source: Annotated[Path, typer.Argument(help="A JSONL file; - reads stdin.")],
    llm: Annotated[
        bool, typer.Option("--llm/--no-llm", help="Let the model write metadata and links.")
    ] = True,
    wait: Annotated[
        bool, typer.Option("--wait/--no-wait", help="Do it now, or leave it to `amem evolve`.")
    ] = True,
) -> None:
    """Add a note for each JSON line: content, and title, id, created, keywords, tags, context,
    links where they are known. Nothing is overwritten.

    Examples:

        amem import memories.jsonl --no-llm
    """
    from amem_cli.rendering.documents import outcome_document
    from amem_cli.services.evolve_batch import evolve_many
    from amem_cli.services.exchange import import_lines

    session = session_of(context)
    try:
        text = sys.stdin.read() if str(source) == "-" else source.read_text(encoding="utf-8")
    except OSError as error:
        reason = error.strerror or str(error)
        raise SettingsError(
            f"cannot read {source}: {reason}", hint="Name a file of JSON lines, or - for stdin."
        ) from None
    except UnicodeDecodeError:
        raise SettingsError(f"{source} is not UTF-8", hint="Save it as UTF-8.") from None
    lines = text.split("\n")
    with session.workspace(llm_backend=None if llm else "none") as workspace:
        with session.output.progress("importing") as progress:
            report = import_lines(
                workspace.ports,
                lines,
                source=str(source),
                folder=workspace.settings.notes_dir,
                total=len(lines),
                progress=progress,
            )
        outcomes = []
        if wait and llm:
            session.embed(workspace)
            with session.output.progress("remembering") as progress:
                outcomes = evolve_many(
                    workspace.process, list(report.paths), asked=True, progress=progress
                )
    session.output.problems(report.problems)
    document = {
        "imported": list(report.paths),
        "skipped": report.skipped,
        "problems": [f"{problem.line}: {problem.message}" for problem in report.problems],
        "notes": [outcome_document(outcome) for outcome in outcomes],
    }
    text = f"{len(report.paths)} notes imported, {report.skipped} were there already"
    session.output.result(document, lambda _: session.output.plain(text))
    if report.problems:
        raise typer.Exit(1)


def export_notes(
    context: typer.Context,
    output: Annotated[Path | None, typer.Option(help="Write to this file.")] = None,
) -> None:
    """Every note as a JSON line, in the shape that `import` reads; with --json as one list.

    Examples:

        amem export --output memories.jsonl
    """
    from amem_cli.cli.export_file import write_export
    from amem_cli.services.exchange import export_lines

    session = session_of(context)
    with session.workspace() as workspace:
        lines = export_lines(workspace.ports)
        if output is None and session.output.as_json:
            session.output.json_line([json.loads(line) for line in lines], indent=2)
            return
        if output is None:
            for line in lines:
                session.output.json_line(json.loads(line))
            return
        write_export(output, "".join(f"{line}\n" for line in lines))
        session.output.notice(f"wrote {output}")
