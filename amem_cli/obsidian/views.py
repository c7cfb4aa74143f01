"""The texts of Obsidian's files: a Base, a CSS snippet, and groups of its graph.

Bases and snippets as help.obsidian.md describes them; the groups are searches by path.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from amem_cli.data import table

# How the files begin that amem may replace and remove.
MARK = "Written by `amem obsidian`, which replaces it; `amem obsidian --remove` removes it."
# In a group's query this changes nothing, and tells amem its own groups.
_GROUP = "path:/^(?:amem){0}(?:"
_COLUMNS = ("file.name", "note.context", "note.tags", "file.mtime")
_SPECIAL = re.compile(r"[\\^$.*+?()\[\]{}|/]")
_UNSAFE_IN_CSS = re.compile(r'["\\\x00-\x1f\x7f]')


@dataclass(frozen=True, slots=True)
class Shown:
    """What the files show, by paths of notes.

    Attributes:
        linked: notes that amem linked lately.
        waiting: notes that wait for amem, or for a decision.
        orphans: notes without links.
        superseded: notes that another one supersedes or contradicts, with the texts by which links
            name them.
        clusters: groups of closely linked notes by name, largest first.
        links: the name of the property that holds amem's links.
    """

    linked: Sequence[str] = ()
    waiting: Sequence[str] = ()
    orphans: Sequence[str] = ()
    superseded: Mapping[str, Collection[str]] = field(default_factory=dict)
    clusters: Mapping[str, Sequence[str]] = field(default_factory=dict)
    links: str = "links"


def base_text(shown: Shown) -> str:
    """A Base with a view for each kind of note."""
    import yaml

    views = {
        "Lately linked by amem": shown.linked,
        "Waiting": shown.waiting,
        "Orphans": shown.orphans,
        "Superseded": list(shown.superseded),
    }
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
    return f"# {MARK}\n{written}"


def _texts(paths: Iterable[str]) -> str:
    """A list of texts in the language of Bases, which writes both as JSON does."""
    return json.dumps(list(paths), ensure_ascii=False)


def snippet_text(shown: Shown) -> str:
    """CSS that greys out superseded notes and links to them, and sets amem's property apart."""
    key = _quoted(shown.links)
    rules = [
        f"/* {MARK} */",
        "/* Links that amem keeps, beside those that you write in the text. */",
        f".metadata-property[data-property-key={key}] .multi-select-pill {{\n"
        "  border: 1px dashed var(--text-faint);\n}",
    ]
    files = [f".nav-file-title[data-path={_quoted(path)}]" for path in shown.superseded]
    names = dict.fromkeys(name for each in shown.superseded.values() for name in each)
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
    """A string of CSS."""
    return '"' + _UNSAFE_IN_CSS.sub(lambda found: f"\\{ord(found[0]):x} ", text) + '"'


def graph_groups(shown: Shown) -> list[dict[str, Any]]:
    """A group of Obsidian's graph for each cluster, in the colours of amem's own drawings."""
    colours: list[str] = table("pictures.toml")["clusters"]
    return [
        {"query": _query(paths), "color": {"a": 1, "rgb": int(colour.removeprefix("#"), 16)}}
        for paths, colour in zip(shown.clusters.values(), colours, strict=False)
    ]


def _query(paths: Iterable[str]) -> str:
    """A search for exactly these notes; a text in place of the expression would find parts."""
    names = (_SPECIAL.sub(r"\\\g<0>", path) for path in paths)
    return f"{_GROUP}{'|'.join(names)})$/"


def is_own_group(group: object) -> bool:
    """Whether amem made a group of the graph."""
    query = group.get("query") if isinstance(group, dict) else None
    return isinstance(query, str) and query.startswith(_GROUP)
