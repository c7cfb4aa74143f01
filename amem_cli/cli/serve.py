"""`amem mcp` and `amem lsp`: serve the vault to an agent or a text editor."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from amem_cli.cli.session import Session, session_of
from amem_cli.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from amem_cli.mcp.http import Door
    from amem_cli.system.wire import Wire


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
    http: Annotated[
        bool, Option("--http", help="Serve clients on this machine over HTTP instead.")
    ] = False,
    port: Annotated[
        int, Option(help="Port for --http; 0 is any that is free.", min=0, max=65535)
    ] = 7333,
) -> None:
    """Serve the vault to an agent over the Model Context Protocol (stdio).

    An agent's client starts this command; docs/agents.md shows how to configure common ones. With
    --http you start it: clients need the token in AMEM_MCP_TOKEN, or the one that is printed.

    Examples:

        amem mcp --vault ~/notes
        amem mcp --vault ~/notes --read-only
        amem mcp --vault ~/notes --http
    """
    if read_only and allow_delete:
        raise UsageError("--read-only and --allow-delete cannot be combined", hint="Leave one out.")
    session = session_of(context)
    root = session.root
    way: Wire | Door
    if http:
        from amem_cli.mcp.http import open_door

        way = open_door(port, os.environ)
        session.output.notice(f"serving {root} at {way.url}")
        if way.is_new:
            # Also with --quiet: nobody else knows it.
            sys.stderr.write(f"token: {way.token}\n")
            sys.stderr.flush()
    else:
        way = _wire(session, root, "agents start this themselves (docs/agents.md)")
    from amem_cli.mcp.server import run
    from amem_cli.mcp.tool import Policy
    from amem_cli.workspace.workspace import Workspace

    policy = Policy(writes=not read_only, deletes=allow_delete, sees_private=include_private)
    run(Workspace(root, notify=session.output.notice), policy, way)
    # Do not wait for threads that wait for the client or run native code.
    os._exit(0)


def lsp(context: typer.Context) -> None:
    """Serve the vault to a text editor over the Language Server Protocol (stdio).

    An editor starts this command; docs/editors.md shows how to configure Neovim, Helix, VS Code,
    Zed and Emacs.

    Examples:

        amem lsp --vault ~/notes
    """
    session = session_of(context)
    root = session.root
    wire = _wire(session, root, "editors start this themselves (docs/editors.md)")
    from amem_cli.lsp.server import run
    from amem_cli.workspace.workspace import Workspace

    run(Workspace(root, notify=session.output.notice), wire)
    # Do not wait for threads that run native code.
    os._exit(0)


def _wire(session: Session, root: Path, usual: str) -> Wire:
    """The wire to a client; who started the command by hand is told what is `usual`."""
    from amem_cli.system.wire import take_wire

    if sys.stdin.isatty():
        session.output.notice(f"serving {root}; {usual}; Ctrl-D ends it")
    # Only answers may reach the client, so this comes before anything else is loaded.
    return take_wire()
