"""Does one thing to a vault in a process of its own, so that faults can be put into its way.

As a server it forks a process for each line `ROOT<tab>ACTION` of its stdin, writes its number, and
lets it wait until the next line comes, so that a tracer can take hold of it first. That line may
name seconds after which the process is killed.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from amem_cli.duplicates.merge import merge
from amem_cli.editing.add import NewNote, add
from amem_cli.editing.edit import FieldEdits, remove, update
from amem_cli.editing.undo import undo
from amem_cli.errors import AmemError
from amem_cli.exchange.import_notes import import_notes
from amem_cli.exchange.open_source import open_source
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.sync import embed_missing, synchronise
from amem_cli.memory.batch import EvolveBatch
from amem_cli.memory.outcome import ProcessSettings
from amem_cli.memory.process import MemoryProcess
from amem_cli.search.read import note_named
from amem_cli.vault.file_state import SystemClock
from tests.fakes.encoder import FakeEncoder
from tests.vaults import open_vault

TEXT = "The croissant dough tore in lamination: the butter came from the fridge at 4 degrees.\n"


def ports_of(root: Path) -> VaultPorts:
    """The vault with the computer's clock: processes after each other must not share moments."""
    ports = replace(open_vault(root), clock=SystemClock())
    synchronise(ports)
    return ports


def add_note(root: Path, title: str = "Torn dough") -> None:
    add(ports_of(root), NewNote(TEXT, title=title, tags=["baking"]))


def add_many(root: Path, count: str) -> None:
    ports = ports_of(root)
    for number in range(int(count)):
        add(ports, NewNote(f"{TEXT}{os.getpid()} {number}\n", title="Same title"))


def update_note(root: Path, name: str = "Lamination") -> None:
    ports = ports_of(root)
    update(ports, note_named(ports.index, name), FieldEdits(add_tags=["dough"], content=TEXT))


def remove_note(root: Path, name: str = "Lamination") -> None:
    ports = ports_of(root)
    remove(ports, note_named(ports.index, name))


def merge_notes(root: Path, kept: str = "Kept", other: str = "Other") -> None:
    ports = ports_of(root)
    merge(ports, note_named(ports.index, kept), note_named(ports.index, other))


def undo_last(root: Path) -> None:
    ports = ports_of(root)
    undo(ports, ports.index.events.read()[-1].id)


def import_folder(root: Path, source: str) -> None:
    ports = ports_of(root)
    import_notes(ports, open_source(Path(source), "markdown", root))


def evolve(root: Path) -> None:
    ports = ports_of(root)
    encoder = FakeEncoder()
    embed_missing(ports, encoder)
    process = MemoryProcess(ports, encoder, None, ProcessSettings(settle_seconds=0))
    paths = ports.index.queue.unprocessed()
    for outcome in EvolveBatch(process, paths).all_outcomes():
        for problem in outcome.problems:
            sys.stderr.write(f"{outcome.path}: {problem}\n")


def look(root: Path) -> None:
    ports_of(root)


ACTIONS: dict[str, Callable[..., None]] = {
    "add": add_note,
    "add many": add_many,
    "update": update_note,
    "remove": remove_note,
    "merge": merge_notes,
    "undo": undo_last,
    "import": import_folder,
    "evolve": evolve,
    "look": look,
}


def act(root: Path, action: str, *arguments: str) -> int:
    """0 when done, 1 or 3 for a failure that is told, 70 for a bug."""
    try:
        ACTIONS[action](root, *arguments)
    except AmemError as error:
        sys.stderr.write(f"error: {error.message} ({error.hint})\n")
        return error.exit_code
    except BaseException:
        traceback.print_exc()
        return 70
    return 0


def _load_everything() -> None:
    """Import now what an action would: a fault belongs to the vault, not to the interpreter."""
    with tempfile.TemporaryDirectory() as folder:
        for action in ("add", "evolve", "look"):
            act(Path(folder), action)
        update_note(Path(folder), "Torn dough")
        remove_note(Path(folder), "Torn dough")
        for title in ("Kept", "Other"):
            add_note(Path(folder), title)
        merge_notes(Path(folder))
    gc.collect()


def serve() -> None:
    _load_everything()
    for line in sys.stdin:
        root, action, *arguments = line.rstrip("\n").split("\t")
        waiting, gate = os.pipe()
        log = os.open(f"{root}.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        child = os.fork()
        if child == 0:
            os.dup2(log, 2)
            os.read(waiting, 1)
            os._exit(act(Path(root), action, *arguments))
        os.close(log)
        os.close(waiting)
        print(child, flush=True)
        kill_after = sys.stdin.readline().strip()
        os.write(gate, b"g")
        os.close(gate)
        if kill_after:
            time.sleep(float(kill_after))
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        serve()
    else:
        sys.exit(act(Path(sys.argv[1]), *sys.argv[2:]))
