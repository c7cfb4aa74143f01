"""`amem links` and `amem review`: decide on links and proposed changes, by keys or by options."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from amem_cli.cli.files import ask_key, can_ask
from amem_cli.cli.session import LIMIT, Session, session_of
from amem_cli.editing import edit
from amem_cli.editing.review import Decisions, items_named, review_items
from amem_cli.editing.review import accept as accept_items
from amem_cli.editing.review import reject as reject_items
from amem_cli.errors import AmemError, NotFoundError, Problem, UsageError
from amem_cli.notes.note import RELATIONS, Relation
from amem_cli.search.suggestions import open_links
from amem_cli.terminal.history import (
    review_document,
    show_all_waiting,
    show_decided,
    show_decisions,
    show_link,
    show_links,
    show_waiting,
)
from amem_cli.workspace.documents import links_document

if TYPE_CHECKING:
    from amem_cli.index.records import NoteSummary
    from amem_cli.search.suggestions import OpenLink
    from amem_cli.terminal.output import Console
    from amem_cli.workspace.workspace import Workspace

LINK_KEYS = "[k]eep  [r]eject  [c]hange relation  [s]kip  [q]uit"
REVIEW_KEYS = "[a]ccept  [r]eject  [s]kip  [A]ccept all of this note  [q]uit"
_RELATIONS = "  ".join(f"[{number}] {name}" for number, name in enumerate(RELATIONS, 1))


def links(
    context: typer.Context,
    note: Annotated[
        str | None, Argument(help="Only links of this note, and to it.", show_default=False)
    ] = None,
    keep: Annotated[
        list[str] | None, Option(help="Keep the link with this note. Repeatable.")
    ] = None,
    reject: Annotated[
        list[str] | None, Option(help="Reject the link with this note. Repeatable.")
    ] = None,
    relation: Annotated[
        Relation | None, Option(help="With --keep: another kind of the link.")
    ] = None,
    suggested: Annotated[
        bool, Option("--suggested", help="Only suggestions, not the links that amem made.")
    ] = False,
    min_strength: Annotated[
        float, Option(min=0, max=1, help="Only links of at least this strength.")
    ] = 0.0,
    listing: Annotated[bool, Option("--list", help="Only list them.")] = False,
    limit: Annotated[int, Option(*LIMIT, min=1, help="Maximum number of links.")] = 50,
) -> None:
    """Decide on the links that amem made or suggests, one by one.

    A suggestion is a link that amem is not sure enough of to write: it is in no file until you keep
    it. A link that you keep is yours; one that you reject is neither made nor suggested again. On a
    terminal, this command steps through them; elsewhere, or with --list, it lists them.

    Examples:

        amem links
        amem links "Weekly review" --suggested
        amem links "Weekly review" --keep "Atomic notes" --relation supports
        amem links "Weekly review" --reject "Bread" --json
    """
    session = session_of(context)
    by_options = bool(keep or reject)
    if by_options and note is None:
        raise UsageError("--keep and --reject need the note", hint="amem links NOTE --keep OTHER")
    if relation is not None and not keep:
        raise UsageError("--relation goes with --keep", hint="amem links NOTE --keep OTHER")
    by_keys = not (by_options or listing) and can_ask(session.output)
    interrupted = False
    with session.workspace() as workspace:
        about = workspace.note(note) if note else None

        def open_now() -> list[OpenLink]:
            found = open_links(workspace.index, about, suggested_only=suggested)
            return [each for each in found if by_options or each.strength >= min_strength]

        waiting = open_now()
        kept: list[OpenLink] = []
        rejected: list[OpenLink] = []

        def decide_keep(link: OpenLink, relation: Relation | None = None) -> None:
            if edit.link(workspace.ports, link.source, link.target, relation=relation):
                kept.append(replace(link, relation=relation or link.relation))

        def decide_reject(link: OpenLink) -> None:
            if edit.unlink(workspace.ports, link.source, link.target):
                rejected.append(link)

        if about is not None and by_options:
            # Find all before deciding anything: a wrong name must change nothing.
            up = [_waiting_between(workspace, about, waiting, name) for name in keep or ()]
            down = [_waiting_between(workspace, about, waiting, name) for name in reject or ()]
            if any(each in down for each in up):
                raise UsageError("a link cannot be both kept and rejected")
            for link in up:
                decide_keep(link, relation)
            for link in down:
                decide_reject(link)
        elif by_keys:
            try:
                _links_by_keys(session, workspace, waiting[:limit], decide_keep, decide_reject)
            except KeyboardInterrupt:
                # What was decided stands, and is shown.
                interrupted = True
        if kept or rejected:
            waiting = open_now()
    shown = waiting[:limit]
    document = links_document(
        {
            "links": [each for each in shown if not each.suggested],
            "suggested": [each for each in shown if each.suggested],
            "kept": kept,
            "rejected": rejected,
        }
    )

    def show(console: Console) -> None:
        if kept or rejected or (by_keys and waiting):
            show_decided(console, kept, rejected)
        else:
            show_links(console, shown, left_out=len(waiting) - len(shown))

    session.output.result(document, show)
    if interrupted:
        raise KeyboardInterrupt


def _waiting_between(
    workspace: Workspace, note: NoteSummary, waiting: Sequence[OpenLink], name: str
) -> OpenLink:
    other = workspace.note(name)
    for link in waiting:
        if link.pair == {note.path, other.path}:
            return link
    raise NotFoundError(
        f"no link between {note.path} and {other.path} waits for a decision",
        hint="`amem links` shows those that do; `amem link` links any two notes.",
    )


def _links_by_keys(
    session: Session,
    workspace: Workspace,
    left: list[OpenLink],
    keep: Callable[..., None],
    reject: Callable[[OpenLink], None],
) -> None:
    """Step through the links; each decision takes effect at once."""
    console, output = session.output.console(), session.output
    texts = workspace.index.text
    while left:
        link = left.pop(0)
        beginnings = {
            each.path: " ".join(texts.passages(each.path)[:1])
            for each in (link.source, link.target)
            if not each.context
        }
        console.print()
        show_link(console, link, beginnings=beginnings)
        choice = ask_key(output, f"{LINK_KEYS}   ({len(left) + 1} left)", "kyrncsq\r\n")
        if choice == "q":
            break
        try:
            if choice in "ky":
                keep(link)
            elif choice in "rn":
                reject(link)
                left = [each for each in left if each.pair != link.pair]
            elif choice == "c":
                key = ask_key(output, f"{_RELATIONS}  [q] back", "1234567q\r\n")
                if key.isdigit():
                    keep(link, RELATIONS[int(key) - 1])
                else:
                    left.insert(0, link)
        except AmemError as error:
            # A note that cannot be written is no reason to leave the others.
            output.notice(f"! {error.message}")


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
    if sum(map(bool, (accept_all, reject_all, accept or reject))) > 1:
        raise UsageError("these options cannot be combined", hint="amem review --help")
    by_keys = not (by_options or listing) and can_ask(session.output)
    with session.workspace() as workspace:
        about = workspace.note(note).key if note else ""
        problems: list[Problem] = []
        decisions = Decisions()
        if by_options:
            ports = workspace.ports
            # Look up all ids before deciding anything: a wrong one must change nothing.
            everything = review_items(ports, about) if accept_all or reject_all else []
            up = everything if accept_all else items_named(ports, accept or [])
            down = everything if reject_all else items_named(ports, reject or [])
            if both := {each.proposal.id for each in up} & {each.proposal.id for each in down}:
                raise UsageError(f"{min(both)} cannot be both accepted and rejected")
            decisions = reject_items(ports, down) + accept_items(ports, up)
        elif by_keys:
            decisions = _review_by_keys(session, workspace, about)
        left = review_items(workspace.ports, about, problems=problems)
    session.output.problems(problems)

    def show(console: Console) -> None:
        if by_options or decisions != Decisions() or (by_keys and left):
            show_decisions(console, decisions)
        else:
            show_all_waiting(console, left)

    session.output.result(review_document(left, decisions), show)
    if decisions.problems:
        raise typer.Exit(1)


def _review_by_keys(session: Session, workspace: Workspace, about: str) -> Decisions:
    console = session.output.console()
    total = Decisions()
    steps = review_items(workspace.ports, about)
    while steps:
        step = steps.pop(0)
        if step.outdated:
            # It no longer applies; accepting it records that and drops it.
            total += accept_items(workspace.ports, [step])
            continue
        console.print()
        show_waiting(console, step)
        if step.blocked:
            continue
        choice = ask_key(session.output, f"{REVIEW_KEYS}   ({len(steps) + 1} left)", "arsAq")
        if choice == "q":
            break
        if choice == "r":
            total += reject_items(workspace.ports, [step])
        elif choice in ("a", "A"):
            same = [each for each in steps if each.path == step.path] if choice == "A" else []
            total += accept_items(workspace.ports, [step, *same])
            done = {each.proposal.id for each in same}
            steps = [each for each in steps if each.proposal.id not in done]
    return total
