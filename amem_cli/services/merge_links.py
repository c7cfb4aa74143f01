"""Lets links follow a note that is merged into another, in other notes and in its own text."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from amem_cli.core.errors import AmemError, SettingsError
from amem_cli.core.header import find_fences, read_header
from amem_cli.core.index_records import NoteSummary
from amem_cli.core.journal import Event, LinkRecord
from amem_cli.core.link_redirect import destination, redirected
from amem_cli.core.merging import redirected_properties, text_of_body
from amem_cli.core.resolution import is_attachment, name_key, resolve, shortest_target
from amem_cli.core.reversal import is_worded
from amem_cli.core.wikilinks import find_links, format_link, parse_link
from amem_cli.services.owned import owned_by_machine
from amem_cli.services.recording import NoteDraft, new_event
from amem_cli.services.vault_ports import VaultPorts

if TYPE_CHECKING:
    from amem_cli.core.wikilinks import WikiLink

Mentions = dict[str, set[str]]


def links_in_other_properties(ports: VaultPorts) -> Mentions:
    """Notes with links in properties of which the index knows nothing, by the name linked to.

    Reads every note; one such table serves for many merges.
    """
    found: Mentions = {}
    note_mentions(ports, (state.path for state in ports.vault.scan()), found)
    return found


def note_mentions(ports: VaultPorts, paths: Iterable[str], found: Mentions) -> None:
    """Add to such a table what these notes say, as after a merge."""
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
                    found.setdefault(name_key(link.target), set()).add(path)


@dataclass(frozen=True, slots=True)
class Redirection:
    """Makes links to one note lead to another.

    Attributes:
        key: id of the kept note, or its path where it has none.
        root: the event of the merge.
    """

    ports: VaultPorts
    key: str
    kept: NoteSummary
    other: NoteSummary
    root: Event

    def redirect(self, path: str, taken: Collection[str]) -> NoteDraft | None:
        """A note with its links redirected; None where it has none.

        Args:
            taken: ids that other notes get by the same merge.

        Raises:
            HeaderRefused, SettingsError: the note cannot be edited without risk.
        """
        draft = NoteDraft(self.ports, self.ports.vault.read(path))
        self._machine_links(draft, taken)
        self._personal_links(draft, taken)
        raw = redirected_properties(
            draft.raw, self.ports.names, lambda text: self.in_text(text, path)
        )
        if raw != draft.raw:
            draft.restore(raw, self._event("edit", "person"), ())
        body = text_of_body(draft.raw)
        if body is None:
            raise SettingsError("its text is not UTF-8", hint="Save it as UTF-8.")
        text = self.in_text(body, path)
        draft.replace_body(text.encode("utf-8"), self._event("edit", "person"))
        return draft if draft.events else None

    def carried(self, link: WikiLink) -> str | None:
        """What a link of the other note's own text has to say in the kept note."""
        names, here = self.ports.index.names, self.kept.path
        wiki = link.style == "wikilink"
        if is_attachment(link.target):
            folder = posixpath.dirname(self.other.path)
            path = posixpath.normpath(posixpath.join(folder, link.target))
            moved = folder != posixpath.dirname(here) and not link.target.startswith("/")
            is_there = not wiki and moved and self._is_file(path)
            return destination(path, here, link.target) if is_there else None
        to = resolve(link.target, self.other.path, names)
        if to == self.other.path:
            to = self.kept.path if self._by_file_name(link.target) else None
        elif to is not None and resolve(link.target, here, names) == to:
            to = None
        if to is None:
            return None
        return shortest_target(to, names) if wiki else destination(to, here, link.target)

    def _is_file(self, path: str) -> bool:
        try:
            return not path.startswith("..") and self.ports.vault.exists(path)
        except AmemError:
            return False

    def in_text(self, text: str, source: str) -> str:
        """A text of the note at `source` with its links redirected."""
        return redirected(text, lambda link: self._new_target(link, source))

    def _new_target(self, link: WikiLink, source: str) -> str | None:
        names = self.ports.index.names
        # A link by an alias or title follows by itself: the kept note gets those as its aliases.
        if not self._by_file_name(link.target):
            return None
        if resolve(link.target, source, names) != self.other.path:
            return None
        if link.style == "wikilink":
            return shortest_target(self.kept.path, names)
        return destination(self.kept.path, source, link.target)

    def _by_file_name(self, target: str) -> bool:
        return name_key(target.partition("#")[0]) == name_key(self.other.path)

    def _event(self, kind: str, by: str) -> Event:
        return new_event(
            self.ports,
            kind,
            by=by,
            trigger=self.other.key,
            cause=self.root.id,
            reason=self.root.reason,
        )

    def _machine_links(self, draft: NoteDraft, taken: Collection[str]) -> None:
        summary = self.ports.index.notes.summary(draft.path)
        owned = owned_by_machine(self.ports.index, summary.key if summary else draft.path).links
        record = owned.get(self.other.key) or owned.get(self.other.path)
        links = list(draft.note.links)
        if record is None or record.by != "machine" or record.text not in links:
            return
        if is_worded(record.text) or not self._leads(record.text, draft.path, self.other.path):
            return
        at = links.index(record.text)
        records: tuple[LinkRecord, ...] = ()
        if any(self._leads(text, draft.path, self.kept.path) for text in links):
            del links[at]
        else:
            text = format_link(shortest_target(self.kept.path, self.ports.index.names))
            records = (replace(record, target=self.key, path=self.kept.path, text=text),)
            links[at] = text
        event = replace(self._event("link", "machine"), links=records)
        draft.change({"links": links}, event, taken=taken)

    def _personal_links(self, draft: NoteDraft, taken: Collection[str]) -> None:
        known = self.ports.index.link_history.records(draft.path).values()
        records = {record.text: record for record in known if record.by == "person"}
        links: list[str] = []
        made: list[LinkRecord] = []
        for text in draft.note.links:
            new = self.in_text(text, draft.path)
            if new != text and text in records:
                made.append(replace(records[text], target=self.key, path=self.kept.path, text=new))
            links.append(new)
        unique = list(dict.fromkeys(links))
        if unique != list(draft.note.links):
            event = replace(self._event("edit", "person"), links=tuple(made))
            draft.change({"links": unique}, event, taken=taken)

    def _leads(self, text: str, source: str, target: str) -> bool:
        link = parse_link(text)
        return link is not None and resolve(link.target, source, self.ports.index.names) == target
