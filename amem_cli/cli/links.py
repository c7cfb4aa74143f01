"""`amem links`: decide on links that amem made or suggests, by keys or by options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from amem_cli.cli.files import ask_key, on_terminal
from amem_cli.cli.session import LIMIT, Session, session_of
from amem_cli.errors import AmemError, NotFoundError, UsageError
from amem_cli.notes.note import RELATIONS, Relation
from amem_cli.terminal.links import show_decided, show_link, show_links
from amem_cli.workspace.documents import links_document

if TYPE_CHECKING:
    from amem_cli.index.records import NoteSummary
    from amem_cli.search.suggestions import OpenLink
    from amem_cli.workspace.workspace import Workspace

KEYS = "[k]eep  [r]eject  [c]hange relation  [s]kip  [q]uit"
_KEYS = "kyrncsq\r\n"
_RELATIONS = "  ".join(f"[{number}] {name}" for number, name in enumerate(RELATIONS, 1))
_BACK = "q\r\n"


@dataclass
class _Decided:
    kept: list[OpenLink] = field(default_factory=list)
    rejected: list[OpenLink] = field(default_factory=list)


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
        str | None,
        Option(
            help="With --keep: related, supports, contradicts, supersedes, example_of, part_of or"
            " causes."
        ),
    ] = None,
    suggested: Annotated[
        bool, Option("--suggested", help="Only suggestions, not the links that amem made.")
    ] = False,
    limit: Annotated[int, Option(*LIMIT, min=1, help="Maximum number of links.")] = 50,
) -> None:
    """Decide on the links that amem made or suggests, one by one.

    A suggestion is a link that amem is not sure enough of to write: it is in no file until you keep
    it. A link that you keep is yours; one that you reject is neither made nor suggested again. On a
    terminal, this command steps through them; elsewhere it lists them.

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
    if relation is not None and (not keep or relation not in RELATIONS):
        raise UsageError(
            "--relation goes with --keep" if not keep else f"no relation {relation!r}",
            hint=f"One of: {', '.join(RELATIONS)}.",
        )
    # The keys to press are shown as a notice, and --quiet prints none.
    shown_only = session.output.as_json or session.output.quiet
    by_keys = not (by_options or shown_only) and on_terminal()
    decided, interrupted = _Decided(), False
    with session.workspace() as workspace:
        about = workspace.note(note) if note else None
        waiting = workspace.open_links(about, suggested_only=suggested)
        if about is not None and by_options:
            # Find all before deciding anything: a wrong name must change nothing.
            up = [_waiting_between(workspace, about, waiting, name) for name in keep or ()]
            down = [_waiting_between(workspace, about, waiting, name) for name in reject or ()]
            if both := [each for each in up if each in down]:
                name = both[0].other(about.path).title
                raise UsageError(f"{name!r} cannot be both kept and rejected")
            for link in up:
                _keep(workspace, link, relation, decided)
            for link in down:
                _reject(workspace, link, decided)
        elif by_keys:
            try:
                _by_keys(session, workspace, waiting[:limit], decided)
            except KeyboardInterrupt:
                # What was decided stands, and is shown.
                interrupted = True
        if decided != _Decided():
            waiting = workspace.open_links(about, suggested_only=suggested)
    shown = waiting[:limit]
    document = links_document(
        {
            "links": [each for each in shown if not each.suggested],
            "suggested": [each for each in shown if each.suggested],
            "kept": decided.kept,
            "rejected": decided.rejected,
        }
    )
    left_out = len(waiting) - len(shown)
    if decided != _Decided() or (by_keys and waiting):
        session.output.result(
            document, lambda console: show_decided(console, decided.kept, decided.rejected)
        )
    else:
        session.output.result(
            document,
            lambda console: show_links(console, shown, session.hyperlinks(), left_out=left_out),
        )
    if interrupted:
        raise KeyboardInterrupt


def _waiting_between(
    workspace: Workspace, note: NoteSummary, waiting: Sequence[OpenLink], name: str
) -> OpenLink:
    """The link between two notes that waits; the made one before the suggested one."""
    other = workspace.note(name)
    for link in waiting:
        if link.pair == {note.path, other.path}:
            return link
    raise NotFoundError(
        f"no link between {note.path} and {other.path} waits for a decision",
        hint="`amem links` shows those that do; `amem link` links any two notes.",
    )


def _keep(
    workspace: Workspace, link: OpenLink, relation: Relation | None, decided: _Decided
) -> None:
    if workspace.link(link.source, link.target, relation=relation):
        decided.kept.append(replace(link, relation=relation or link.relation))


def _reject(workspace: Workspace, link: OpenLink, decided: _Decided) -> None:
    if workspace.unlink(link.source, link.target):
        decided.rejected.append(link)


def _by_keys(
    session: Session, workspace: Workspace, waiting: Sequence[OpenLink], decided: _Decided
) -> None:
    """Step through the links; each decision takes effect at once."""
    console, output = session.output.console(), session.output
    left = list(waiting)
    while left:
        link = left.pop(0)
        beginnings = {
            each.path: " ".join(workspace.index.text.passages(each.path)[:1])
            for each in (link.source, link.target)
            if not each.context
        }
        console.print()
        show_link(console, link, session.hyperlinks(), beginnings=beginnings)
        choice = ask_key(output, f"{KEYS}   ({len(left) + 1} left)", _KEYS)
        if choice == "q":
            break
        try:
            if choice in "ky":
                _keep(workspace, link, None, decided)
            elif choice in "rn":
                _reject(workspace, link, decided)
                left = [each for each in left if each.pair != link.pair]
            elif choice == "c":
                key = ask_key(output, f"{_RELATIONS}  [q] back", f"1234567{_BACK}")
                if key in _BACK:
                    left.insert(0, link)
                else:
                    _keep(workspace, link, RELATIONS[int(key) - 1], decided)
        except AmemError as error:
            # A note that cannot be written is no reason to leave the others.
            output.notice(f"! {error.message}")
