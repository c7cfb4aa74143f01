"""What a command reads from the user and writes for them outside the vault's own files."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from amem_cli.errors import SettingsError, UsageError
from amem_cli.system.command_lines import EDITOR, find_program, split
from amem_cli.system.keys import keys_at_once, read_keys
from amem_cli.system.processes import own_group
from amem_cli.terminal.output import Output

_SECONDS_TO_OPEN = 5.0


def on_desktop() -> bool:
    """True if a window can be opened where somebody sees it."""
    if "SSH_CONNECTION" in os.environ:
        return False
    has_display = "DISPLAY" in os.environ or "WAYLAND_DISPLAY" in os.environ
    return sys.platform in ("darwin", "win32") or has_display


def ask_key(output: Output, prompt: str, keys: str) -> str:
    """Wait until the user presses one of these keys; an unknown capital counts as its letter.

    Enter that arrives together with a key, as from a paste, belongs to it.

    Raises:
        KeyboardInterrupt: the user pressed Ctrl-C or Ctrl-D, or the terminal is gone.
    """
    while True:
        with keys_at_once():
            output.notice(prompt)
            key = _next_key()
        # A terminal that is gone returns no key at all.
        if key[-1:] in ("\x03", "\x04", ""):
            raise KeyboardInterrupt
        # As typed first: in `amem review`, `A` and `a` have different meanings.
        for candidate in (key, key.lower()):
            if candidate in tuple(keys):
                return candidate
        output.notice(f"press one of: {' '.join(filter(str.isprintable, keys))}")


# Lines that arrived together with a key, and answer the next questions.
_typed_ahead = ""


def _next_key() -> str:
    """The next key on the terminal, or more characters than one if they arrived as one line."""
    global _typed_ahead
    _typed_ahead = _typed_ahead or read_keys()
    line = re.match(r"([^\r\n]*)(?:\r\n?|\n)?", _typed_ahead)
    assert line is not None
    _typed_ahead = _typed_ahead[line.end() :]
    return line[1] or line[0]


def can_ask(output: Output) -> bool:
    """True if somebody sees a question, which is a notice, and can answer it."""
    return not (output.as_json or output.quiet) and sys.stdin.isatty() and sys.stdout.isatty()


def agreed(output: Output, question: str, otherwise: str = "nothing was done") -> bool:
    """Whether the user says yes; Enter is no, upon which they are told what is `otherwise`."""
    if ask_key(output, f"{question} [y/N]", "yn\r\n") == "y":
        return True
    output.notice(otherwise)
    return False


def read_input(path: Path) -> bytes:
    try:
        # As bytes: stdin must be UTF-8 even if the terminal's encoding is another one.
        return sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
    except OSError as error:
        raise SettingsError(
            f"cannot read {path}: {error.strerror}", hint="Name a file, or - for stdin."
        ) from None


def open_in_editor(path: Path) -> None:
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or EDITOR
    if not command:
        raise SettingsError("no editor is set", hint="Set EDITOR, for example: export EDITOR=vim")
    try:
        words = split(command)
        code = subprocess.run([*words, str(path)], check=False).returncode
    except (OSError, ValueError) as error:
        raise SettingsError(f"cannot start {command!r}: {error}", hint="Check EDITOR.") from None
    if code != 0:
        raise SettingsError(f"{words[0]} exited with status {code}; the note is as it left it")


def open_address(address: str, *, hint: str) -> None:
    """Have the desktop open an address in the program that is there for it.

    Raises:
        SettingsError: there is no such program.
    """
    failed = SettingsError(f"nothing opened {address}", hint=hint)
    if sys.platform == "win32":
        import typer

        if typer.launch(address) != 0:
            raise failed
        return
    opener = find_program(
        "open" if sys.platform == "darwin" else "xdg-open", os.environ.get("PATH")
    )
    if opener is None:
        raise failed
    nowhere = subprocess.DEVNULL
    # In a group of its own, so that Ctrl-C in this terminal does not end it later.
    process = subprocess.Popen(
        [opener, address], stdin=nowhere, stdout=nowhere, stderr=nowhere, **own_group()
    )
    try:
        code = process.wait(_SECONDS_TO_OPEN)
    except subprocess.TimeoutExpired:
        # On some desktops it stays until the program ends.
        return
    if code != 0:
        raise failed


def write_in_editor(text: str) -> str:
    with tempfile.TemporaryDirectory(prefix="amem-") as folder:
        path = Path(folder) / "note.md"
        path.write_text(text, encoding="utf-8")
        open_in_editor(path)
        return path.read_text(encoding="utf-8")


def write_export(path: Path, content: str | Iterable[str]) -> None:
    """Write a file that the user named, text as UTF-8.

    An existing file is replaced only once the new one is complete.

    Raises:
        UsageError: the path is in amem's own folder.
        SettingsError: the file cannot be written.
    """
    from amem_cli.vault.safe_write import create_file, replace_file, sha256, write_failure

    if ".amem" in path.resolve().parts:
        raise UsageError(f"{path} is in amem's own folder", hint="Write it somewhere else.")
    raw = "".join(content).encode("utf-8")
    # If the user named a link, it must stay one: replace what it leads to.
    target = path.resolve()
    try:
        if target.is_file():
            replace_file(target, raw, expected=sha256(target.read_bytes()))
        elif target.exists():
            # A pipe or a device cannot be replaced.
            target.write_bytes(raw)
        else:
            create_file(target, raw)
    except OSError as error:
        raise write_failure(str(path), error) from None
