"""Whatever lies in a vault's own folder or comes from elsewhere: it is read, or told of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from amem_cli.errors import AmemError, NotFoundError, Problem, SettingsError
from amem_cli.exchange.import_notes import import_notes
from amem_cli.exchange.source_records import json_lines, read_line
from amem_cli.journal.events import Event, from_record, to_record
from amem_cli.journal.files import JournalFolder
from amem_cli.journal.provenance import provenance
from amem_cli.markdown.links import parse_link
from amem_cli.settings import (
    checked_value,
    load_settings,
    parse_setting,
    read_settings_file,
    setting_keys,
)
from amem_cli.vault.settings_file import write_values
from tests.fuzz import strategies
from tests.fuzz.folders import folder
from tests.hypothesis_profiles import examples
from tests.vaults import open_vault

IMPORT_NAMES = ("content", "title", "id", "created", "keywords", "tags", "context", "links")


@examples(3)
@given(strategies.event_records)
def test_an_event_is_read_or_refused(record: Any) -> None:
    """An event written again says what its record said, and can always be folded."""
    if not isinstance(record, dict):
        return
    try:
        event = from_record(record)
    except ValueError:
        return
    written = to_record(event)
    assert from_record(json.loads(json.dumps(written))) == from_record(written)
    assert to_record(from_record(written)) == written
    for name, value in record.items():
        if name not in {"extra"} and value not in ("", [], {}, None, 0, 0.0, False):
            assert name in written, name
    provenance([event])


@given(st.lists(strategies.journal_lines, max_size=8), st.booleans())
@example([b'{"id": "1", "time": "' + b"x" * 5_000_000 + b'", "kind": "add"}'], True)
def test_good_lines_of_a_damaged_journal_are_read(lines: list[bytes], whole: bool) -> None:
    good = [json.dumps({"id": f"good-{n}", "time": "t", "kind": "add"}).encode() for n in range(9)]
    mixed = [line for pair in zip(good, [*lines, b""], strict=False) for line in pair]
    data = b"\n".join(mixed) + (b"\n" if whole else b"\n{")
    with folder() as root:
        (root / "2026-01-test.jsonl").write_bytes(data)
        problems: list[Problem] = []
        journal = JournalFolder(root, "test")
        (news,) = journal.read_new({}, problems).files
        assert news.name == "2026-01-test.jsonl"
        found = [event.id for event in news.events if event.id.startswith("good-")]
        assert found == [f"good-{number}" for number in range(len(lines) + 1)]
        for problem in problems:
            assert problem.path == ".amem/journal/2026-01-test.jsonl"
            assert 1 <= problem.line <= data.count(b"\n") + 1
            assert problem.message.isprintable()
        assert whole or problems[-1].line == data.count(b"\n") + 1
        assert journal.read_new({news.name: news.position}, []).files == ()
        journal.append([Event(id="later", time="2026-01-01T00:00:00", kind="add")])
        (more,) = journal.read_new({news.name: news.position}, []).files
        assert more.events[-1].id == "later"


@pytest.mark.parametrize(
    ("content", "key", "text"),
    [
        (b"encoder = 5\n", "encoder.model", "x"),
        (b"a = " + b"[" * 5_000, "git.commit", "off"),
        (b"a = " + b"9" * 5_000, "git.commit", "off"),
        (b"[[llm]]\nmodel = 'x'\n", "llm.model", "m"),
        (b"llm.deadline_seconds = nan\n", "llm.deadline_seconds", "nan"),
        (b"[llm]\nthreads = 1\n[llm]\nthreads = 2\n", "llm.threads", "3"),
        (b"[llm.model]\nx = 1\n", "llm.model", "m"),
        (b"\xef\xbb\xbfa = 1\n", "llm.model", "m"),
        (b"a = 2024-13-45\n", "llm.model", "m"),
    ],
)
def test_odd_settings_are_read_or_refused(content: bytes, key: str, text: str) -> None:
    settings_are_read_or_refused(content, key, text)


@given(st.binary(max_size=200), st.sampled_from(sorted(setting_keys())), st.text(max_size=20))
def test_any_settings_file_is_read_or_refused(content: bytes, key: str, text: str) -> None:
    settings_are_read_or_refused(content, key, text)


def settings_are_read_or_refused(content: bytes, key: str, text: str) -> None:
    """A file is read or refused; a value is written so that it is read again, or not at all."""
    with folder() as root:
        path = root / "config.toml"
        path.write_bytes(content)
        try:
            load_settings(path, root / "none.toml", {})
        except (SettingsError, NotFoundError) as error:
            assert len(error.message.splitlines()) == 1
        try:
            value = parse_setting(key, text)
        except SettingsError:
            return
        try:
            write_values(path, {key: value})
        except SettingsError:
            assert path.read_bytes() == content
            return
        assert checked_value(key, read_settings_file(path)[key]) == value


@examples(2)
@given(
    st.one_of(
        strategies.marked_text,
        strategies.records(
            IMPORT_NAMES,
            st.one_of(strategies.json_values(IMPORT_NAMES), strategies.marked_text),
        ).map(json.dumps),
    )
)
@example("[" * 50_000)
@example('{"content": "x", "id": ' + "9" * 5_000 + "}")
@example('{"content": "x", "links": [""]}')
@example('{"content": "x", "links": ["a]]b"]}')
def test_an_import_line_is_read_or_refused(line: str) -> None:
    """A line of JSON gives a new note with a text, or ValueError says why not."""
    try:
        new = read_line(line)
    except ValueError as error:
        assert str(error)
        return
    assert new.raw.decode("utf-8").strip() or new.exact
    assert new.exact or all(parse_link(link) for link in new.links)


importable = st.fixed_dictionaries(
    {"content": strategies.marked_text},
    optional={
        "title": strategies.marked_text,
        "id": st.sampled_from(("20260101000000", "a:b", "x" * 64, "CON")),
        "created": st.sampled_from(("2026-01-01", "20260101", "2026-01-01T00:00:00Z")),
        "keywords": st.lists(strategies.marked_text, max_size=2),
        "tags": st.lists(strategies.marked_text, max_size=2),
        "context": strategies.marked_text,
        "links": st.lists(strategies.marked_text, max_size=2),
    },
)


@examples(0.3)
@given(st.lists(importable, min_size=1, max_size=3))
def test_an_import_writes_within_the_vault_and_tells_of_the_rest(
    records: list[dict[str, Any]],
) -> None:
    lines = [json.dumps(record) for record in records]
    with folder() as top:
        root = top / "vault"
        root.mkdir()
        ports = open_vault(root)
        source = json_lines(Path("m.jsonl"), "\n".join(lines))
        report = import_notes(ports, source, folder="notes")
        assert len(report.paths) + len(report.there) + len(report.refused) == len(lines)
        for path in report.paths:
            assert path.startswith("notes/")
            assert (root / path).is_file()
        assert {path.name for path in top.iterdir()} == {"vault"}
        assert {path.name for path in root.iterdir()} <= {"notes", ".amem"}
        ports.index.close()


def test_the_errors_of_settings_are_the_programs_own() -> None:
    for key in setting_keys():
        with pytest.raises(AmemError):
            checked_value(key, {"a": 1})
