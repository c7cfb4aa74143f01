"""Code written for A-MEM's library runs over a vault: its README's usage example, step by step."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from amem_cli import AgenticMemorySystem, AmemError
from amem_cli.library.open import open_workspace


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[AgenticMemorySystem]:
    with AgenticMemorySystem(
        vault=tmp_path / "vault", model_name="all-MiniLM-L6-v2", llm_backend="none"
    ) as system:
        yield system


def test_search_finds_with_metadata_and_agentic_search_brings_neighbours(
    memory: AgenticMemorySystem,
) -> None:
    first = memory.add_note("Lamination of croissant dough needs butter at 14 degrees.")
    text = "The croissant dough tore in lamination: butter at 10 degrees breaks."
    second = memory.add_note(text, links=[first])
    for text in ("Walrus colonies rest on ice.", "The train was late again.", "Chess openings."):
        memory.add_note(text)
    hits = memory.search("croissant", k=2)
    assert {hit["id"] for hit in hits} == {first, second}
    assert set(hits[0]) == {
        "id", "content", "context", "keywords", "tags", "timestamp", "score", "is_neighbor",
    }  # fmt: skip
    assert hits[0]["score"] >= hits[1]["score"]
    agentic = memory.search_agentic("why did it tear?", k=1)
    assert [hit["is_neighbor"] for hit in agentic] == [False, True]
    note = memory.read(second)
    assert note is not None and note.links == [first]
    assert note.retrieval_count >= 1 and note.last_accessed


def test_words_alone_decide_where_no_encoder_can_be_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with AgenticMemorySystem("nobody/no-such-model", "none", vault=tmp_path / "v") as memory:
        note_id = memory.add_note("The walrus dives for clams.")
        with caplog.at_level(logging.WARNING, "amem_cli"):
            assert [hit["id"] for hit in memory.search("walrus")] == [note_id]
            assert [hit["id"] for hit in memory.search_agentic("clams")] == [note_id]
        assert "words alone" in caplog.text
        assert memory.find_related_memories("walrus")[1] == [0]


def test_update_and_delete(memory: AgenticMemorySystem) -> None:
    note_id = memory.add_note("Old content about tea.")
    assert memory.update(note_id, content="New content about coffee beans.", tags=["coffee"])
    note = memory.read(note_id)
    assert note is not None
    assert (note.content, note.tags) == ("New content about coffee beans.", ["coffee"])
    assert memory.search("coffee", k=1)[0]["id"] == note_id
    assert memory.delete(note_id)
    assert memory.read(note_id) is None
    assert not memory.delete(note_id)
    assert not memory.update("nothing", content="x")


def test_a_note_that_supersedes_another_evolves_it(memory: AgenticMemorySystem) -> None:
    old = memory.add_note(
        "The sourdough workshop is on Saturday morning in the old bakery.",
        title="Sourdough workshop on Saturday morning",
    )
    memory.add_note("Winter tyres are in the cellar.")
    memory.add_note(
        "A Tuesday evening now replaces the sourdough workshop on Saturday morning in the bakery.",
        title="Sourdough workshop on Tuesday",
    )
    note = memory.read(old)
    assert note is not None
    assert "now replaces the sourdough workshop" in note.context
    assert note.evolution_history[0]["changes"][0]["field"] == "context"
    (best,) = memory.search("sourdough workshop on Saturday morning in the old bakery", k=1)
    assert best["id"] != old
    both = memory.search_agentic("sourdough workshop on Saturday morning in the old bakery", k=1)
    assert [hit["id"] for hit in both[:2]] == [best["id"], old]


def test_a_text_that_is_there_is_added_again_and_the_log_names_it(
    memory: AgenticMemorySystem, caplog: pytest.LogCaptureFixture
) -> None:
    text = "The lamination of croissant dough needs butter at exactly fourteen degrees."
    first, second = memory.add_note(text), memory.add_note(text)
    assert first != second and len(memory.memories) == 2
    said = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert len(said) == 1
    assert "holds the same text as notes/" in said[0]


def test_a_copy_with_the_id_of_its_original_is_a_memory_of_its_own(
    memory: AgenticMemorySystem, tmp_path: Path
) -> None:
    first = memory.add_note("The walrus dives for clams in the bay.", title="Walrus")
    memory.add_note("Seals watch how the walrus dives.", title="Seals", links=[first])
    original = tmp_path / "vault/notes/Walrus.md"
    (original.parent / "Walrus (conflict).md").write_bytes(original.read_bytes())
    contents = {key: note.content for key, note in memory.memories.items()}
    assert len(contents) == len(memory.memories) == 3
    assert {"notes/Walrus.md", "notes/Walrus (conflict).md"} < set(contents)
    assert "Seals watch" in memory.find_related_memories_raw("seals watch")


@pytest.mark.parametrize("memory_id", ["notes/Walrus.md", "a/b", "a\nb", " a"])
def test_an_id_that_would_name_another_note_is_refused(
    memory: AgenticMemorySystem, memory_id: str
) -> None:
    with pytest.raises(AmemError, match="cannot be an id"):
        memory.add_note("The walrus.", id=memory_id)
    assert len(memory.memories) == 0


def test_how_often_a_memory_was_read_outlasts_the_day_it_gets_an_id(
    memory: AgenticMemorySystem, tmp_path: Path
) -> None:
    (tmp_path / "vault/w.md").write_text("The walrus dives.\n", encoding="utf-8")
    assert memory.read("w.md") is not None and memory.read("w.md") is not None
    assert memory.update("w.md", context="On walruses.")
    note = memory.memories[next(iter(memory.memories))]
    assert note.id != "w.md"
    assert note.retrieval_count == 2


def test_a_vault_that_is_gone_is_told_and_nothing_is_made_in_its_place(
    memory: AgenticMemorySystem, tmp_path: Path
) -> None:
    first = memory.add_note("The walrus dives for clams.")
    (tmp_path / "vault").rename(tmp_path / "elsewhere")
    for call in (
        lambda: memory.search("clams"),
        lambda: memory.add_note("Never."),
        lambda: memory.read(first),
    ):
        with pytest.raises(AmemError, match="no vault any more"):
            call()
    assert not (tmp_path / "vault").exists()
    (tmp_path / "elsewhere").rename(tmp_path / "vault")
    assert [hit["id"] for hit in memory.search("clams")] == [first]


def test_changed_settings_are_taken_up_and_broken_ones_are_told(
    memory: AgenticMemorySystem, tmp_path: Path
) -> None:
    config = tmp_path / "vault/.amem/config.toml"
    before = config.read_text(encoding="utf-8")
    first = memory.add_note("The walrus dives for clams.")
    config.write_text(before.replace('# notes_dir = "notes"', 'notes_dir = "inbox"'))
    memory.add_note("Clams live in mud.", title="Clams")
    assert (tmp_path / "vault/inbox/Clams.md").is_file()
    config.write_text("notes_dir = [\n")
    for call in (
        lambda: memory.search("clams"),
        lambda: memory.read(first),
        lambda: memory.add_note("Never."),
        lambda: memory.delete(first),
        lambda: len(memory.memories),
    ):
        with pytest.raises(AmemError, match=r"config\.toml"):
            call()
    config.write_text(before)
    assert len(memory.memories) == 2
    memory.add_note("Mud is cold.", title="Mud")
    assert (tmp_path / "vault/notes/Mud.md").is_file()


def test_what_is_suggested_stands_beside_the_links(
    memory: AgenticMemorySystem,
) -> None:
    first = memory.add_note("Croissant dough needs butter at 14 degrees.")
    second = memory.add_note("The croissant dough tore in the oven of the old bakery.")
    for memory_id, other in ((first, second), (second, first)):
        note = memory.read(memory_id)
        assert note is not None and (note.links, note.suggested) == ([], [other])
    memory.update(second, links=[first])
    note = memory.read(second)
    assert note is not None and (note.links, note.suggested) == ([first], [])


def test_the_usual_encoder_does_not_take_the_place_of_the_vaults(tmp_path: Path) -> None:
    with AgenticMemorySystem(vault=tmp_path / "v", llm_backend="none"):
        pass
    (tmp_path / "v/.amem/config.toml").write_text('[encoder]\nmodel = "nobody/of-this-vault"\n')
    usual = ("all-MiniLM-L6-v2", "none", None, None, None)
    with closing(open_workspace(tmp_path / "v", *usual)) as workspace:
        assert workspace.settings.encoder_model == "nobody/of-this-vault"
