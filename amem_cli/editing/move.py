"""Gives a note another name or folder; all links to it follow, in the same change."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType

from amem_cli.errors import AmemError, UsageError
from amem_cli.index.draft import NoteDraft, change_of, new_event
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.records import NoteSummary
from amem_cli.index.sync import refresh, text_hash
from amem_cli.journal.events import (
    FOLLOWS,
    Change,
    Event,
    LinkRecord,
    NoteWrite,
    exactly_before,
    splice_between,
)
from amem_cli.markdown.links import (
    WikiLink,
    destination,
    is_attachment,
    parse_link,
    redirected,
)
from amem_cli.notes.canvas import redirected_cards
from amem_cli.notes.front_matter_edit import edit_header
from amem_cli.notes.names import (
    RememberedNames,
    alias_key,
    file_name,
    is_linkable,
    name_key,
    resolve,
    shortest_target,
    with_suffix,
)
from amem_cli.notes.note import OWNED_FIELDS, body_bytes, parse_note
from amem_cli.notes.note_links import redirected_properties
from amem_cli.system.names import composed, folded
from amem_cli.vault.safe_write import sha256

_ATTEMPTS = 1_000


@dataclass(frozen=True, slots=True)
class Moved:
    """What a move did.

    Attributes:
        source, path: where the note was, and where it is.
        followed: other notes and canvases whose links and cards follow it.
        left: why links of other notes do not, one line each.
        event: id of the event that `undo` takes back.
    """

    source: str
    path: str
    followed: tuple[str, ...]
    left: tuple[str, ...]
    event: str


@dataclass(frozen=True, slots=True)
class OpenInEditor:
    """Notes that an editor has open: it changes these itself, and amem writes none of them.

    Attributes:
        texts: as they are in the editor, by path.
        apply: makes the editor change the texts of notes, given by path, and then rename a file if
            two paths are given; False if it did not.
    """

    texts: Mapping[str, str] = field(default_factory=dict)
    apply: Callable[[Mapping[str, str], tuple[str, str] | None], bool] = lambda texts, names: True


_NOT_OPEN = OpenInEditor()


def move(
    ports: VaultPorts,
    note: NoteSummary,
    name: str,
    *,
    unseen: Collection[str] = (),
    editor: OpenInEditor = _NOT_OPEN,
) -> Moved:
    """Give a note another name.

    A `title` property that spelled the old file name out is changed too.

    Args:
        name: a new title, for the same folder; or, with a slash, a path from the vault's root, of
            which a last slash keeps the file's name.
        unseen: paths whose notes the caller is not told of: beside such a name the note gets a
            number.
        editor: what is open there is changed by it, before anything else.

    Raises:
        UsageError: the name is the note's already, is another note's, or no link can hold it.
        UnsafePath: it leads out of the vault or into a dot folder.
        HeaderRefused, SettingsError, WriteConflict: nothing was done.
    """
    folder, slash, last = name.strip().rpartition("/")
    if not last.strip():
        last = note.path.rpartition("/")[2].removesuffix(".md") if slash else ""
    title = " ".join(last.removesuffix(".md").split())
    if not title:
        raise UsageError("the new name is empty", hint="Give a title, or a path in the vault.")
    folder = posixpath.normpath(folder.lstrip("/") or ".") if slash else _folder_of(note.path)
    with ports.changes.locked():
        wanted = posixpath.join("" if folder == "." else folder, file_name(title))
        path = _free_path(ports, note, wanted, unseen)
        old_stem, stem = note.path.rpartition("/")[2], path.rpartition("/")[2]
        is_spelled_out = note.title != old_stem.removesuffix(".md")
        is_renamed = stem != old_stem and file_name(note.title) == old_stem
        event = new_event(ports, "move", by="person", note=note.id or "", path=path)
        new_title = title if is_spelled_out and is_renamed else ""
        return move_to(ports, note, path, event, new_title, editor)


def _folder_of(path: str) -> str:
    return path.rpartition("/")[0] or "."


def _free_path(ports: VaultPorts, note: NoteSummary, wanted: str, unseen: Collection[str]) -> str:
    if wanted == note.path:
        raise UsageError(f"the note is {wanted} already", hint="Give it another name.")
    if not is_linkable(wanted):
        raise UsageError(f"no link can hold the name {wanted!r}", hint="Give it another name.")
    ports.vault.locate(wanted)
    if ports.vault.is_excluded(wanted):
        raise UsageError(f"{wanted} is in an excluded folder", hint="See `exclude.folders`.")
    folder, _, name = wanted.rpartition("/")
    key = name_key(note.path)
    for number in range(1, _ATTEMPTS):
        path = posixpath.join(folder, name if number == 1 else with_suffix(name, number))
        taken = [each for each in ports.index.names.candidates(name_key(path)) if each != note.path]
        # Notes of one name in several folders are as their owner wants them.
        taken = [] if name_key(path) == key else taken
        # On many disks, a name in another case is the note's own.
        is_own = folded(path) == folded(note.path) and not ports.vault.has(path)
        if ports.vault.exists(path) and not is_own:
            taken.append(path)
        if not taken:
            return path
        if not set(taken) <= {*unseen}:
            other = next(each for each in taken if each not in unseen)
            raise UsageError(f"{other} has this name already", hint="Give it another name.")
    raise UsageError(f"there are too many notes named {name!r}")


def move_to(
    ports: VaultPorts,
    note: NoteSummary,
    path: str,
    root: Event,
    title: str = "",
    editor: OpenInEditor = _NOT_OPEN,
    former: Mapping[str, bytes] = MappingProxyType({}),
) -> Moved:
    """Move a note to a free path under the write lock, recorded by `root` with its change of path.

    Args:
        title: the new `title` property; empty leaves it.
        former: what notes become byte for byte, by their paths now, if they change at all.
    """
    way = LinksAfterMove(ports, note, path, title)
    changes = (Change("path", note.path, path), Change("title", note.title, title))
    made = ports.vault.missing_folder(path)
    root = replace(root, changes=changes if title else changes[:1], folder=made)
    drafts: list[NoteDraft] = []
    left: list[str] = []
    for source in way.sources():
        if source in editor.texts:
            continue
        try:
            draft = way.followed(source, root)
        except AmemError as error:
            left.append(f"{source} still links to {note.path}: {error.message}")
            continue
        if draft is not None:
            # As the links were written before, rather than as amem writes them.
            way.put(draft, former.get(source), root)
            drafts.append(draft)
    own = None if note.path in editor.texts else way.moved(root)
    if own is not None:
        way.put(own, former.get(note.path), root)
    texts = {source: way.text_after(source, text) for source, text in editor.texts.items()}
    changed = {source: text for source, text in texts.items() if text != editor.texts[source]}
    names = (note.path, path) if own is None else None
    if (changed or names) and not editor.apply(changed, names):
        raise UsageError("the editor did not make the change", hint="Nothing was renamed.")
    if own is None and not (ports.vault.exists(path) and not ports.vault.has(note.path)):
        raise UsageError(f"the editor did not rename {note.path}", hint="Try `amem mv`.")
    root = replace(root, known=tuple(filter(None, (processed(ports, each) for each in drafts))))
    canvases, canvas_events = way.canvases(root, left, former)
    writes = [*canvases, *(write for draft in drafts for write in draft.write())]
    events = [root, *canvas_events]
    if own is not None:
        writes.append(NoteWrite(path, own.content.raw, own.raw, note.path))
        events += [replace(event, path=path) for event in own.events]
    events += [event for draft in drafts for event in draft.events]
    try:
        ports.changes.apply(writes, events)
    except FileExistsError:
        raise UsageError(f"{path} exists already", hint="Give it another name.") from None
    with ports.index.changing():
        ports.index.files.move(note.path, path)
    refresh(ports, [path, *(draft.path for draft in drafts)])
    followed = [draft.path for draft in drafts] + [each for each in changed if each != note.path]
    followed += [write.path for write in canvases]
    return Moved(note.path, path, tuple(followed), tuple(left), root.id)


def before_move(ports: VaultPorts, event: Event) -> dict[str, bytes]:
    """The bytes before a move of the notes whose links followed it, if nobody edited them since."""
    former: dict[str, bytes | None] = {}
    for each in reversed(ports.index.events.caused_by(event.id)):
        if each.path not in former:
            present = ports.vault.has(each.path)
            former[each.path] = ports.vault.read(each.path).raw if present else None
        raw = former[each.path]
        former[each.path] = None if raw is None else exactly_before(raw, each.splice)
    return {path: raw for path, raw in former.items() if raw is not None}


def processed(ports: VaultPorts, draft: NoteDraft) -> str:
    """The hash of a processed text in which only links changed, or empty.

    It needs no new process.
    """
    keys = [key for key in (draft.note.id, draft.path) if key]
    before, after = text_hash(draft.content.raw), text_hash(draft.raw)
    queue = ports.index.queue
    # An adopted note waits like any other if the analyzer only stood in for a model.
    seen = [*keys] if queue.has_fallback(keys, before) else [*keys, ""]
    return after if before != after and queue.was_processed(seen, before) else ""


class LinksAfterMove:
    """Where links lead before and after a note goes to a path, and the notes that follow it.

    Args:
        path: the note's new path, or that of the note into which it is merged.
        title: the new `title` property, if it changes.

    Attributes:
        key: by which records of links name the other note of a merge; empty for a move.
        ids: of notes that get one by this change.
    """

    def __init__(
        self,
        ports: VaultPorts,
        note: NoteSummary,
        path: str,
        title: str = "",
        *,
        key: str = "",
        reason: str = "",
    ) -> None:
        self._ports, self._note, self._path, self._title = ports, note, path, title
        self._reason = reason or f"{FOLLOWS}“{note.title}” to {path}"
        self.key = key
        self.ids: set[str] = set()
        names = ports.index.names
        known: dict[str, list[str]] = {}
        for each in (note.path, path):
            found = name_key(each)
            others = [other for other in names.candidates(found) if other not in (note.path, path)]
            known[found] = [*others, path] if found == name_key(path) else others
        self._before, self._after = names, RememberedNames(names, known)
        self._named_alike = {path for paths in known.values() for path in paths} | {note.path}

    def sources(self) -> list[str]:
        """Other notes with links that may lead elsewhere by the move."""
        links = self._ports.index.links
        linking = (source for path in self._named_alike for source, _ in links.incoming(path))
        return sorted(set(linking) - {self._note.path})

    def moved(self, root: Event) -> NoteDraft:
        """The note itself, whose own links lead on to where they led."""
        draft = self._redirected(self._note.path, root)
        if self._title:
            raw = edit_header(draft.raw, {"title": self._title}, self._ports.names)
            draft.restore(raw, self.event("edit", root), ())
        return draft

    def put(self, draft: NoteDraft, raw: bytes | None, root: Event) -> None:
        """Give a note other bytes, if there are any; the fields that change by it are recorded."""
        if raw is None or raw == draft.raw:
            return
        after = parse_note(draft.path, raw, self._ports.names)
        # Only an id may be None.
        values = {name: getattr(after, name) for name in OWNED_FIELDS} | {"id": after.id or ""}
        changes = (change_of(draft.note, name, value) for name, value in values.items())
        changed = tuple(each for each in changes if each.before != each.after)
        draft.restore(raw, self.event("edit", root), changed)

    def followed(self, source: str, root: Event) -> NoteDraft | None:
        """Another note with its links; None if they lead where they led."""
        draft = self._redirected(source, root)
        return draft if draft.events else None

    def canvases(
        self, root: Event, left: list[str], former: Mapping[str, bytes] = MappingProxyType({})
    ) -> tuple[list[NoteWrite], list[Event]]:
        """The canvases whose cards show the note or link to it, as they are to be, with an event
        each; what cannot be changed is told in `left`.

        Args:
            former: what files become byte for byte, if they change at all.
        """
        writes: list[NoteWrite] = []
        events: list[Event] = []
        vault, old = self._ports.vault, self._note.path
        for path in vault.canvases():
            content = vault.read(path)
            before = content.raw
            if content.cut:
                if old.encode() in before:
                    left.append(f"{path} may still show {old}: it is larger than 2 MiB")
                continue
            after = redirected_cards(
                before,
                lambda file: self._path if composed(file) == composed(old) else None,
                partial(self.in_text, source=path),
            )
            if after != before:
                after = former.get(path, after)
                splice = splice_between(before, after, sha256(before), sha256(after))
                writes.append(NoteWrite(path, before, after))
                events.append(replace(self.event("edit", root), path=path, splice=splice))
        return writes, events

    def text_after(self, source: str, text: str) -> str:
        """A note's whole text as an editor has it, with its links as they are to be.

        The links of the `links` property follow as well: whose they are does not change by that.
        A header that cannot be edited keeps its links.
        """
        names = self._ports.names
        raw = text.encode("utf-8", "surrogatepass")
        try:
            links = parse_note(source, raw, names).links
            followed = [self.in_text(link, source) for link in links]
            if [*links] != followed:
                raw = edit_header(raw, {names.links: list(dict.fromkeys(followed))}, names)
            raw = self._in_properties(raw, source)
            if self._title and source == self._note.path:
                raw = edit_header(raw, {"title": self._title}, names)
        except (AmemError, ValueError):
            raw = text.encode("utf-8", "surrogatepass")
        body = body_bytes(raw)
        head = raw[: len(raw) - len(body)]
        after = self.in_text(body.decode("utf-8", "surrogatepass"), source)
        return (head + after.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def _redirected(self, source: str, root: Event) -> NoteDraft:
        ports = self._ports
        draft = NoteDraft(ports, ports.vault.read(source))
        records = {link.text: link for link in ports.index.link_history.records(source).values()}
        parsed = filter(None, map(parse_link, draft.note.links))
        reached = {resolve(link.target, source, self._before) for link in parsed}
        # Each owner's links are changed by an event of its own.
        for by in ("machine", "person"):
            made = []
            links = []
            for text in draft.note.links:
                record = records.get(text)
                owner = record.by if record is not None else "person"
                new = self.in_text(text, source) if owner == by else text
                # Of two links that become one, the machine's gives way.
                if new != text and by == "machine" and self._path in reached:
                    continue
                if new != text and record is not None:
                    made.append(self._renewed(record, new))
                links.append(new)
            event = self.event("link" if by == "machine" else "edit", root, by)
            event = replace(event, links=tuple(made))
            draft.change({"links": list(dict.fromkeys(links))}, event, taken=self.ids)
        self.ids.add(draft.note.id or "")
        self.put(draft, self._in_properties(draft.raw, source), root)
        # Other bytes than UTF-8 hold no link that could be found by name.
        text = body_bytes(draft.raw).decode("utf-8", "surrogateescape")
        body = self.in_text(text, source).encode("utf-8", "surrogateescape")
        draft.replace_body(body, self.event("edit", root))
        return draft

    def _renewed(self, record: LinkRecord, text: str) -> LinkRecord:
        old, target = self._note, record.target
        if target in (old.path, old.id):
            target = self.key or (self._path if target == old.path else target)
        path = self._path if record.path == old.path else record.path
        return replace(record, target=target, path=path, text=text)

    def event(self, kind: str, root: Event, by: str = "person") -> Event:
        trigger = self._note.key if self.key else self._note.id or self._path
        return new_event(
            self._ports, kind, by=by, trigger=trigger, cause=root.id, reason=self._reason
        )

    def _in_properties(self, raw: bytes, source: str) -> bytes:
        """A note with the links in its properties as they are to be, without the listed ones."""
        listed = self._ports.names.links
        return redirected_properties(raw, lambda text: self.in_text(text, source), without=listed)

    def in_text(self, text: str, source: str) -> str:
        """A text of the note at `source` with its links as they are to be."""
        return redirected(text, lambda link: self._target(link, source))

    def _target(self, link: WikiLink, source: str) -> str | None:
        """How a link of the note at `source` has to name its file from now on; None as it does."""
        old = self._note.path
        here = self._path if source == old else source
        if is_attachment(link.target):
            return self._attachment(link, source, here)
        before = resolve(link.target, source, self._before)
        if before is None:
            return self._attachment(link, source, here)
        after, wanted = resolve(link.target, here, self._after), before
        if before == old:
            wanted = self._path
            # By an alias or a title that it keeps; the names still say the old path.
            is_title = self._title and alias_key(link.target) == alias_key(self._note.title)
            if after == old and not is_title and name_key(link.target) != name_key(old):
                return None
        # Other readers of markdown find a note by its place alone.
        is_kept = not self._is_relative(link, source, before) or self._is_relative(
            link, here, wanted
        )
        if after == wanted and is_kept:
            return None
        if link.style == "wikilink":
            return shortest_target(wanted, self._after)
        return destination(wanted, here, link.target)

    def _is_relative(self, link: WikiLink, source: str, path: str) -> bool:
        beside = posixpath.join(posixpath.dirname(source), link.target)
        return link.style == "markdown" and _as_named(posixpath.normpath(beside)) == _as_named(path)

    def _attachment(self, link: WikiLink, source: str, here: str) -> str | None:
        folder = posixpath.dirname(source)
        is_relative = link.style == "markdown" and not link.target.startswith("/")
        path = posixpath.normpath(posixpath.join(folder, link.target))
        if not is_relative or folder == posixpath.dirname(here) or path.startswith(".."):
            return None
        found = self._ports.vault.spelled(path)
        return None if found is None else destination(found, here, link.target)


def _as_named(path: str) -> str:
    """A note's path as links may name it: in any case and form of accents, without its ending."""
    return folded(path).removesuffix(".md")
