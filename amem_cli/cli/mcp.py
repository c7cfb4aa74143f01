"""`amem mcp`."""

from __future__ import annotations

from typing import Annotated

import typer

from amem_cli.cli.session import session_of
from amem_cli.errors import UsageError


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("mcp")(mcp)


def mcp(
    context: typer.Context,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Notes can be found and read, nothing else.")
    ] = False,
    allow_delete: Annotated[
        bool, typer.Option("--allow-delete", help="Notes can also be moved to the trash.")
    ] = False,
    include_private: Annotated[
        bool, typer.Option("--include-private", help="Show notes with `private: true` as well.")
    ] = False,
) -> None:
    """Serve the vault to an agent over the Model Context Protocol, on stdin and stdout.

    A client starts it and speaks to it; docs/agents.md has the configuration of common ones.

    Examples:

        amem mcp --vault ~/notes

        amem mcp --vault ~/notes --read-only
    """
    import gc
    import os
    import sys

    from amem_cli.locations import find_vault
    from amem_cli.mcp.stdio import take_wire

    if read_only and allow_delete:
        raise UsageError("--read-only and --allow-delete say the opposite", hint="Leave one out.")
    session = session_of(context)
    root = find_vault(session.vault)
    if sys.stdin.isatty():
        session.output.notice(
            f"serving {root}; it is for a client to start (docs/agents.md), Ctrl-D ends it"
        )
    # Nothing else of the process may write to the client, so this comes before all else is loaded.
    wire = take_wire()
    # The SDK makes some hundred thousand objects as it is loaded, all of which stay.
    gc.disable()
    from amem_cli.mcp.server import run
    from amem_cli.mcp.tool import Policy
    from amem_cli.workspace.workspace import Workspace

    gc.freeze()
    gc.enable()

    policy = Policy(writes=not read_only, deletes=allow_delete, sees_private=include_private)
    run(Workspace(root, notify=session.output.notice), policy, wire)
    # A thread that waits for a client's next word, or for native code, is not waited for.
    os._exit(0)
