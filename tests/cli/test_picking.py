"""Where no note is named and a person sits at a terminal, they choose it from a list."""

from __future__ import annotations

import os
import signal
import sys

import pytest

from tests.conftest import Program
from tests.vaults import write_note

if sys.platform == "win32":
    pytest.skip("there are no pseudo-terminals here", allow_module_level=True)

from tests.screen import Screen

pytestmark = pytest.mark.slow

DOWN, ENTER, CTRL_C = "\x1b[B", "\r", "\x03"
NOTES = (
    ("Crème brûlée", "2025-01-05", "dessert"),
    ("Weekly review", "2025-03-01", "practice"),
    ("Weeding the garden", "2025-02-01", "garden"),
    ("東京の地下鉄", "2025-01-02", "travel"),
    ("Atomic notes", "2025-01-01", "practice/zettel"),
)


@pytest.fixture
def vault(amem: Program) -> Program:
    root = amem.empty_vault()
    for title, day, tag in NOTES:
        text = f"---\ncreated: {day}\ntags: [{tag}]\n---\nThe text of {title}.\n"
        write_note(root, f"{title}.md", text)
    assert amem("index").code == 0
    return amem


def at_screen(vault: Program, *line: str, columns: int = 80, rows: int = 24) -> Screen:
    return Screen(vault.folder, line, columns=columns, rows=rows, **vault.environment)


def test_typing_narrows_the_list_and_enter_takes_the_note(vault: Program) -> None:
    with at_screen(vault, "show") as screen:
        # The newest comes first.
        screen.wait_for("Weekly review")
        screen.wait_for("2025-03-01  #practice")
        assert screen.lines[0] == "note>"
        screen.press("weed")
        screen.wait_for("weed")
        screen.press(DOWN)
        screen.wait_for("note> Weeding the garden.md")
        screen.press(ENTER)
        assert screen.finish() == 0
        assert "The text of Weeding the garden." in "\n".join(screen.lines)
        assert "note>" not in "\n".join(screen.lines)
        assert screen.settings_now() == screen.settings


@pytest.mark.parametrize(
    ("typed", "title"),
    [
        ("creme", "Crème brûlée"),
        ("BRÛ", "Crème brûlée"),
        ("地下", "東京の地下鉄"),
        ("zettel", "Atomic notes"),
        ("notes atom", "Atomic notes"),
    ],
)
def test_matching_forgives_accents_case_and_order(vault: Program, typed: str, title: str) -> None:
    with at_screen(vault, "show") as screen:
        screen.wait_for("Weekly review")
        screen.press(typed)
        screen.wait_for(f"note> {typed}")
        screen.press(ENTER)
        assert screen.finish() == 0
        assert f"The text of {title}." in screen.shown.decode()


@pytest.mark.parametrize("way", [CTRL_C, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_leaving_without_a_choice_changes_nothing_and_restores_the_terminal(
    vault: Program, way: str | signal.Signals
) -> None:
    with at_screen(vault, "rm") as screen:
        screen.wait_for("Weekly review")
        assert screen.settings_now() != screen.settings
        if isinstance(way, str):
            screen.press(way)
        else:
            os.kill(screen.process.pid, way)
        assert screen.finish() == 130
        assert screen.settings_now() == screen.settings
        assert "interrupted" in screen.lines
    assert len(list((vault.folder / "v").glob("*.md"))) == 5


def test_a_note_that_nothing_matches_cannot_be_taken(vault: Program) -> None:
    with at_screen(vault, "show") as screen:
        screen.wait_for("Weekly review")
        screen.press("qqqq" + ENTER)
        screen.wait_for("no note is called so")
        screen.press("\x15" + "weekly")
        screen.wait_for("note> weekly")
        screen.press(ENTER)
        assert screen.finish() == 0
        assert "The text of Weekly review." in screen.shown.decode()


def test_a_hostile_title_steers_nothing(vault: Program) -> None:
    title = "Evil \\x1b]52;c;AAAA\\x07 \\x1b[31m\\u202Eright \\n two\\tlines"
    text = f'---\ntitle: "{title}"\ncreated: 2026-01-01\n---\nMild text.\n'
    write_note(vault.folder / "v", "evil.md", text)
    with at_screen(vault, "show") as screen:
        screen.wait_for("]52;c;AAAA")
        assert b"\x1b]52" not in screen.shown and "\u202e".encode() not in screen.shown
        screen.press("evil" + ENTER)
        assert screen.finish() == 0


def test_both_ends_of_a_link_are_chosen(vault: Program) -> None:
    with at_screen(vault, "link") as screen:
        screen.wait_for("link from>")
        screen.press("atomic" + ENTER)
        screen.wait_for("link to>")
        screen.press("weekly" + ENTER)
        assert screen.finish() == 0
        assert "Atomic notes → Weekly review" in "\n".join(screen.lines)
    with at_screen(vault, "unlink", "Atomic notes") as screen:
        screen.wait_for("unlink>")
        screen.press("review" + ENTER)
        assert screen.finish() == 0
        assert "Atomic notes ↛ Weekly review" in "\n".join(screen.lines)
    with at_screen(vault, "unlink") as screen:
        assert screen.finish() == 1
        assert "there is no note to choose" in "\n".join(screen.lines)


@pytest.mark.parametrize("line", [["show"], ["edit"], ["rm"], ["link"], ["unlink", "Atomic notes"]])
def test_without_a_terminal_the_argument_is_missed(vault: Program, line: list[str]) -> None:
    answer = vault(*line)
    assert answer.code == 2
    missed = {"link": "source", "unlink": "target"}.get(line[0], "note")
    assert answer.err == f"error: missing argument '{missed}'.\nhint: amem {line[0]} --help\n"
    assert vault(*line, "--json").json["exit_code"] == 2


def test_a_script_at_a_terminal_and_a_dumb_terminal_get_no_list(vault: Program) -> None:
    with at_screen(vault, "show", "--json") as screen:
        assert screen.finish() == 2
    vault.environment["TERM"] = "dumb"
    with at_screen(vault, "show") as screen:
        assert screen.finish() == 2
        assert b"\x1b" not in screen.shown


def test_nothing_of_the_list_is_loaded_where_the_note_is_named(vault: Program) -> None:
    code = (
        "import sys; from amem_cli.__main__ import main\ntry: main()\nfinally: print(*sys.modules)"
    )
    done = vault.beside(sys.executable, "-c", code, "show", "Atomic notes")
    assert "amem_cli.cli.session" in done.out and "prompt_toolkit" not in done.out
