"""The `amem` program: global options, the commands, exit codes."""

from __future__ import annotations

import errno
import gc
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from amem_cli.cli.commands import CommandsOnDemand, new_app
from amem_cli.cli.interruption import end_at_once, end_on_signals, was_interrupted
from amem_cli.cli.session import Session
from amem_cli.core.errors import (
    EXIT_BUG,
    EXIT_FIXABLE,
    EXIT_INTERRUPTED,
    EXIT_USAGE,
    AmemError,
    SettingsError,
    UsageError,
)
from amem_cli.rendering.output import Output, silence

app = new_app(
    cls=CommandsOnDemand,
    name="amem",
    help="A Zettelkasten that organises itself: markdown notes, linked and evolved by a local"
    " model. Begin with `amem init DIR`; `amem COMMAND --help` tells of one command. Global options"
    " may stand before or after the command.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_STREAM_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
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
        Path | None,
        typer.Option(
            help="The vault's folder; else AMEM_VAULT, the vault around the current folder, or the"
            " setting default_vault.",
            show_default=False,
        ),
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
    if arguments is None:
        _use_utf8()
    _open_closed_streams()
    end_on_signals()
    line = global_options_first(sys.argv[1:] if arguments is None else arguments)
    try:
        code = _finished(_run(line))
    except BrokenPipeError:
        # The reader of a pipe has had enough, as with `| head`.
        silence(sys.stdout)
        code = 0
    except KeyboardInterrupt:
        silence(sys.stdout)
        code = EXIT_INTERRUPTED
    signal.signal(signal.SIGINT, end_at_once)
    # The process ends: nothing of it is looked through for cycles once more.
    gc.freeze()
    sys.exit(code)


def _use_utf8() -> None:
    """Start again in UTF-8 mode where the locale would garble the names of notes."""
    if sys.getfilesystemencoding() != "utf-8" and os.environ.get("PYTHONUTF8") != "1":
        os.environ["PYTHONUTF8"] = "1"
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606


def _open_closed_streams() -> None:
    """Streams that the caller closed lead nowhere; text that a terminal cannot show is escaped."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def _finished(code: int) -> int:
    """The exit code, once all that was printed has gone out."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        return _output_lost(error)
    return code


def _output_lost(error: OSError) -> int:
    silence(sys.stdout)
    message = f"cannot write the output: {error.strerror}"
    Output().error(SettingsError(message, hint="Check the disk that it goes to."))
    return EXIT_FIXABLE


def _run(line: list[str]) -> int:
    output = Output(as_json="--json" in line, verbose="--verbose" in line)
    try:
        for argument in line:
            if any("\ud800" <= char <= "\udfff" for char in argument):
                shown = argument.encode("utf-8", "replace").decode()
                raise UsageError(f"{shown!r} is not valid UTF-8")
        code = int(app(line, prog_name="amem", standalone_mode=False) or 0)
        if code == EXIT_INTERRUPTED:
            output.notice("interrupted")
        return code
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
    except SystemExit as ended:
        # The command-line parser makes a failure of a reader that left.
        if getattr(ended.__context__, "errno", None) == errno.EPIPE:
            raise BrokenPipeError from None
        raise
    except Exception as error:
        if was_interrupted():
            # Some calls turn an interruption into an error of their own.
            output.notice("interrupted")
            return EXIT_INTERRUPTED
        # What fails to be written to a file is told by name; only a stream has none.
        if isinstance(error, OSError) and error.filename is None and error.errno in _STREAM_FULL:
            return _output_lost(error)
        return _other(error, output)


def raise_context(error: BaseException) -> None:
    """Show where an error came from."""
    from amem_cli.cli.crash_log import traceback_of

    sys.stderr.write(traceback_of(error))


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
        if type(error).__name__ == "NoArgsIsHelpError":
            if not output.as_json:
                sys.stderr.write(f"{text}\n")
                return EXIT_USAGE
            text = "missing command."
        output.error(UsageError(text[0].lower() + text[1:], hint=f"{path} --help"))
        return EXIT_USAGE
    from amem_cli.cli.crash_log import keep_traceback
    from amem_cli.core.redaction import redacted

    place = keep_traceback(error)
    if output.verbose:
        raise_context(error)
    message = redacted(f"a bug in amem: {type(error).__name__}: {error}", os.environ)
    bug = AmemError(message, hint=f"Please report it with {place}.")
    bug.exit_code = EXIT_BUG
    output.error(bug)
    return EXIT_BUG
