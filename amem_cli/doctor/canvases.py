"""Checks the cards of canvases: each shows a file, and links to notes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from amem_cli.doctor.finding import Finding
from amem_cli.index.memory_index import VaultPorts
from amem_cli.markdown.links import find_links, is_attachment
from amem_cli.notes.canvas import card_files, card_texts
from amem_cli.notes.names import resolve


def card_findings(ports: VaultPorts, holds: Callable[[str], bool]) -> Iterator[Finding]:
    """Cards whose file is gone, and links on cards that lead to no note.

    Args:
        holds: whether any file of the vault has the name of a link's target.
    """
    moves = ports.index.files.moves()
    for path in ports.vault.canvases():
        raw = ports.vault.read(path).raw
        for file in dict.fromkeys(card_files(raw)):
            # What Obsidian keeps in dot folders is not looked at.
            if file.startswith(".") or "/." in file or ports.vault.spelled(file):
                continue
            now = moves.get(file)
            moved = now is not None and ports.vault.exists(now)
            message = f"the file {file} of a card was moved and is now {now}"
            hint = f"The card is yours: let it show {now}."
            if not moved:
                message = f"a card shows {file}, which is not there"
                hint = "Let the card show another file, or delete it."
            yield Finding(path, message, hint, check="cards")
        links = (link for text in card_texts(raw) for link in find_links(text) if link.target)
        for target in dict.fromkeys(link.target for link in links):
            is_note = not is_attachment(target)
            if is_note and resolve(target, path, ports.index.names) is None and not holds(target):
                message = f"the link [[{target}]] on a card leads to no note"
                yield Finding(path, message, "Correct the link, or write the note.", check="cards")
