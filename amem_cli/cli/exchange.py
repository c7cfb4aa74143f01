"""`amem import` and `amem export`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from typer import Argument, Option

from amem_cli.cli.files import write_export
from amem_cli.cli.session import (
    CreatedOption,
    LlmOption,
    PathOption,
    PrivateOption,
    Session,
    SinceOption,
    TagOption,
    UntilOption,
    WaitOption,
    filters,
    report_left_out,
    session_of,
)
from amem_cli.errors import Problem, UsageError
from amem_cli.terminal.output import plural

if TYPE_CHECKING:
    from amem_cli.memory.outcome import Outcome
    from amem_cli.search.search import Filters
    from amem_cli.workspace.workspace import Workspace


def import_(
    context: typer.Context,
    source: Annotated[Path, Argument(help="A file or a folder; - reads JSON Lines from stdin.")],
    kind: Annotated[
        str | None,
        Option(
            "--from",
            help="jsonl, markdown, obsidian, logseq, zk, basic-memory, amem, chroma or mem0."
            " By default, amem finds out.",
        ),
    ] = None,
    into: Annotated[
        str | None,
        Option(help="Folder of the vault for the notes; . is its top. By default, notes_dir."),
    ] = None,
    unless_known: Annotated[
        bool, Option("--unless-known", help="Skip notes whose text the vault has already.")
    ] = False,
    dry_run: Annotated[
        bool, Option("--dry-run", help="List the notes to create; write nothing.")
    ] = False,
    llm: LlmOption = True,
    wait: WaitOption = True,
) -> None:
    """Import notes from JSON Lines, a folder of markdown, Obsidian, Logseq, zk, basic-memory,
    A-MEM or mem0.

    Nothing is overwritten, and importing again skips what was imported before.

    Examples:

        amem import memories.jsonl --no-llm
        amem import ~/old-vault --dry-run
        amem import ~/logseq --into logseq --no-wait
    """
    from amem_cli.terminal.exchange import import_document, import_lines
    from amem_cli.workspace.documents import outcome_document

    session = session_of(context)
    with session.workspace(llm=llm) as workspace:
        report = workspace.import_(
            source, kind, folder=into, unless_known=unless_known, dry_run=dry_run
        )
        outcomes: list[Outcome] = []
        if wait and llm and not dry_run:
            outcomes = session.evolved(workspace, report.paths, asked=True)
    document = import_document(report, dry_run=dry_run)
    document["notes"] = [outcome_document(outcome) for outcome in outcomes]
    lines = import_lines(report, dry_run=dry_run, verbose=session.output.verbose)
    session.output.result(document, "\n".join(lines))
    if report.refused:
        raise typer.Exit(1)


def export(
    context: typer.Context,
    output: Annotated[
        Path | None,
        Option(help="Write to this file, or, for markdown, this folder."),
    ] = None,
    form: Annotated[
        Literal["jsonl", "markdown"], Option("--format", help="Format of the export.")
    ] = "jsonl",
    tag: TagOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    created: CreatedOption = None,
    path: PathOption = "",
    private: PrivateOption = None,
) -> None:
    """Export notes as JSON Lines or as plain markdown with ordinary links.

    `amem import` reads the JSON Lines again; with --json they are one list. In a folder, only files
    of an earlier export are replaced.

    Examples:

        amem export --output memories.jsonl
        amem export --format markdown --output ~/site --tag public
    """
    selection = filters(tag, since, until, path, created)
    session = session_of(context)
    # Plain markdown is often shared; JSON Lines are for reading back.
    with session.workspace() as workspace:
        if form == "markdown":
            _export_markdown(session, workspace, output, selection, bool(private))
        else:
            _export_lines(session, workspace, output, selection, private is not False)


def _export_lines(
    session: Session, workspace: Workspace, output: Path | None, selection: Filters, private: bool
) -> None:
    is_note = output is not None and output.suffix.lower() == ".md"
    # amem would index the file, and the next export would contain this one.
    if output and is_note and output.resolve().is_relative_to(workspace.root):
        raise UsageError(f"{output} would be a note", hint="Name a file that ends in .jsonl.")
    export = workspace.export_records(selection, private=private)
    report_left_out(session, export.left_out)
    if output is not None:
        write_export(
            output, (f"{json.dumps(record, ensure_ascii=False)}\n" for record in export.records)
        )
        session.output.notice(f"wrote {output}")
        if session.output.as_json:
            document = {"output": str(output), "notes": export.notes}
            session.output.json_line(document, indent=2)
    elif session.output.as_json:
        session.output.json_line(list(export.records), indent=2)
    else:
        for record in export.records:
            session.output.json_line(record)
    # Notes are read while they are written, so their problems are only known now.
    session.output.problems(export.problems)
    _report_references(session, export.privacy.named, export.privacy.cut_links)


def _export_markdown(
    session: Session, workspace: Workspace, output: Path | None, selection: Filters, private: bool
) -> None:
    if output is None:
        raise UsageError("--format markdown needs a folder", hint="Name it: --output FOLDER.")
    report, left_out = workspace.export_markdown(output, selection, private=private)
    report_left_out(session, left_out)
    document = {
        "output": str(output),
        "written": report.written,
        "unchanged": report.unchanged,
        "removed": report.removed,
        "kept": report.kept,
        "files": report.files,
        "broken_links": report.broken,
        "cut_links": report.cut_links,
        "names_private": [
            {"path": path, "names": sorted(names)} for path, names in sorted(report.named.items())
        ],
    }
    session.output.problems(report.problems)
    _report_references(session, report.named, report.cut_links)
    session.output.result(
        document,
        f"{len(report.written)} written, {report.unchanged} unchanged,"
        f" {len(report.removed)} removed in {output}",
    )
    if report.kept:
        raise typer.Exit(1)


def _report_references(
    session: Session, references: Mapping[str, set[str]], cut_links: int
) -> None:
    """Say what exported notes still reveal of private ones that were left out."""
    if cut_links:
        entries = "1 entry" if cut_links == 1 else f"{cut_links} entries"
        session.output.notice(f"left out {entries} of `links` that lead to notes left out")
    if not references:
        return
    private = plural(len(set().union(*references.values())), "private note")
    verb = "names" if len(references) == 1 else "name"
    session.output.notice(
        f"the text of {plural(len(references), 'note')} still {verb} {private}; exports do not"
        " change texts:"
    )
    named = sorted(references.items())
    session.output.problems(
        [Problem(path, 0, f"names {', '.join(sorted(names))}") for path, names in named]
    )
