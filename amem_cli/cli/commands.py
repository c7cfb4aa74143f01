"""The commands by name: one is loaded when it is called; the list of all needs none of them."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

# By name, in the order of `amem --help`: the module that registers it, and the first line of what
# it says of itself.
COMMANDS = {
    "init": (
        "vault",
        "Make a vault from the template, or adopt a folder of notes without touching one.",
    ),
    "index": ("vault", "Bring the index up to date with the folder."),
    "stats": (
        "vault",
        "Notes, links, orphans, pending work, and what the model cost.",
    ),
    "demo": (
        "vault",
        "Show the whole job on a sample vault: add, link, evolve, search, graph.",
    ),
    "add": (
        "notes",
        "Add a note; amem writes its metadata and links it to what you already know.",
    ),
    "show": ("notes", "Read a note with its links in both directions."),
    "list": ("list", "List notes, the newest first."),
    "edit": ("notes", "Open a note in $EDITOR, then bring its links up to date."),
    "update": (
        "notes",
        "Change fields of a note; what you set is yours, amem never rewrites it.",
    ),
    "rm": ("notes", "Move a note to the vault's .trash folder."),
    "search": (
        "search",
        "Find notes by meaning and by words, and the notes linked to them.",
    ),
    "ask": ("ask", "Answer a question from the notes, citing them."),
    "link": (
        "link",
        "Link a note to another; the link is yours, amem never removes it.",
    ),
    "unlink": (
        "link",
        "Remove a link from a note's properties; amem does not make it again.",
    ),
    "evolve": (
        "evolve",
        "Write metadata and links for notes that wait, and evolve older notes.",
    ),
    "history": (
        "evolve",
        "What the machine changed, when, why and because of which note.",
    ),
    "undo": (
        "evolve",
        "Take back a change, to the byte; a whole run, a removal or a merge with all that it did.",
    ),
    "watch": (
        "watch",
        "Keep index and memory in step with the folder while people edit.",
    ),
    "review": (
        "review",
        'Decide on changes of older notes that wait (with `evolution.mode = "review"`).',
    ),
    "graph": (
        "graph",
        "The network of notes: hubs, clusters, orphans, broken links, or a note's neighbourhood.",
    ),
    "dedupe": (
        "dedupe",
        "Find notes that say the same, word for word or nearly, and merge them.",
    ),
    "import": (
        "exchange",
        "Bring in notes from JSON lines, a folder of markdown, Obsidian, Logseq, zk, basic-memory,"
        " A-MEM or mem0.",
    ),
    "export": (
        "exchange",
        "Write notes out as JSON lines, or as plain markdown in which wikilinks are usual links.",
    ),
    "doctor": (
        "doctor",
        "Check the vault, its index, models, links, ids and git, and say what to do.",
    ),
    "mcp": (
        "mcp",
        "Serve the vault to an agent over the Model Context Protocol, on stdin and stdout.",
    ),
    "model": ("model", "The language model and the encoder of a vault."),
    "config": ("settings", "Settings of the vault and of the user."),
}


def new_app(**options: Any) -> typer.Typer:
    """A command line in which all commands look alike."""
    return typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, **options)


class CommandsOnDemand(TyperGroup):
    """The commands of `COMMANDS`, of which only the one that is called is loaded."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = _Loaded()

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands by the table."""
        known: dict[str, Any] = {
            name: TyperCommand(name, short_help=line) for name, (_, line) in COMMANDS.items()
        }
        TyperGroup(commands=known).format_commands(ctx, formatter)


class _Loaded(MutableMapping[str, Any]):
    """Commands by name, each built when it is first asked for."""

    def __init__(self) -> None:
        self._built: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._built:
            self._built[name] = _build(name, COMMANDS[name][0])
        return self._built[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._built[name] = command

    def __delitem__(self, name: str) -> None:
        del self._built[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


def _build(name: str, module: str) -> Any:
    app = new_app()
    import_module(f"amem_cli.cli.{module}").register(app)
    app.registered_commands = [each for each in app.registered_commands if each.name == name]
    command = get_group(app).commands[name]
    for inner in getattr(command, "commands", {}).values():
        # A help text is cut in a list of commands, a short one is not.
        inner.short_help = inner.help.split("\n\n")[0]
    return command
