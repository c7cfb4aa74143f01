"""Tools that add and change notes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from amem_cli.errors import UsageError
from amem_cli.mcp import tool as takes
from amem_cli.mcp.tool import Arguments, Tool
from amem_cli.mcp.tools_read import NOTE
from amem_cli.workspace import documents as json
from amem_cli.workspace.documents import COUNT, FLAG, NAME, NAME_OR_NULL, NAMES, TEXTS

if TYPE_CHECKING:
    from amem_cli.editing.edit import Removal
    from amem_cli.editing.undo import Undone
    from amem_cli.workspace.workspace import Added, Updated, Workspace

_MOST_EVOLVED = 20
_WAIT = takes.flag(
    "Wait until keywords, tags and links are written, which may take some seconds; false leaves"
    " that to `evolve` or to a running `amem watch`.",
    default=True,
)


def _words(description: str) -> json.Schema:
    return takes.texts(description, takes.WORDS, takes.WORD_CHARACTERS)


def _review_sentence(count: int) -> str | None:
    """What happens to so many proposals, for an agent to pass on; None if there are none."""
    if not count:
        return None
    what = "1 change of an older note is" if count == 1 else f"{count} changes of older notes are"
    return (
        f"{what} proposed and not made: the user's settings let them wait until the user decides,"
        " with `amem review` in a terminal."
    )


_REVIEW = NAME_OR_NULL.about("says to whom the decision on `proposed` is left; tell the user")
_OUTCOME = {
    **json.without(json.OUTCOME, "changed_links", "model"),
    "review": _REVIEW.of(lambda outcome: _review_sentence(len(outcome.proposed))),
}
ADDED = {
    "known": FLAG.about("nothing was added: this note held the very text already"),
    **json.within("outcome", _OUTCOME),
}


def _add(workspace: Workspace, given: Arguments) -> Added:
    from amem_cli.editing.add import NewNote
    from amem_cli.language.dates import parse_moment

    try:
        created = parse_moment(given["created"]) if given["created"] else None
    except ValueError:
        raise UsageError(
            f"created {given['created']!r} is no date", hint="Write it as 2026-03-02T15:00."
        ) from None
    _refuse_id(workspace, given["content"])
    new = NewNote(
        content=given["content"],
        title=given["title"] or "",
        keywords=given["keywords"] or (),
        tags=given["tags"] or (),
        context=given["context"] or "",
        created=created,
        folder=workspace.settings.notes_dir,
    )
    return workspace.add(new, unless_known=given["unless_known"], wait=given["wait"])


def _refuse_id(workspace: Workspace, content: str) -> None:
    """Refuse a text that names its id: whether it is taken would reveal a private note.

    Raises:
        UsageError: it names one.
    """
    from amem_cli.editing.add import text_bytes
    from amem_cli.notes.codec import parse_note

    if parse_note("", text_bytes(content), workspace.ports.names).id is not None:
        raise UsageError(
            "the text brings an `id` in its front matter", hint="Leave it out: amem gives ids."
        )


UPDATED = {"changed": NAMES, "revision": NAME, **json.within("outcome", _OUTCOME)}


def _update(workspace: Workspace, given: Arguments) -> Updated:
    from amem_cli.editing.edit import FieldEdits

    note = workspace.note(given["note"])
    append, revision = given["append"], given["revision"] or ""
    if given["content"] is not None and append is not None:
        raise UsageError("give `content` or `append`, not both")
    if given["content"] is not None and not revision:
        raise UsageError(
            "`content` replaces the whole text and needs the `revision` that it was made from",
            hint="Read the note for it; to add to the end use `append`.",
        )
    edits = FieldEdits(
        content=given["content"],
        context=given["context"],
        add_keywords=given["add_keywords"] or (),
        remove_keywords=given["remove_keywords"] or (),
        add_tags=given["add_tags"] or (),
        remove_tags=given["remove_tags"] or (),
    )
    if edits == FieldEdits() and append is None:
        raise UsageError("nothing to change", hint="Give a field and its new value.")
    return workspace.update(note, edits, append=append, revision=revision, wait=given["wait"])


EVOLVED = {
    "notes": json.listed(_OUTCOME),
    "review": _REVIEW,
    "left": COUNT,
    "stopped": NAME_OR_NULL,
}


def _evolve(workspace: Workspace, given: Arguments) -> Mapping[str, Any]:
    # Private notes are not counted either: `left` would reveal them.
    hidden = workspace.hidden()

    def waiting() -> list[str]:
        return [note.path for note in workspace.index.queue.pending() if note.path not in hidden]

    paths = [workspace.note(given["note"]).path] if given["note"] else waiting()[: given["limit"]]
    with workspace.evolving(paths, asked=bool(given["note"])) as batch:
        outcomes = [workspace.visible_outcome(each) for each in batch.outcomes()]
    return {
        "notes": outcomes,
        "review": _review_sentence(sum(len(outcome.proposed) for outcome in outcomes)),
        # Counted anew: others add and finish notes meanwhile.
        "left": len(waiting()),
        "stopped": " ".join(batch.stopped),
    }


UNDONE = {
    "events": json.listed({"event": NAME.of("id"), "kind": NAME, "path": NAME}),
    "paths": NAMES,
    "kept": TEXTS.about("what was left as it is, and why"),
}


def _undo(workspace: Workspace, given: Arguments) -> Undone:
    return workspace.undo(given["event"], cascade=given["cascade"], keep_edits=given["keep_edits"])


DELETED = {
    "path": NAME,
    "unlinked": NAMES.about("notes from which amem's link to it was removed"),
    "still_linked_from": NAMES.of("dangling").about("notes in which a person's link to it remains"),
}


def _delete(workspace: Workspace, given: Arguments) -> Removal:
    return workspace.remove(workspace.note(given["note"]))


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
                "content": takes.text("The text, in markdown.", takes.TEXT_CHARACTERS),
                "title": takes.text(
                    "A short title, from which the file's name is made; without one it is the"
                    " beginning of the text.",
                    200,
                ),
                "tags": _words("Tags of your own, without #; leave them out to have them chosen."),
                "keywords": _words("Keywords of your own; leave them out to have them chosen."),
                "context": takes.text(
                    "One sentence on what the note is about; leave it out to have it written.",
                    takes.SENTENCE_CHARACTERS,
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
        ADDED,
        _add,
        asks_model=True,
        writes=True,
    ),
    Tool(
        "update",
        "Change a note",
        "Add to a note's text, replace it, or change its context, keywords and tags. What is not"
        " given stays. To replace the text (`content`), read the note first and pass its"
        " `revision`: the change is refused if somebody edited the text since.",
        takes.arguments(
            ["note"],
            {
                "note": NOTE,
                "append": takes.text(
                    "Text for the end of the note, as a paragraph of its own.",
                    takes.TEXT_CHARACTERS,
                ),
                "content": takes.text(
                    "The whole new text, without front matter; needs `revision`.",
                    takes.TEXT_CHARACTERS,
                ),
                "revision": takes.text(
                    "Refuse the change if the text is not the one that read gave with this.",
                    100,
                ),
                "context": takes.text("The new context sentence.", takes.SENTENCE_CHARACTERS),
                "add_tags": _words("Tags to add, without #."),
                "remove_tags": _words("Tags to remove."),
                "add_keywords": _words("Keywords to add."),
                "remove_keywords": _words("Keywords to remove."),
                "wait": _WAIT,
            },
        ),
        UPDATED,
        _update,
        asks_model=True,
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
        EVOLVED,
        _evolve,
        asks_model=True,
        writes=True,
        repeatable=True,
    ),
    Tool(
        "undo",
        "Take back a change",
        "Take back one change that history shows, to the byte. Refused if the same place was"
        " edited since. An undo can be undone. It does not remove a note that was added.",
        takes.arguments(
            ["event"],
            {
                "event": takes.text("The event's id.", 40, least=8),
                "cascade": takes.flag("Also take back what built on it.", default=False),
                "keep_edits": takes.flag("Leave fields that were edited since.", default=False),
            },
        ),
        UNDONE,
        _undo,
        writes=True,
        overwrites=True,
    ),
    Tool(
        "delete",
        "Delete a note",
        "Move a note to the vault's .trash folder, only if the user asked for that. Links to it"
        " that amem made are removed; the user's own stay and are told.",
        takes.arguments(["note"], {"note": NOTE}),
        DELETED,
        _delete,
        writes=True,
        deletes=True,
        overwrites=True,
    ),
)
