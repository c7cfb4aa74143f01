"""Settings that change under a running watcher are taken up, or said to need a new start."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Program
from tests.fakes.prepared_encoder import with_quick_encoder
from tests.vaults import write_note
from tests.watching import times_processed, watching

pytestmark = pytest.mark.slow


@pytest.fixture
def vault(amem: Program) -> Path:
    """A vault in which notes rest for a day, by its settings."""
    amem.environment |= with_quick_encoder(amem.folder / "cache")
    folder = amem.empty_vault()
    assert amem("config", "set", "evolution.settle_seconds", "86400").code == 0
    return folder


def change(amem: Program, vault: Path, key: str, value: str) -> None:
    """Change a setting, and something else that is noticed sooner."""
    assert amem("config", "set", key, value).code == 0
    write_note(vault, "attic/another note.md", f"{key} is {value} now.\n")


def test_a_setting_is_taken_up_while_watching(amem: Program, vault: Path) -> None:
    with watching(amem, vault, settle=None) as watcher:
        write_note(vault, "a.md", "The walrus sleeps.\n")
        watcher.until_told("searchable")
        assert times_processed(vault).total() == 0
        change(amem, vault, "evolution.settle_seconds", "0")
        watcher.until_told("settings", changed=["evolution.settle_seconds"], restart=[])
        watcher.until_told("learned", path="a.md")
        assert watcher.end() == 0
        assert watcher.complaints == []


def test_an_option_of_the_command_wins_over_a_setting_that_changed(
    amem: Program, vault: Path
) -> None:
    with watching(amem, vault, settle=86400) as watcher:
        write_note(vault, "a.md", "The walrus sleeps.\n")
        watcher.until_told("searchable")
        change(amem, vault, "evolution.settle_seconds", "0")
        change(amem, vault, "evolution.max_links", "3")
        watcher.until(lambda: "evolution.max_links" in str(watcher.lines("settings")))
        assert times_processed(vault).total() == 0
        assert "settle_seconds" not in str(watcher.lines("settings"))
        assert watcher.end() == 0


def test_what_needs_a_new_start_is_said(amem: Program, vault: Path) -> None:
    with watching(amem, vault, settle=None) as watcher:
        change(amem, vault, "exclude.folders", "attic")
        watcher.until_told("settings", changed=[], restart=["exclude.folders"])
        (told,) = watcher.lines("settings")
        assert told["text"] == "settings changed; start the watcher again for exclude.folders"
        assert watcher.end() == 0


def test_settings_that_cannot_be_read_change_nothing(amem: Program, vault: Path) -> None:
    settings = vault / ".amem/config.toml"
    good = settings.read_text()
    with watching(amem, vault, settle=None) as watcher:
        settings.write_text("evolution = [[[")
        write_note(vault, "attic/another note.md", "The settings are broken.\n")
        watcher.until_told("trouble")
        assert "cannot read config.toml" in watcher.lines("trouble")[0]["reason"]
        write_note(vault, "a.md", "The walrus sleeps.\n")
        watcher.until_told("searchable")
        assert times_processed(vault).total() == 0
        settings.write_text(good.replace("86400", "0"))
        write_note(vault, "attic/another note.md", "The settings are whole again.\n")
        watcher.until_told("learned", path="a.md")
        assert watcher.end() == 0
        assert watcher.complaints == []
