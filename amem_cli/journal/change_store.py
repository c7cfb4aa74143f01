"""The only way into a vault for a change: all of its notes and events are written, or none.

An intent with all bytes stays on disk until everything is written, so that the next command can
finish or revert what a killed process began.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amem_cli.errors import AmemError, NoteInUse, Problem, SettingsError, WriteConflict
from amem_cli.journal.events import Event, NoteWrite, from_record, to_record
from amem_cli.journal.link_decisions import Proposal, proposal_from_record, proposal_record
from amem_cli.notes.canvas import ENDING as CANVAS_ENDING
from amem_cli.system.files import move_over
from amem_cli.vault.dir_handle import make_own_folder, own_files, read_own_file
from amem_cli.vault.safe_write import create_file, sha256, sync_folder

if TYPE_CHECKING:
    from filelock import BaseFileLock

    from amem_cli.journal.files import JournalFolder
    from amem_cli.vault.folder import VaultFolder

Applied = Callable[[Sequence[NoteWrite], Sequence[Event]], None]

WRITE_LOCK = "write.lock"
LOCK_SECONDS = 60.0
# The field of an event that names the program that asked for the change.
CLIENT = "client"
# A vault may come from somebody else, so what an intent may hold is bounded.
MAX_INTENT_BYTES = 256 * 1024 * 1024
MAX_PATH_LENGTH = 2000
MAX_PROPOSAL_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class _Step:
    writes: tuple[NoteWrite, ...]
    events: tuple[Event, ...]
    proposed: tuple[Proposal, ...]
    decided: tuple[str, ...]


class ChangeStore:
    """The change store of one vault.

    Args:
        applied: receives every completed change, also one that a killed process began.
        client: name of the program that the journal records with each event; empty for none.
        notify: told once if an intent cannot be deleted after its change was made.
    """

    def __init__(
        self,
        vault: VaultFolder,
        journal: JournalFolder,
        *,
        applied: Applied | None = None,
        client: Callable[[], str] = str,
        notify: Callable[[str], None] | None = None,
    ) -> None:
        self._vault = vault
        self._journal = journal
        self._applied = applied or (lambda writes, events: None)
        self._client = client
        self._notify = notify
        self._review = vault.state_folder / "review"
        self._intents = vault.state_folder / "intents"
        self._locks: dict[str, BaseFileLock] = {}

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the vault against other writers of this program; may be nested.

        Raises:
            SettingsError: another process holds it for too long, or the folder is not writable.
        """
        from filelock import Timeout

        try:
            held = self._hold(WRITE_LOCK, LOCK_SECONDS)
        except Timeout:
            raise SettingsError(
                "another amem process is writing to this vault", hint="Try again in a moment."
            ) from None
        except OSError as error:
            raise SettingsError(
                f"cannot lock the vault: {error.strerror}", hint="Check .amem's permissions."
            ) from None
        with held:
            yield

    @contextlib.contextmanager
    def working(self, seconds: float) -> Iterator[bool]:
        """Hold the memory process of this vault against that of other processes.

        Two models at once slow each other down many times, and would do the same work twice.

        Args:
            seconds: how long to wait for another process.

        Yields:
            False if another process still holds it, or if the folder cannot be written.
        """
        from filelock import Timeout

        try:
            held = self._hold("work.lock", seconds)
        except (Timeout, OSError):
            yield False
            return
        with held:
            yield True

    def _hold(self, name: str, seconds: float) -> contextlib.AbstractContextManager[Any]:
        from filelock import FileLock

        # One object for the store: it counts nested holds, while two would wait for each other.
        lock = self._locks.setdefault(name, FileLock(str(self._vault.state_folder / name)))
        # The lock would create the folder again if the vault has been moved away.
        self._vault.state_folder.stat()
        return lock.acquire(timeout=seconds)

    def apply(
        self,
        writes: Sequence[NoteWrite],
        events: Sequence[Event],
        *,
        proposed: Sequence[Proposal] = (),
        decided: Sequence[str] = (),
    ) -> None:
        """Write notes, record events, keep or drop proposals: all of it or nothing, even if killed.

        Args:
            proposed: changes that wait for a person from now on.
            decided: ids of proposals that no longer wait.

        Raises:
            WriteConflict: a note changed since it was read; nothing was written.
            SettingsError: a note or the journal cannot be written; nothing was written.
        """
        client = self._client()
        if client:
            events = [replace(each, extra={**each.extra, CLIENT: client}) for each in events]
        step = _Step(tuple(writes), tuple(events), tuple(proposed), tuple(decided))
        with self.locked():
            if not (writes or proposed or decided):
                # The journal is appended to as a whole or not at all, so nothing needs an intent.
                self._journal.append(events)
            else:
                self._whole(step)
            self._applied(writes, events)

    def _whole(self, step: _Step) -> None:
        intent = self._keep_intent(step)
        done: list[NoteWrite] = []
        try:
            for write in step.writes:
                self._write(write)
                done.append(write)
            self._keep_proposals(step.proposed)
            # Last of what can fail: nothing is ever taken out of the journal again.
            self._journal.append(step.events)
        except (AmemError, FileExistsError):
            self._drop_proposals([proposal.id for proposal in step.proposed])
            left = self._take_back(done)
            # If the intent stayed, the next command would finish a change reported as failed.
            if not left or self._is_kept_for_later(left):
                self._drop(intent)
            raise
        # Not before: until the journal has the decision, only this file says what was proposed.
        self._drop_proposals(step.decided)
        self._drop(intent)

    def recover(self) -> list[Problem]:
        """Finish or revert what a killed process left half done.

        A change is finished if every note is as it was before or after the change. If somebody has
        edited one of them since, the others are reverted.
        """
        if not self._vault.has_unfinished_change():
            return []
        try:
            return self._settle_all()
        except SettingsError as error:
            # A vault that cannot be written can still be read.
            return [Problem(".amem/intents", 0, error.message, error.hint)]

    def _settle_all(self) -> list[Problem]:
        problems: list[Problem] = []
        with self.locked():
            for path in list(own_files(self._intents, "*.json")):
                if not path.stat().st_size:
                    # What was told when it was left is not told again.
                    with contextlib.suppress(OSError):
                        path.unlink()
                    continue
                try:
                    step = _read_intent(path)
                except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
                    problems.append(
                        Problem(f".amem/intents/{path.name}", 0, f"unreadable: {error}")
                    )
                    # Set aside, or every command to come would report it again.
                    with contextlib.suppress(OSError):
                        move_over(path, path.with_suffix(".unreadable"))
                    continue
                problems.extend(self._settle(step, path))
        return problems

    def _settle(self, step: _Step, intent: Path) -> list[Problem]:
        """Finish a change or revert it; its intent stays if neither is possible yet."""
        # A kill may have come between a note's replacement and the deletion of its old version.
        versions = (raw for write in step.writes for raw in (write.before, write.after))
        self._vault.discard_left(
            [write.path for write in step.writes], {sha256(raw) for raw in versions if raw}
        )
        missing = self._missing(step.events)
        if step.events and not missing:
            # The journal comes last: all was written, and what differs now was changed since.
            self._complete(step, intent)
            return []
        states = [(write, self._state(write)) for write in step.writes]
        if all(state != "other" for _, state in states):
            try:
                for write, state in states:
                    if state == "before":
                        self._write(write)
                self._keep_proposals(step.proposed)
                self._journal.append(missing)
                self._complete(step, intent)
                return []
            except (AmemError, FileExistsError) as error:
                # A change without events reverts another one.
                is_way_back = bool(step.writes) and not step.events
                if isinstance(error, NoteInUse) or (is_way_back and type(error) is SettingsError):
                    message = f"a change is unfinished: {error.message}"
                    return [Problem(".amem/intents", 0, message, error.hint)]
                # Some notes may have been written before one failed.
                states = [(write, self._state(write)) for write in step.writes]
        left = self._take_back([write for write, state in states if state == "after"])
        self._drop_proposals([proposal.id for proposal in step.proposed])
        if not left:
            self._drop(intent)
        return [
            Problem(
                write.path, 0, "an interrupted change was taken back, the note was edited since"
            )
            for write, state in states
            if state == "other"
        ]

    def _complete(self, step: _Step, intent: Path) -> None:
        self._drop_proposals(step.decided)
        self._applied(step.writes, step.events)
        self._drop(intent)

    def _missing(self, events: Sequence[Event]) -> list[Event]:
        """Those that the journal lacks; a kill may have come after the append."""
        known = {event.id for file in self._journal.read_new({}, []).files for event in file.events}
        return [event for event in events if event.id not in known]

    def _state(self, write: NoteWrite) -> str:
        if write.source:
            return self._state_of_move(write)
        if not self._vault.has(write.path):
            gone = "after" if write.after is None else "other"
            return "before" if write.before is None else gone
        try:
            raw = self._vault.read(write.path).raw
        except AmemError:
            return "other"
        if raw == write.after:
            return "after"
        return "before" if raw == write.before else "other"

    def _state_of_move(self, write: NoteWrite) -> str:
        def raw(path: str) -> bytes | None:
            return self._vault.read(path).raw if self._vault.has(path) else None

        try:
            left, arrived = raw(write.source), raw(write.path)
        except AmemError:
            return "other"
        if left is None and arrived == write.after:
            return "after"
        # The file has its new name, but not its new bytes yet: `_write` does the rest.
        is_between = left is None and arrived == write.before
        return "before" if is_between or (left == write.before and arrived is None) else "other"

    def _write(self, write: NoteWrite) -> None:
        if write.source:
            self._move(write)
            return
        if write.after is None:
            if write.before is None or self._vault.read(write.path).raw != write.before:
                raise WriteConflict(f"{write.path} changed meanwhile")
            self._vault.move_to_trash(write.path)
            return
        expected = None if write.before is None else sha256(write.before)
        self._vault.write(write.path, write.after, expected=expected, modified_ns=write.modified_ns)

    def _move(self, write: NoteWrite) -> None:
        assert write.before is not None and write.after is not None
        if self._vault.has(write.source):
            if self._vault.read(write.source).raw != write.before:
                raise WriteConflict(f"{write.source} changed meanwhile")
            self._vault.move(write.source, write.path)
        if write.before == write.after:
            return
        try:
            self._vault.write(write.path, write.after, expected=sha256(write.before))
        except AmemError:
            with contextlib.suppress(AmemError, FileExistsError):
                self._vault.move(write.path, write.source)
            raise

    def _take_back(self, done: Sequence[NoteWrite]) -> list[NoteWrite]:
        """Restore notes, except those that somebody edited meanwhile."""
        left = []
        for write in reversed(done):
            with contextlib.suppress(AmemError):
                self._write(_reversed(write))
            if self._state(write) == "after":
                left.append(write)
        return left

    def _is_kept_for_later(self, left: Sequence[NoteWrite]) -> bool:
        """Store the reversal of a change as a separate change, without events."""
        try:
            self._keep_intent(_Step(tuple(map(_reversed, left)), (), (), ()))
        except SettingsError:
            return False
        return True

    def _keep_intent(self, step: _Step) -> Path:
        record = {
            "writes": [
                {
                    "path": write.path,
                    "before": _packed(write.before),
                    "after": _packed(write.after),
                    "source": write.source,
                }
                for write in step.writes
            ],
            "events": [to_record(event) for event in step.events],
            "proposed": [proposal_record(proposal) for proposal in step.proposed],
            "decided": list(step.decided),
        }
        content = json.dumps(record, ensure_ascii=False).encode()
        path = self._intents / f"{sha256(content)[:24]}.json"
        try:
            make_own_folder(self._intents)
            create_file(path, content)
        except OSError as error:
            raise SettingsError(
                f"cannot prepare the change: {error.strerror}", hint="Check space and permissions."
            ) from error
        return path

    def _drop(self, intent: Path) -> None:
        """Delete the intent of a change that is made or reverted; a failure is told, not raised."""
        try:
            intent.unlink(missing_ok=True)
        except OSError as error:
            # Emptied, it says that nothing is left to do; the commands to come try to delete it.
            with contextlib.suppress(OSError):
                os.truncate(intent, 0)
            if self._notify is not None:
                self._notify(
                    f"! .amem/intents/{intent.name} cannot be deleted: {error.strerror}; the change"
                    " itself is complete, and amem tries again later"
                )
            # An import makes hundreds of changes.
            self._notify = None
        # Durable: an intent that came back after a power cut could revert a complete change.
        sync_folder(self._intents)

    def waiting(self, problems: list[Problem] | None = None) -> list[Proposal]:
        """Proposals that wait for a decision, oldest first; unreadable ones go to `problems`."""
        found = []
        for path in own_files(self._review, "*.json"):
            try:
                record = json.loads(read_own_file(path, MAX_PROPOSAL_BYTES))
                if not isinstance(record, dict):
                    raise ValueError("not an object")
                proposal = proposal_from_record(record)
                if proposal.id != path.stem:
                    raise ValueError("the id is not the file's name")
                found.append(proposal)
            except (OSError, ValueError, RecursionError) as error:
                if problems is not None:
                    place = f".amem/review/{path.name}"
                    problems.append(Problem(place, 0, f"unreadable proposal: {error}"))
        return found

    def _keep_proposals(self, proposals: Sequence[Proposal]) -> None:
        """Store proposals; existing ones are not replaced."""
        if not proposals:
            return
        try:
            make_own_folder(self._review)
            for proposal in proposals:
                text = json.dumps(proposal_record(proposal), ensure_ascii=False, indent=2)
                with contextlib.suppress(FileExistsError):
                    create_file(self._proposal_file(proposal.id), (text + "\n").encode())
        except OSError as error:
            raise SettingsError(
                f"cannot keep a proposal: {error.strerror}", hint="Check space and permissions."
            ) from error

    def _drop_proposals(self, ids: Sequence[str]) -> None:
        """Delete decided proposals; a failure is ignored, for the journal has the decision."""
        # Through a link, files outside of the vault would be deleted.
        if self._review.is_symlink():
            return
        for name in ids:
            with contextlib.suppress(OSError):
                self._proposal_file(name).unlink()
        if ids:
            sync_folder(self._review)

    def _proposal_file(self, name: str) -> Path:
        # An id from somebody else's file must not lead out of the folder.
        if not (name.isascii() and name.isalnum()):
            raise SettingsError(f"{name!r} is no id of a proposal")
        return self._review / f"{name}.json"


def _reversed(write: NoteWrite) -> NoteWrite:
    if write.source:
        return NoteWrite(write.source, write.after, write.before, write.path)
    return NoteWrite(write.path, write.after, write.before)


def _packed(content: bytes | None) -> str | None:
    return None if content is None else base64.b64encode(content).decode("ascii")


def _unpacked(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text, validate=True)


def _read_intent(file: Path) -> _Step:
    record: dict[str, Any] = json.loads(read_own_file(file, MAX_INTENT_BYTES))
    writes = []
    for item in record["writes"]:
        path, source = item["path"], item.get("source", "")
        # An intent in a shared vault may contain anything.
        for each in (path, source or path):
            if not isinstance(each, str) or len(each) > MAX_PATH_LENGTH:
                raise ValueError("it changes something that is no file")
            if not each.endswith((".md", CANVAS_ENDING)):
                raise ValueError("it changes something that is no note and no canvas")
            each.encode("utf-8")
        before, after = _unpacked(item["before"]), _unpacked(item["after"])
        if source and (before is None or after is None):
            raise ValueError("it moves nothing")
        writes.append(NoteWrite(path, before, after, source))
    paths = [path for write in writes for path in (write.path, write.source) if path]
    if len(set(paths)) != len(paths):
        raise ValueError("it changes one note twice")
    return _Step(
        tuple(writes),
        tuple(from_record(item) for item in record["events"]),
        tuple(proposal_from_record(item) for item in record.get("proposed", ())),
        tuple(str(item) for item in record.get("decided", ())),
    )
