"""Which tests Windows cannot run, and why; everything else of the quick tests runs there.

The names are the beginnings of test ids. A test that needs more than this system has, such as a
program, says so itself.
"""

from __future__ import annotations

import pathlib
import sys
from typing import Any

import pytest

NOT_ON_WINDOWS = {
    "tests/vault/test_vault_folder.py::test_a_name_that_is_a_drive": "the name is a drive's there",
    "tests/vault/test_vault_folder.py::test_a_link_beside": "links need a privilege",
    "tests/vault/test_vault_folder.py::test_a_write_keeps_the_mode": "modes",
    # An editor that does not try again fails while amem reads the note, for a millisecond.
    "tests/vault/test_vault_folder.py::test_no_save_of_an_editor": "replaces files that are open",
    "tests/cli/test_unchanged.py::": "runs git",
    "tests/cli/test_usage.py::test_add_tells_that_the_note_is_saved": "sends signals",
}
# Their parameters or imports are of POSIX.
NOT_READ_ON_WINDOWS = ["index/test_re_embedding.py"]


def mark_tests(items: list[pytest.Item]) -> None:
    """Skip what this system cannot run."""
    if sys.platform != "win32":
        return
    for item in items:
        for beginning, reason in NOT_ON_WINDOWS.items():
            if item.nodeid.startswith(beginning):
                item.add_marker(pytest.mark.skip(reason=f"not on Windows: {reason}"))


def write_text_as_on_linux() -> None:
    """Let `Path.write_text` and `read_text` mean UTF-8 and write line ends as they are given."""
    if sys.platform != "win32":
        return
    write, read = pathlib.Path.write_text, pathlib.Path.read_text

    def write_text(path: pathlib.Path, text: str, encoding: str = "utf-8", **more: Any) -> int:
        return write(path, text, encoding, **{"newline": "\n", **more})

    def read_text(path: pathlib.Path, encoding: str = "utf-8", errors: str | None = None) -> str:
        return read(path, encoding, errors)

    pathlib.Path.write_text = write_text
    pathlib.Path.read_text = read_text
