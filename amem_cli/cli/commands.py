"""The commands by name: one is loaded when it is called; listing them loads none."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

# In the order of `amem --help`: the module with a function (or group) of this name, with an
# underscore behind it if Python has the word, and the first sentence of its help.
COMMANDS = {
    "init": ("vault", "Create a vault from the template, or adopt a folder of notes unchanged."),
    "index": ("vault", "Bring the index up to date with the folder."),
    "stats": ("vault", "Count notes, links, orphans and pending work, and what the model cost."),
    "demo": ("demo", "Show add, link, evolve, search and graph on a sample vault."),
    "add": ("notes", "Add a note; amem writes its metadata and links it to what you know."),
    "show": ("notes", "Read a note with its links in both directions."),
    "list": ("search", "List notes, newest first."),
    "edit": ("notes", "Open a note in $EDITOR, then update its links."),
    "update": ("notes", "Change fields of a note; amem never rewrites what you set."),
    "rm": ("notes", "Move a note to the vault's .trash folder."),
    "search": ("search", "Find notes by meaning and by words, with the notes linked to them."),
    "ask": ("search", "Answer a question from your notes, with citations."),
    "link": ("notes", "Link two notes; the link is yours, and amem never removes it."),
    "unlink": ("notes", "Remove a link from a note's properties; amem will not add it again."),
    "evolve": ("evolve", "Write metadata and links for pending notes, and evolve older notes."),
    "history": ("evolve", "Show what amem changed, when, why, and because of which note."),
    "undo": ("evolve", "Undo a change exactly, or a whole run, removal or merge."),
    "watch": ("watch", "Keep index and memory up to date while you edit."),
    "review": ("review", "Accept or reject proposed changes to older notes."),
    "graph": ("graph", "Show hubs, clusters, orphans and broken links, or what surrounds a note."),
    "dedupe": ("dedupe", "Find notes with the same or nearly the same text, and merge them."),
    "import": (
        "exchange",
        "Import notes from JSON Lines, a folder of markdown, Obsidian, Logseq, zk, basic-memory,"
        " A-MEM or mem0.",
    ),
    "export": ("exchange", "Export notes as JSON Lines or as plain markdown with ordinary links."),
    "doctor": ("vault", "Check vault, index, models, links, ids and git, and say what to do."),
    "mcp": ("mcp", "Serve the vault to an agent over the Model Context Protocol (stdio)."),
    "model": ("model", "Manage the language model and the encoder of a vault."),
    "config": ("config", "Read and change settings of the vault or the user."),
}


def new_app(**options: Any) -> typer.Typer:
    """A command line in the style that all commands share."""
    # Without rich, which takes long to load; `main.run` reports errors itself.
    return typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, **options)


class CommandsOnDemand(TyperGroup):
    """The commands of `COMMANDS`, of which only the one that is called is loaded."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = _Commands()

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands from the table."""
        listed: dict[str, Any] = {
            name: TyperCommand(name, short_help=summary) for name, (_, summary) in COMMANDS.items()
        }
        TyperGroup(commands=listed).format_commands(ctx, formatter)


class _Commands(MutableMapping[str, Any]):
    """Commands by name, each loaded on first use."""

    def __init__(self) -> None:
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            self._loaded[name] = _load(name, COMMANDS[name][0])
        return self._loaded[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._loaded[name] = command

    def __delitem__(self, name: str) -> None:
        del self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


def _load(name: str, module: str) -> Any:
    members = vars(import_module(f"amem_cli.cli.{module}"))
    command = members.get(name) or members[f"{name}_"]
    app = new_app()
    if isinstance(command, typer.Typer):
        app.add_typer(command)
    else:
        app.command(name)(command)
    built = get_group(app).commands[name]
    for inner in getattr(built, "commands", {}).values():
        # Click cuts a help text in a list of commands, but not a short help.
        inner.short_help = inner.help.split("\n\n")[0]
    return built
