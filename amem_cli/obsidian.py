"""What amem knows of a vault, in files that Obsidian reads without a plugin.

A Base and a CSS snippet, as help.obsidian.md describes them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from amem_cli.editing.review import review_items
from amem_cli.errors import SettingsError, WriteConflict
from amem_cli.graph.graph import vault_graph
from amem_cli.journal.events import follows_a_note
from amem_cli.journal.provenance import undone_events
from amem_cli.notes.names import name_key
from amem_cli.search.search import supersessions
from amem_cli.system.files import is_link
from amem_cli.vault.safe_write import create_file, replace_file, sha256, write_failure

if TYPE_CHECKING:
    from amem_cli.index.memory_index import MemoryIndex, VaultPorts
    from amem_cli.index.records import NoteSummary

BASE = "amem.base"
SNIPPET = "amem"
FOLDER = ".obsidian"

# How the files begin that amem may replace and remove.
_MARK = "Written by `amem obsidian`, which replaces it; `amem obsidian --remove` removes it."
# Notes that were linked lately are at most so many, among so many of the newest events.
_LATELY = 50
_EVENTS = 5_000
_COLUMNS = ("file.name", "note.context", "note.tags", "file.mtime")
_UNSAFE_IN_CSS = re.compile(r'["\\\x00-\x1f\x7f]')


def _views(ports: VaultPorts, superseded: Iterable[str]) -> dict[str, list[str]]:
    index = ports.index
    waiting = [note.path for note in index.queue.pending()]
    waiting += [item.path for item in review_items(ports)]
    return {
        "Lately linked by amem": _lately_linked(index),
        # Suggestions are left out: of most notes there is one.
        "Waiting": list(dict.fromkeys(waiting)),
        "Orphans": vault_graph(index).orphans(),
        "Superseded": list(superseded),
    }


def _superseded(index: MemoryIndex) -> dict[str, list[str]]:
    """Notes that another one supersedes or contradicts, with the texts by which links name them."""
    found = {path: index.notes.summary(path) for path in sorted(supersessions(index))}
    return {path: _names(index, note) for path, note in found.items() if note}


def _names(index: MemoryIndex, note: NoteSummary) -> list[str]:
    """The texts by which links in Obsidian name a note and no other."""
    path = note.path.removesuffix(".md")
    stem = path.rpartition("/")[2]
    is_unique = len(index.names.candidates(name_key(note.path))) == 1
    return list(dict.fromkeys([*([stem] if is_unique else []), path, note.path, *note.aliases]))


def _lately_linked(index: MemoryIndex) -> list[str]:
    paths = {note.key: note.path for note in index.notes.summaries()}
    events = index.events.read(limit=_EVENTS)
    undone = undone_events(events)
    linked: dict[str, None] = {}
    for event in reversed(events):
        is_new = event.kind == "link" and event.by == "machine" and event.links
        path = paths.get(event.note or event.path)
        if is_new and path and event.id not in undone and not follows_a_note(event):
            linked[path] = None
    return list(linked)[:_LATELY]


def _base_text(views: Mapping[str, Sequence[str]]) -> str:
    import yaml

    document = {
        "properties": {
            "file.name": {"displayName": "Note"},
            "note.context": {"displayName": "Context"},
            "note.tags": {"displayName": "Tags"},
            "file.mtime": {"displayName": "Changed"},
        },
        "views": [
            {
                "type": "table",
                "name": name,
                "filters": {"and": [f"{_texts(paths)}.contains(file.path)"]},
                "order": list(_COLUMNS),
                "sort": [{"property": "file.mtime", "direction": "DESC"}],
            }
            for name, paths in views.items()
        ],
    }
    written = yaml.safe_dump(document, allow_unicode=True, sort_keys=False, width=10**9)
    return f"# {_MARK}\n{written}"


def _texts(paths: Iterable[str]) -> str:
    """A list of texts in the language of Bases, which writes both as JSON does."""
    return json.dumps(list(paths), ensure_ascii=False)


def _snippet_text(superseded: Mapping[str, Collection[str]], links_property: str) -> str:
    """CSS that greys out superseded notes and links to them, and sets amem's property apart."""
    key = _quoted(links_property)
    rules = [
        f"/* {_MARK} */",
        "/* Links that amem keeps, beside those that you write in the text. */",
        f".metadata-property[data-property-key={key}] .multi-select-pill {{\n"
        "  border: 1px dashed var(--text-faint);\n}",
    ]
    files = [f".nav-file-title[data-path={_quoted(path)}]" for path in superseded]
    names = dict.fromkeys(name for each in superseded.values() for name in each)
    links = [
        selector
        for name in names
        for selector in (
            f".internal-link[data-href={_quoted(name)}]",
            f".internal-link[data-href^={_quoted(name + '#')}]",
        )
    ]
    if files or links:
        rules.append("/* Notes that another one supersedes or contradicts. */")
        selectors = ",\n".join([*files, *links])
        rules.append(
            f"{selectors} {{\n  text-decoration: line-through;\n  color: var(--text-faint);\n}}"
        )
    return "\n".join(rules) + "\n"


def _quoted(text: str) -> str:
    return '"' + _UNSAFE_IN_CSS.sub(lambda found: f"\\{ord(found[0]):x} ", text) + '"'


@dataclass(frozen=True, slots=True)
class Written:
    """Vault-relative paths of the files that were written or changed, and of those removed."""

    written: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


def show_in_obsidian(root: Path, ports: VaultPorts | None) -> Written:
    """Write what amem knows into the files of a vault's Obsidian; what is as wanted is left.

    Args:
        ports: None removes all that this function wrote, and nothing else.

    Raises:
        SettingsError: Obsidian has no settings here, a file is not amem's or not readable, or it
            cannot be written; nothing was written in the first cases.
    """
    if not (root / FOLDER).is_dir():
        hint = "Open the folder in Obsidian once: it makes its settings."
        raise SettingsError(f"Obsidian has no settings in {root}", hint=hint)
    base = snippet = ""
    if ports is not None:
        superseded = _superseded(ports.index)
        base = _base_text(_views(ports, superseded))
        snippet = _snippet_text(superseded, ports.names.links)
    # What is in each file, and what has to be; empty for no file.
    changes: dict[str, tuple[bytes, bytes]] = {}
    for path, new in (
        (BASE, base),
        (f"{FOLDER}/snippets/{SNIPPET}.css", snippet),
    ):
        old = _read(root, path)
        if old and _MARK.encode() not in old.partition(b"\n")[0]:
            raise SettingsError(f"{path} is not amem's", hint="Give that file another name.")
        changes[path] = old, new.encode("utf-8", "replace")
    path = f"{FOLDER}/appearance.json"
    old = _read(root, path)
    changes[path] = old, _with_snippet(path, old, enabled=ports is not None)
    changes = {path: (old, new) for path, (old, new) in changes.items() if old != new}
    for path, (former, wanted) in changes.items():
        try:
            _exchange(root, path, former, wanted)
        except OSError as error:
            raise write_failure(path, error) from None
    return Written(
        tuple(path for path, (_, new) in changes.items() if new),
        tuple(path for path, (_, new) in changes.items() if not new),
    )


def _read(root: Path, path: str) -> bytes:
    """A file's content, empty without one; never through a link, which may lead anywhere."""
    for part in (root / path, *(root / path).parents):
        if part == root:
            break
        with suppress(FileNotFoundError):
            if is_link(part.lstat()):
                raise SettingsError(f"{part} is a link", hint="amem writes no file behind a link.")
    try:
        return (root / path).read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise SettingsError(f"cannot read {path}: {error.strerror}") from None


def _with_snippet(path: str, raw: bytes, *, enabled: bool) -> bytes:
    """Obsidian's JSON file of appearance with amem's snippet among the enabled ones, or not."""
    key = "enabledCssSnippets"
    try:
        document = json.loads(raw) if raw.strip() else {}
    except ValueError:
        document = None
    present = document.get(key) if isinstance(document, dict) else None
    if document is None or not isinstance(present, (list, type(None))):
        hint = "Correct it, or close Obsidian and delete it."
        raise SettingsError(f"cannot read {path}", hint=hint)
    wanted = [*(each for each in present or [] if each != SNIPPET), *[SNIPPET] * enabled]
    if wanted == (present or []):
        return raw
    changed = {**document, key: wanted}
    if not wanted:
        del changed[key]
    # As Obsidian writes it.
    return json.dumps(changed, ensure_ascii=False, indent=2).encode() if changed else b""


def _exchange(root: Path, path: str, old: bytes, new: bytes) -> None:
    file = root / path
    if not new:
        if file.read_bytes() != old:
            raise WriteConflict(f"{path} was changed meanwhile")
        file.unlink()
        with suppress(OSError):
            # The folder of snippets, if nothing else is in it.
            (root / FOLDER / "snippets").rmdir()
        return
    file.parent.mkdir(exist_ok=True)
    if old or file.exists():
        replace_file(file, new, expected=sha256(old))
    else:
        create_file(file, new)
