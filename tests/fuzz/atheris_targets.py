"""The same promises as the property tests, under a fuzzer that is guided by coverage.

`make fuzz-native` runs every target for SECONDS; `python -m tests.fuzz.atheris_targets --list`
names them. What breaks a promise stays in `.fuzz/<target>/` and is shown by
`python -m tests.fuzz.atheris_targets --show .fuzz/<target>/crash-…`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import atheris  # type: ignore[import-not-found,import-untyped,unused-ignore]

with atheris.instrument_imports(include=["amem_cli"]):
    from amem_cli.journal.files import JournalFolder
    from amem_cli.settings import load_settings
    from amem_cli.vault.settings_file import write_values

    load = load_settings
    from amem_cli.errors import AmemError
    from tests.fuzz import record_oracles, text_oracles
    from tests.fuzz.intent_oracles import only_notes_were_touched, settle
    from tests.fuzz.strategies import MARKS

WORK = Path(".fuzz")
LONGEST_INPUT = 4096


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "ignore")


def _json(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None


def _edit(raw: bytes) -> None:
    changes, _, note = raw.partition(b"\0")
    lines = _text(changes).split("\n")
    wanted: dict[str, str | list[str]] = {"context": lines[0], "tags": lines[1:]}
    text_oracles.an_edit_says_what_was_meant(note, wanted)


def _passages(raw: bytes) -> None:
    target, maximum = (raw[0] % 60 + 1, raw[1] % 90 + 1) if len(raw) > 1 else (9, 20)
    text_oracles.passages_cover(_text(raw[2:]), target, maximum)


def _snippet(raw: bytes) -> None:
    query, *passages = _text(raw).split("\0")
    text_oracles.a_snippet_is_one_short_line(passages, query, 40)


def _journal(raw: bytes) -> None:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        (Path(name) / "2026-01-x.jsonl").write_bytes(raw)
        JournalFolder(Path(name), "test").read_new({}, [])


def _settings(raw: bytes) -> None:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        path = Path(name) / "config.toml"
        path.write_bytes(raw)
        for act in (lambda: load(path, path.with_name("none"), {}), lambda: _set(path)):
            try:
                act()
            except AmemError:
                continue


def _set(path: Path) -> None:
    write_values(path, {"llm.model": "m.gguf"})


def _intent(raw: bytes) -> None:
    before, after, _ = settle([raw])
    only_notes_were_touched(before, after)


TARGETS: dict[str, Callable[[bytes], None]] = {
    "note": text_oracles.any_bytes_are_a_note,
    "edit": _edit,
    "yaml-tree": lambda raw: text_oracles.a_yaml_tree_lies_in_its_text(_text(raw)),
    "markdown": lambda raw: text_oracles.markdown_is_read(_text(raw)),
    "words": lambda raw: text_oracles.words_are_read(_text(raw)),
    "tags": lambda raw: text_oracles.tags_are_normalised(_text(raw)),
    "file-name": lambda raw: text_oracles.a_file_name_is_portable(_text(raw)),
    "passages": _passages,
    "snippet": _snippet,
    "model-text": lambda raw: record_oracles.text_for_a_model_is_bounded(_text(raw), 120),
    "schema": lambda raw: record_oracles.any_json_is_a_schema_or_none(_json(raw)),
    "answer": lambda raw: record_oracles.an_answer_is_of_the_shape_or_rejected(_text(raw)),
    "construction": lambda raw: record_oracles.a_construction_keeps_its_promises(_json(raw)),
    "linking": lambda raw: record_oracles.a_linking_keeps_its_promises(_json(raw)),
    "event": lambda raw: record_oracles.an_event_is_read_or_refused(_json(raw)),
    "journal": _journal,
    "intent": _intent,
    "settings": _settings,
    "import": lambda raw: record_oracles.an_import_line_is_read_or_refused(_text(raw)),
}
SEEDS: dict[str, tuple[str, ...]] = {
    "edit": ("a sentence\na\nb\0---\ntags: [a, b] # c\nlinks:\n  - \"[[A]]\"\n---\ntext\n",),
    "note": ("---\nid: 0012\nprivate: yes\ntags: a, b\ncontext: >\n  a\n---\n[[A|b]] #c\n",),
    "yaml-tree": ("a: [x, 'y', \"z\"]\nb:\n- c: |\n    d\n# e\n",),
    "schema": ('{"type": "object", "properties": {"a": {"type": "array", "items": {"type": '
               '"string", "minLength": 2, "maxLength": 9}, "maxItems": 3}}}',),
    "answer": ('{"context": "Oksana held a transaction open so VACUUM left the dead tuples.", '
               '"keywords": ["VACUUM"], "tags": ["postgres"]}',),
    "linking": ('{"links": [{"note": "n1", "reason": "The transaction explains the webhooks.", '
                '"relation": "causes", "strength": 0.8}], "changes": [{"note": "n1", "why": "x", '
                '"context": "y", "keywords": ["a"], "tags": ["b"], "drop": ["webhooks"]}]}',),
    "event": ('{"id": "1", "time": "2026-01-01", "kind": "link", "changes": [{"field": "tags", '
              '"before": [], "after": ["a"]}], "links": [], "seconds": 1.5}',),
    "intent": ('{"writes": [{"path": "a.md", "before": null, "after": "YQ=="}], "events": '
               '[{"id": "1", "time": "2026-01-01", "kind": "link"}]}',),
    "settings": ('default_vault = "x"\n[llm]\nbackend = "none"\nthreads = 2\n',),
    "import": ('{"content": "x", "id": "a", "created": "2026-01-01", "links": ["a"]}',),
}  # fmt: skip
SEEDS["construction"] = SEEDS["answer"]
SEEDS["journal"] = SEEDS["event"]


def main() -> int:
    """Run the targets that are named, or all, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="all where none is named")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--list", action="store_true", help="name the targets")
    parser.add_argument("--show", type=Path, metavar="FILE", help="run one kept input again")
    parser.add_argument("--within", metavar="TARGET", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.list:
        print("\n".join(TARGETS))
    elif options.show:
        TARGETS[options.show.parent.name](options.show.read_bytes())
    elif options.within:
        _fuzz(options.within, options.seconds)
    else:
        names = options.targets or list(TARGETS)
        failed = [name for name in names if _run(name, options.seconds)]
        print(f"{len(names) - len(failed)} of {len(names)} targets kept their promises")
        if failed:
            print(f"broken: {', '.join(failed)}; see {WORK}/")
        return bool(failed)
    return 0


def _run(name: str, seconds: int) -> int:
    """One target in a process of its own: the fuzzer ends its process with what it finds."""
    print(f"== {name}", flush=True)
    command = [sys.executable, "-m", __spec__.name, "--within", name, "--seconds", str(seconds)]
    return subprocess.run(command, check=False).returncode


def _fuzz(name: str, seconds: int) -> None:
    folder = WORK / name
    corpus = folder / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(SEEDS.get(name, ("".join(MARKS).replace("\0", ""),))):
        (corpus / f"seed-{number}").write_text(seed, encoding="utf-8", newline="")
    words = folder / "marks.dict"
    words.write_text("".join(f'"{_escaped(mark)}"\n' for mark in MARKS), encoding="ascii")
    arguments = [
        name,
        str(corpus),
        f"-artifact_prefix={folder}/",
        f"-dict={words}",
        f"-max_total_time={seconds}",
        f"-max_len={LONGEST_INPUT}",
        "-timeout=20",
        "-verbosity=0",
    ]
    atheris.Setup(arguments, TARGETS[name])
    atheris.Fuzz()


def _escaped(mark: str) -> str:
    return "".join(f"\\x{byte:02X}" for byte in mark.encode("utf-8", "surrogatepass"))


if __name__ == "__main__":
    sys.exit(main())
