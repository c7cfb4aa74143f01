"""Where no note is named and a person sits at a terminal, they choose it from a list."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from tests.conftest import Program
from tests.vaults import write_note

if sys.platform == "win32":
    pytest.skip("there are no pseudo-terminals here", allow_module_level=True)

from tests.screen import Screen

pytestmark = pytest.mark.slow

DOWN, ENTER, ESCAPE, CTRL_C = "\x1b[B", "\r", "\x1b", "\x03"
NOTES = (
    ("Crème brûlée", "2025-01-05", "dessert"),
    ("Weekly review", "2025-03-01", "practice"),
    ("Weeding the garden", "2025-02-01", "garden"),
    ("東京の地下鉄", "2025-01-02", "travel"),
    ("Atomic notes", "2025-01-01", "practice/zettel"),
)


@pytest.fixture
def vault(amem: Program) -> Program:
    root = amem.folder / "v"
    (root / ".amem").mkdir(parents=True)
    amem.environment["AMEM_VAULT"] = str(root)
    for title, day, tag in NOTES:
        text = f"---\ncreated: {day}\ntags: [{tag}]\n---\nThe text of {title}.\n"
        write_note(root, f"{title}.md", text)
    assert amem("index").code == 0
    return amem


def at_screen(vault: Program, *line: str, columns: int = 80, rows: int = 24) -> Screen:
    return Screen(vault.folder, line, columns=columns, rows=rows, **vault.environment)


def test_typing_narrows_the_list_and_enter_takes_the_note(vault: Program) -> None:
    with at_screen(vault, "show") as screen:
        screen.wait_for("5 of 5")
        assert screen.lines[0] == "note>"
        # The newest comes first.
        assert screen.lines[1] == "› Weekly review  2025-03-01  #practice"
        screen.press("wee")
        screen.wait_for("2 of 5")
        screen.press(DOWN)
        screen.wait_for("› Weeding")
        screen.press(ENTER)
        assert screen.finish() == 0
        assert "The text of Weeding the garden." in "\n".join(screen.lines)
        assert "2 of 5" not in "\n".join(screen.lines)
        assert screen.settings_now() == screen.settings


@pytest.mark.parametrize(
    ("typed", "title"),
    [
        ("creme", "Crème brûlée"),
        ("BRÛ", "Crème brûlée"),
        ("wklrvw", "Weekly review"),
        ("地下", "東京の地下鉄"),
        ("zettel", "Atomic notes"),
        ("notes atom", "Atomic notes"),
    ],
)
def test_matching_forgives_accents_case_order_and_missing_letters(
    vault: Program, typed: str, title: str
) -> None:
    with at_screen(vault, "show") as screen:
        screen.wait_for("5 of 5")
        screen.press(typed)
        screen.wait_for("1 of 5")
        screen.press(ENTER)
        assert screen.finish() == 0
        assert f"The text of {title}." in screen.shown.decode()


@pytest.mark.parametrize("key", [ESCAPE, CTRL_C])
def test_leaving_without_a_choice_changes_nothing_and_restores_the_terminal(
    vault: Program, key: str
) -> None:
    with at_screen(vault, "rm") as screen:
        screen.wait_for("5 of 5")
        assert screen.settings_now() != screen.settings
        screen.press(key)
        assert screen.finish() == 130
        assert screen.settings_now() == screen.settings
        assert [line for line in screen.lines if line] == ["interrupted"]
        # The usual screen and the cursor are back.
        assert screen.shown.rindex(b"\x1b[?1049l") > screen.shown.rindex(b"\x1b[?1049h")
        assert screen.shown.rindex(b"\x1b[?25h") > screen.shown.rfind(b"\x1b[?25l")
    assert len(list((vault.folder / "v").glob("*.md"))) == 5


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_the_list_and_restores_the_terminal(
    vault: Program, number: signal.Signals
) -> None:
    with at_screen(vault, "show") as screen:
        screen.wait_for("5 of 5")
        os.kill(screen.process.pid, number)
        assert screen.finish() == 130
        assert screen.settings_now() == screen.settings
        assert b"\x1b[?1049l" in screen.shown


def test_a_note_that_nothing_matches_cannot_be_taken(vault: Program) -> None:
    with at_screen(vault, "show") as screen:
        screen.wait_for("5 of 5")
        screen.press("qqqq" + ENTER)
        screen.wait_for("0 of 5")
        screen.press("\x15")
        screen.wait_for("5 of 5")
        screen.press(ENTER)
        assert screen.finish() == 0
        assert "The text of Weekly review." in screen.shown.decode()


def test_a_narrow_and_low_window_shows_whole_lines_and_follows_a_resize(vault: Program) -> None:
    with at_screen(vault, "show", columns=16, rows=4) as screen:
        screen.wait_for("› Weekly review")
        assert screen.lines[:2] == ["note>", "› Weekly review"]
        for _ in range(3):
            screen.press(DOWN)
        screen.wait_for("› 東京")
        screen.resize(70, 12)
        screen.wait_for("Weekly review  2025-03-01  #practice")
        screen.wait_for("5 of 5")
        assert screen.lines[4] == "› 東京の地下鉄  2025-01-02  #travel"
        screen.press(ENTER)
        assert screen.finish() == 0
        assert "The text of 東京の地下鉄." in screen.shown.decode()


def test_a_hostile_title_steers_nothing(vault: Program) -> None:
    title = "Evil \\x1b]52;c;AAAA\\x07 \\x1b[31m\\u202Eright \\n two\\tlines"
    text = f'---\ntitle: "{title}"\ncreated: 2026-01-01\n---\nMild text.\n'
    write_note(vault.folder / "v", "evil.md", text)
    with at_screen(vault, "show") as screen:
        screen.wait_for("6 of 6")
        assert "]52;c;AAAA" in screen.lines[1]
        assert b"\x1b]52" not in screen.shown and "\u202e".encode() not in screen.shown
        assert screen.lines[2].startswith("  Weekly review")
        screen.press(ENTER)
        assert screen.finish() == 0


def test_both_ends_of_a_link_are_chosen(vault: Program) -> None:
    with at_screen(vault, "link") as screen:
        screen.wait_for("link from>")
        screen.press("atomic" + ENTER)
        screen.wait_for("link to>")
        screen.wait_for("4 of 4")
        screen.press("weekly" + ENTER)
        assert screen.finish() == 0
        assert "Atomic notes → Weekly review" in "\n".join(screen.lines)
    with at_screen(vault, "unlink", "Atomic notes") as screen:
        screen.wait_for("1 of 1")
        screen.press(ENTER)
        assert screen.finish() == 0
        assert "Atomic notes ↛ Weekly review" in "\n".join(screen.lines)
    with at_screen(vault, "unlink") as screen:
        assert screen.finish() == 1
        assert "there is no note to choose" in "\n".join(screen.lines)


def test_update_and_edit_work_on_the_note_that_was_chosen(vault: Program) -> None:
    with at_screen(vault, "update", "--add-tag", "kept", "--no-wait") as screen:
        screen.wait_for("5 of 5")
        screen.press("garden" + ENTER)
        assert screen.finish() == 0
    assert vault("list", "--tag", "kept").out.endswith("Weeding the garden  #garden  #kept\n")
    editor = vault.folder / "editor.sh"
    editor.write_text('#!/bin/sh\nprintf "more\\n" >> "$1"\n', encoding="utf-8")
    editor.chmod(0o755)
    vault.environment["EDITOR"] = str(editor)
    with at_screen(vault, "edit", "--no-wait") as screen:
        screen.wait_for("5 of 5")
        screen.press(ENTER)
        assert screen.finish() == 0
    assert (vault.folder / "v" / "Weekly review.md").read_text(encoding="utf-8").endswith("more\n")


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
    import subprocess

    done = subprocess.run(
        [sys.executable, "-c", code, "show", "Atomic notes"],
        env={**os.environ, **vault.environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "amem_cli.cli.session" in done.stdout and "prompt_toolkit" not in done.stdout


def test_ten_thousand_notes_are_narrowed_at_once(tmp_path: Path) -> None:
    from amem_cli.terminal.picker import PickerEntry, folded, ranked

    entries = [
        PickerEntry(folded(f"Note {n} on topic {n % 97}"), f"#t{n % 13}") for n in range(10_000)
    ]
    found = ranked("topic 42 note 9", entries)
    assert found and all(n % 97 == 42 or "42" in entries[n].title for n in found[:5])
