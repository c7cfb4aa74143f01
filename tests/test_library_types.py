"""Programs that use the library; `mypy`, which is strict here, finds in them just what is wrong."""

from __future__ import annotations

from pathlib import Path

from amem_cli import AgenticMemorySystem, AmemError, MemoryNote


def remembered(memory: AgenticMemorySystem, text: str) -> MemoryNote:
    note_id: str = memory.add_note(text, tags=["work"], timestamp="202503021500")
    note = memory.read(note_id)
    if note is None:
        raise LookupError(note_id)
    return note


def titles(memory: AgenticMemorySystem, query: str) -> list[str]:
    return [str(hit["content"])[:20] for hit in memory.search_agentic(query, k=5)]


def tidy(memory: AgenticMemorySystem) -> bool:
    try:
        changed: bool = memory.update("1", content="text", links=["2"])
        gone: bool = memory.delete("1")
        return changed and gone
    except AmemError as error:
        print(error.message, error.hint)
        return False


def counted() -> int:
    with AgenticMemorySystem(vault="notes", llm_backend="none") as opened:
        first: MemoryNote = remembered(opened, "text")
        links: list[str] = first.links
        every: list[MemoryNote] = list(opened.memories.values())
        lines, numbers = opened.find_related_memories("tea", k=2)
        return len(links) + len(every) + len(lines) + sum(numbers)


def wrong() -> None:
    memory = AgenticMemorySystem(vault=3)  # type: ignore[arg-type]
    number: int = memory.add_note("text")  # type: ignore[assignment]
    print(number)


def test_the_package_says_that_it_is_typed() -> None:
    assert (Path(__file__).parents[1] / "amem_cli" / "py.typed").is_file()
