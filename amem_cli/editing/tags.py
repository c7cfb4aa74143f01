"""Renames and merges tags in all notes that have them, as one change that `undo` takes back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from amem_cli.editing.add import checked_tag
from amem_cli.editing.move import processed
from amem_cli.errors import AmemError, NotFoundError, UsageError
from amem_cli.index.draft import NoteDraft, new_event
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.sync import refresh
from amem_cli.journal.events import Event
from amem_cli.markdown.links import rewrite_hashtags, tag_key
from amem_cli.notes.front_matter import header_of
from amem_cli.notes.front_matter_edit import edit_header
from amem_cli.notes.note import body_bytes


@dataclass(frozen=True, slots=True)
class Retagged:
    """What a rename or merge of tags did.

    Attributes:
        tag: the tag that the notes have now.
        paths: the notes that changed.
        left: why other notes keep a former tag, one line each.
        event: id of the event that `undo` takes back.
    """

    tag: str
    paths: tuple[str, ...]
    left: tuple[str, ...]
    event: str


def rename_tag(ports: VaultPorts, old: str, new: str) -> Retagged:
    """Give a tag another name, in properties and texts; the tags nested in it follow.

    Raises:
        NotFoundError: no note has the tag.
        UsageError: the new one cannot be a tag, or notes have it already.
        SettingsError, WriteConflict: nothing was written.
    """
    with ports.changes.locked():
        source = _known(ports, old)
        target = checked_tag(new)
        key = tag_key(target)
        if source == target:
            raise UsageError(f"the tag is #{target} already", hint="Give it another name.")
        is_own = key == tag_key(source)
        if not is_own and any(each == key or _is_below(each, key) for each in _tags(ports)):
            hint = f"`amem tags merge {source} {target}` makes them one."
            raise UsageError(f"notes have the tag #{target} already", hint=hint)
        return _Retagging(ports, [source], target, f"renamed the tag #{source}").apply()


def merge_tags(ports: VaultPorts, sources: Sequence[str], into: str) -> Retagged:
    """Make several tags one; the tags nested in them follow."""
    with ports.changes.locked():
        target = checked_tag(into)
        # As the notes spell it.
        target = _tags(ports).get(tag_key(target), target)
        known = [_known(ports, each) for each in sources]
        known = [each for each in dict.fromkeys(known) if tag_key(each) != tag_key(target)]
        if not known:
            raise UsageError("name at least two tags", hint="amem tags merge OLD… NEW")
        names = ", ".join(f"#{each}" for each in known)
        return _Retagging(ports, known, target, f"merged {names}").apply()


def _is_below(key: str, parent: str) -> bool:
    return key.startswith(f"{parent}/")


def by_key(tags: Iterable[str]) -> dict[str, str]:
    """Tags, and those that only nested ones are in, by their keys."""
    found: dict[str, str] = {}
    for tag in tags:
        parts = tag.split("/")
        for end in range(len(parts), 0, -1):
            part = "/".join(parts[:end])
            found.setdefault(tag_key(part), part)
    return found


def near_tags(text: str, known: Mapping[str, str]) -> str:
    """Tags that are spelled like a text, with their signs; empty if there are none."""
    near = get_close_matches(tag_key(text).rstrip("/"), known, n=3)
    return " ".join(f"#{known[each]}" for each in near)


def _tags(ports: VaultPorts) -> dict[str, str]:
    return by_key(ports.index.notes.tag_counts())


def _known(ports: VaultPorts, text: str) -> str:
    """A tag that notes have, as they spell it."""
    tags = _tags(ports)
    key = tag_key(text).rstrip("/")
    if key in tags:
        return tags[key]
    near = near_tags(text, tags)
    hint = f"Near: {near}." if near else "`amem tags` lists all."
    raise NotFoundError(f"no note has the tag #{text.strip().lstrip('#')}", hint=hint)


class _Retagging:
    """One change of all notes with one of the `sources`, under the write lock."""

    def __init__(self, ports: VaultPorts, sources: Sequence[str], target: str, reason: str) -> None:
        self._ports, self._target = ports, target
        self._reason = f"{reason} {'to' if len(sources) == 1 else 'into'} #{target}"
        # The innermost first.
        self._keys = sorted(map(tag_key, sources), key=len, reverse=True)
        # Notes that get an id by this change.
        self._ids: set[str] = set()

    def apply(self) -> Retagged:
        drafts: list[NoteDraft] = []
        left: list[str] = []
        for outline in self._ports.index.notes.outlines():
            if all(self._renamed(tag) == tag for tag in outline.tags):
                continue
            try:
                draft = self._draft(outline.path)
            except AmemError as error:
                left.append(f"{outline.path} is as it was: {error.message}")
                continue
            if draft.events:
                drafts.append(draft)
        if not drafts:
            why = left[0] if left else "the notes changed meanwhile"
            raise UsageError(f"no tag was changed: {why}", hint="Try again.")
        known = tuple(filter(None, (processed(self._ports, each) for each in drafts)))
        root, *others = (event for draft in drafts for event in draft.events)
        events = [replace(root, known=known), *(replace(each, cause=root.id) for each in others)]
        self._ports.changes.apply([write for each in drafts for write in each.write()], events)
        paths = tuple(draft.path for draft in drafts)
        refresh(self._ports, paths)
        return Retagged(self._target, paths, tuple(left), root.id)

    def _draft(self, path: str) -> NoteDraft:
        draft = NoteDraft(self._ports, self._ports.vault.read(path))
        raw = self._other_properties(draft)
        if raw != draft.raw:
            draft.restore(raw, self._event(), ())
        tags: dict[str, str] = {}
        for tag in map(self._renamed, draft.note.tags):
            tags.setdefault(tag_key(tag), tag)
        if any(self._renamed(tag) != tag for tag in draft.note.tags):
            draft.change({"tags": [*tags.values()]}, self._event(), taken=self._ids)
        self._ids.add(draft.note.id or "")
        # Other bytes than UTF-8 hold no tag.
        text = body_bytes(draft.raw).decode("utf-8", "surrogateescape")
        body = rewrite_hashtags(text, self._renamed).encode("utf-8", "surrogateescape")
        draft.replace_body(body, self._event())
        return draft

    def _event(self) -> Event:
        return new_event(self._ports, "edit", by="person", reason=self._reason)

    def _other_properties(self, draft: NoteDraft) -> bytes:
        """The note with the new tags in properties such as `tag`, which Obsidian reads as well."""
        names = self._ports.names
        header = header_of(draft.raw) if names.tags == "tags" else None
        if header is None:
            return draft.raw
        changes: dict[str, list[str]] = {}
        for entry in header.entries:
            if entry.name == "tags" or entry.name.casefold() not in ("tags", "tag"):
                continue
            value = entry.value
            if value.kind == "scalar":
                texts = (header.text_of(value) or "").replace(",", " ").split()
            else:
                texts = [*(header.texts_of(value) or ())]
            renamed = [self._renamed(text) for text in texts]
            if renamed != texts:
                changes[entry.name] = list(dict.fromkeys(renamed))
        return edit_header(draft.raw, changes, names) if changes else draft.raw

    def _renamed(self, tag: str) -> str:
        key, into = tag_key(tag), tag_key(self._target)
        if key in self._keys:
            return self._target
        for source in self._keys:
            # `a` may become `a/b`, but then `a/b` does not become `a/b/b`.
            if _is_below(key, source) and not _is_below(into, source):
                return "/".join([self._target, *tag.split("/")[source.count("/") + 1 :]])
        return tag
