"""The `amem` program: its commands, global options, exit codes, signals, and reports of bugs.

A command is loaded when it is called; listing them loads none.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import gc
import os
import re
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

from amem_cli.cli.session import Session
from amem_cli.errors import (
    EXIT_BUG,
    EXIT_FIXABLE,
    EXIT_INTERRUPTED,
    EXIT_USAGE,
    AmemError,
    SettingsError,
    UsageError,
)
from amem_cli.language.safe_text import redacted
from amem_cli.settings import user_state_folder
from amem_cli.system.signals import ENDING, refuse_interrupts
from amem_cli.terminal.output import PLAINLY, Output, silence

_ENDING = (signal.SIG_DFL, signal.default_int_handler)
_received: list[int] = []


def end_on_signals() -> None:
    """Let SIGTERM and SIGHUP end the process like Ctrl-C: close files, release locks."""
    # Elsewhere than in the main thread, Python refuses to set signal handlers.
    if threading.current_thread() is not threading.main_thread():
        return
    atexit.register(_keep_exit_code)
    for number in ENDING:
        # nohup ignores SIGHUP, and that must stay.
        if signal.getsignal(number) in _ENDING:
            signal.signal(number, _interrupt)


@contextlib.contextmanager
def ending_at_once(notify: Callable[[str], None]) -> Iterator[None]:
    """Inside, signals end the process without cleaning up; for use while another thread imports.

    An exception in the middle of an import leaves import locks taken, on which the other thread
    would hang. What amem writes is complete at every moment.
    """

    def end(number: int, frame: object) -> None:
        try:
            notify("interrupted")
        finally:
            end_at_once(number, frame)

    mine = threading.current_thread() is threading.main_thread()
    # Only replace handlers of this program: what nohup ignores must stay ignored.
    numbers = [number for number in ENDING if mine and signal.getsignal(number) is _interrupt]
    for number in numbers:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, _interrupt)


def end_at_once(number: int, frame: object) -> None:
    """A signal handler that ends the process without cleaning up."""
    os._exit(EXIT_INTERRUPTED)


def _keep_exit_code() -> None:
    """Block SIGINT at exit: after an interrupted `exec`, Python would end itself by that signal.

    Libraries that generate classes call `exec`, so the exit code would be lost.
    """
    if _received:
        refuse_interrupts()


def _interrupt(number: int, frame: object) -> None:
    _received.append(number)
    # A second signal ends the process even if cleaning up takes long.
    signal.signal(number, end_at_once)
    raise KeyboardInterrupt


# In the order of `amem --help`: the name, the module with a function (or group) of this name, with
# an underscore behind it if Python has the word, and the first sentence of its help.
_TABLE = """
Begin
  init     vault    Create a vault from the template, or adopt a folder of notes unchanged.
  setup    setup    Show which language models are here, and choose one.
  demo     demo     Show add, link, evolve, search and graph on a sample vault.
Write
  add      notes    Add a note; amem writes its metadata and links it to what you know.
  edit     notes    Open a note in $EDITOR, then update its links.
  open     notes    Open a note in Obsidian or in $EDITOR.
  update   notes    Change fields of a note; amem never rewrites what you set.
  rm       notes    Move a note to the vault's .trash folder.
  mv       notes    Rename or move a note; links to it follow.
  link     notes    Link two notes; the link is yours, and amem never removes it.
  unlink   notes    Remove a link from a note's properties; amem will not add it again.
  tags     tags     List the tags, rename one, or merge several.
  import   exchange Import notes from JSON Lines, a folder of markdown, Obsidian, Logseq, zk, \
basic-memory, A-MEM or mem0.
Find and read
  search   search   Find notes by meaning and by words, with the notes linked to them.
  ask      search   Answer a question from your notes, with citations.
  show     notes    Read a note with its links in both directions.
  list     search   List notes, newest first.
  graph    graph    Show hubs, clusters, orphans and unwritten notes, or what surrounds a note.
Let amem work, and decide what stays
  evolve   evolve   Write metadata and links for pending notes, and evolve older notes.
  watch    watch    Keep index and memory up to date while you edit.
  links    decide   Decide on the links that amem made or suggests, one by one.
  review   decide   Accept or reject proposed changes to older notes.
  history  evolve   Show what amem changed, when, why, and because of which note.
  undo     evolve   Undo a change exactly, or a whole run, removal or merge.
Look after the vault
  stats    vault    Count notes, links, orphans and pending work, and what the model cost.
  dedupe   dedupe   Find notes with the same or nearly the same text, and merge them.
  index    vault    Bring the index up to date with the folder.
  obsidian graph    Show in Obsidian what amem knows: views of notes and marks.
  doctor   vault    Check vault, index, models, links, ids and git, and say what to do.
  export   exchange Export notes as JSON Lines or as plain markdown with ordinary links.
Set up
  model    model    Manage the language model and the encoder of a vault.
  compare  evolve   Compare two models on your own notes; nothing is written.
  config   config   Read and change settings of the vault or the user.
  lsp      serve    Serve the vault to a text editor over the Language Server Protocol (stdio).
  mcp      serve    Serve the vault to an agent over the Model Context Protocol (stdio).
"""


def _by_use(table: str) -> dict[str, dict[str, tuple[str, str]]]:
    """Of each heading the commands, of each command the module and the summary."""
    found: dict[str, dict[str, tuple[str, str]]] = {}
    heading = ""
    for row in table.strip().splitlines():
        if row.startswith(" "):
            name, module, summary = row.split(maxsplit=2)
            found[heading][name] = module, summary
        else:
            found[heading := row] = {}
    return found


COMMANDS_BY_USE = _by_use(_TABLE)
COMMANDS = {name: each for group in COMMANDS_BY_USE.values() for name, each in group.items()}


def new_app(**options: Any) -> typer.Typer:
    """A command line in the style that all commands share."""
    # Without rich, which takes long to load; `main.run` reports errors itself.
    return typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, **options)


class CommandsOnDemand(TyperGroup):
    """The commands of `COMMANDS`, of which only the one that is called is loaded."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = _Commands()  # type: ignore[assignment]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands from the table, by what they are used for."""
        width = max(map(len, COMMANDS))
        for use, group in COMMANDS_BY_USE.items():
            with formatter.section(use):
                # All sections have one column for their summaries.
                rows = [(f"{name:<{width}}", summary) for name, (_, summary) in group.items()]
                formatter.write_dl(rows)


# A dash and a letter, without a blank in the name: `-k`, `--tag`, `--title=My note`.
_OPTION = re.compile(r"--?[^\W\d_][^\s=]*(?:=.*)?", re.DOTALL)


class CommandWithText(TyperCommand):
    """A command that takes `- [ ] call Huber` for text, and `--tagg` for a misspelt option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the options, which may be anywhere, before the words."""
        with_value = {
            name
            for each in self.params
            if not getattr(each, "is_flag", True)
            for name in (*each.opts, *each.secondary_opts)
        }
        options: list[str] = []
        words: list[str] = []
        items = list(args)
        while items:
            item = items.pop(0)
            if item == "--":
                words += items
                break
            if not _OPTION.fullmatch(item):
                words.append(item)
                continue
            options.append(item)
            if item in with_value and items:
                options.append(items.pop(0))
        arguments = [each.name for each in self.params if each.param_type_name == "argument"]
        if words and arguments == ["note"]:
            # All that is not an option is one note's name, quoted or not.
            words = [" ".join(words)]
        return super().parse_args(ctx, [*options, *(["--", *words] if words else [])])


class _Commands(Mapping[str, Any]):
    """Commands by name, each loaded on first use."""

    def __getitem__(self, name: str) -> Any:
        return _load(name, COMMANDS[name][0])

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


@cache
def _load(name: str, module: str) -> Any:
    members = vars(import_module(f"amem_cli.cli.{module}"))
    command = members.get(name) or members[f"{name}_"]
    app = new_app()
    if isinstance(command, typer.Typer):
        app.add_typer(command)
    else:
        app.command(name, cls=CommandWithText)(command)
    built = get_group(app).commands[name]
    inner: Iterable[Any] = getattr(built, "commands", {}).values()
    for each in inner:
        # Click cuts a help text in a list of commands, but not a short help.
        each.short_help = each.help.split("\n\n")[0]
    for each in (built, *inner):
        # Click would fill the examples, which stand one a line, like a paragraph.
        each.help = each.help.replace("\n    ", "\n\n    ").replace("\n\n\n", "\n\n")
    return built


app = new_app(
    cls=CommandsOnDemand,
    name="amem",
    help="A Zettelkasten that organises itself: markdown notes, linked and evolved by a local"
    " model. Begin with `amem init DIR`. `amem COMMAND --help` explains a command. Global options"
    " go before or after the command.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

# A full disk, quota or file size limit is for the user to fix, and not a bug to report.
_STREAM_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
_FLAGS = ("--json", "--quiet", "--verbose", "--no-color")


def _version(requested: bool) -> None:
    if requested:
        from importlib.metadata import version

        sys.stdout.write(f"amem {version('amem-cli')}\n")
        raise typer.Exit


@app.callback()
def main(
    context: typer.Context,
    vault: Annotated[
        Path | None,
        Option(
            help="The vault's folder. By default AMEM_VAULT, the vault around this folder, or"
            " the setting default_vault.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[bool, Option("--json", help="Print one JSON document.")] = False,
    quiet: Annotated[bool, Option("--quiet", help="No notices.")] = False,
    verbose: Annotated[bool, Option("--verbose", help="More notices; tracebacks.")] = False,
    no_color: Annotated[bool, Option("--no-color", help="No colours.")] = False,
    version: Annotated[
        bool, Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Store the global options for the command."""
    color = False if no_color or os.environ.get("NO_COLOR") else None
    output = Output(as_json=as_json, quiet=quiet, verbose=verbose, color=color)
    context.obj = Session(vault, output)


def global_options_first(arguments: Sequence[str]) -> list[str]:
    """Move global options to the front, so that they may be anywhere before `--`."""
    ahead: list[str] = []
    rest: list[str] = []
    items = list(arguments)
    while items:
        item = items.pop(0)
        # What follows is not an option, even if a note's text begins with a dash.
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


def run(
    arguments: Sequence[str] | None = None, *, instead: Callable[[], int] | None = None
) -> None:
    """Run one command line, or something `instead`, and end the process with its exit code."""
    if arguments is None:
        _use_utf8()
    _open_closed_streams()
    if instead is not None:
        sys.exit(instead())
    end_on_signals()
    line = global_options_first(sys.argv[1:] if arguments is None else arguments)
    try:
        code = _finished(_run(line))
    except BrokenPipeError:
        # The reader of a pipe has closed it, like `| head`.
        silence(sys.stdout)
        code = 0
    except KeyboardInterrupt:
        silence(sys.stdout)
        code = EXIT_INTERRUPTED
    signal.signal(signal.SIGINT, end_at_once)
    # Skip the final garbage collection, which takes noticeable time.
    gc.freeze()
    sys.exit(code)


def _use_utf8() -> None:
    """Restart in UTF-8 mode if the locale would garble the names of notes."""
    # Without checking the variable, a restart that changes nothing would repeat for ever.
    if sys.getfilesystemencoding() != "utf-8" and os.environ.get("PYTHONUTF8") != "1":
        os.environ["PYTHONUTF8"] = "1"
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606


def _open_closed_streams() -> None:
    """Redirect closed streams to nowhere, and escape what a stream's encoding lacks."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        # Python leaves None for a descriptor that is closed, as by `>&-`.
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            # Otherwise a title that the terminal cannot show would end the command in a traceback.
            reconfigure(errors=PLAINLY)
    if sys.platform == "win32":
        # Its console heeds the codes of colours only where a program asks for that.
        from colorama import just_fix_windows_console  # type: ignore[import-untyped]

        just_fix_windows_console()


def _finished(code: int) -> int:
    try:
        # Left to Python's exit, a failure would print a traceback and change the exit code.
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        return _output_lost(error)
    return code


def _output_lost(error: OSError) -> int:
    silence(sys.stdout)
    message = f"cannot write the output: {error.strerror}"
    Output().error(SettingsError(message, hint="Check the disk it goes to."))
    return EXIT_FIXABLE


def _run(line: list[str]) -> int:
    # Wrong usage is found before `main` creates the session, and its report follows --json too.
    output = Output(as_json="--json" in line, verbose="--verbose" in line)
    try:
        for argument in line:
            # Bytes that are not UTF-8 arrive as surrogates, which no note could store.
            if any("\ud800" <= char <= "\udfff" for char in argument):
                shown = argument.encode("utf-8", "replace").decode()
                raise UsageError(f"{shown!r} is not valid UTF-8")
        code = int(app(line, prog_name="amem", standalone_mode=False) or 0)
        if code == EXIT_INTERRUPTED:
            output.notice("interrupted")
        return code
    except AmemError as error:
        if output.verbose:
            sys.stderr.write(traceback_of(error))
        output.error(error)
        return error.exit_code
    except (KeyboardInterrupt, EOFError):
        output.notice("interrupted")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        raise
    except SystemExit as ended:
        # Typer turns a closed pipe into exit code 1.
        if getattr(ended.__context__, "errno", None) == errno.EPIPE:
            raise BrokenPipeError from None
        raise
    except Exception as error:
        if _received:
            # Some libraries turn an interrupt into another error.
            output.notice("interrupted")
            return EXIT_INTERRUPTED
        # Without a file name, it is stdout that could not be written.
        if isinstance(error, OSError) and error.filename is None and error.errno in _STREAM_FULL:
            return _output_lost(error)
        return _other(error, output)


TRACEBACKS_KEPT = 20


def traceback_of(error: BaseException) -> str:
    """The traceback as text, without keys and passwords."""
    return redacted("".join(traceback.format_exception(error)), os.environ)


def keep_traceback(error: BaseException) -> Path | str:
    """Write the traceback to the user's state folder; returns where, or how to see it."""
    folder = user_state_folder() / "crashes"
    path = folder / f"{time.strftime('%Y%m%dT%H%M%S')}-{time.time_ns() % 10**6:06d}.log"
    try:
        # mkdir(parents=True) would make the parent readable by everybody.
        folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.mkdir(exist_ok=True, mode=0o700)
        path.write_text(traceback_of(error), encoding="utf-8")
        path.chmod(0o600)
        for old in sorted(folder.glob("*.log"))[:-TRACEBACKS_KEPT]:
            old.unlink()
    except OSError:
        return "the output of --verbose"
    return path


def _other(error: Exception, output: Output) -> int:
    """Report wrong usage found by typer, or a bug, whose traceback is kept."""
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
        hint = f"{path} --help"
        if text.startswith("Got unexpected extra argument"):
            hint = f"Put quotes around words that belong together; {hint}"
        output.error(UsageError(text[0].lower() + text[1:], hint=hint))
        return EXIT_USAGE
    place = keep_traceback(error)
    if output.verbose:
        sys.stderr.write(traceback_of(error))
    message = redacted(f"a bug in amem: {type(error).__name__}: {error}", os.environ)
    bug = AmemError(message, hint=f"Please report it with {place}.")
    bug.exit_code = EXIT_BUG
    output.error(bug)
    return EXIT_BUG
