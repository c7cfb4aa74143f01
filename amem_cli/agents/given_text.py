"""Texts that agents give, held against what is in the vault."""

from __future__ import annotations

from typing import TYPE_CHECKING

from amem_cli.core.errors import UsageError

if TYPE_CHECKING:
    from amem_cli.agents.open_vault import OpenVault


def refuse_id(vault: OpenVault, content: str) -> None:
    """Refuse a text that names its own id: that one is taken would tell of a private note.

    Raises:
        UsageError: it names one.
    """
    from amem_cli.core.note_file import parse_note
    from amem_cli.services.add import text_bytes

    if parse_note("", text_bytes(content), vault.ports.names).id is not None:
        raise UsageError(
            "the text brings an `id` in its front matter", hint="Leave it out: amem gives ids."
        )


def appended(vault: OpenVault, path: str, more: str, revision: str) -> tuple[str, str]:
    """The text with more at its end, and the hash of the one it was made from.

    Raises:
        UsageError: the note's text is not UTF-8.
    """
    from amem_cli.core.note_file import body_bytes
    from amem_cli.services.sync import text_hash

    raw = vault.ports.vault.read(path).raw
    try:
        body = body_bytes(raw).decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"the text of {path} is not UTF-8", hint="Save it as UTF-8.") from None
    end = "\r\n" if "\r\n" in body else "\n"
    gap = "" if not body.strip() else end if body.endswith("\n") else 2 * end
    if end != "\n":
        more = more.replace("\r\n", "\n").rstrip("\n").replace("\n", end) + end
    return f"{body}{gap}{more}", revision or text_hash(raw)
