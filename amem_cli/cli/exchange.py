"""`amem import` and `amem export`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from amem_cli.cli.session import (
    PathOption,
    SinceOption,
    UntilOption,
    first_day,
    last_day,
    session_of,
)
from amem_cli.errors import UsageError

if TYPE_CHECKING:
    from amem_cli.cli.session import Session
    from amem_cli.errors import Problem
    from amem_cli.exchange.import_notes import ImportReport
    from amem_cli.memory.outcome import Outcome
    from amem_cli.search.search import Filters
    from amem_cli.workspace.workspace import Workspace

_FORMATS = ("jsonl", "markdown")


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("import")(import_notes)
    app.command("export")(export_notes)


def import_notes(
    context: typer.Context,
    source: Annotated[
        Path, typer.Argument(help="A file or a folder; - reads JSON lines from stdin.")
    ],
    kind: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="What it is, where that is not seen: jsonl, markdown, obsidian, logseq, zk,"
            " basic-memory, amem, chroma or mem0.",
        ),
    ] = None,
    into: Annotated[
        str | None,
        typer.Option(
            help="The folder of the vault for the notes; . for the top; otherwise notes_dir."
        ),
    ] = None,
    unless_known: Annotated[
        bool,
        typer.Option("--unless-known", help="Leave out notes whose very text is here already."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say note by note what would be made; write nothing.")
    ] = False,
    llm: Annotated[
        bool, typer.Option("--llm/--no-llm", help="Let the model write metadata and links.")
    ] = True,
    wait: Annotated[
        bool, typer.Option("--wait/--no-wait", help="Do it now, or leave it to `amem evolve`.")
    ] = True,
) -> None:
    """Bring in notes from JSON lines, a folder of markdown, Obsidian, Logseq, zk, basic-memory,
    A-MEM or mem0.

    Nothing is overwritten, and what was imported before is not imported again.

    Examples:

        amem import memories.jsonl --no-llm

        amem import ~/old-vault --dry-run

        amem import ~/logseq --into logseq --no-wait
    """
    from amem_cli.memory.batch import evolve_many

    session = session_of(context)
    with session.workspace(llm_backend=None if llm else "none") as workspace:
        report = workspace.import_(
            source, kind, folder=into, unless_known=unless_known, dry_run=dry_run
        )
        outcomes: list[Outcome] = []
        if wait and llm and not dry_run:
            workspace.embed_missing()
            with session.output.progress("remembering") as progress:
                outcomes = evolve_many(
                    workspace.process, list(report.paths), asked=True, progress=progress
                )
    _show_import(session, report, outcomes, dry_run=dry_run)
    if report.refused:
        raise typer.Exit(1)


def _show_import(
    session: Session, report: ImportReport, outcomes: Sequence[Outcome], *, dry_run: bool
) -> None:
    from amem_cli.terminal.exchange import import_document, import_lines
    from amem_cli.workspace.documents import outcome_document

    document = import_document(report, dry_run=dry_run)
    document["notes"] = [outcome_document(outcome) for outcome in outcomes]
    lines = import_lines(report, dry_run=dry_run, verbose=session.output.verbose)

    def show(_: object) -> None:
        for line in lines:
            session.output.plain(line)

    session.output.result(document, show)


def export_notes(
    context: typer.Context,
    output: Annotated[
        Path | None,
        typer.Option(
            help="Write to this file, otherwise to stdout; with markdown, to this folder."
        ),
    ] = None,
    form: Annotated[
        str, typer.Option("--format", help="jsonl, or markdown that any program reads.")
    ] = "jsonl",
    tag: Annotated[list[str] | None, typer.Option(help="Only with this tag; repeatable.")] = None,
    since: SinceOption = None,
    until: UntilOption = None,
    path: PathOption = "",
    private: Annotated[
        bool | None,
        typer.Option(
            "--private/--no-private",
            help="With or without notes that say `private: true`; jsonl has them, markdown not.",
        ),
    ] = None,
) -> None:
    """Write notes out as JSON lines, or as plain markdown in which wikilinks are usual links.

    The lines have the shape that `import` reads; with --json they are one list. In a folder only
    what an export wrote is ever replaced.

    Examples:

        amem export --output memories.jsonl

        amem export --format markdown --output ~/site --tag public
    """
    from amem_cli.search.search import Filters

    if form not in _FORMATS:
        raise UsageError(f"--format {form!r} is unknown", hint="One of: jsonl, markdown.")
    filters = Filters(
        tags=tuple(tag or ()),
        since=first_day(since, "--since"),
        until=last_day(until, "--until"),
        path=path,
    )
    session = session_of(context)
    with session.workspace() as workspace:
        if form == "markdown":
            _export_markdown(session, workspace, output, filters, private=bool(private))
        else:
            _export_lines(session, workspace, output, filters, private=private is not False)


def _export_lines(
    session: Session, workspace: Workspace, output: Path | None, filters: Filters, *, private: bool
) -> None:
    from amem_cli.cli.session import write_export
    from amem_cli.exchange.export_jsonl import export_lines

    if output is not None and _is_note_of(workspace, output):
        raise UsageError(f"{output} would be a note", hint="Name a file that ends in .jsonl.")
    export = workspace.export_records(filters, private=private)
    _tell_private(session, export.left_out)
    records = export.records
    if output is not None:
        write_export(output, (f"{line}\n" for line in export_lines(records)))
        session.output.notice(f"wrote {output}")
        if session.output.as_json:
            document = {"output": str(output), "notes": export.notes}
            session.output.json_line(document, indent=2)
    elif session.output.as_json:
        session.output.json_line(list(records), indent=2)
    else:
        for record in records:
            session.output.json_line(record)
    session.output.problems(export.problems)
    _tell_named(session, export.staying.named, export.staying.cut_links)


def _export_markdown(
    session: Session, workspace: Workspace, output: Path | None, filters: Filters, *, private: bool
) -> None:
    if output is None:
        raise UsageError("--format markdown needs a folder", hint="Name it: --output FOLDER.")
    report, left_out = workspace.export_markdown(output, filters, private=private)
    _tell_private(session, left_out)
    document = {
        "output": str(output),
        "written": list(report.written),
        "unchanged": report.unchanged,
        "removed": list(report.removed),
        "kept": list(report.kept),
        "files": list(report.files),
        "broken_links": report.broken,
        "cut_links": report.cut_links,
        "names_private": [
            {"path": path, "names": sorted(named)} for path, named in sorted(report.named.items())
        ],
    }
    session.output.problems(report.problems)
    _tell_named(session, report.named, report.cut_links)
    text = (
        f"{len(report.written)} written, {report.unchanged} unchanged,"
        f" {len(report.removed)} removed in {output}"
    )
    session.output.result(document, lambda _: session.output.plain(text))
    if report.kept:
        raise typer.Exit(1)


def _is_note_of(workspace: Workspace, path: Path) -> bool:
    return path.suffix.lower() == ".md" and path.resolve().is_relative_to(workspace.root)


def _tell_private(session: Session, left: int) -> None:
    if left:
        session.output.notice(
            f"{left} private note{'s were' if left != 1 else ' was'} left out;"
            " --private takes them along"
        )


def _tell_named(session: Session, named: Mapping[str, set[str]], cut_links: int) -> None:
    """Say which notes name private ones that were left out: their words are not rewritten."""
    if cut_links:
        entries = "1 entry" if cut_links == 1 else f"{cut_links} entries"
        session.output.notice(f"{entries} of `links` left out with the notes that they lead to")
    if not named:
        return

    count = len(set().union(*named.values()))
    session.output.notice(
        f"{len(named)} note{'' if len(named) == 1 else 's'} still"
        f" name{'s' if len(named) == 1 else ''} {count} private"
        f" note{'' if count == 1 else 's'} in the text, which is not changed:"
    )
    session.output.problems(
        [Problem(path, 0, f"names {', '.join(sorted(named[path]))}") for path in sorted(named)]
    )
