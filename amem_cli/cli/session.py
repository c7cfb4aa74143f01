"""What every command shares: the named vault, the voice, and opening both.

The note that a command works on: named as an argument, or chosen at the terminal.
Options that say which notes are meant: `--since`, `--until` and `--path`.
Opens the user's editor and waits for it.
Writes a file that the user asked for, outside what amem itself keeps.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from amem_cli.errors import NotFoundError, SettingsError, UsageError
from amem_cli.language.safe_text import on_one_line
from amem_cli.terminal.output import Output
from amem_cli.terminal.picker import Choice, can_pick, pick

if TYPE_CHECKING:
    from amem_cli.index.records import NoteSummary, Progress
    from amem_cli.workspace.workspace import Workspace

TOLD_AFTER_SECONDS = 10.0


@dataclass
class Session:
    """The global options of one command line."""

    vault: Path | None = None
    output: Output = field(default_factory=Output)

    @contextlib.contextmanager
    def workspace(self, *, sync: bool = True, **overrides: Any) -> Iterator[Workspace]:
        """The vault, open and in step with its folder.

        Args:
            sync: False leaves the index as it is.
            overrides: settings given as options, by field name; None is no override.
        """
        from amem_cli.locations import find_vault

        given = {name: value for name, value in overrides.items() if value is not None}
        workspace = self.opened(find_vault(self.vault), given)
        try:
            if sync:
                self.synchronise(workspace)
            yield workspace
        finally:
            # What was changed before a failure is changed, and is committed as well.
            try:
                workspace.commit()
            finally:
                workspace.close()

    def opened(self, root: Path, overrides: Mapping[str, Any]) -> Workspace:
        """A vault whose notices and progress this command line shows."""
        from amem_cli.workspace.caller import Caller
        from amem_cli.workspace.workspace import Workspace

        caller = Caller(progress=self._progress)
        return Workspace(root, overrides=overrides, notify=self.output.notice, caller=caller)

    def synchronise(self, workspace: Workspace) -> None:
        """Read what changed in the folder, and tell of what cannot be read."""
        report = workspace.synchronise()
        if report.out_of_reach:
            count = len(report.out_of_reach)
            self.output.notice(
                f"! {count} note{'s lie' if count != 1 else ' lies'} in folders that cannot be"
                f" read, {report.out_of_reach[0]} first; shown as last seen"
            )
        if self.output.verbose:
            self.output.problems(report.problems)

    @contextlib.contextmanager
    def _progress(self, label: str, at_once: bool) -> Iterator[Progress | None]:
        # Most commands count nothing, and load nothing of rich for it.
        with self.output.progress(label, once_told=not at_once) as progress:
            yield self._estimate(progress) if label.startswith("embedding") else progress

    def _estimate(self, progress: Progress | None) -> Progress:
        started, first, said = time.monotonic(), 0, False

        def told(done: int, total: int) -> None:
            nonlocal first, said
            if progress is not None:
                progress(done, total)
            # The first portion holds the time to load the encoder.
            elapsed = time.monotonic() - started
            if not said and first and elapsed > TOLD_AFTER_SECONDS:
                said = True
                left = elapsed * (total - done) / done
                self.output.notice(
                    f"embedding {total} passages takes about {_span(left)} more; what is done is"
                    " kept when you stop, and search --mode keyword needs no vectors"
                )
            first = first or done

        return told


def session_of(context: typer.Context) -> Session:
    """The session that the main callback made."""
    session = context.find_object(Session)
    assert session is not None
    return session


def moment(text: str | None, option: str) -> datetime | None:
    """A date given as an option.

    Raises:
        UsageError: it is no date.
    """
    if text is None:
        return None
    from amem_cli.language.dates import parse_moment

    try:
        return parse_moment(text)
    except ValueError:
        raise UsageError(
            f"{option} {text!r} is no date", hint="Write it as 2026-03-02 or 2026-03-02T15:00."
        ) from None


def _span(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


NoteArgument = Annotated[
    str | None,
    typer.Argument(
        help="Id, path, file name, title or alias; without it you choose from a list.",
        show_default=False,
    ),
]


def require_named(context: typer.Context, session: Session, names: dict[str, str | None]) -> None:
    """Refuse to go on where a note is not named and nobody can choose one.

    Args:
        names: the arguments, by what the help calls them.

    Raises:
        UsageError: it is so.
    """
    missing = next((name for name, value in names.items() if value is None), None)
    if missing is not None and (session.output.as_json or not can_pick()):
        raise UsageError(f"missing argument '{missing}'.", hint=f"{context.command_path} --help")


def named_or_picked(
    session: Session,
    workspace: Workspace,
    name: str | None,
    *,
    prompt: str = "note",
    admit: Callable[[NoteSummary], bool] | None = None,
) -> NoteSummary:
    """The note that was named, else the one that the person chooses.

    Args:
        prompt: what is asked for, in a word or two.
        admit: which notes may be chosen; None is all.

    Raises:
        NotFoundError: no note has this name, or there is none to choose from.
        KeyboardInterrupt: the person left without a choice.
    """
    if name is not None:
        return workspace.note(name)
    notes = [each for each in workspace.index.notes.summaries() if admit is None or admit(each)]
    if not notes:
        raise NotFoundError("there is no note to choose", hint="`amem list` shows all.")
    notes.sort(key=lambda each: each.created or each.modified, reverse=True)
    chosen = pick(
        [_choice(each) for each in notes], prompt, color=session.output.color is not False
    )
    if chosen is None:
        raise KeyboardInterrupt
    return notes[chosen]


def _choice(note: NoteSummary) -> Choice:
    day = (note.created or note.modified)[:10]
    tags = " ".join(f"#{tag}" for tag in note.tags)
    known_by = " ".join((note.path, note.id or "", *note.aliases))
    return Choice(_line(note.title), _line(f"{day}  {tags}".rstrip()), known_by)


def _line(text: str) -> str:
    return on_one_line(text).replace("\t", " ")


_WAYS = "2026-03-02, 2026-03, 7d, yesterday, 'last week'"
SinceOption = Annotated[str | None, typer.Option(help=f"Created on this day or later: {_WAYS}.")]
UntilOption = Annotated[
    str | None, typer.Option(help="Created on this day or earlier, named in the same ways.")
]
PathOption = Annotated[
    str, typer.Option(help="Only in this folder, or where the path is like this: 'daily/2026-*'.")
]


def first_day(text: str | None, option: str) -> datetime | None:
    """The beginning of what an option names.

    Raises:
        UsageError: it is no day.
    """
    return _bound(text, option, 0)


def last_day(text: str | None, option: str) -> datetime | None:
    """The last day of what an option names.

    Raises:
        UsageError: it is no day.
    """
    return _bound(text, option, 1)


def _bound(text: str | None, option: str, end: int) -> datetime | None:
    if text is None:
        return None
    from amem_cli.language.dates import day_range

    try:
        day = day_range(text, datetime.now().date())
    except ValueError:
        raise UsageError(
            f"{option} {text!r} is no date",
            hint="Write it as 2026-03-02, 2026-03, 7d, yesterday or 'last week'.",
        ) from None
    return datetime.combine(day[end], datetime.min.time())


def open_in_editor(path: Path) -> None:
    """Open a file in `$VISUAL` or `$EDITOR` and wait until it is closed.

    Raises:
        SettingsError: no editor is set, or it fails.
    """
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not command:
        raise SettingsError("no editor is set", hint="Set EDITOR, for example: export EDITOR=vim")
    try:
        words = shlex.split(command)
        code = subprocess.run([*words, str(path)], check=False).returncode
    except (OSError, ValueError) as error:
        raise SettingsError(f"cannot start {command!r}: {error}", hint="Check EDITOR.") from None
    if code != 0:
        raise SettingsError(f"{words[0]} ended with status {code}; the note is as it left it")


def write_in_editor(text: str) -> str:
    """Let the user write a text in the editor; returns it."""
    with tempfile.TemporaryDirectory(prefix="amem-") as folder:
        path = Path(folder) / "note.md"
        path.write_text(text, encoding="utf-8")
        open_in_editor(path)
        return path.read_text(encoding="utf-8")


_OWN_FOLDER = ".amem"


def write_export(path: Path, content: str | bytes | Iterable[str]) -> None:
    """Write a file of the user's choice, text as UTF-8.

    The new file takes the place of a former one only when it is whole.

    Args:
        content: all of it, or its pieces, which are asked for one by one.

    Raises:
        UsageError: it lies where settings, journal and index are.
        SettingsError: it cannot be written.
    """
    if _OWN_FOLDER in path.resolve().parts:
        raise UsageError(f"{path} is in amem's own folder", hint="Write it somewhere else.")
    pieces = [content] if isinstance(content, (str, bytes)) else content
    try:
        _write(path, pieces)
    except OSError as error:
        from amem_cli.vault.safe_write import write_failure

        raise write_failure(str(path), error) from None


def _write(path: Path, pieces: Iterable[str | bytes]) -> None:
    status = path.stat() if path.exists() else None
    if status is not None and not stat.S_ISREG(status.st_mode):
        # A pipe or a device is written to as the pieces come; a folder is an error.
        _pour(os.open(path, os.O_WRONLY), pieces)
        return
    # A file that is not to be written, by its mode, is not replaced either.
    if status is not None:
        os.close(os.open(path, os.O_WRONLY))
    wanted = path.resolve()
    temporary = _temporary(wanted)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    handle = os.open(temporary, flags, 0o666)
    try:
        if status is not None:
            with suppress(OSError):
                temporary.chmod(stat.S_IMODE(status.st_mode))
        _pour(handle, pieces, durable=True)
        temporary.replace(wanted)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def _temporary(wanted: Path) -> Path:
    """A name beside the file; what killed exports of this file left there is deleted."""
    from hashlib import sha256
    from time import time_ns

    from amem_cli.vault.safe_write import is_abandoned, temporary_name

    mark = sha256(os.fsencode(wanted.name)).hexdigest()[:16]
    for left in wanted.parent.glob(f".amem-*-{mark}.tmp"):
        with suppress(OSError):
            if is_abandoned(left.name, left.lstat().st_mtime_ns, time_ns()):
                left.unlink()
    return wanted.with_name(temporary_name(mark))


def _pour(handle: int, pieces: Iterable[str | bytes], *, durable: bool = False) -> None:
    with os.fdopen(handle, "wb") as stream:
        for piece in pieces:
            stream.write(piece.encode("utf-8") if isinstance(piece, str) else piece)
        stream.flush()
        if durable:
            os.fsync(handle)
