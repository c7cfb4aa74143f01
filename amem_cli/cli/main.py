"""The `amem` program: global options, the commands, exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from amem_cli.cli import (
    exchange_commands,
    graph_commands,
    link_commands,
    memory_commands,
    model_commands,
    note_commands,
    search_commands,
    settings_commands,
    vault_commands,
)
from amem_cli.cli.session import Session
from amem_cli.core.errors import (
    EXIT_BUG,
    EXIT_INTERRUPTED,
    EXIT_USAGE,
    AmemError,
    UsageError,
)
from amem_cli.rendering.output import Output

app = typer.Typer(
    name="amem",
    help="A Zettelkasten that organises itself: markdown notes, linked and evolved by a local"
    " model. Global options may stand before or after the command.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for group in (
    vault_commands,
    note_commands,
    search_commands,
    link_commands,
    memory_commands,
    graph_commands,
    model_commands,
    settings_commands,
    exchange_commands,
):
    group.register(app)

_FLAGS = ("--json", "--quiet", "--verbose", "--no-color")


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        sys.stdout.write(f"amem {version('amem-cli')}\n")
        raise typer.Exit


@app.callback()
def main(
    context: typer.Context,
    vault: Annotated[
        Path | None, typer.Option(help="The vault's folder.", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No notices.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="More notices, tracebacks.")] = False,
    no_color: Annotated[bool, typer.Option("--no-color", help="No colours.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Keep the global options for the command."""
    color = False if no_color or os.environ.get("NO_COLOR") else None
    output = Output(as_json=as_json, quiet=quiet, verbose=verbose, color=color)
    context.obj = Session(vault, output)


def global_options_first(arguments: Sequence[str]) -> list[str]:
    """Move global options to the front, so that they may stand anywhere before `--`."""
    ahead: list[str] = []
    rest: list[str] = []
    items = list(arguments)
    while items:
        item = items.pop(0)
        if item == "--":
            rest += [item, *items]
            break
        if item in _FLAGS or item.startswith("--vault="):
            ahead.append(item)
        elif item == "--vault" and items:
            ahead += [item, items.pop(0)]
        else:
            rest.append(item)
    return ahead + rest


def run(arguments: Sequence[str] | None = None) -> None:
    """Run one command line and end the process with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    line = global_options_first(sys.argv[1:] if arguments is None else arguments)
    try:
        code = _run(line)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of a pipe has had enough, as with `| head`.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    sys.exit(code)


def _run(line: list[str]) -> int:
    output = Output(as_json="--json" in line, verbose="--verbose" in line)
    try:
        for argument in line:
            if any("\ud800" <= char <= "\udfff" for char in argument):
                shown = argument.encode("utf-8", "replace").decode()
                raise UsageError(f"{shown!r} is not valid UTF-8")
        return int(app(line, prog_name="amem", standalone_mode=False) or 0)
    except AmemError as error:
        if output.verbose:
            raise_context(error)
        output.error(error)
        return error.exit_code
    except (KeyboardInterrupt, EOFError):
        output.notice("interrupted")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        raise
    except Exception as error:
        return _other(error, output)


def raise_context(error: AmemError) -> None:
    """Show where an understood error came from."""
    import traceback

    traceback.print_exception(error, file=sys.stderr)


def _other(error: Exception, output: Output) -> int:
    """Wrong usage as the command-line parser reports it, or a bug, which is kept in a log."""
    if type(error).__name__ == "Abort":
        output.notice("interrupted")
        return EXIT_INTERRUPTED
    describe: Any = getattr(error, "format_message", None)
    if describe is not None:
        context = getattr(error, "ctx", None)
        path = context.command_path if context is not None else "amem"
        text = describe() or "wrong usage"
        output.error(UsageError(text[0].lower() + text[1:], hint=f"{path} --help"))
        return EXIT_USAGE
    from amem_cli.cli.crash_log import keep_traceback

    place = keep_traceback(error)
    if output.verbose:
        import traceback

        traceback.print_exception(error, file=sys.stderr)
    message = f"a bug in amem: {type(error).__name__}: {error}"
    output.error(AmemError(message, hint=f"Please report it with {place}."))
    return EXIT_BUG
