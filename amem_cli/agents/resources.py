"""Notes and a summary of the vault as resources, which a client's user can attach."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from amem_cli.agents.bounds import MOST_READ_CHARACTERS, RESOURCES_ON_A_PAGE, cut
from amem_cli.agents.envelope import marked
from amem_cli.core.errors import NotFoundError, UsageError

if TYPE_CHECKING:
    from amem_cli.core.index_records import NoteSummary
    from amem_cli.wiring import Workspace

VAULT = "amem://vault"
NOTES = "amem://note/"
TEMPLATE = NOTES + "{id}"
MARKDOWN = "text/markdown"


def uri_of(note: NoteSummary) -> str:
    """A note's address: its id, or its path where it has none."""
    return NOTES + quote(note.key, safe="")


def page(workspace: Workspace, cursor: str | None) -> tuple[list[dict[str, Any]], str | None]:
    """Resources by path with the cursor of the next page, None after the last.

    A cursor is a place in the order of paths: notes that come or go meanwhile move no other.

    Raises:
        UsageError: the cursor is none of ours.
    """
    after = _path_of(cursor) if cursor is not None else ""
    found: list[dict[str, Any]] = []
    if cursor is None:
        found.append(
            {
                "uri": VAULT,
                "name": "vault",
                "title": "The vault at a glance",
                "description": "How many notes, which tags, what is new and what waits.",
                "mime_type": MARKDOWN,
            }
        )
    # One more than is shown tells whether there is another page.
    notes = workspace.index.notes.summaries_after(
        after, RESOURCES_ON_A_PAGE + 1, public=not workspace.sees_private
    )
    shown = notes[:RESOURCES_ON_A_PAGE]
    found += map(_resource, shown)
    return found, _cursor_of(shown[-1].path) if len(notes) > len(shown) else None


def _resource(note: NoteSummary) -> dict[str, Any]:
    return {
        "uri": uri_of(note),
        "name": note.path,
        "title": cut(note.title, 200),
        "description": cut(note.context, 300) or None,
        "mime_type": MARKDOWN,
    }


def _cursor_of(path: str) -> str:
    return base64.urlsafe_b64encode(path.encode("utf-8", "surrogateescape")).decode("ascii")


def _path_of(cursor: str) -> str:
    try:
        raw = base64.b64decode(cursor.encode("ascii"), altchars=b"-_", validate=True)
        return raw.decode("utf-8", "surrogateescape")
    except (binascii.Error, ValueError):
        raise UsageError("this cursor is not one that resources/list gave") from None


def contents(workspace: Workspace, uri: str) -> str:
    """A resource's text, marked as data.

    Raises:
        NotFoundError: there is no such resource that agents are shown.
    """
    if uri == VAULT:
        return marked(_summary(workspace))
    if not uri.startswith(NOTES):
        raise NotFoundError(f"no resource {cut(uri, 200)!r}")
    name = unquote(uri.removeprefix(NOTES))
    summary = workspace.note(name)
    if name != summary.key:
        # A resource has one address; names are for tools.
        raise NotFoundError(f"no resource {cut(uri, 200)!r}", hint=f"It is {uri_of(summary)}.")
    body = workspace.show(summary).note.body
    text = f"# {cut(summary.title)}\n\n{body[:MOST_READ_CHARACTERS]}"
    if len(body) > MOST_READ_CHARACTERS:
        text += (
            f"\n\n[{len(body) - MOST_READ_CHARACTERS} more characters: call read with"
            f" offset {MOST_READ_CHARACTERS}]"
        )
    return marked(text)


def _summary(workspace: Workspace) -> str:
    from amem_cli.agents.vault_summary import vault_summary

    found = vault_summary(workspace)
    tags = ", ".join(f"#{each['tag']} ({each['notes']})" for each in found["tags"]) or "none"
    newest = "\n".join(
        f"- {each['created'][:10]} {each['title']} ({each['id'] or each['path']})"
        for each in found["newest"]
    )
    return (
        f"# The vault\n\n{found['notes']} notes, {found['links']} links"
        f" ({found['machine_links']} made by amem, {found['broken_links']} broken),"
        f" {found['orphans']} notes without links, {found['pending']} waiting to be organised,"
        f" {found['proposed']} proposed changes waiting for the user's decision.\n\n"
        f"## Tags\n{tags}\n\n## Newest\n{newest}\n"
    )
