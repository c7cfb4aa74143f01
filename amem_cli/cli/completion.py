"""Completion in bash, zsh and fish: commands, options, and what a vault and the settings name.

Reads the index as it is. Whatever goes wrong, nothing is completed and nothing is said.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable
from typing import Any

from typer import _completion_shared
from typer._click.shell_completion import _resolve_context, _resolve_incomplete
from typer.core import TyperArgument, TyperOption
from typer.main import get_group

from amem_cli.cli.main import app, global_options_first
from amem_cli.data import text
from amem_cli.settings import STATE_FOLDER, choices, explanations, find_vault, setting_keys

SHELLS = ("bash", "zsh", "fish")
# The scripts leave it to the shell, which knows files better.
_EXIT_FILES = 4
# Bash takes what stands behind one of these for a word of its own.
_PARTING = ":=@"
_FILES = ("pull source", "use name")

Found = Iterable[tuple[str, str]]


def use_own_scripts() -> None:
    """Let `--install-completion` and `--show-completion` hand out amem's scripts."""
    for shell in SHELLS:
        script = text(f"completion.{shell}").replace("%", "%%")
        _completion_shared._completion_scripts[shell] = script


def complete(instruction: str) -> int:
    """Print what may stand at the cursor, a line each; returns the exit code.

    Args:
        instruction: `complete_bash`, `complete_zsh` or `complete_fish`; the variable `COMP_WORDS`
            has the line up to the cursor. In bash a line is what replaces the word there; in the
            others it is the word, then perhaps a tab and what it means.
    """
    try:
        # A sign at the end makes a word of what is still empty.
        (_, *words, last), quote = _split(os.environ.get("COMP_WORDS", "") + "_")
        incomplete = last.removesuffix("_")
        found = _completions(words, incomplete)
        if found is None:
            return _EXIT_FILES
        prefix = re.match(r"--[^=]+=", incomplete)
        before = prefix[0] if prefix else ""
        shown = [(before + value, " ".join(meaning.split())) for value, meaning in found]
        # What steers a terminal, or breaks a line, cannot be typed either.
        shown = [(value, meaning) for value, meaning in shown if value.isprintable()]
        if instruction == "complete_bash":
            rows = [_in_bash(value, quote, incomplete) for value, _ in shown]
        else:
            rows = [
                f"{value}\t{meaning}" if meaning and meaning.isprintable() else value
                for value, meaning in shown
            ]
        sys.stdout.write("".join(f"{row}\n" for row in rows))
        sys.stdout.flush()
    except Exception:
        # A message would stand in the middle of what somebody types.
        return 0
    return 0


def _split(line: str) -> tuple[list[str], str]:
    """The words of a line that may end within a quotation, and the sign that opened that."""
    lexer: Any = shlex.shlex(line, posix=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    words: list[str] = []
    try:
        for word in lexer:
            words.append(word)
    except ValueError:
        return [*words, lexer.token], lexer.state or ""
    return words, ""


def _completions(words: list[str], incomplete: str) -> Found | None:
    """What the word at the cursor may become; None for files, which the shell knows better."""
    if words[-1:] == ["--vault"]:
        return None
    group: Any = get_group(app)
    args = global_options_first(words)
    context: Any = _resolve_context(group, {}, "amem", args)
    what, incomplete = _resolve_incomplete(context, args, incomplete)
    name, values = f"{context.info_name} {what.name}", None
    if isinstance(what, (TyperArgument, TyperOption)):
        if "Path" in type(what.type).__name__ or name in _FILES:
            return None
        values = _VALUES.get(name) or _VALUES.get(what.name or "")
    if values is not None:
        from amem_cli.language.lexicon import fold, without_accents

        begun, found = without_accents(fold(incomplete)), values(context, incomplete)
        return [each for each in found if without_accents(fold(each[0])).startswith(begun)]
    items = what.shell_complete(context, incomplete)
    if incomplete.startswith("-") and context.parent is not None:
        items += group.shell_complete(context.find_root(), incomplete)
    return [(str(item.value), item.help or "") for item in items]


def _in_bash(value: str, quote: str, incomplete: str) -> str:
    """What replaces the word at the cursor, quoted as that word is."""
    if quote == "'":
        return value.replace("'", "'\\''")
    if quote:
        return re.sub(r'([\\"$`!])', r"\\\1", value)
    parting = [char for char in _PARTING if char in os.environ.get("COMP_WORDBREAKS", "")]
    cut = max((incomplete.rfind(char) + 1 for char in parting), default=0)
    return re.sub(r"([^\w./:=@,+-])", r"\\\1", value[cut:])


def _of_index(kind: str) -> Callable[[Any, str], Found]:
    def found(context: Any, incomplete: str) -> Found:
        from amem_cli.index.completion_index import CompletionIndex

        root = find_vault(context.find_root().params.get("vault"))
        names = CompletionIndex(root / STATE_FOLDER / "index.db")
        return names.notes(incomplete) if kind == "notes" else getattr(names, kind)()

    return found


def _keys(context: Any, incomplete: str) -> Found:
    meanings = explanations()
    return [(key, meanings.get(key, "")) for key in setting_keys()]


# What completes a parameter, by its name in all commands, or by command and name.
_VALUES: dict[str, Callable[[Any, str], Found]] = {
    **dict.fromkeys(("note", "notes", "target"), _of_index("notes")),
    **dict.fromkeys(("link source", "unlink source"), _of_index("notes")),
    **dict.fromkeys(("links keep", "links reject"), _of_index("notes")),
    **dict.fromkeys(("tag", "new_tag", "add_tag", "remove_tag"), _of_index("tags")),
    **dict.fromkeys(("path", "mv name"), _of_index("folders")),
    "event": _of_index("events"),
    "key": _keys,
    "value": lambda context, _: [(each, "") for each in choices(context.params.get("key") or "")],
}
