"""What a client's user picks: prompts, and notes and a summary of the vault as resources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from amem_cli.data import table
from amem_cli.errors import NotFoundError, UsageError
from amem_cli.mcp.tool import marked
from amem_cli.mcp.tools import SUMMARY, vault_summary
from amem_cli.workspace.documents import cut, document

if TYPE_CHECKING:
    from amem_cli.index.records import NoteSummary
    from amem_cli.workspace.workspace import Workspace

PROMPTS = table("mcp_prompts.toml")
_ARGUMENT_CHARACTERS = 2_000


def prompt_text(prompt: Mapping[str, Any], given: Mapping[str, str]) -> str:
    """One of the prompts with its arguments.

    Raises:
        UsageError: an argument is missing, unknown or too long.
    """
    told = {}
    for name, about in prompt["takes"].items():
        value = given.get(name, "").strip()
        if not value and "missing" not in about:
            raise UsageError(f"the argument {name!r} is missing")
        told[name] = about.get("words", "{}").format(value) if value else about["missing"]
    for name, value in given.items():
        if name not in told:
            raise UsageError(f"no argument {name[:40]!r}")
        if len(value) > _ARGUMENT_CHARACTERS:
            raise UsageError(f"{name!r} may have {_ARGUMENT_CHARACTERS:,} characters")
    text: str = prompt["text"]
    return text.format(**told)


VAULT = "amem://vault"
NOTES = "amem://note/"
TEMPLATE = NOTES + "{id}"
MARKDOWN = "text/markdown"
_ON_A_PAGE = 100
_CHARACTERS = 100_000


def uri_of(note: NoteSummary) -> str:
    """A note's address: its id, or its path if it has none."""
    return NOTES + quote(note.key, safe="")


def page(workspace: Workspace, cursor: str | None) -> tuple[list[dict[str, Any]], str | None]:
    """Resources by path with the cursor of the next page, None after the last.

    A cursor is a place in the order of paths: notes that come or go meanwhile move no other.
    """
    # A file's name may hold bytes that are not UTF-8.
    after = unquote(cursor or "", errors="surrogateescape")
    vault = {
        "uri": VAULT,
        "name": "vault",
        "title": "The vault at a glance",
        "description": "How many notes, which tags, what is new and what waits.",
        "mime_type": MARKDOWN,
    }
    # One more than is shown tells whether there is another page.
    notes = workspace.index.notes.summaries_after(
        after, _ON_A_PAGE + 1, public=not workspace.sees_private
    )
    shown = notes[:_ON_A_PAGE]
    found = [*([vault] if cursor is None else []), *(_resource(note) for note in shown)]
    following = None
    if len(notes) > len(shown):
        following = quote(shown[-1].path, safe="", errors="surrogateescape")
    return found, following


def _resource(note: NoteSummary) -> dict[str, Any]:
    return {
        "uri": uri_of(note),
        "name": note.path,
        "title": cut(note.title, 200),
        "description": cut(note.context, 300) or None,
        "mime_type": MARKDOWN,
    }


def contents(workspace: Workspace, uri: str) -> str:
    """A resource's text, marked as data.

    Raises:
        NotFoundError: there is no such resource, or agents may not see it.
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
    text = f"# {cut(summary.title)}\n\n{body[:_CHARACTERS]}"
    if len(body) > _CHARACTERS:
        text += (
            f"\n\n[{len(body) - _CHARACTERS} more characters: call read with offset {_CHARACTERS}]"
        )
    return marked(text)


def _summary(workspace: Workspace) -> str:
    found = document(SUMMARY, vault_summary(workspace, {}), bounded=True)
    tags = ", ".join(f"#{each['tag']} ({each['notes']})" for each in found["tags"]) or "none"
    newest = "\n".join(
        f"- {each['created'][:10]} {each['title']} ({each['id'] or each['path']})"
        for each in found["newest"]
    )
    return (
        f"# The vault\n\n{found['notes']} notes, {found['links']} links"
        f" ({found['machine_links']} made by amem),"
        f" {found['broken_links']} links to notes not yet written,"
        f" {found['orphans']} notes without links, {found['pending']} waiting to be organised,"
        f" {found['proposed']} proposed changes waiting for the user's decision.\n\n"
        f"## Tags\n{tags}\n\n## Newest\n{newest}\n"
    )
