"""`amem doctor` as a user meets it: real processes, exit codes, JSON, a broken vault."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.checkups import whole_tree
from tests.conftest import Program
from tests.terminal import at_terminal, plain
from tests.vaults import tree_hashes, write_note


@pytest.fixture
def vault(amem: Program) -> Path:
    return amem.vault()


def test_a_new_vault_is_healthy_with_the_models_that_come_with_amem(
    amem: Program, vault: Path
) -> None:
    del amem.environment["AMEM_LLM_BACKEND"]
    answer = amem("doctor")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out == "healthy: no problems found\n"
    assert amem("doctor", "--json").json == {"healthy": True, "findings": []}


def test_problems_are_told_by_check_with_advice_and_counted(amem: Program, vault: Path) -> None:
    write_note(vault, "notes/b.md", "---\na: 1\na: 2\n---\nSee [[Nobody at all]].\n")
    answer = amem("doctor")
    assert answer.code == 1
    lines = answer.out.splitlines()
    assert "index" in lines
    assert any(line.startswith("  ! notes/b.md:3  ") for line in lines)
    assert lines[-1] == "1 problem, 2 notices; none that --fix can fix"
    mended = amem("doctor", "--fix")
    assert mended.code == 1
    assert mended.out.splitlines()[-1] == "1 problem, 2 notices: 0 fixed, 1 left for you"
    document = amem("--json", "doctor").json
    assert document["healthy"] is False
    assert [each["check"] for each in document["findings"]] == ["headers", "links"]
    assert set(document["findings"][0]) >= {
        "check", "path", "line", "message", "hint", "fixable", "fixed",
    }  # fmt: skip


def test_notes_that_are_not_yet_written_are_normal_and_told_in_one_line(
    amem: Program, vault: Path
) -> None:
    for number in range(30):
        wanted = "".join(f"[[Zzyzx {each}]] " for each in range(number // 5, 6))
        write_note(vault, f"notes/{number}.md", f"{wanted}\nTo do: [[zzyzx 5]]\n")
    write_note(vault, "notes/Atlas.md", "---\nup: '[[Sources of the river]]'\n---\n[[Atlass]]\n")
    assert amem("index").code == 0
    answer = amem("doctor")
    assert answer.code == 0, answer.out
    (line,) = [line for line in answer.out.splitlines() if "not yet written" in line]
    told = "136 links lead to notes not yet written: [[Zzyzx 5]], [[Zzyzx 4]], [[Zzyzx 3]]"
    assert told in line and line.endswith("[[Zzyzx 1]] and 2 more")
    assert "[[Atlass]] leads to no note" in answer.out and "Did you mean [[Atlas]]?" in answer.out
    assert " to notes not yet written" in amem("stats").out
    assert "broken" not in amem("stats").out + amem("graph").out


def test_a_model_that_cannot_be_loaded_and_the_notes_that_wait_for_it_are_told(
    amem: Program, vault: Path
) -> None:
    broken = {"AMEM_LLM_BACKEND": "llama.cpp", "AMEM_LLM_MEMORY_MB": "256"}
    assert amem("add", "Walruses haul out on ice. Seals dive below it.", "--json", **broken).json[
        "pending"
    ]
    found = amem("doctor", "--json", **broken)
    assert found.code == 1
    checks = {each["check"]: each["message"] for each in found.json["findings"]}
    assert set(checks) == {"models", "pending"}
    assert "cannot be loaded" in checks["models"]
    assert checks["pending"].startswith("1 note waits for the memory process, which failed: ")
    assert amem("evolve").code == 0
    assert amem("doctor").code == 0


def test_a_model_that_is_named_without_a_backend_is_looked_for(amem: Program, vault: Path) -> None:
    del amem.environment["AMEM_LLM_BACKEND"]
    found = amem("doctor", "--json", AMEM_LLM_MODEL="/nowhere/model.gguf")
    assert found.code == 1
    assert [each["check"] for each in found.json["findings"]] == ["models"]


def test_a_note_that_was_just_written_leaves_the_vault_healthy(amem: Program, vault: Path) -> None:
    write_note(vault, "notes/b.md", "A new note.\n")
    answer = amem("doctor")
    assert answer.code == 0
    assert "notes/b.md: not in the index" in answer.out


def test_a_file_name_of_two_lines_is_told_on_one(amem: Program, vault: Path) -> None:
    write_note(vault, "notes/a\nb.md", "x\n")
    answer = amem("doctor")
    assert answer.code == 1
    assert not any(line.startswith("b.md") for line in answer.out.splitlines())
    (found,) = amem("doctor", "--json").json["findings"]
    assert found["path"] == "notes/a\nb.md"


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="permissions of POSIX")
@pytest.mark.skipif(not shutil.which("setpriv"), reason="needs setpriv")
@pytest.mark.parametrize(
    "closed", ["notes/Linking beats filing.md", "notes", ".amem/journal", ".amem/journal/*"]
)
def test_what_cannot_be_read_is_told_and_nothing_is_made_anew_for_it(
    amem: Program, vault: Path, closed: str
) -> None:
    assert amem("index").code == 0
    (place,) = vault.glob(closed)
    mode = place.stat().st_mode
    place.chmod(0)
    # On a slow machine it would say how far it is.
    program = [sys.executable, "-m", "amem_cli", "--quiet", "doctor", "--fix", "--json"]
    try:
        # Permissions hold for nobody who has root's rights.
        done = amem.beside("setpriv", "--bounding-set", "-all", "--inh-caps", "-all", *program)
    finally:
        place.chmod(mode)
    assert (done.code, done.err) == (1, "")
    found = done.json["findings"]
    assert place.relative_to(vault).as_posix() in {each["path"] for each in found}
    assert "index" not in {each["check"] for each in found if each["path"] != ".amem/index.db"}
    assert not any("Rebuilt" in each["hint"] for each in found)
    assert not any("could not be made" in each["message"] for each in found)


def test_a_thoroughly_broken_vault_gives_findings_and_no_error(amem: Program, vault: Path) -> None:
    (vault / ".amem/config.toml").write_bytes(b"\xff\xfe<<<<<<< HEAD\napi_key = 'abcdefgh'\n")
    (vault / ".amem/index.db").write_bytes(b"rubbish" * 1000)
    (vault / ".amem/journal").mkdir(exist_ok=True)
    (vault / ".amem/journal/2026-01-x.jsonl").write_bytes(b'{"a": 1}\nrubbish\xff\n[1]\n{"torn')
    (vault / ".amem/journal/2026-02-x.jsonl").mkdir()
    (vault / ".amem/intents").mkdir(exist_ok=True)
    (vault / ".amem/intents/x.json").write_bytes(b"\x00rubbish")
    (vault / ".git").write_text("gitdir: nowhere\n")
    os.mkfifo(vault / "notes/pipe.md")
    (vault / "notes/loop.md").symlink_to("loop.md")
    (vault / "notes/\x1b[31mred.md").write_text("x")
    write_note(vault, "notes/deep.md", "---\na: " + "[" * 50_000 + "\n---\nx\n")
    (vault / "notes/odd.md").write_bytes(b"---\nid: \xff\n---\n\x00[[\x1b]0;x]]")
    user = Path(os.environ["AMEM_CONFIG_DIR"])
    user.mkdir(parents=True)
    (user / "config.toml").write_text("[[[")
    before, notes = whole_tree(vault), tree_hashes(vault)
    for line in (["doctor"], ["doctor", "--json"], ["doctor", "--fix", "--json"]):
        answer = amem(*line)
        assert answer.code == 1, answer.err
        assert "\x1b" not in answer.out
        assert "abcdefgh" not in answer.out
    assert whole_tree(vault) == before
    found = amem("doctor", "--json").json["findings"]
    checks = {each["check"] for each in found}
    assert checks >= {
        "settings", "secrets", "index", "leftovers", "files", "headers", "journal", "git",
    }  # fmt: skip
    assert not any("could not be made" in each["message"] for each in found)
    # With settings that can be read, what is safe is mended.
    (vault / ".amem/config.toml").unlink()
    (user / "config.toml").unlink()
    mended = {
        each["check"]: each["fixed"] for each in amem("doctor", "--fix", "--json").json["findings"]
    }
    assert mended["index"] is True
    assert mended["leftovers"] is False
    assert tree_hashes(vault) == notes
    assert not any(each["fixable"] for each in amem("doctor", "--json").json["findings"])


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_persons_links_to_a_note_that_another_program_renamed_follow_if_asked(
    amem: Program, vault: Path
) -> None:
    header = '---\nid: "7"\nup: "[[Walrus]]"\nlinks:\n  - "[[Walrus]]"\n---\n'
    own = write_note(
        vault, "notes/own.md", f"{header}See [[Walrus#Food|it]], [w](Walrus.md), [[x]].\n"
    )
    write_note(vault, "notes/Walrus.md", '---\nid: "8"\n---\nTusks.\n')
    assert amem("index").code == 0
    before = own.read_bytes()
    (vault / "notes/Walrus.md").rename(vault / "notes/Sea cow.md")
    assert amem("index").code == 0
    told = amem("doctor", "--fix", "--json")
    assert told.code == 1 and own.read_bytes() == before
    (found, *_) = [each for each in told.json["findings"] if each["path"] == "notes/own.md"]
    assert "is now notes/Sea cow.md" in found["message"] and not found["fixable"]
    shown = at_terminal(vault, ["doctor", "--fix"], [("[y/N]", "n")])[1]
    assert "lead to renamed notes" in plain(shown) and own.read_bytes() == before
    code, shown = at_terminal(vault, ["doctor", "--fix"], [("[y/N]", "y\r")])
    text = own.read_text()
    assert text == (
        header.replace("Walrus", "Sea cow") + "See [[Sea cow#Food|it]], [w](Sea%20cow.md), [[x]].\n"
    )
    assert code == 0, plain(shown)
    assert amem("undo", "--yes").code == 0
    assert own.read_bytes() == before


def test_a_folder_that_is_no_vault_is_an_error(amem: Program) -> None:
    answer = amem("--vault", ".", "doctor")
    assert answer.code == 3
    assert "not a vault" in answer.err


def test_a_proposal_that_cannot_be_read_is_told(amem: Program, vault: Path) -> None:
    (vault / ".amem/review").mkdir()
    (vault / ".amem/review/abc.json").write_text("{", encoding="utf-8")
    answer = amem("doctor", "--json")
    assert answer.code == 1
    (finding,) = answer.json["findings"]
    assert (finding["check"], finding["path"]) == ("review", ".amem/review/abc.json")
