"""Whatever is asked, the answer is hits or a refusal in plain words, and never the database's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from amem_cli.errors import UsageError
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.sync import embed_missing, synchronise
from amem_cli.search.search import MODES, Mode, search
from tests.conftest import Program
from tests.fakes.encoder import FakeEncoder
from tests.vaults import indexed, open_vault, write_note

HOSTILE = (
    *("c++", "a-b", '"', '""', "'", "AND", "OR", "NOT", "NEAR", "NEAR(a b)", "NEAR/3", "*", "a*"),
    *("^a", "title:x", "words MATCH 'x'", "{title body}: x", "a + b", "-", "- -", "(", ")", ";"),
    *("'; DROP TABLE notes; --", "%", "_", "\\", "\x00", "a\x00b", "\x1b[31m", "\u202e", "\ufeff"),
    *("🙂", "👩‍👩‍👧", "知识", "e\u0301", "İ", "ß", "\u0130" * 50, "\ud800", " \t ", "."),
    *("(" * 5000, '"' * 4999, " OR ".join(["walrus"] * 20_000), "x" * 100_000, "a " * 50_000),
    *("[[link]]", "#tag", "---", "null", "NaN", "1e999", "-1", "0" * 5000),
)
TERMS_OF_THE_DATABASE = ("fts5", "sqlite", "SQL", "syntax error", "MATCH", "malformed", "apsw")


@pytest.fixture
def ports(tmp_path: Path) -> VaultPorts:
    for number in range(5):
        write_note(tmp_path, f"{number}.md", f"walrus {number} of c++ and a-b [[{number + 1}]]\n")
    return indexed(open_vault(tmp_path))


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_any_query_is_answered_or_refused(ports: VaultPorts, number: int) -> None:
    query, encoder = HOSTILE[number], FakeEncoder()
    for mode in MODES:
        try:
            hits = search(ports.index, query, encoder=encoder, mode=mode)
        except UsageError as error:
            assert not query.strip() and error.message == "the query is empty"
        else:
            assert all(0 <= hit.score <= 1 for hit in hits)
    ports.index.notes.find(query)
    ports.index.text.document_frequency(query)
    ports.index.events.find(query)
    ports.index.events.read(query)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("limit", "found"), [(0, 1), (-3, 1), (1, 1), (5000, 5), (10**12, 5)])
def test_any_number_of_hits_may_be_asked_for(
    ports: VaultPorts, mode: Mode, limit: int, found: int
) -> None:
    hits = search(ports.index, "walrus", encoder=FakeEncoder(), mode=mode, limit=limit)
    assert len([hit for hit in hits if hit.via is None]) == found


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("notes", [0, 1])
def test_a_vault_of_no_note_or_one_is_searched(tmp_path: Path, mode: Mode, notes: int) -> None:
    for number in range(notes):
        write_note(tmp_path, f"{number}.md", "walrus [[0]]\n")
    ports = open_vault(tmp_path)
    synchronise(ports)
    for k in (1, 5, 5000):
        hits = search(ports.index, "walrus", encoder=FakeEncoder(), mode=mode, limit=k)
        assert len(hits) <= notes
    embed_missing(ports, FakeEncoder())
    hits = search(ports.index, "walrus", encoder=FakeEncoder(), mode=mode, limit=5000)
    assert len(hits) == notes


@pytest.mark.slow
def test_more_passages_than_the_vector_search_allows_are_no_error(tmp_path: Path) -> None:
    for number in range(60):
        text = "\n\n".join(f"walrus {number} {part} " + "word " * 180 for part in range(80))
        write_note(tmp_path, f"{number}.md", text)
    ports, encoder = open_vault(tmp_path), FakeEncoder(dimension=8)
    synchronise(ports)
    assert embed_missing(ports, encoder) > 4096
    for limit in (1, 1000, 5000):
        hits = search(ports.index, "walrus", encoder=encoder, mode="semantic", limit=limit)
        assert hits != []


@pytest.fixture
def vault(amem: Program) -> Path:
    return amem.vault()


def test_the_program_answers_every_query_in_plain_words(amem: Program, vault: Path) -> None:
    file = amem.folder / "queries.jsonl"
    asked = [query for query in HOSTILE if query.strip() and "\ud800" not in query]
    file.write_text("".join(json.dumps({"query": query}) + "\n" for query in asked))
    answer = amem("search", "--queries", str(file), "--mode", "keyword")
    assert (answer.code, answer.err) == (0, "")
    assert [json.loads(line)["query"] for line in answer.out.splitlines()] == asked


@pytest.mark.parametrize("limit", ["0", "-1", "5000", "99999999999999999999"])
def test_a_limit_on_the_command_line_is_clamped_or_refused(
    amem: Program, vault: Path, limit: str
) -> None:
    answer = amem("search", "walrus", "--mode", "keyword", "-k", limit, "--json")
    assert answer.code in (0, 1, 2), answer.err
    assert answer.json
    assert not any(term in answer.err for term in TERMS_OF_THE_DATABASE)
    listed = amem("list", "-n", limit)
    assert listed.code in (0, 2), listed.err


@pytest.mark.parametrize("name", ["%", "'", "20260101' OR 1=1", "\u202e", "9" * 5000, "[[x]]"])
def test_a_name_that_no_note_has_is_told(amem: Program, vault: Path, name: str) -> None:
    for command in (["show", name], ["history", name], ["undo", name]):
        answer = amem(*command)
        assert answer.code == 1, (command, answer.err)
        assert not any(term in answer.err for term in TERMS_OF_THE_DATABASE)
