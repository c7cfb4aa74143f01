"""`amem lsp`: help somebody who writes notes in a text editor."""

from __future__ import annotations

import gc
import os
import sys

import typer

from amem_cli.cli.session import session_of


def lsp(context: typer.Context) -> None:
    """Serve the vault to a text editor over the Language Server Protocol (stdio).

    An editor starts this command; docs/editors.md shows how to configure Neovim, Helix, VS Code,
    Zed and Emacs.

    Examples:

        amem lsp --vault ~/notes
    """
    from amem_cli.system.wire import take_wire

    session = session_of(context)
    root = session.root
    if sys.stdin.isatty():
        session.output.notice(
            f"serving {root}; editors start this themselves (docs/editors.md); Ctrl-D ends it"
        )
    # Only answers may reach the editor, so this comes before anything else is loaded.
    wire = take_wire()
    # Loading the protocol's types creates many objects that all stay.
    gc.disable()
    from amem_cli.lsp.server import run
    from amem_cli.workspace.workspace import Workspace

    gc.freeze()
    gc.enable()
    run(Workspace(root, notify=session.output.notice), wire)
    # Do not wait for threads that run native code.
    os._exit(0)
