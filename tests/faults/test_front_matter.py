"""A vault of headers that trip up editors: the memory process runs over all of them at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from amem_cli.editing.edit import FieldEdits, update
from amem_cli.errors import HeaderRefused
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.sync import embed_missing, synchronise
from amem_cli.memory.batch import EvolveBatch
from amem_cli.memory.process import MemoryProcess
from amem_cli.notes.front_matter_edit import edit_header
from amem_cli.notes.note import body_bytes, parse_note
from tests.fakes.encoder import FakeEncoder
from tests.notes.front_matter_cases import EDITABLE, HOSTILE, REFUSED, header
from tests.vaults import open_vault, summary_of, write_note

NEIGHBOURS: dict[str, bytes] = {
    "blanks behind both fences": b"---   \na: 1\n--- \t\ntext\n",
    "emoji as names and values": header("🎉: 🎊\n# 🎈\ntags: [🍰]\n"),
    "a very long item": header("keywords:\n  - " + "long " * 5_000 + "\n  - b\n"),
    "comments between items": header("tags:\n  # one\n  - a # two\n\n  # three\n  - b\n# four\n"),
    "items at the margin": header("tags:\n- a\n- b\ncontext: old\n"),
    "dots in a block": header("a: |\n  ...\n  ---\nb: 2\n"),
    "mark and nothing else": b"\xef\xbb\xbf",
    "mark and blank lines": b"\xef\xbb\xbf\n\n",
    "a closing fence at the end": b"---\na: 1\n---",
    "Windows, no newline at the end": b"---\r\na: 1\r\n---\r\ntext",
    "rule in the body": header("a: 1\n", "text\n\n---\n\nmore\n---\n"),
    "tabs in the body": header("a: 1\n", "\tcode\n\t\tmore\t\n"),
    "old Mac body": header("a: 1\n", "one\rtwo\r"),
    "form feeds in the body": header("a: 1\n", "one\x0ctwo\x0b\x1c\u2028"),
    "empty values": header("tags:\nkeywords: []\ncontext: ''\nlinks: ~\n"),
    "numbers as tags": header("tags: [2024, 1.0, yes]\n"),
    "hashes as tags": header("tags: ['#foo', '##bar']\n"),
    "an upper-case name": header("Tags: [a]\nTAGS2: b\n"),
    "links without quotes": header("links: [[A]]\n"),
    "Windows and a list": b"---\r\ntags:\r\n  - a # x\r\n  - 'b'\r\n---\r\ntext\r\n",
}
REFUSED_NEIGHBOURS: dict[str, bytes] = {
    "closed with dots": b"---\na: 1\n...\ntext\n",
    "two marks": b"\xef\xbb\xbf\xef\xbb\xbf---\nprivate: true\n---\ntext\n",
    "tab as indent": header("a:\n\tb: 1\n"),
    "half a surrogate": header("a: 1\n").replace(b"1", b"\xed\xa0\xbd"),
    "NUL in the header": header("a: x\0y\n"),
    "python object": header("a: !!python/object/apply:os.system ['touch executed']\n"),
    "conflict of a merge": header("a: 1\n<<<<<<< ours\nb: 1\n=======\nb: 2\n>>>>>>> theirs\n"),
}
ALL = {
    **EDITABLE,
    **{name: case.raw for name, case in REFUSED.items()},
    **{name: raw for name, raw in HOSTILE.items() if len(raw) < 70_000},
    **NEIGHBOURS,
    **REFUSED_NEIGHBOURS,
}


@pytest.mark.slow
def test_evolving_a_vault_of_odd_headers_changes_no_text_of_a_person(tmp_path: Path) -> None:
    files = {}
    for number, (name, raw) in enumerate(ALL.items()):
        path = f"{number:03} {name.replace('/', ' ')}.md"
        (tmp_path / path).write_bytes(raw)
        files[path] = raw
    write_note(tmp_path, "good.md", "Dead tuples stay while VACUUM waits for a snapshot.\n")
    ports = open_vault(tmp_path)
    synchronise(ports)
    assert ports.index.notes.count() == len(files) + 1
    encoder = FakeEncoder()
    embed_missing(ports, encoder)
    process = MemoryProcess(ports, encoder, None)
    outcomes = EvolveBatch(process, [*files, "good.md"], asked=True).all_outcomes()
    assert {outcome.path for outcome in outcomes} == {*files, "good.md"}
    first = {path: (tmp_path / path).read_bytes() for path in files}
    refused = {problem.path for problem in ports.index.files.problems()}
    for path, raw in files.items():
        after = first[path]
        if parse_note(path, raw).refused is not None:
            assert after == raw and path in refused
            continue
        assert body_bytes(after) == body_bytes(raw)
        rest = after
        for line in raw[: len(raw) - len(body_bytes(raw))].splitlines(keepends=True):
            # What an empty property of the program's own says may be filled in.
            if not line.strip().endswith((b"tags:", b"[]", b"''", b"~")):
                _, found, rest = rest.partition(line)
                assert found, path
    assert b"\nkeywords:" in (tmp_path / "good.md").read_bytes()
    for _ in range(2):
        synchronise(ports)
        embed_missing(ports, encoder)
        EvolveBatch(process, ports.index.queue.unprocessed(), asked=True).all_outcomes()
    assert {path: (tmp_path / path).read_bytes() for path in files} == first
    assert not (tmp_path / "executed").exists() and not Path("executed").exists()


@pytest.mark.parametrize("raw", NEIGHBOURS.values(), ids=NEIGHBOURS.keys())
def test_a_neighbour_of_known_trouble_is_edited_in_place(raw: bytes) -> None:
    before = parse_note("n.md", raw)
    edited = edit_header(raw, {"tags": [*before.tags, "new"], "context": "Said: so."})
    after = parse_note("n.md", edited)
    assert (after.tags[-1], after.context) == ("new", "Said: so.")
    assert after.tags[:-1] == before.tags
    assert body_bytes(edited) == body_bytes(raw)
    assert edit_header(edited, {"tags": [*before.tags, "new"]}) is edited


@pytest.mark.parametrize("raw", REFUSED_NEIGHBOURS.values(), ids=REFUSED_NEIGHBOURS.keys())
def test_a_neighbour_that_is_unsafe_is_refused_with_its_line(raw: bytes) -> None:
    with pytest.raises(HeaderRefused) as refused:
        edit_header(raw, {"tags": ["new"]})
    assert refused.value.line >= 1 and refused.value.hint
    assert parse_note("n.md", raw).private == (b"private" in raw)


def test_tags_are_stable_however_often_they_are_written(tmp_path: Path, ports: VaultPorts) -> None:
    write_note(tmp_path, "n.md", "---\ntags: '#foo, ##bar'\nlinks: [[A]]\n---\ntext #baz\n")
    synchronise(ports)
    versions = []
    for _ in range(4):
        summary = summary_of(ports, "n.md")
        update(ports, summary, FieldEdits(add_tags=["new"]))
        versions.append((tmp_path / "n.md").read_bytes())
    assert len(set(versions)) == 1
    assert parse_note("n.md", versions[0]).tags == ("foo", "bar", "new")
