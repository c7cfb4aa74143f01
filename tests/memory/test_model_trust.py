"""The evidence that a model's word on a link needs: a weaker note is not even shown to it."""

from __future__ import annotations

from pathlib import Path

from amem_cli.editing.add import NewNote, add
from amem_cli.models.ports import ModelRequest
from tests.fakes.language_model import EchoSchemaModel
from tests.vaults import memory_process, open_vault

OLD = "Lamination of croissant dough needs butter at 14 degrees, else it tears."
NEW = "The croissant dough tore in lamination: the butter came from the fridge at 4 degrees."


def shown(folder: Path, plausible: float) -> int:
    """How many older notes a trusted model is shown beside a new one."""
    ports, model = open_vault(folder), EchoSchemaModel()
    add(ports, NewNote(OLD, title="Lamination"))
    for number in range(6):
        add(ports, NewNote(f"Number {number}: the fridge and the weather.", title=f"N{number}"))
    path = add(ports, NewNote(NEW, title="Torn"))
    memory_process(ports, model, trusted=True, plausible=plausible).run(path, asked=True)
    return max(map(offered, model.requests), default=0)


def offered(request: ModelRequest) -> int:
    links = request.schema["properties"].get("links")
    return len(links["items"]["properties"]["note"]["enum"]) if links else 0


def test_the_more_evidence_a_model_needs_the_fewer_notes_it_is_asked_about(tmp_path: Path) -> None:
    counts = []
    for at, least in enumerate((0.0, 0.03, 0.3, 0.99)):
        (tmp_path / str(at)).mkdir()
        counts.append(shown(tmp_path / str(at), least))
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[2] >= 1 > counts[-1]
