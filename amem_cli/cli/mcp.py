"""`amem mcp`: serve the vault to an agent."""

from __future__ import annotations

import gc
import os
import sys
from typing import Annotated

import typer
from typer import Option

from amem_cli.cli.session import session_of
from amem_cli.errors import UsageError


def mcp(
    context: typer.Context,
    read_only: Annotated[
        bool, Option("--read-only", help="Only allow finding and reading notes.")
    ] = False,
    allow_delete: Annotated[
        bool, Option("--allow-delete", help="Also allow moving notes to the trash.")
    ] = False,
    include_private: Annotated[
        bool, Option("--include-private", help="Include notes with `private: true`.")
    ] = False,
) -> None:
    """Serve the vault to an agent over the Model Context Protocol (stdio).

    An agent's client starts this command; docs/agents.md shows how to configure common ones.

    Examples:

        amem mcp --vault ~/notes
        amem mcp --vault ~/notes --read-only
    """
    from amem_cli.mcp.stdio import take_wire

    if read_only and allow_delete:
        raise UsageError("--read-only and --allow-delete cannot be combined", hint="Leave one out.")
    session = session_of(context)
    root = session.root
    if sys.stdin.isatty():
        session.output.notice(
            f"serving {root}; agents start this themselves (docs/agents.md); Ctrl-D ends it"
        )
    # Only answers may reach the client, so this comes before anything else is loaded.
    wire = take_wire()
    # Loading the SDK creates some hundred thousand objects that all stay.
    gc.disable()
    from amem_cli.mcp.server import run
    from amem_cli.mcp.tool import Policy
    from amem_cli.workspace.workspace import Workspace

    gc.freeze()
    gc.enable()

    policy = Policy(writes=not read_only, deletes=allow_delete, sees_private=include_private)
    run(Workspace(root, notify=session.output.notice), policy, wire)
    # Do not wait for threads that wait for the client or run native code.
    os._exit(0)
