"""Links in properties that the index does not cover."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from amem_cli.errors import AmemError
from amem_cli.index.memory_index import VaultPorts
from amem_cli.markdown.links import find_links
from amem_cli.notes.front_matter import find_fences, read_header
from amem_cli.notes.front_matter_edit import edit_header
from amem_cli.notes.names import name_key
from amem_cli.notes.note import PropertyNames

Mentions = dict[str, set[str]]


def links_in_other_properties(ports: VaultPorts) -> Mentions:
    """Notes with links in properties that the index does not cover, by the name linked to.

    Reads every note; one such table serves many merges.
    """
    mentions: Mentions = {}
    add_mentions(ports, (state.path for state in ports.vault.scan()), mentions)
    return mentions


def add_mentions(ports: VaultPorts, paths: Iterable[str], mentions: Mentions) -> None:
    """Add the property links of these notes to such a table."""
    for path in paths:
        try:
            raw = ports.vault.read(path).raw
            fences = find_fences(raw)
            if fences is None or b"[[" not in raw[fences.text_start : fences.text_end]:
                continue
            header = read_header(raw, fences)
        except AmemError:
            continue
        for entry in header.entries:
            if entry.name != ports.names.links:
                for link in find_links(header.text[entry.value.start : entry.value.end]):
                    mentions.setdefault(name_key(link.target), set()).add(path)


def redirected_properties(
    raw: bytes, names: PropertyNames, redirect: Callable[[str], str]
) -> bytes:
    """A note with redirected links in the properties that are not amem's own."""
    fences = find_fences(raw)
    if fences is None:
        return raw
    header = read_header(raw, fences)
    own = {getattr(names, field) for field in names.__slots__}
    changes: dict[str, str | Sequence[str]] = {}
    for entry in header.entries:
        value = entry.value
        if entry.name in own or value.kind == "mapping":
            continue
        if value.kind == "scalar":
            text = header.text_of(value) if value.is_string else None
            if text is not None and redirect(text) != text:
                changes[entry.name] = redirect(text)
            continue
        texts = header.texts_of(value)
        if texts is not None and any(redirect(text) != text for text in texts):
            changes[entry.name] = list(dict.fromkeys(map(redirect, texts)))
    return edit_header(raw, changes, names) if changes else raw
