"""Repairs of single notes; each raises if the note was edited since it was checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from amem_cli.editing.edit import drafted
from amem_cli.editing.move import processed
from amem_cli.editing.renames import update_renamed_links
from amem_cli.errors import SettingsError
from amem_cli.index.draft import new_event
from amem_cli.index.memory_index import VaultPorts
from amem_cli.journal.events import FOLLOWS, Change
from amem_cli.journal.provenance import provenance
from amem_cli.language.dates import new_id, parse_moment
from amem_cli.markdown.links import WikiLink, destination, parse_link, redirected
from amem_cli.memory.plan import target_of
from amem_cli.notes.front_matter_edit import edit_header
from amem_cli.notes.names import NameTable, resolve, shortest_target
from amem_cli.notes.note import body_bytes, parse_note
from amem_cli.notes.note_links import redirected_properties

# Opens the vault for a repair, with its index up to date.
OpenPorts = Callable[[], VaultPorts]

_AGAIN = "Run `amem doctor` again."


def give_new_id(open_ports: OpenPorts, path: str, old: str, original: str) -> str:
    ports = open_ports()
    with drafted(ports, path) as draft:
        # Either note may have been edited since the check.
        original_id = parse_note(original, ports.vault.read(original).raw, ports.names).id
        if draft.note.id != old or original_id != old:
            raise SettingsError("the notes have changed meanwhile", hint=_AGAIN)
        try:
            moment = parse_moment(old[:14])
        except ValueError:
            moment = ports.clock.now().replace(tzinfo=None)
        fresh = new_id(moment, ports.index.notes.id_taken)
        event = new_event(ports, "edit", by="person", reason=f"the id {old} is that of {original}")
        # Nowhere else an id changes: here it is set like any other property.
        any_id = replace(ports.names, id="")
        raw = edit_header(draft.raw, {ports.names.id: fresh}, any_id)
        draft.restore(raw, event, (Change("id", old, fresh),))
        draft.events = [replace(each, note=fresh) for each in draft.events]
    return f"Gave {path} the id {fresh}; nothing else in it changed."


def follow_rename(open_ports: OpenPorts, path: str, text: str, now: str) -> str:
    ports = open_ports()
    # All at once; what another finding's fix has rewritten already is as it should be.
    update_renamed_links(ports)
    links = parse_note(path, ports.vault.read(path).raw, ports.names).links
    new = next((each for each in links if target_of(each, path, ports.index) == now), "")
    if text in links or not new:
        raise SettingsError("the link cannot be rewritten", hint="Correct it by hand.")
    return f"Rewrote {text} as {new} in the links of {path}."


def follow_by_hand(open_ports: OpenPorts, path: str, former: str, now: str) -> str:
    """Have a person's links to a note that was at `former` follow it, which is at `now`."""
    ports = open_ports()
    with drafted(ports, path) as draft:
        names = ports.index.names
        moved = NameTable((each, (), "") for each in ports.index.files.moves())
        target = shortest_target(now, names)

        def target_after(link: WikiLink) -> str | None:
            is_left = resolve(link.target, path, names) is None
            if not is_left or resolve(link.target, path, moved) != former:
                return None
            return target if link.style == "wikilink" else destination(now, path, link.target)

        def followed(text: str) -> str:
            return redirected(text, target_after)

        before, raw = [*draft.note.links], draft.raw
        links = list(dict.fromkeys(map(followed, before)))
        if links != before:
            raw = edit_header(raw, {ports.names.links: links}, ports.names)
        raw = redirected_properties(raw, followed, without=ports.names.links)
        body = body_bytes(raw)
        text = followed(body.decode("utf-8", "surrogateescape"))
        raw = raw[: len(raw) - len(body)] + text.encode("utf-8", "surrogateescape")
        done = f"Your links in {path} lead to {now}; `amem undo` takes it back."
        # What another finding's fix has rewritten already is as it should be.
        if raw == draft.raw:
            return done
        event = new_event(
            ports, "edit", by="person", trigger=now, reason=f"{FOLLOWS}a note to the new name"
        )
        draft.restore(raw, event, (Change("links", before, links),) if links != before else ())
        known = tuple(filter(None, (processed(ports, draft),)))
        draft.events = [replace(each, known=known) for each in draft.events]
    return done


def remove_link(open_ports: OpenPorts, path: str, text: str, target: str) -> str:
    ports = open_ports()
    with drafted(ports, path) as draft:
        record = provenance(ports.index.events.read(draft.note.id or path)).links.get(target)
        parsed = parse_link(text)
        leads = parsed is not None and resolve(parsed.target, path, ports.index.names) is not None
        if record is None or record.by != "machine" or record.text != text or leads:
            raise SettingsError("the link has changed meanwhile", hint=_AGAIN)
        links = [link for link in draft.note.links if link != text]
        event = new_event(ports, "link", trigger=target, reason=f"{record.path} is gone")
        if not draft.change({"links": links}, event):
            raise SettingsError("the link is not there any more", hint=_AGAIN)
    return f"Removed {text} from the links of {path}."
