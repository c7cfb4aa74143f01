"""Commands about the whole vault: `init`, `index`, `stats` and `doctor`."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from amem_cli.cli.session import Session, session_of
from amem_cli.errors import UsageError
from amem_cli.language.safe_text import on_one_line
from amem_cli.system.command_lines import joined
from amem_cli.terminal.output import plural

if TYPE_CHECKING:
    from amem_cli.settings import ObsidianSettings
    from amem_cli.workspace.workspace import Workspace


def init(
    context: typer.Context,
    folder: Annotated[Path, Argument(help="The vault's folder.")] = Path(),
    adopt: Annotated[
        bool, Option("--adopt", help="Make a folder of existing notes a vault.")
    ] = False,
) -> None:
    """Create a vault from the template, or adopt a folder of notes unchanged.

    On a terminal, it shows the language models of this machine and offers to choose one, as `amem
    setup` does.

    Examples:

        amem init ~/notes
        amem init ~/Documents/Obsidian --adopt
    """
    from amem_cli.editing.edit import record_baseline
    from amem_cli.settings import obsidian_settings
    from amem_cli.vault.template import CONFIG, adopt_vault, create_vault
    from amem_cli.workspace.workspace import Workspace

    session = session_of(context)
    root = folder.expanduser().resolve()
    written = adopt_vault(root) if adopt else create_vault(root)
    with closing(Workspace(root, notify=session.output.notice)) as workspace:
        # The user's own notes are not pending: amem does nothing to them unasked.
        notes = record_baseline(workspace.ports, samples=not adopt)
        problems = workspace.index.files.problems()
    session.output.problems(problems)
    read = obsidian_settings(root)
    document = {
        "vault": str(root),
        "notes": notes,
        "written": written,
        "obsidian": asdict(read),
        "problems": [asdict(problem) for problem in problems],
    }
    verb = "adopted" if adopt else "created"
    first = "amem evolve --all" if adopt and notes else 'amem add "…"'
    lines = [f"{verb} {root}: {plural(notes, 'note')}", *_read_from_obsidian(read)]
    session.output.result(document, "\n".join(lines))
    if session.output.as_json:
        return
    if CONFIG in written:
        from amem_cli.cli.setup import offer

        offer(session, root)
    go = joined(["cd", str(root)])
    text = f"next: {go} && {first}"
    # Of a vault that was one already, more may have been done today.
    if adopt and notes and CONFIG in written:
        these = "this note" if notes == 1 else f"these {notes:,} notes"
        text += (
            f"\n  gives {these} keywords, tags and links where they lack them, and keeps"
            "\n  what you wrote; --dry-run only shows it, `amem undo --since today` takes it back"
        )
    session.output.plain(text)


def _read_from_obsidian(read: ObsidianSettings) -> Iterator[str]:
    parts = [f"{on_one_line(', '.join(read.templates))} left out as templates"]
    parts = parts if read.templates else []
    if read.notes_dir is not None:
        place = f"into {on_one_line(read.notes_dir)}" if read.notes_dir else "to the vault's top"
        parts.append(f"new notes go {place}")
    if read.daily_notes:
        parts.append(f"daily notes are named as {on_one_line(read.daily_notes)}")
    if parts:
        yield f"from Obsidian's settings: {'; '.join(parts)}"


def index(
    context: typer.Context,
    rebuild: Annotated[bool, Option("--rebuild", help="Build it again from scratch.")] = False,
    check: Annotated[
        bool, Option("--check", help="Compare it with the vault; write nothing.")
    ] = False,
) -> None:
    """Bring the index up to date with the folder.

    Examples:

        amem index
        amem index --rebuild
        amem index --check
    """
    if check and rebuild:
        raise UsageError("--check and --rebuild cannot be combined", hint="Choose one.")
    session = session_of(context)
    with session.workspace(sync=False) as workspace:
        if check:
            from amem_cli.index.sync import check_index

            differences = check_index(workspace.ports)
            document = {"in_step": not differences, "differences": differences}
            lines = differences or ["the index matches the vault"]
            session.output.result(document, "\n".join(lines))
            raise typer.Exit(1 if differences else 0)
        if rebuild:
            from amem_cli.index.file import delete_index

            delete_index(workspace.index_file)
        # In a folder that cannot be written, the work would go into a temporary copy and be lost.
        workspace.index.file.require_stored()
        _update(session, workspace)


def _update(session: Session, workspace: Workspace) -> None:
    started = time.perf_counter()
    # With this command, the user answers a watcher that asks whether notes are really gone.
    report = workspace.synchronise(keep_missing=False)
    read_seconds = time.perf_counter() - started
    followed = workspace.follow_renames(unless_done=True)
    embedded = workspace.embed_missing()
    seconds = time.perf_counter() - started
    problems = [*report.problems, *workspace.index.files.problems()]
    session.output.problems(problems)
    count = workspace.index.notes.count()
    counts = {at: len(getattr(report, at)) for at in ("added", "changed", "removed", "moved")}
    document = {
        "notes": count,
        **counts,
        "followed": followed,
        "passages_embedded": embedded,
        "read_seconds": round(read_seconds, 3),
        "seconds": round(seconds, 3),
        "problems": [asdict(problem) for problem in problems],
    }
    text = (
        f"{plural(count, 'note')}: {counts['added']} added, {counts['changed']} changed,"
        f" {counts['moved']} moved, {counts['removed']} removed;"
        f" {embedded} passages embedded in {seconds:.1f} s"
    )
    session.output.result(document, text)


def stats(context: typer.Context) -> None:
    """Count notes, links, orphans and pending work, and what the model cost.

    Tokens and seconds include `add`, `evolve` and `watch`, not `ask`.

    Examples:

        amem stats
        amem stats --json
    """
    from amem_cli.models.open import TokenLedger
    from amem_cli.terminal.stats import show_stats
    from amem_cli.workspace.documents import stats_document
    from amem_cli.workspace.watch_lock import is_watched, read_status

    session = session_of(context)
    with session.workspace() as workspace:
        figures = workspace.stats()
        status = read_status(workspace.root, workspace.environment)
        # The lock is in the vault, but the status in the state folder of whoever watches.
        elsewhere = "elsewhere" if status is None and is_watched(workspace.root) else ""
        watcher = elsewhere if status is None else status.state
        limit = workspace.settings.llm_daily_tokens
        spent = TokenLedger(workspace.root, workspace.environment).used() if limit else None
    document = {
        **stats_document(figures),
        "watcher": watcher or None,
        "tokens_today": spent,
        "daily_tokens": limit,
    }
    today = f"{spent} of {limit} tokens" if limit else ""
    session.output.result(
        document, lambda console: show_stats(console, figures, watcher=watcher, today=today)
    )


def doctor(
    context: typer.Context,
    fix: Annotated[bool, Option("--fix", help="Fix what is safe to fix.")] = False,
) -> None:
    """Check vault, index, models, links, ids and git, and say what to do.

    Without --fix nothing is written. --fix only does what cannot lose anything: it updates the
    index, removes leftovers of interrupted writes, adds lines that git needs, gives a copied note
    its own id if the journal shows which is the copy, rewrites amem's links to notes that were
    renamed, and removes amem's links to notes that are gone. Your own links stay as they are; on a
    terminal it asks whether those to renamed notes shall follow them. Notices do not make a vault
    unhealthy; if problems remain, the exit code is 1.

    Examples:

        amem doctor
        amem doctor --fix
        amem doctor --json
    """
    from amem_cli.cli.files import agreed, can_ask
    from amem_cli.doctor.checkup import check_up
    from amem_cli.terminal.stats import findings_document, show_findings

    session = session_of(context)

    # Not session.workspace(), which updates the index: without --fix, nothing is written.
    def agree(count: int) -> bool:
        links = "link of yours leads" if count == 1 else "links of yours lead"
        question = f"{count:,} {links} to renamed notes: write the new names?"
        return can_ask(session.output) and agreed(session.output, question)

    with session.output.progress("checking") as progress:
        findings = check_up(session.root, os.environ, fix=fix, agree=agree, progress=progress)
    document = findings_document(findings)
    session.output.result(
        document,
        lambda console: show_findings(console, findings, fixing=fix, whole=session.output.verbose),
    )
    if not document["healthy"]:
        raise typer.Exit(1)
