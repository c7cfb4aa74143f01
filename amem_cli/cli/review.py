"""`amem review`: accept or reject proposed changes to older notes, by keys or by options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from amem_cli.cli.files import ask_key, on_terminal, write_in_editor
from amem_cli.cli.session import Session, session_of
from amem_cli.editing.review import Decisions, ReviewItem
from amem_cli.errors import AmemError, Problem, SettingsError, UsageError
from amem_cli.terminal.history import (
    review_document,
    show_all_waiting,
    show_decisions,
    show_waiting,
)

if TYPE_CHECKING:
    from amem_cli.index.draft import FieldValue
    from amem_cli.index.records import NoteSummary
    from amem_cli.workspace.workspace import Workspace

KEYS = "[a]ccept  [r]eject  [e]dit  [s]kip  [A]ccept all of this note  [q]uit"


def review(
    context: typer.Context,
    note: Annotated[
        str | None, Argument(help="Only changes to this note, or caused by it.")
    ] = None,
    accept: Annotated[
        list[str] | None, Option(help="Accept the proposal with this id. Repeatable.")
    ] = None,
    reject: Annotated[
        list[str] | None, Option(help="Reject the proposal with this id. Repeatable.")
    ] = None,
    accept_all: Annotated[bool, Option("--accept-all", help="Accept all.")] = False,
    reject_all: Annotated[bool, Option("--reject-all", help="Reject all.")] = False,
    listing: Annotated[bool, Option("--list", help="Only list them.")] = False,
) -> None:
    """Accept or reject proposed changes to older notes.

    amem proposes changes instead of making them if `evolution.mode` is "review", and where only the
    subject tells which note another speaks of. On a terminal, this command steps through them;
    elsewhere, or with --list, it lists them.

    Examples:

        amem review
        amem review "Weekly review" --accept-all
        amem review --accept 000641a2c3f --json
    """
    session = session_of(context)
    by_options = bool(accept or reject or accept_all or reject_all)
    if (accept_all and (reject_all or accept)) or (reject_all and reject):
        raise UsageError("these options cannot be combined", hint="amem review --help")
    # The keys to press are shown as a notice, and --quiet prints none.
    shown_only = listing or session.output.as_json or session.output.quiet
    by_keys = not (by_options or shown_only) and on_terminal()
    with session.workspace() as workspace:
        about = workspace.note(note) if note else None
        problems: list[Problem] = []
        if by_options:
            decisions = _by_options(workspace, about, accept, reject, accept_all, reject_all)
        elif by_keys:
            decisions = _by_keys(session, workspace, about)
        else:
            decisions = Decisions()
        left = workspace.proposals(about, problems=problems)
    session.output.problems(problems)
    document = review_document(left, decisions)
    if by_options or decisions != Decisions() or (by_keys and left):
        session.output.result(document, lambda console: show_decisions(console, decisions))
    else:
        session.output.result(document, lambda console: show_all_waiting(console, left))
    if decisions.problems:
        raise typer.Exit(1)


def _by_options(
    workspace: Workspace,
    about: NoteSummary | None,
    accept: list[str] | None,
    reject: list[str] | None,
    accept_all: bool,
    reject_all: bool,
) -> Decisions:
    # Look up all ids before deciding anything: a wrong one must change nothing.
    down = workspace.proposals_named(reject or [])
    down_ids = {each.proposal.id for each in down}
    if accept_all:
        up = [each for each in workspace.proposals(about) if each.proposal.id not in down_ids]
    else:
        up = workspace.proposals_named(accept or [])
        both = [each.proposal.id for each in up if each.proposal.id in down_ids]
        if both:
            raise UsageError(f"{both[0]} cannot be both accepted and rejected")
    if reject_all:
        up_ids = {each.proposal.id for each in up}
        down = [each for each in workspace.proposals(about) if each.proposal.id not in up_ids]
    decisions = workspace.reject(down) if down else Decisions()
    return decisions + workspace.accept(up)


def _by_keys(session: Session, workspace: Workspace, about: NoteSummary | None) -> Decisions:
    """Step through the proposals; each decision takes effect at once."""
    console = session.output.console()
    total = Decisions()
    steps = workspace.proposals(about)
    while steps:
        step = steps.pop(0)
        if step.outdated:
            # It no longer applies; accepting it records that and drops it.
            total += workspace.accept([step])
            continue
        console.print()
        show_waiting(console, step)
        if step.blocked:
            continue
        choice = ask_key(session.output, f"{KEYS}   ({len(steps) + 1} left)", "aresAq")
        if choice == "q":
            break
        if choice == "r":
            total += workspace.reject([step])
        elif choice in ("a", "A"):
            same = [each for each in steps if each.path == step.path] if choice == "A" else []
            total += workspace.accept([step, *same])
            done = {each.proposal.id for each in same}
            steps = [each for each in steps if each.proposal.id not in done]
        elif choice == "e":
            total += _edited(session, workspace, step)
    return total


def _edited(session: Session, workspace: Workspace, step: ReviewItem) -> Decisions:
    """Let the user edit the value; if it cannot be used, the proposal stays."""
    assert step.change is not None
    if step.proposal.link_change is not None:
        session.output.notice(
            "a link change can only be accepted or rejected; it is still proposed"
        )
        return Decisions()
    value = step.change.after
    is_list = not isinstance(value, str)
    try:
        written = write_in_editor(("\n".join(value) if is_list else value) + "\n")
        lines = [line.strip() for line in written.splitlines() if line.strip()]
        edited: FieldValue = lines if is_list else " ".join(lines)
        if not edited:
            raise SettingsError("the value is empty; it is still proposed")
        return workspace.accept([step], edited={step.proposal.id: edited})
    except AmemError as error:
        session.output.notice(error.message)
        return Decisions()
