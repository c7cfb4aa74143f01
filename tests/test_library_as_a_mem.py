"""Code that was written for A-MEM's library runs with one changed import."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from amem_cli import AgenticMemorySystem, AmemError, MemoryNote
from tests.fakes.chat_server import ChatServer
from tests.vaults import tree_hashes

KEY = "sk-proj-0123456789abcdefghij"

# The calls of the README's usage example, in its order and with its arguments. Only the import is
# another one.
EXAMPLE = """
from amem_cli import AgenticMemorySystem

memory_system = AgenticMemorySystem(
    model_name='all-MiniLM-L6-v2',
    llm_backend="openai",
    llm_model="gpt-4o-mini"
)

memory_id1 = memory_system.add_note(
    "Machine learning algorithms use neural networks to process complex datasets and find patterns."
)
memory = memory_system.read(memory_id1)
print(f"Content: {memory.content}")
print(f"Auto-generated Keywords: {memory.keywords}")
print(f"Auto-generated Context: {memory.context}")
print(f"Auto-generated Tags: {memory.tags}")

memory_id2 = memory_system.add_note(
    content="Python is excellent for data science applications",
    keywords=["Python", "programming"]
)

memory_id3 = memory_system.add_note(
    content="Project meeting notes for Q1 review",
    keywords=["meeting", "project", "review"],
    context="Business project management discussion",
    tags=["business", "project", "meeting"],
    timestamp="202503021500"
)

# The example of the repository's other branch.
memory_id4 = memory_system.add_note(
    content="Machine learning project notes",
    tags=["ml", "project"],
    category="Research",
    timestamp="202503021500"
)

results = memory_system.search("artificial intelligence data processing", k=3)
for result in results:
    print(f"ID: {result['id']}")
    print(f"Content: {result['content']}")
    print(f"Keywords: {result['keywords']}")
    print(f"Tags: {result['tags']}")
    print(f"Relevance Score: {result.get('score', 'N/A')}")
    print("---")

results = memory_system.search_agentic("neural networks", k=5)
for result in results:
    print(f"ID: {result['id']}")
    print(f"Content: {result['content'][:100]}...")
    print(f"Tags: {result['tags']}")
    print("---")

memory_system.update(memory_id1, content="Updated: Deep learning networks for pattern recognition")
memory_system.delete(memory_id3)
"""


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[AgenticMemorySystem]:
    with AgenticMemorySystem(vault=tmp_path / "vault", llm_backend="none") as system:
        yield system


def test_the_whole_example_of_the_readme_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with ChatServer() as server:
        monkeypatch.setenv("AMEM_LLM_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        names: dict[str, object] = {}
        exec(compile(EXAMPLE, "example", "exec"), names)
        system = names["memory_system"]
        assert isinstance(system, AgenticMemorySystem)
        with system:
            assert server.requests and server.requests[0].body["model"] == "gpt-4o-mini"
            changed = system.read(str(names["memory_id1"]))
            partial = system.read(str(names["memory_id2"]))
            assert changed is not None and changed.content.startswith("Updated: Deep learning")
            assert partial is not None and partial.keywords == ["Python", "programming"]
            assert system.read(str(names["memory_id3"])) is None
            filed = system.read(str(names["memory_id4"]))
            assert filed is not None
            assert (filed.category, filed.timestamp) == ("Research", "202503021500")
    said = capsys.readouterr().out
    assert said.startswith("Content: Machine learning algorithms")
    assert said.count("Relevance Score: ") == 3 and "N/A" not in said
    assert (tmp_path / "amem-vault" / ".amem").is_dir()


def test_the_arguments_may_stand_in_the_order_of_a_mem(tmp_path: Path) -> None:
    with ChatServer() as server:
        settings = tmp_path / "vault" / ".amem" / "config.toml"
        AgenticMemorySystem(vault=tmp_path / "vault").close()
        assert KEY not in settings.read_text(encoding="utf-8")
        with AgenticMemorySystem(
            "all-MiniLM-L6-v2",
            "openai",
            "gpt-4o-mini",
            100,
            KEY,
            vault=tmp_path / "vault",
            base_url=server.url,
        ) as system:
            system.add_note("Tea is brewed at eighty degrees.")
            assert (system.model_name, system.evo_threshold) == ("all-MiniLM-L6-v2", 100)
        assert {request.authorization for request in server.requests} == {f"Bearer {KEY}"}


def test_a_key_reaches_no_file_no_log_and_no_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with ChatServer() as server:
        server.faults = ["401"]
        server.complaint = f"Incorrect API key provided: {KEY}"
        with AgenticMemorySystem(
            llm_backend="vllm",
            llm_model="m",
            api_key=KEY,
            vault=tmp_path / "vault",
            base_url=server.url,
        ) as system:
            note_id = system.add_note("Tea is brewed at eighty degrees.")
            assert system.search("tea", k=1)[0]["id"] == note_id
            shown = f"{system!r} {vars(system)!r} {vars(system._workspace)!r}"
    assert server.requests
    assert "pending" in caplog.text
    assert KEY not in caplog.text + shown
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), path


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"llm_backend": "gpt"}, "none, llama.cpp, openai, ollama"),
        ({"llm_backend": "sglang"}, "base_url"),
        ({"llm_backend": "openai"}, "no model named"),
        ({"llm_backend": "llama.cpp", "llm_model": "/nowhere/model.gguf"}, "nowhere"),
        ({"model_name": "."}, "vault='.'"),
    ],
)
def test_arguments_that_cannot_be_meant_are_refused(
    tmp_path: Path,
    arguments: dict[str, str],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".amem").mkdir()
    with pytest.raises(AmemError) as caught:
        AgenticMemorySystem(vault=tmp_path / "vault", **arguments)  # type: ignore[arg-type]
    assert said in f"{caught.value.message} {caught.value.hint}"


def test_everything_that_a_memory_of_a_mem_holds_can_be_given(memory: AgenticMemorySystem) -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        note_id = memory.add_note(
            content="Complex content",
            tags=["test", "complex"],
            keywords=["test", "keywords"],
            links=["link1", "link2"],
            context="Complex context",
            category="Test category",
            timestamp="202503021500",
            evolution_history=["evolution1"],
        )
    assert ["evolution_history" in str(each.message) for each in told] == [True]
    note = memory.read(note_id)
    assert note is not None
    assert note.tags == ["test", "complex"]
    assert (note.keywords, note.context) == (["test", "keywords"], "Complex context")
    assert note.links == ["link1", "link2"]
    assert note.category == "Test category"
    (hit,) = memory.search_agentic("Complex content", k=1)
    assert hit["content"] == "Complex content"
    assert hit["category"] == "Test category"
    with pytest.raises(TypeError, match="colour"):
        memory.add_note("text", colour="red")
    with pytest.raises(TypeError, match="list"):
        memory.add_note("text", tags="work")


def test_links_are_read_extended_and_written_back(memory: AgenticMemorySystem) -> None:
    ids = [memory.add_note(f"{word} stands alone.") for word in ("Walrus", "Chess", "Lavender")]
    first, second = memory.read(ids[0]), memory.read(ids[1])
    assert first is not None and second is not None
    first.links.append(ids[1])
    assert memory.update(ids[0], links=first.links)
    assert memory.update(ids[1], links=[ids[0], ids[2]])
    assert memory.update(ids[1], links=[ids[2]])
    now = [memory.read(each) for each in ids]
    assert [note.links for note in now if note is not None] == [[ids[1]], [ids[2]], []]
    with pytest.raises(AmemError, match="nowhere"):
        memory.update(ids[0], links=["nowhere"])


def test_a_category_is_changed_and_nothing_else(
    memory: AgenticMemorySystem, tmp_path: Path
) -> None:
    note_id = memory.add_note("Chess openings.", category="Games", title="Chess")
    path = tmp_path / "vault" / "notes" / "Chess.md"
    before = path.read_text(encoding="utf-8")
    assert memory.update(note_id, category="Play")
    assert path.read_text(encoding="utf-8") == before.replace("category: Games", "category: Play")


def test_all_memories_can_be_looked_through_but_not_written(memory: AgenticMemorySystem) -> None:
    assert len(memory.memories) == 0 and not memory.memories
    ids = [memory.add_note(text, title=text) for text in ("Walrus", "Chess")]
    assert sorted(memory.memories) == sorted(ids)
    assert {note.content for note in memory.memories.values()} == {"Walrus", "Chess"}
    assert ids[0] in memory.memories and "nothing" not in memory.memories
    assert memory.memories.get("nothing") is None
    note = memory.memories[ids[1]]
    assert note.retrieval_count == 0
    with pytest.raises(TypeError):
        memory.memories[ids[0]] = note  # type: ignore[index]
    with pytest.raises(AttributeError):
        note.content = "another"  # type: ignore[misc]


def test_a_title_or_the_beginning_of_an_id_names_no_memory(memory: AgenticMemorySystem) -> None:
    note_id = memory.add_note("Chess openings.", title="Chess")
    assert memory.read("Chess") is None
    assert not memory.delete(note_id[:8])
    assert memory.read("notes/Chess.md") is not None


def test_related_memories_come_as_text_for_a_prompt(memory: AgenticMemorySystem) -> None:
    assert memory.find_related_memories("dough") == ("", [])
    assert memory.find_related_memories_raw("dough") == ""
    memory.add_note("Lamination of croissant dough needs butter.", timestamp="202503021500")
    other = memory.add_note("The kitchen is cold.", timestamp="202503021501")
    text, numbers = memory.find_related_memories("croissant dough", k=1)
    assert numbers == [0]
    assert text.startswith("memory index:0\ttalk start time:202503021500\tmemory content: Lamin")
    first = memory.search("croissant dough", k=1)[0]["id"]
    memory.update(first, links=[other])
    lines = memory.find_related_memories_raw("croissant dough", k=1).splitlines()
    assert ["kitchen" in line for line in lines] == [False, True]


def test_a_text_is_analysed_without_being_kept(memory: AgenticMemorySystem, tmp_path: Path) -> None:
    before = tree_hashes(tmp_path)
    found = memory.analyze_content("VACUUM cannot remove dead tuples while a replica holds one.")
    assert set(found) == {"keywords", "context", "tags"}
    assert found["keywords"] == ["VACUUM"]
    assert tree_hashes(tmp_path) == before
    assert len(memory.memories) == 0


def test_a_memory_can_be_processed_again(memory: AgenticMemorySystem) -> None:
    note_id = memory.add_note("Walrus colonies rest on ice.")
    note = memory.read(note_id)
    assert note is not None
    evolved, processed = memory.process_memory(note)
    assert evolved is False
    assert isinstance(processed, MemoryNote) and processed.id == note_id
    memory.consolidate_memories()
    assert memory.search("walrus", k=1)[0]["id"] == note_id


def test_an_empty_memory_and_no_places_give_no_hits(memory: AgenticMemorySystem) -> None:
    assert memory.search("anything") == memory.search_agentic("anything") == []
    memory.add_note("Walrus colonies rest on ice.")
    assert memory.search("walrus", k=0) == []
