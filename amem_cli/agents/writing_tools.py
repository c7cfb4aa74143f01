"""Tools that add and change notes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from amem_cli.agents import arguments as takes
from amem_cli.agents import bounds, documents
from amem_cli.agents import result_schemas as gives
from amem_cli.agents.given_text import appended, refuse_id
from amem_cli.agents.reading_tools import NOTE
from amem_cli.agents.tool import Document, Later, Tool
from amem_cli.core.errors import AmemError, NotFoundError, UsageError, WriteConflict

if TYPE_CHECKING:
    from amem_cli.agents.lanes import Call
    from amem_cli.agents.open_vault import OpenVault
    from amem_cli.services.outcome import Outcome

_ATTEMPTS = 3
_MOST_EVOLVED = 20
_WAIT = takes.flag(
    "Wait until keywords, tags and links are written, which may take some seconds; false leaves"
    " that to `evolve` or to a running `amem watch`.",
    default=True,
)


def _words(description: str) -> takes.Schema:
    return takes.texts(description, bounds.WORDS, bounds.WORD_CHARACTERS)


def _add(vault: OpenVault, given: Mapping[str, Any], call: Call) -> Document | Later:
    from amem_cli.core.identity import parse_moment
    from amem_cli.services.add import NewNote, add
    from amem_cli.services.known_text import known_text

    try:
        created = parse_moment(given["created"]) if given["created"] else None
    except ValueError:
        raise UsageError(
            f"created {given['created']!r} is no date", hint="Write it as 2026-03-02T15:00."
        ) from None
    new = NewNote(
        content=given["content"],
        title=given["title"] or "",
        keywords=given["keywords"] or (),
        tags=given["tags"] or (),
        context=given["context"] or "",
        created=created,
        folder=vault.workspace.settings.notes_dir,
    )
    refuse_id(vault, given["content"])
    call.step("writing the note")
    known = None
    with vault.ports.changes.locked():
        if given["unless_known"]:
            known = known_text(vault.ports, new.content, title=new.title, hidden=vault.hidden())
        path = known.path if known is not None else add(vault.ports, new)
    if known is not None:
        return {"known": True, **_as_it_is(vault, path)}
    first = {"known": False}
    return _remembered(vault, path, call, first, wait=given["wait"], new_text=True)


def _as_it_is(vault: OpenVault, path: str) -> Document:
    """A note for which nothing was done now."""
    from amem_cli.services.evolve import waiting_outcome

    waits = any(note.path == path for note in vault.index.queue.pending())
    return documents.outcome(waiting_outcome(vault.ports, path, (), pending=waits), vault.hidden())


def _update(vault: OpenVault, given: Mapping[str, Any], call: Call) -> Document | Later:
    from amem_cli.services.edit import FieldEdits, update

    summary = vault.named(given["note"])
    content, text = given["content"], given["revision"] or ""
    if content is not None and given["append"] is not None:
        raise UsageError("give `content` or `append`, not both")
    if content is not None and not text:
        raise UsageError(
            "`content` replaces the whole text and needs the `revision` that it was made from",
            hint="Read the note for it; to add to the end use `append`.",
        )
    for attempt in range(_ATTEMPTS):
        body, based_on = content, text
        if given["append"] is not None:
            body, based_on = appended(vault, summary.path, given["append"], text)
        edits = FieldEdits(
            content=body,
            context=given["context"],
            add_keywords=given["add_keywords"] or (),
            remove_keywords=given["remove_keywords"] or (),
            add_tags=given["add_tags"] or (),
            remove_tags=given["remove_tags"] or (),
        )
        if edits == FieldEdits():
            raise UsageError("nothing to change", hint="Give a field and its new value.")
        call.step("writing the note")
        try:
            changed = update(vault.ports, summary, edits, text=based_on)
            break
        except WriteConflict:
            # Somebody saved in this instant. What is only added can be added to their text.
            if text or attempt + 1 == _ATTEMPTS:
                raise
    now = vault.index.notes.summary(summary.path)
    first = {"changed": list(changed), "revision": now.text_hash if now is not None else ""}
    new_text = "content" in changed
    return _remembered(vault, summary.path, call, first, wait=given["wait"], new_text=new_text)


def _remembered(
    vault: OpenVault, path: str, call: Call, first: Document, *, wait: bool, new_text: bool
) -> Document | Later:
    """Keywords, tags and links for a note that is safe on disk, now or later."""
    if not wait:
        from amem_cli.services.evolve import waiting_outcome

        done = waiting_outcome(vault.ports, path, ())
        return {**first, **documents.outcome(done, vault.hidden())}

    def work() -> Document:
        done = _remember(vault, path, call, new_text=new_text)
        return {**first, **documents.outcome(done, vault.hidden())}

    return Later(work)


def _remember(vault: OpenVault, path: str, call: Call, *, new_text: bool) -> Outcome:
    from amem_cli.services.evolve import waiting_outcome

    try:
        vault.encoder(call)
        with vault.thinking(call) as workspace:
            process = workspace.process
            model = "" if process.model is None else f", asking {process.model.name}"
            call.step(f"working out keywords, tags and links{model}")
            return process.run(path, asked=True, only_pending=new_text)
    except AmemError as error:
        return waiting_outcome(vault.ports, path, (error.message, error.hint))


def _evolve(vault: OpenVault, given: Mapping[str, Any], call: Call) -> Document | Later:
    hidden = vault.hidden()
    waiting = [note.path for note in vault.index.queue.pending() if note.path not in hidden]
    paths = [vault.named(given["note"]).path] if given["note"] else waiting[: given["limit"]]

    def work() -> Document:
        from amem_cli.services.evolve_batch import EvolveBatch

        vault.encoder(call)
        with vault.thinking(call) as workspace:
            batch = EvolveBatch(workspace.process, paths, asked=bool(given["note"]))
            count = len(paths)
            batch.begin = lambda path: call.step(f"{path} ({batch.reached + 1} of {count})")
            done = [documents.outcome(each, hidden) for each in batch.outcomes()]
        left = sum(note.path not in hidden for note in vault.index.queue.pending())
        review = documents.review_sentence(sum(len(each["proposed"]) for each in done))
        stopped = " ".join(batch.stopped) or None
        return {"notes": done, "review": review, "left": left, "stopped": stopped}

    return Later(work)


def _undo(vault: OpenVault, given: Mapping[str, Any], call: Call) -> Document:
    from amem_cli.services.undo import undo

    hidden = vault.hidden()
    untold = set(hidden)
    for event in vault.index.events.find(given["event"]):
        found = vault.index.notes.find(event.note or event.path) if event.note or event.path else []
        if any(note.path in hidden for note in found):
            raise NotFoundError(f"no event {given['event']!r}", hint="history shows their ids.")
        if not found and event.path and not vault.policy.sees_private:
            untold.add(event.path)
    try:
        undone = undo(
            vault.ports, given["event"], cascade=given["cascade"], keep_edits=given["keep_edits"]
        )
    except AmemError as error:
        if any(path in f"{error.message} {error.hint}" for path in untold):
            raise NotFoundError(
                "it cannot be taken back: what it changed is in a note that you are not shown",
                hint="Leave it to the user: amem undo.",
            ) from None
        raise
    # A note that came back may be one that is not shown.
    hidden |= vault.hidden()
    return {
        "events": [
            {"event": each.id, "kind": each.kind, "path": each.path}
            for each in undone.events
            if each.path not in hidden
        ],
        "paths": [path for path in undone.paths if path not in hidden],
        "kept": [
            bounds.cut(line) for line in undone.kept if not any(path in line for path in hidden)
        ],
    }


def _delete(vault: OpenVault, given: Mapping[str, Any], call: Call) -> Document:
    from amem_cli.services.edit import remove

    hidden = vault.hidden()
    removal = remove(vault.ports, vault.named(given["note"]))
    return {
        "path": removal.path,
        "unlinked": [path for path in removal.unlinked if path not in hidden],
        "still_linked_from": [path for path in removal.dangling if path not in hidden],
    }


WRITING_TOOLS = (
    Tool(
        "add",
        "Add a note",
        "Save something worth keeping as a new note: one idea, fact, decision or preference, in"
        " full sentences that are understood without the conversation. Search first, and update"
        " the note that says it already. amem writes missing keywords, tags and a context, links"
        " the note to what is known, and may improve older notes.",
        takes.arguments(
            ["content"],
            {
                "content": takes.text("The text, in markdown.", bounds.TEXT_CHARACTERS),
                "title": takes.text(
                    "A short title, from which the file's name is made; without one it is the"
                    " beginning of the text.",
                    200,
                ),
                "tags": _words("Tags of your own, without #; leave them out to have them chosen."),
                "keywords": _words("Keywords of your own; leave them out to have them chosen."),
                "context": takes.text(
                    "One sentence on what the note is about; leave it out to have it written.",
                    bounds.SENTENCE_CHARACTERS,
                ),
                "created": takes.text("When it was, as 2026-03-02T15:00; now by default.", 50),
                "unless_known": takes.flag(
                    "Where a note holds this very text already, add nothing and give that note,"
                    " with `known` true; false adds the note all the same.",
                    default=True,
                ),
                "wait": _WAIT,
            },
        ),
        gives.ADDED,
        _add,
        writes=True,
    ),
    Tool(
        "update",
        "Change a note",
        "Add to a note's text, replace it, or change its context, keywords and tags. What is not"
        " given stays. To replace the text (`content`), read the note first and pass its"
        " `revision`: the change is refused where somebody edited the text since.",
        takes.arguments(
            ["note"],
            {
                "note": NOTE,
                "append": takes.text(
                    "Text for the end of the note, as a paragraph of its own.",
                    bounds.TEXT_CHARACTERS,
                ),
                "content": takes.text(
                    "The whole new text, without front matter; needs `revision`.",
                    bounds.TEXT_CHARACTERS,
                ),
                "revision": takes.text(
                    "Refuse the change where the text is not the one that read gave with this.",
                    100,
                ),
                "context": takes.text("The new context sentence.", bounds.SENTENCE_CHARACTERS),
                "add_tags": _words("Tags to add, without #."),
                "remove_tags": _words("Tags to remove."),
                "add_keywords": _words("Keywords to add."),
                "remove_keywords": _words("Keywords to remove."),
                "wait": _WAIT,
            },
        ),
        gives.UPDATED,
        _update,
        writes=True,
        overwrites=True,
    ),
    Tool(
        "evolve",
        "Organise waiting notes",
        "Write keywords, tags and links for notes that wait (see list with `only: pending`), and"
        " let older notes learn from them. May take long; progress is told.",
        takes.arguments(
            [],
            {
                "note": {**NOTE, "description": "Only this note. " + NOTE["description"]},
                "limit": takes.number("At most so many notes.", 1, _MOST_EVOLVED, 5),
            },
        ),
        gives.EVOLVED,
        _evolve,
        writes=True,
        repeatable=True,
    ),
    Tool(
        "undo",
        "Take back a change",
        "Take back one change that history shows, to the byte. Refused where the same place was"
        " edited since. An undo can be undone. It does not remove a note that was added.",
        takes.arguments(
            ["event"],
            {
                "event": takes.text("The event's id.", 40, least=8),
                "cascade": takes.flag("Also take back what built on it.", default=False),
                "keep_edits": takes.flag("Leave fields that were edited since.", default=False),
            },
        ),
        gives.UNDONE,
        _undo,
        writes=True,
        overwrites=True,
    ),
    Tool(
        "delete",
        "Delete a note",
        "Move a note to the vault's .trash folder, only where the user asked for that. Links to it"
        " that amem made are removed; the user's own stay and are told.",
        takes.arguments(["note"], {"note": NOTE}),
        gives.DELETED,
        _delete,
        writes=True,
        deletes=True,
        overwrites=True,
    ),
)
