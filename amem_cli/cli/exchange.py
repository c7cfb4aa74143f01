"""`amem import` and `amem export`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

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
from amem_cli.language.safe_text import on_one_line
from amem_cli.terminal.output import plural, problem_line

if TYPE_CHECKING:
    from amem_cli.exchange.export_notes import Selection
    from amem_cli.exchange.import_notes import ImportReport
    from amem_cli.memory.outcome import Outcome
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
    from amem_cli.exchange.import_notes import import_notes
    from amem_cli.exchange.open_source import open_source
    from amem_cli.git.first_commits import FirstCommits
    from amem_cli.workspace.documents import outcome_document

    session = session_of(context)
    with session.workspace(llm=llm) as workspace:
        first_commits = partial(FirstCommits, environment=workspace.environment)
        opened = open_source(source, kind, workspace.root, first_commits)
        with session.output.progress("importing") as progress:
            report = import_notes(
                workspace.ports,
                opened,
                folder=into,
                usual_folder=workspace.settings.notes_dir,
                unless_known=unless_known,
                dry_run=dry_run,
                progress=progress,
            )
        outcomes: list[Outcome] = []
        if wait and llm and not dry_run:
            outcomes = session.evolved(workspace, report.paths, asked=True)
    document = {
        **_import_document(report, dry_run=dry_run),
        "notes": [outcome_document(outcome) for outcome in outcomes],
    }
    lines = _import_lines(report, dry_run=dry_run, verbose=session.output.verbose)
    session.output.result(document, "\n".join(lines))
    if report.refused:
        raise typer.Exit(1)


_SHOWN = 10


def _import_document(report: ImportReport, *, dry_run: bool) -> dict[str, Any]:
    refused, noted = (
        [{"path": each.path, "line": each.line, "reason": each.message} for each in problems]
        for problems in (report.refused, report.noted)
    )
    return {
        "kind": report.kind,
        "dry_run": dry_run,
        "imported": list(report.paths),
        "made": [{"source": note.shown, "path": note.path, "id": note.id} for note in report.made],
        "skipped": len(report.there),
        "there": [
            {
                "source": note.shown,
                "path": note.path or None,
                "reason": note.reason,
                "changed": note.decision == "changed",
            }
            for note in report.there
        ],
        "changed": sum(note.decision == "changed" for note in report.there),
        "refused": refused,
        "noted": noted,
        "unresolved": [{"source": place, "target": target} for place, target in report.unresolved],
        "files": [{"source": source, "path": path} for source, path in report.files],
        "rewritten_links": report.retargeted,
        "problems": [f"{each.line or each.path}: {each.message}" for each in report.refused],
    }


def _import_lines(report: ImportReport, *, dry_run: bool, verbose: bool) -> Iterator[str]:
    limit = 10**9 if verbose or dry_run else _SHOWN

    created = [f"+ {note.shown} -> {note.path}" for note in report.made]
    # Only a dry run tells of what was imported before and is as it was.
    existing = [
        f"= {note.shown}: {note.reason}"
        for note in report.there
        if dry_run or note.decision != "there"
    ]
    yield f"from {report.kind}"
    for lines in (
        created if dry_run else [],
        existing,
        [f"! {problem_line(problem)}" for problem in report.refused],
        [f"! {problem_line(problem)}" for problem in report.noted],
        [f"? {place}: no note is called “{target}”" for place, target in report.unresolved],
    ):
        # A foreign file's name may hold a line break, which would fake a line of the report.
        yield from map(on_one_line, lines[:limit])
        if len(lines) > limit:
            yield f"  … and {len(lines) - limit} more (--verbose shows all)"
    yield _summary(report, "would be " if dry_run else "")


def _summary(report: ImportReport, would: str) -> str:
    parts = [
        f"{plural(len(report.made), 'note')} {would}imported",
        f"{len(report.there)} existed already",
    ]
    changed = sum(note.decision == "changed" for note in report.there)
    if changed:
        parts[1] += f" ({changed} changed in the source since)"
    if report.refused:
        parts.append(f"{len(report.refused)} refused")
    if report.files:
        parts.append(f"{plural(len(report.files), 'file')} {would}copied")
    if report.retargeted:
        parts.append(f"{plural(report.retargeted, 'link')} rewritten to lead to the same note")
    if report.unresolved:
        parts.append(f"{plural(len(report.unresolved), 'link')} to no note")
    return ", ".join(parts)


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

    `amem import` reads the JSON Lines again; with --json they are one list. A folder has to be new,
    or empty but for hidden files.

    Examples:

        amem export --output memories.jsonl
        amem export --format markdown --output ~/site --tag public
    """
    from amem_cli.exchange.export_notes import Selection

    selected = filters(tag, since, until, path, created)
    session = session_of(context)
    if private is None:
        # Plain markdown is often shared; JSON Lines are for reading back.
        private = form == "jsonl"
    with session.workspace() as workspace:
        taken = Selection(workspace.ports, selected, private=private)
        if form == "markdown":
            _export_markdown(session, workspace, output, taken)
        else:
            _export_lines(session, workspace, output, taken)


def _export_lines(
    session: Session, workspace: Workspace, output: Path | None, taken: Selection
) -> None:
    from amem_cli.exchange.export_notes import export_records

    is_note = output is not None and output.suffix.lower() == ".md"
    # amem would index the file, and the next export would contain this one.
    if output and is_note and output.resolve().is_relative_to(workspace.root):
        raise UsageError(f"{output} would be a note", hint="Name a file that ends in .jsonl.")
    records = export_records(workspace.ports, taken)
    report_left_out(session, taken.left_out)
    if output is not None:
        write_export(output, (f"{json.dumps(each, ensure_ascii=False)}\n" for each in records))
        session.output.notice(f"wrote {output}")
        if session.output.as_json:
            document = {"output": str(output), "notes": len(taken.notes)}
            session.output.json_line(document, indent=2)
    elif session.output.as_json:
        session.output.json_line(list(records), indent=2)
    else:
        for record in records:
            session.output.json_line(record)
    # Notes are read while they are written, so their problems are only known now.
    _report_references(session, taken)


def _export_markdown(
    session: Session, workspace: Workspace, output: Path | None, taken: Selection
) -> None:
    from amem_cli.exchange.export_notes import MarkdownExport, new_folder

    if output is None:
        raise UsageError("--format markdown needs a folder", hint="Name it: --output FOLDER.")
    export = MarkdownExport(workspace.ports, taken, new_folder(output, vault=workspace.root))
    with session.output.progress("exporting") as progress:
        export.run(progress)
    report_left_out(session, taken.left_out)
    document = {
        "output": str(output),
        "written": export.written,
        "files": export.files,
        "broken_links": export.broken,
        "cut_links": taken.cut_links,
        "names_private": [
            {"path": path, "names": sorted(names)} for path, names in sorted(taken.named.items())
        ],
    }
    _report_references(session, taken)
    session.output.result(document, f"{len(export.written)} written in {output}")


def _report_references(session: Session, taken: Selection) -> None:
    """Say what went wrong, and what exported notes still reveal of private ones left out."""
    session.output.problems(taken.problems)
    if taken.cut_links:
        entries = "1 entry" if taken.cut_links == 1 else f"{taken.cut_links} entries"
        session.output.notice(f"left out {entries} of `links` that lead to notes left out")
    if not taken.named:
        return
    private = plural(len(set().union(*taken.named.values())), "private note")
    verb = "names" if len(taken.named) == 1 else "name"
    session.output.notice(
        f"the text of {plural(len(taken.named), 'note')} still {verb} {private}; exports do not"
        " change texts:"
    )
    named = sorted(taken.named.items())
    session.output.problems(
        [Problem(path, 0, f"names {', '.join(sorted(names))}") for path, names in named]
    )
