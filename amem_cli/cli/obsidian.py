"""`amem obsidian`: show in Obsidian what only amem knows."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer
from typer import Option

from amem_cli.cli.session import session_of


def obsidian(
    context: typer.Context,
    remove: Annotated[bool, Option("--remove", help="Remove all that it wrote.")] = False,
) -> None:
    """Show in Obsidian what amem knows: views of notes, marks and colours.

    Writes amem.base (notes linked lately, waiting, without links, superseded), a CSS snippet that
    strikes superseded notes through, and a group for each cluster in the graph's settings. They
    show the vault as it is now; call it again for later changes. Nothing else is changed.

    Examples:

        amem obsidian
        amem obsidian --remove
    """
    session = session_of(context)
    with session.workspace() as workspace:
        done = workspace.show_in_obsidian(remove=remove)
    lines = [f"wrote {path}" for path in done.written]
    lines += [f"removed {path}" for path in done.removed]
    session.output.result(asdict(done), "\n".join(lines or ["nothing to change"]))
    if done.written or done.removed:
        session.output.notice("if Obsidian is open, reload it: Ctrl+P, Reload app without saving")
