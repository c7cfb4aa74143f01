"""Makes docs/cli.md from what every command says of itself."""

from __future__ import annotations

import sys
from typing import Any

from typer.main import get_command
from typer.testing import CliRunner

from amem_cli.cli.main import app


def command_names(command: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Every command as the words that call it, groups left out."""
    inner = getattr(command, "commands", None)
    if inner is None:
        return [path]
    return [words for name in inner for words in command_names(inner[name], (*path, name))]


def help_text(words: tuple[str, ...]) -> str:
    """What `amem WORDS --help` prints in 100 columns."""
    environment = {"COLUMNS": "100", "TERMINAL_WIDTH": "100", "TERM": "dumb", "NO_COLOR": "1"}
    result = CliRunner().invoke(app, [*words, "--help"], prog_name="amem", env=environment)
    return "\n".join(line.rstrip() for line in result.output.strip().splitlines())


def reference() -> str:
    """The whole page."""
    parts = [
        "# Commands",
        "Made from each command's `--help` by `make docs`.",
        f"```text\n{help_text(())}\n```",
    ]
    for words in command_names(get_command(app)):
        parts.append(f"## amem {' '.join(words)}\n```text\n{help_text(words)}\n```")
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    sys.stdout.write(reference())
