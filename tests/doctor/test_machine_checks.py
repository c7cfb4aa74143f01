"""Settings, secrets, permissions, models, git and the machine are checked without being changed."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from amem_cli.doctor.finding import Finding
from amem_cli.index.sync import synchronise
from amem_cli.vault.template import adopt_vault
from tests.checkups import fix, look, places, whole_tree
from tests.vaults import open_vault, tree_hashes, write_note


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An adopted vault with one note, its index in step."""
    folder = tmp_path / "v"
    write_note(folder, "a.md", '---\nzettel: "20260302150004"\n---\nA note.\n')
    adopt_vault(folder)
    in_step(folder)
    return folder


def in_step(root: Path) -> None:
    ports = open_vault(root)
    synchronise(ports)
    ports.index.close()


def git(folder: Path, *words: str) -> None:
    options = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    subprocess.run(["git", *options, *words], cwd=folder, capture_output=True, check=True)


def settings_of(root: Path, text: str) -> None:
    (root / ".amem/config.toml").write_text(text)


def test_an_adopted_vault_is_healthy(root: Path) -> None:
    assert look(root) == []
    git(root, "init", "-q")
    assert look(root) == []


def test_settings_that_do_not_fit_are_told_with_their_line(root: Path) -> None:
    settings_of(root, '[llm]\nthreads = 0\nmodle = "x"\n\n[evolution]\nmode = "wild"\n')
    found = look(root, "settings", AMEM_EVOLUTION_MAX_LINKS="many")
    assert places(found[:3]) == [(".amem/config.toml", line) for line in (2, 3, 6)]
    assert "llm.model" in found[1].hint
    assert "AMEM_EVOLUTION_MAX_LINKS" in found[3].message
    assert len(found) == 4


def test_two_properties_of_one_name_are_told(root: Path) -> None:
    settings_of(root, '[properties]\ntags = "x"\nkeywords = "x"\n')
    (found,) = look(root, "settings")
    assert "same name" in found.message


@pytest.mark.parametrize("text", ["not toml at all", "<<<<<<< HEAD\nnotes_dir = 'x'\n"])
def test_a_vault_whose_settings_cannot_be_read_is_looked_at_but_not_mended(
    root: Path, text: str
) -> None:
    settings_of(root, text)
    write_note(root, "new.md", "New.\n")
    before = whole_tree(root)
    found = fix(root)
    assert [each.check for each in found] == ["settings", "index"]
    assert (found[0].path, found[0].line) == (".amem/config.toml", 1)
    assert not any(each.fixed for each in found)
    assert whole_tree(root) == before


def test_user_settings_that_cannot_be_read_are_told(root: Path) -> None:
    folder = Path(os.environ["AMEM_CONFIG_DIR"])
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("[llm\n")
    (found,) = look(root, "settings")
    assert found.path == str(folder / "config.toml")


def test_a_secret_in_the_vault_is_told_and_never_shown(root: Path) -> None:
    secret = "sk-proj-4f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c"
    settings_of(root, f'notes_dir = "notes"\n[llm]\napi_key = "{secret}"\n# token = "abc"\n')
    found = look(root, "secrets")
    assert places(found) == [(".amem/config.toml", 3), (".amem/config.toml", 4)]
    assert secret not in repr(look(root))


def test_a_vault_whose_own_folder_is_a_link_is_not_entered(tmp_path: Path, root: Path) -> None:
    (root / ".amem").rename(tmp_path / "elsewhere")
    (root / ".amem").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere/config.toml").write_text("not toml")
    before = whole_tree(tmp_path)
    found = fix(root)
    assert [(each.check, each.path) for each in found] == [("permissions", ".amem")]
    assert whole_tree(tmp_path) == before


def test_lines_that_git_needs_are_added(root: Path) -> None:
    git(root, "init", "-q")
    (root / ".gitignore").write_bytes(b"mine\r\n.amem/*.lock")
    (root / ".gitattributes").unlink()
    found = look(root)
    assert [(each.check, each.path) for each in found] == [
        ("git", ".gitignore"),
        ("git", ".gitattributes"),
    ]
    assert "index.db" in found[0].message
    assert all(each.fixed for each in fix(root))
    assert (root / ".gitignore").read_bytes().startswith(b"mine\r\n.amem/*.lock\r\n.amem/index.db*")
    assert look(root) == []


def test_other_lines_that_do_the_same_are_enough(root: Path) -> None:
    git(root, "init", "-q")
    (root / ".gitignore").write_text("/.amem/index.*\n*.lock\nintents/\n")
    (root / ".gitattributes").write_text("*.jsonl merge=union\n")
    assert look(root) == []


def test_a_line_for_one_lock_alone_leaves_the_others_to_be_ignored(root: Path) -> None:
    git(root, "init", "-q")
    (root / ".gitignore").write_text(".amem/index.db*\n.amem/write.lock\n.amem/intents/\n")
    (found,) = look(root)
    assert (found.path, found.message) == (".gitignore", "lacks .amem/*.lock")


def test_an_index_that_git_tracks_is_told(root: Path) -> None:
    git(root.parent, "init", "-q")
    git(root.parent, "add", "-f", "v/.amem/index.db", "v/a.md")
    before = (root.parent / ".git/index").read_bytes()
    (found,) = fix(root)
    assert (found.check, found.path, found.fixed) == ("git", ".amem/index.db", False)
    assert "git rm --cached" in found.hint
    assert (root.parent / ".git/index").read_bytes() == before


def test_a_merge_that_is_not_finished_is_told(root: Path) -> None:
    git(root, "init", "-q")
    (root / ".git/MERGE_HEAD").write_text("0" * 40)
    (found,) = look(root)
    assert (found.check, "merge" in found.message) == ("git", True)


def test_a_worktree_is_looked_at_where_its_repository_is(tmp_path: Path, root: Path) -> None:
    git(root, "init", "-q")
    git(root, "add", "a.md", ".gitignore", ".gitattributes", ".amem/config.toml")
    git(root, "commit", "-qm", "one")
    git(root, "worktree", "add", "-q", str(tmp_path / "w"))
    work = tmp_path / "w"
    in_step(work)
    assert look(work, "git") == []
    git(work, "add", "-f", ".amem/index.db")
    assert [each.path for each in look(work, "git")] == [".amem/index.db"]
    (work / ".git").write_text("gitdir: /nowhere\n")
    assert [each.path for each in look(work, "git")] == [str(work / ".git")]


def messages(found: list[Finding]) -> str:
    return "\n".join(f"{each.message} {each.hint}" for each in found)


def test_a_model_file_that_is_missing_or_no_model_is_told(root: Path) -> None:
    variables = {"AMEM_LLM_BACKEND": "llama.cpp"}
    missing = look(root, "models", **variables, AMEM_LLM_MODEL=str(root.parent / "x.gguf"))
    assert "x.gguf" in messages(missing)
    (root.parent / "y.gguf").write_text("a text")
    wrong = look(root, "models", **variables, AMEM_LLM_MODEL=str(root.parent / "y.gguf"))
    assert "not a GGUF model" in messages(wrong)
    assert len(missing) == len(wrong) == 1


def test_a_server_that_is_not_there_is_told(root: Path) -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        variables = {"AMEM_LLM_BACKEND": "openai", "AMEM_LLM_MODEL": "m", "AMEM_LLM_BASE_URL": url}
        (found,) = look(root, "models", **variables)
        assert url in found.message
        listening.listen()
        assert look(root, "models", **variables) == []


def test_a_remote_model_that_nobody_here_chose_is_told_and_not_contacted(root: Path) -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        listening.settimeout(0.05)
        port = listening.getsockname()[1]
        settings_of(
            root,
            f'[llm]\nbackend = "openai"\nmodel = "m"\nbase_url = "https://localtest.invalid:{port}/v1"\n',
        )
        (found,) = look(root, "models", AMEM_LLM_BACKEND="")
        assert "send notes" in found.message
        with pytest.raises(TimeoutError):
            listening.accept()


def test_an_encoder_that_is_missing_is_told(root: Path) -> None:
    (found,) = look(root, "models", AMEM_ENCODER_MODEL=str(root / "nowhere"))
    assert "nowhere" in found.message


def test_a_vault_of_the_wrong_property_names_is_not_touched(root: Path) -> None:
    settings_of(root, '[properties]\nid = "zettel"\ntags = "zettel"\n')
    write_note(root, "b.md", (root / "a.md").read_text())
    before = tree_hashes(root)
    assert not any(each.fixed for each in fix(root))
    assert tree_hashes(root) == before


@pytest.mark.parametrize("place", [".amem/journal", ".amem/intents", ".amem/review", ".trash"])
def test_a_file_where_amem_needs_a_folder_is_told(root: Path, place: str) -> None:
    shutil.rmtree(root / place, ignore_errors=True)
    (root / place).write_text("x")
    in_step(root)
    (found,) = look(root)
    assert (found.check, found.path, found.severity) == ("files", place, "problem")
    assert "is no folder" in found.message


def test_a_file_where_new_notes_go_is_told(root: Path) -> None:
    (root / ".amem/config.toml").write_text('notes_dir = "inbox"\n')
    (root / "inbox").write_text("x")
    (found,) = look(root)
    assert (found.check, found.path) == ("files", "inbox")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may do anything")
def test_a_vault_that_cannot_be_written_is_told(root: Path) -> None:
    (root / ".amem").chmod(0o500)
    try:
        (found,) = look(root)
    finally:
        (root / ".amem").chmod(0o700)
    assert (found.check, found.path) == ("permissions", ".amem")


@pytest.mark.parametrize("broken", ["empty folder", "no head"])
def test_a_folder_of_gits_that_is_no_repository_is_told(root: Path, broken: str) -> None:
    if broken == "empty folder":
        (root / ".git").mkdir()
    else:
        git(root, "init", "-q")
        (root / ".git/HEAD").write_text("")
    (found,) = look(root)
    assert (found.check, found.path) == ("git", str(root / ".git"))


def test_a_journal_that_git_ignores_is_told_and_leaves_the_vault_healthy(root: Path) -> None:
    git(root, "init", "-q")
    with (root / ".gitignore").open("a") as stream:
        stream.write(".amem/\n")
    (found,) = look(root)
    assert (found.check, found.path, found.severity) == ("git", ".gitignore", "notice")


@pytest.mark.skipif(sys.platform != "linux", reason="needs a file system that takes any bytes")
def test_a_vault_whose_path_is_not_utf8_is_read(root: Path) -> None:
    odd = root.rename(root.with_name(os.fsdecode(b"v\xff")))
    ports = open_vault(odd)
    synchronise(ports)
    assert ports.index.notes.count() == 1
    ports.index.close()
    assert look(odd) == []
