"""What must hold of a note with which the analyzer stood in for a model that gave no answer."""

from __future__ import annotations

from amem_cli.editing.undo import undo
from amem_cli.index.memory_index import VaultPorts
from amem_cli.journal.events import Event
from amem_cli.notes.note import parse_note


def runs(ports: VaultPorts, path: str) -> list[Event]:
    """The note's `process` events, oldest first."""
    events = ports.index.events.read()
    return [event for event in events if (event.kind, event.path) == ("process", path)]


def is_pending(ports: VaultPorts, path: str) -> bool:
    return path in [note.path for note in ports.index.queue.pending()]


def assert_stood_in(ports: VaultPorts, path: str, before: bytes) -> None:
    """The body is as before, the header has the analyzer's values, and the note waits."""
    raw = ports.vault.read(path).raw
    assert _body(raw) == _body(before)
    note = parse_note(path, raw, ports.names)
    assert note.keywords
    assert [bool(run.waits_for) for run in runs(ports, path)] == [True]
    assert is_pending(ports, path)


def assert_model_took_over(ports: VaultPorts, path: str, before: bytes) -> None:
    """The note is done after one stand-in, and undo leads back to its bytes; reverts both runs."""
    stand_in, answered = runs(ports, path)
    assert stand_in.waits_for and not answered.waits_for
    assert not is_pending(ports, path)
    for run in (answered, stand_in):
        # An answer may be what the analyzer had written.
        if ports.index.events.caused_by(run.id):
            undo(ports, run.id, cascade=True)
    assert ports.vault.read(path).raw == before


def _body(raw: bytes) -> bytes:
    return raw.split(b"---\n", 2)[2]
