"""What commands share: the global options, the output, the vault to open, and their own options."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from amem_cli.errors import NotFoundError, UsageError
from amem_cli.language.safe_text import on_one_line
from amem_cli.settings import find_vault
from amem_cli.terminal.output import Output, plural

if TYPE_CHECKING:
    from amem_cli.index.records import NoteSummary
    from amem_cli.memory.outcome import Outcome
    from amem_cli.search.search import Filters
    from amem_cli.workspace.workspace import Workspace


@dataclass
class Session:
    """The global options of one command line; `saved` is the path of the note that it wrote."""

    vault: Path | None = None
    output: Output = field(default_factory=Output)
    saved: str = ""

    @property
    def root(self) -> Path:
        return find_vault(self.vault)

    @contextlib.contextmanager
    def workspace(self, *, sync: bool = True, **how: Any) -> Iterator[Workspace]:
        """Open this vault, with `how` as for `open`, and bring its index up to date if asked."""
        workspace = self.open(self.root, **how)
        try:
            if sync:
                self.synchronise(workspace)
            yield workspace
        except KeyboardInterrupt:
            if self.saved:
                self.output.notice(f"{self.saved} is saved; `amem evolve` finishes it")
            raise
        finally:
            # What changed before a failure has changed, and is committed as well.
            try:
                workspace.commit()
            finally:
                workspace.close()

    def open(self, root: Path, *, llm: bool = True, **overrides: Any) -> Workspace:
        """Open a vault whose notices and progress this command line shows.

        Args:
            llm: False works without a language model, and without the judge of links.
            overrides: settings given as options, by field name; None overrides nothing.
        """
        from amem_cli.workspace.connection import Caller
        from amem_cli.workspace.workspace import Workspace

        given = {name: value for name, value in overrides.items() if value is not None}
        if not llm:
            given |= {"llm_backend": "none", "llm_judge": "off"}
        self.output.root = root
        caller = Caller(self.output.progress, self._saved)
        return Workspace(root, overrides=given, notify=self.output.notice, caller=caller)

    def evolved(self, workspace: Workspace, paths: Sequence[str], **how: bool) -> list[Outcome]:
        """Run the memory process for notes, with `how` as for `Workspace.evolving`.

        There is an outcome for each, also if the run was stopped.
        """
        from amem_cli.terminal.progress import batch_progress

        with workspace.evolving(paths, rest=(), **how) as batch, batch_progress(self.output, batch):
            return batch.all_outcomes()

    def synchronise(self, workspace: Workspace) -> None:
        """Read what changed in the folder, and report what cannot be read."""
        report = workspace.synchronise()
        if report.out_of_reach:
            count = len(report.out_of_reach)
            self.output.notice(
                f"! {plural(count, 'note')} {'is' if count == 1 else 'are'} in folders that cannot"
                f" be read, such as {report.out_of_reach[0]}; shown as last seen"
            )
        if self.output.verbose:
            self.output.problems(report.problems)

    def _saved(self, path: str) -> None:
        self.saved = path
        if self.output.as_json:
            return
        # A full disk or a reader that left must not end the work on a note that is saved. What
        # could not be printed stays in the buffer, and the end of the command fails by it.
        with contextlib.suppress(OSError):
            self.output.plain(f"saved {on_one_line(path)}")
            # What follows may take a model a while, and a pipe is buffered.
            sys.stdout.flush()


def session_of(context: typer.Context) -> Session:
    session = context.find_object(Session)
    assert session is not None
    return session


def refuse_if_missing(
    context: typer.Context, parameter: typer.CallbackParam, name: str | None
) -> str | None:
    """The note's name; refuses none before anything is opened, if nobody can pick from a list."""
    if name is None and not context.resilient_parsing:
        from amem_cli.terminal.picker import can_pick

        if session_of(context).output.as_json or not can_pick():
            hint = f"{context.command_path} --help"
            raise UsageError(f"missing argument '{parameter.name}'.", hint=hint)
    return name


NoteArgument = Annotated[
    str | None,
    Argument(
        help="Id, path, file name, title or alias. Without it, choose from a list.",
        show_default=False,
        callback=refuse_if_missing,
    ),
]
# Names of the option for a number of results, the same in every command.
LIMIT = ("-k", "-n", "--limit")
LlmOption = Annotated[
    bool, Option("--llm/--no-llm", help="Use the language model and the judge of links.")
]
WaitOption = Annotated[
    bool,
    Option(
        "--wait/--no-wait", help="Write metadata and links now, or leave them to `amem evolve`."
    ),
]
TagOption = Annotated[list[str] | None, Option(help="Only notes with this tag. Repeatable.")]
SinceOption = Annotated[
    str | None,
    Option(
        help="Only notes created on or after this day: 2026-03-02, 2026-03, 7d, yesterday,"
        " 'last week'."
    ),
]
UntilOption = Annotated[
    str | None, Option(help="Only notes created on or before this day, in the same forms.")
]
CreatedOption = Annotated[
    str | None,
    Option(help="Only notes created on this day or in this period, in the same forms."),
]
AsOfOption = Annotated[
    str | None,
    Option(
        "--as-of",
        help="What held on this day: leave out later notes, and what they say of older ones.",
    ),
]
PathOption = Annotated[
    str, Option(help="Only notes in this folder or with a path like 'daily/2026-*'.")
]
PrivateOption = Annotated[
    bool | None,
    Option(
        "--private/--no-private",
        help="Include or leave out notes with `private: true`. By default, only formats that other"
        " people see leave them out.",
    ),
]


def filters(
    tag: Sequence[str] | None,
    since: str | None,
    until: str | None,
    path: str,
    created: str | None = None,
    as_of: str | None = None,
) -> Filters:
    """Which notes the filter options select; `created` is both a `since` and an `until`."""
    from amem_cli.language.dates import given_day
    from amem_cli.search.search import Filters

    if created is not None and (since is not None or until is not None):
        raise UsageError("give --created, or --since and --until")
    first, last = (since, until) if created is None else (created, created)
    names = ("--since", "--until") if created is None else ("--created", "--created")
    today = datetime.now().date()
    return Filters(
        tuple(tag or ()),
        given_day(first, names[0], today, last=False),
        given_day(last, names[1], today, last=True),
        path,
        as_of=given_day(as_of, "--as-of", today, last=True),
    )


def named_or_picked(
    session: Session,
    workspace: Workspace,
    name: str | None,
    *,
    prompt: str = "note",
    admit: Callable[[NoteSummary], bool] = lambda note: True,
) -> NoteSummary:
    """The note with this name, or the one that the user picks from a list."""
    if name is not None:
        return workspace.note(name)
    from amem_cli.terminal.picker import pick

    notes = list(filter(admit, workspace.index.notes.summaries()))
    if not notes:
        raise NotFoundError("there is no note to choose", hint="`amem list` shows all.")
    notes.sort(key=lambda note: note.made, reverse=True)
    return pick(notes, prompt, color=session.output.color is not False)


def all_named(workspace: Workspace, names: Sequence[str]) -> list[NoteSummary]:
    """The notes with these names; `NotFoundError` if one of them names none, or several."""
    try:
        return [workspace.note(name) for name in names]
    except NotFoundError as error:
        if len(names) > 1:
            error.hint = f"Put a name of several words in quotes. {error.hint}"
        raise


def report_unknown_tags(session: Session, workspace: Workspace, tags: Sequence[str] | None) -> None:
    """Name the tags that no note has, and those like them."""
    if not tags:
        return
    from amem_cli.search.search import has_tag

    known = workspace.index.notes.tag_counts()
    for tag in (tag.strip().removeprefix("#").rstrip("/") for tag in tags):
        if not has_tag(known, tag):
            from amem_cli.editing.tags import by_key, near_tags

            near = near_tags(tag, by_key(known))
            session.output.notice(f"no note has the tag #{tag}{f'; near: {near}' if near else ''}")


def report_left_out(session: Session, count: int) -> None:
    """Say how many private notes are not in the result, if any."""
    if count:
        session.output.notice(f"left out {plural(count, 'private note')}; --private includes them")
