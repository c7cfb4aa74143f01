"""A commit of named files leaves everything else in the repository as the user has it."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path

import pytest

from amem_cli.git.repository import CommitReport, commit_files
from tests.repositories import HOOKS, TestRepository, new_repository, person, wrapped_git

MESSAGE = "amem: “Dough” linked to 2 notes\n\n- one line\n\nAmem-Event: 0001"
ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


@pytest.fixture
def repo(tmp_path: Path) -> TestRepository:
    """A vault that is a repository, with two notes in its first commit."""
    made = new_repository(tmp_path / "vault", person(tmp_path / "home"))
    made.write("a.md", "first\n")
    made.write("b.md", "second\n")
    made.save("a.md", "b.md")
    return made


@pytest.fixture
def marks(tmp_path: Path) -> Path:
    """Where programs that must not run would leave their marks."""
    folder = tmp_path / "marks"
    folder.mkdir()
    return folder


def commit(repo: TestRepository, *paths: str, vault: str = "", **variables: str) -> CommitReport:
    """Commit files of the vault as the program does."""
    environment = {**repo.environment, **variables}
    return commit_files(repo.top / vault, environment, paths, lambda _: MESSAGE)


def assert_sound(repo: TestRepository) -> None:
    """The repository is whole, and nothing of the commit's making is left in it."""
    assert "dangling" not in repo.git("fsck", "--strict", "--no-dangling")
    git_dir = Path(repo.git("rev-parse", "--absolute-git-dir").strip())
    assert list(git_dir.rglob("*.lock")) == []


def index_of(repo: TestRepository) -> bytes:
    return (Path(repo.git("rev-parse", "--absolute-git-dir").strip()) / "index").read_bytes()


def test_exactly_the_named_files_are_committed(repo: TestRepository) -> None:
    before = repo.head()
    repo.write("a.md", "first, changed\n")
    repo.write("b.md", "second, changed by hand\n")
    repo.write("new/c.md", "third\n")
    repo.write("untracked.md", "not yet\n")
    report = commit(repo, "a.md", "new/c.md")
    assert report == CommitReport(repo.head())
    assert repo.changed() == {"a.md": "M", "new/c.md": "A"}
    assert repo.git("rev-parse", "HEAD^").strip() == before
    assert repo.message() == MESSAGE
    assert repo.git("log", "-1", "--format=%(trailers:key=Amem-Event,valueonly)").strip() == "0001"
    assert repo.git("log", "-1", "--format=%an %ae %cn").strip() == "Robin robin@example.org Robin"
    assert repo.status() == [" M b.md", "?? untracked.md"]
    assert repo.git("diff-files", "--name-only").split() == ["b.md"]
    assert repo.git("symbolic-ref", "HEAD").strip() == "refs/heads/main"
    assert "amem: “Dough”" in repo.git("reflog", "-1", "main")
    assert_sound(repo)


def test_a_file_that_is_gone_is_removed_by_the_commit(repo: TestRepository) -> None:
    (repo.top / "a.md").unlink()
    assert commit(repo, "a.md", "never-there.md").commit == repo.head()
    assert repo.changed() == {"a.md": "D"}
    assert repo.status() == []


def test_nothing_new_is_no_commit(repo: TestRepository) -> None:
    before, index = repo.head(), index_of(repo)
    assert commit(repo, "a.md", "never-there.md") == CommitReport()
    assert (repo.head(), index_of(repo)) == (before, index)


def test_the_message_may_call_the_commit_off(repo: TestRepository) -> None:
    repo.write("a.md", "changed\n")
    before = repo.head()
    asked: list[frozenset[str]] = []

    def describe(changed: frozenset[str]) -> str:
        asked.append(changed)
        return ""

    report = commit_files(repo.top, repo.environment, ["a.md", "b.md"], describe)
    assert report == CommitReport()
    assert asked == [frozenset({"a.md"})]
    assert (repo.head(), repo.status()) == (before, [" M a.md"])


def test_a_folder_stands_for_the_files_in_it(repo: TestRepository) -> None:
    repo.write(".amem/review/1.json", "{}")
    repo.write(".amem/review/2.json", "{}")
    repo.save(".amem/review")
    (repo.top / ".amem/review/1.json").unlink()
    repo.write(".amem/review/3.json", "{}")
    repo.write(".amem/review/.amem-half.tmp", "{")
    repo.write(".amem/other.json", "{}")
    commit(repo, ".amem/review/", ".amem/none/")
    assert repo.changed() == {".amem/review/1.json": "D", ".amem/review/3.json": "A"}


def test_what_the_user_staged_stays_staged(repo: TestRepository) -> None:
    repo.write("b.md", "staged by hand\n")
    repo.write("staged.md", "new and staged\n")
    repo.git("add", "b.md", "staged.md")
    repo.write("b.md", "staged by hand, then edited\n")
    repo.write("a.md", "changed\n")
    report = commit(repo, "a.md")
    assert repo.changed(report.commit) == {"a.md": "M"}
    assert repo.status() == ["MM b.md", "A  staged.md"]
    assert repo.git("show", ":b.md") == "staged by hand\n"
    repo.git("commit", "-qm", "by hand")
    assert repo.changed() == {"b.md": "M", "staged.md": "A"}


@pytest.mark.parametrize(
    ("prepare", "path"),
    [
        (("add", "a.md"), "a.md"),
        (("add", "new.md"), "new.md"),
        (("add", "-N", "new.md"), "new.md"),
        (("rm", "-q", "--cached", "a.md"), "a.md"),
        (("update-index", "--chmod=+x", "a.md"), "a.md"),
    ],
    ids=["change", "new note", "intent to add", "removal", "mode"],
)
def test_a_note_of_which_something_is_staged_is_left_out(
    repo: TestRepository, prepare: tuple[str, ...], path: str
) -> None:
    repo.write(path, "what the user staged\n")
    repo.git(*prepare)
    repo.write(path, "what the machine wrote\n")
    repo.write("b.md", "changed\n")
    before, staged = repo.status(), repo.git("diff", "--cached", "--raw")
    report = commit(repo, path, "b.md")
    assert dict(report.left_out) == {path: "you have staged something of it"}
    assert repo.changed() == {"b.md": "M"}
    assert repo.status() == [line for line in before if "b.md" not in line]
    assert repo.git("diff", "--cached", "--raw") == staged
    assert_sound(repo)


def test_marked_entries_are_left_out(repo: TestRepository) -> None:
    repo.git("update-index", "--assume-unchanged", "a.md")
    repo.git("update-index", "--skip-worktree", "b.md")
    repo.write("a.md", "changed\n")
    repo.write("b.md", "changed\n")
    before = repo.head()
    assert commit(repo, "a.md", "b.md").left_out.keys() == {"a.md", "b.md"}
    assert repo.head() == before
    assert repo.git("ls-files", "-v").split() == ["h", "a.md", "S", "b.md"]


def test_ignored_files_are_left_out_unless_they_are_tracked(repo: TestRepository) -> None:
    repo.write(".gitignore", "private/\na.md\n:odd.md\n")
    repo.write("private/secret.md", "secret\n")
    repo.write(":odd.md", "odd\n")
    repo.write("a.md", "changed\n")
    report = commit(repo, "private/secret.md", "a.md", ":odd.md")
    assert report.left_out.keys() == {"private/secret.md", ":odd.md"}
    assert all(why.startswith("git ignores it") for why in report.left_out.values())
    assert repo.changed() == {"a.md": "M"}


def test_another_repository_in_the_vault_is_left_alone(repo: TestRepository) -> None:
    inner = new_repository(repo.top / "inner", repo.environment)
    inner.write("deep/x.md", "theirs\n")
    inner.save("deep/x.md")
    other = new_repository(repo.top.parent / "other", repo.environment)
    other.write("y.md", "a submodule's\n")
    other.save("y.md")
    repo.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other.top), "module")
    repo.save("module")
    inner.write("deep/x.md", "changed\n")
    repo.write("module/y.md", "changed\n")
    repo.git("submodule", "deinit", "-q", "-f", "module")
    repo.write("module/new.md", "in a submodule that is not checked out\n")
    before = (repo.head(), inner.head())
    report = commit(repo, "inner/deep/x.md", "module/new.md")
    assert report.left_out.keys() == {"inner/deep/x.md", "module/new.md"}
    assert (repo.head(), inner.head()) == before


def test_links_and_odd_files_are_left_out(repo: TestRepository, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x.md").write_text("not the vault's\n")
    (repo.top / "linked").symlink_to(outside)
    (repo.top / "link.md").symlink_to(outside / "x.md")
    os.mkfifo(repo.top / "pipe.md")
    (repo.top / "a.md").unlink()
    repo.write("a.md/inside.md", "a folder where a note was\n")
    before = repo.head()
    report = commit(repo, "linked/x.md", "linked/", "link.md", "pipe.md", "a.md", "a.md/inside.md")
    assert report.left_out.keys() == {
        "linked/x.md", "link.md", "pipe.md", "a.md", "a.md/inside.md",
    }  # fmt: skip
    assert repo.head() == before


def test_a_folder_where_the_user_staged_a_file_is_left_out(repo: TestRepository) -> None:
    repo.write("notes", "a file\n")
    repo.git("add", "notes")
    (repo.top / "notes").unlink()
    repo.write("notes/x.md", "a note\n")
    before, index = repo.head(), index_of(repo)
    assert commit(repo, "notes/x.md").left_out.keys() == {"notes/x.md"}
    assert (repo.head(), index_of(repo)) == (before, index)


def install_marks(repo: TestRepository, marks: Path) -> None:
    """Everything that git can be told to run, each leaving a mark."""
    for name in HOOKS:
        repo.mark(name, marks).rename(repo.top / ".git/hooks" / name)
    monitor = repo.mark("fsmonitor", marks)
    clean = repo.mark("clean", marks, "exec cat")
    smudge = repo.mark("smudge", marks, "exec cat")
    process = repo.mark("process", marks, "exit 1")
    signer = repo.mark("gpg", marks, "exit 1")
    for key, value in (
        ("core.fsmonitor", str(monitor)),
        ("filter.one.clean", str(clean)),
        ("filter.one.smudge", str(smudge)),
        ("filter.one.required", "true"),
        ("filter.two.process", str(process)),
        ("commit.gpgSign", "true"),
        ("gpg.program", str(signer)),
        ("gc.auto", "1"),
        ("gc.autoDetach", "false"),
    ):
        repo.git("config", key, value)


def test_nothing_that_the_repository_brings_is_run(repo: TestRepository, marks: Path) -> None:
    repo.write(".gitattributes", "*.one filter=one\n*.two filter=two\n")
    repo.write("kept.one", "raw\n")
    repo.write("kept.two", "raw\n")
    repo.save(".gitattributes", "kept.one", "kept.two")
    install_marks(repo, marks)
    # As old as the index: git has to read these to tell whether they changed.
    index = (repo.top / ".git/index").stat().st_mtime_ns
    for name in ("kept.one", "kept.two"):
        os.utime(repo.top / name, ns=(index, index))
    repo.write("a.md", "changed\n")
    repo.write("new.md", "new\n")
    assert commit(repo, "a.md", "new.md").commit
    assert list(marks.glob("*.ran")) == []
    assert repo.changed() == {"a.md": "M", "new.md": "A"}
    # Git itself runs the same programs.
    repo.write("kept.one", "raw, changed\n")
    repo.fails("-c", "filter.two.process=", "commit", "-qam", "by hand")
    assert {path.stem for path in marks.glob("*.ran")} >= {
        "clean",
        "fsmonitor",
        "gpg",
        "pre-commit",
    }


@pytest.mark.parametrize("configured", ["clean", "process", ""])
def test_a_note_with_a_filter_is_left_out_raw(
    repo: TestRepository, marks: Path, configured: str
) -> None:
    repo.write(".gitattributes", "secret/** filter=crypt diff=crypt\n")
    if configured:
        repo.git("config", f"filter.crypt.{configured}", str(repo.mark("crypt", marks)))
    repo.write("secret/new.md", "a word that nobody may read\n")
    repo.write("a.md", "changed\n")
    report = commit(repo, "secret/new.md", "a.md")
    assert dict(report.left_out) == {
        "secret/new.md": "it has the filter “crypt”, which amem does not run"
    }
    assert repo.changed() == {"a.md": "M"}
    assert list(marks.glob("*.ran")) == []
    objects = repo.git("cat-file", "--batch-all-objects", "--batch")
    assert "a word that nobody may read" not in objects


def test_a_partial_clone_fetches_nothing(repo: TestRepository, tmp_path: Path, marks: Path) -> None:
    repo.git("config", "uploadpack.allowFilter", "true")
    clone = repo.at(tmp_path / "clone")
    words = ("clone", "-q", "--no-checkout", "--filter=tree:0", repo.top.as_uri(), str(clone.top))
    repo.git(*words)
    clone.git("config", "remote.origin.uploadpack", str(repo.mark("fetch", marks)))
    clone.git("config", "protocol.file.allow", "always")
    clone.write("new.md", "new\n")
    before = clone.head()
    assert commit(clone, "new.md").skipped
    assert clone.head() == before
    assert list(marks.glob("*.ran")) == []


def test_the_first_commit_of_an_unborn_branch(tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "v", person(tmp_path / "home"))
    repo.write("staged.md", "staged\n")
    repo.write("a.md", "a note\n")
    assert commit(repo, "a.md").commit == repo.head()
    assert repo.changed() == {"a.md": "A"}
    repo = new_repository(tmp_path / "w", person(tmp_path / "home"))
    repo.write("staged.md", "staged\n")
    repo.git("add", "staged.md")
    repo.write("a.md", "a note\n")
    commit(repo, "a.md")
    assert repo.changed() == {"a.md": "A"}
    assert repo.status() == ["A  staged.md"]
    assert_sound(repo)


def test_a_linked_worktree_commits_on_its_own_branch(repo: TestRepository, tmp_path: Path) -> None:
    repo.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    side = repo.at(tmp_path / "side")
    repo.write("b.md", "staged in the main one\n")
    repo.git("add", "b.md")
    side.write("a.md", "changed\n")
    before = repo.head()
    assert commit(side, "a.md").commit == side.head()
    assert side.git("symbolic-ref", "HEAD").strip() == "refs/heads/side"
    assert (repo.head(), repo.status()) == (before, ["M  b.md"])
    assert side.status() == []
    assert_sound(side)


def test_a_vault_that_is_a_submodule(repo: TestRepository, tmp_path: Path) -> None:
    above = new_repository(tmp_path / "above", repo.environment)
    above.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(repo.top), "vault")
    above.git("commit", "-qm", "with the vault")
    vault, outer = above.at(above.top / "vault"), above.head()
    vault.write("a.md", "changed\n")
    assert commit(vault, "a.md").commit == vault.head()
    assert vault.changed() == {"a.md": "M"}
    assert above.head() == outer
    vault.git("checkout", "-q", "--detach")
    vault.write("a.md", "changed again\n")
    before = vault.head()
    report = commit(vault, "a.md")
    assert report.skipped == "no branch is checked out (detached HEAD)"
    assert (vault.head(), vault.status()) == (before, [" M a.md"])


@pytest.mark.parametrize("folder", ["my vault/notes", "-v [1]*", ":(top)"])
def test_a_vault_in_a_folder_of_a_repository(repo: TestRepository, folder: str) -> None:
    repo.write(f"{folder}/old.md", "old\n")
    repo.write(f"{folder}/old note.md", "old\n")
    repo.git("--literal-pathspecs", "add", "--", folder)
    repo.git("commit", "-qm", "a vault")
    repo.write("a.md", "outside, edited\n")
    repo.write(f"{folder}/old.md", "changed\n")
    repo.write(f"{folder}/.gitignore", "x/\n")
    repo.write(f"{folder}/x/ignored.md", "ignored\n")
    repo.write(f"{folder}/n/new.md", "new\n")
    report = commit(repo, "old.md", "n/new.md", "x/ignored.md", vault=folder)
    assert report.left_out.keys() == {"x/ignored.md"}
    assert repo.changed() == {f"{folder}/old.md": "M", f"{folder}/n/new.md": "A"}
    assert repo.status() == [" M a.md", f"?? {folder}/.gitignore"]


IN_PROGRESS = {
    "merge": (("merge", "other"), "a merge is in progress"),
    "cherry-pick": (("cherry-pick", "other"), "a cherry-pick is in progress"),
    "revert": (("revert", "HEAD~1"), "a revert is in progress"),
    "rebase": (("rebase", "other"), "a rebase is in progress"),
    "am": (("am", "--3way", "../other.patch"), "a rebase is in progress"),
    "stash": (("stash", "pop"), "there are unmerged files"),
}


@pytest.mark.parametrize("name", IN_PROGRESS)
def test_a_commit_that_the_user_is_making_is_not_disturbed(repo: TestRepository, name: str) -> None:
    words, reason = IN_PROGRESS[name]
    repo.git("checkout", "-q", "-b", "other")
    repo.write("a.md", "theirs\n")
    repo.save("a.md")
    (repo.top.parent / "other.patch").write_text(repo.git("format-patch", "-1", "--stdout"))
    repo.git("checkout", "-q", "main")
    if name == "stash":
        repo.write("a.md", "put aside\n")
        repo.git("stash", "-q")
    repo.write("a.md", "ours\n")
    repo.save("a.md")
    repo.write("a.md", "ours again\n")
    repo.save("a.md")
    repo.fails(*words)
    repo.write("b.md", "by the machine\n")
    before = (repo.head(), index_of(repo), (repo.top / ".git/HEAD").read_bytes())
    assert commit(repo, "b.md") == CommitReport(skipped=reason)
    assert (repo.head(), index_of(repo), (repo.top / ".git/HEAD").read_bytes()) == before


def test_a_lock_that_somebody_holds_is_respected(repo: TestRepository) -> None:
    lock = repo.write(".git/index.lock", "")
    repo.write("a.md", "changed\n")
    before = repo.head()
    report = commit(repo, "a.md")
    assert str(lock) in report.skipped and "another git command" in report.skipped
    assert lock.exists()
    lock.unlink()
    assert (repo.head(), repo.status()) == (before, [" M a.md"])


def test_a_lock_that_is_held_for_a_moment_is_waited_for(repo: TestRepository) -> None:
    lock = repo.write(".git/index.lock", "")
    repo.write("a.md", "changed\n")
    repo.write("new.md", "new\n")
    timer = threading.Timer(0.2, lock.unlink)
    timer.start()
    commit(repo, "a.md", "new.md")
    timer.join()
    assert repo.changed() == {"a.md": "M", "new.md": "A"}
    assert repo.status() == []


def test_a_branch_that_cannot_be_moved_leaves_the_index(repo: TestRepository) -> None:
    repo.write(".git/refs/heads/main.lock", "")
    repo.write("a.md", "changed\n")
    repo.write("new.md", "new\n")
    assert "main.lock" in commit(repo, "a.md", "new.md").skipped
    assert not (repo.top / ".git/index.lock").exists()
    assert repo.status() == [" M a.md", "?? new.md"]


MOVES_THE_BRANCH = """
for word in "$@"; do
  if [ "$word" = commit ]; then
    $git commit -q --allow-empty -m "in between"
  fi
done
"""


def test_a_commit_in_between_becomes_the_parent(repo: TestRepository, tmp_path: Path) -> None:
    path = wrapped_git(tmp_path / "bin", MOVES_THE_BRANCH)
    repo.write("a.md", "changed\n")
    commit(repo, "a.md", PATH=path)
    assert repo.git("log", "--format=%s").splitlines() == [
        MESSAGE.splitlines()[0], "in between", "by hand",
    ]  # fmt: skip
    assert repo.changed() == {"a.md": "M"}
    assert_sound(repo)


STAGES_SOMETHING = """
case " $* " in *" commit "*)
  $git add b.md;;
esac
"""


def test_what_is_staged_in_between_stays_staged(repo: TestRepository, tmp_path: Path) -> None:
    path = wrapped_git(tmp_path / "bin", STAGES_SOMETHING)
    repo.write("a.md", "changed\n")
    repo.write("b.md", "staged at the last moment\n")
    commit(repo, "a.md", PATH=path)
    assert repo.changed() == {"a.md": "M"}
    assert repo.status() == ["M  b.md"]


def test_git_that_hangs_is_ended(repo: TestRepository, tmp_path: Path) -> None:
    script = 'case " $* " in *" commit "*) exec sleep 60;; esac'
    environment = {**repo.environment, "PATH": wrapped_git(tmp_path / "bin", script)}
    repo.write("a.md", "changed\n")
    before, index = repo.head(), index_of(repo)
    report = commit_files(repo.top, environment, ["a.md"], lambda _: MESSAGE, seconds=1.0)
    assert report.skipped == "git took too long"
    assert (repo.head(), index_of(repo)) == (before, index)


def test_without_an_identity_amem_is_the_author(repo: TestRepository, tmp_path: Path) -> None:
    stranger = TestRepository(repo.top, person(tmp_path / "nobody", name=""))
    stranger.write("a.md", "changed\n")
    commit(stranger, "a.md")
    shown = stranger.git("log", "-1", "--format=%an <%ae> %cn <%ce>").strip()
    assert shown == "amem <amem@localhost> amem <amem@localhost>"
    stranger.write("a.md", "changed again\n")
    commit(stranger, "a.md", GIT_AUTHOR_NAME="Kim", GIT_AUTHOR_EMAIL="kim@example.org",
           GIT_COMMITTER_NAME="Kim", GIT_COMMITTER_EMAIL="kim@example.org",
           GIT_AUTHOR_DATE="2001-01-01T00:00:00Z")  # fmt: skip
    assert stranger.git("log", "-1", "--format=%an %cn").strip() == "Kim Kim"
    assert not stranger.git("log", "-1", "--format=%aI").startswith("2001")


@pytest.mark.parametrize("setting", ["true", "input", "false"])
def test_line_endings_are_as_git_would_have_them(repo: TestRepository, setting: str) -> None:
    repo.git("config", "core.autocrlf", setting)
    repo.git("config", "core.safecrlf", "true")
    repo.write("a.md", b"first\nsecond\r\n")
    repo.write("new.md", b"one\r\ntwo\r\n")
    assert commit(repo, "a.md", "new.md").left_out == {}
    assert repo.content("new.md") == (b"one\r\ntwo\r\n" if setting == "false" else b"one\ntwo\n")
    assert repo.status() == []


def test_attributes_of_line_endings_and_encodings_count(repo: TestRepository) -> None:
    repo.write(".gitattributes", "a.md text eol=crlf\nwide.md working-tree-encoding=UTF-16\n")
    repo.save(".gitattributes")
    repo.write("a.md", b"one\r\ntwo\r\n")
    repo.write("wide.md", "wide\n".encode("utf-16"))
    commit(repo, "a.md", "wide.md")
    assert repo.content("a.md") == b"one\ntwo\n"
    assert repo.content("wide.md") == b"wide\n"
    assert repo.status() == []


def test_any_name_can_be_committed(repo: TestRepository) -> None:
    names = (
        '"quoted".md', "it's.md", "-a.md", "--all/-x.md", ":(glob)*.md", ":!b.md", "*.md",
        "[a].md", "tab\there.md", "line\nbreak.md", "back\\slash.md", "漢字 ñ\u0303.md", " .md",
    )  # fmt: skip
    for name in names:
        repo.write(name, "text\n")
    repo.write("other.md", "not named\n")
    commit(repo, *names)
    assert repo.changed() == dict.fromkeys(names, "A")
    assert repo.status() == ["?? other.md"]
    (repo.top / "*.md").unlink()
    commit(repo, "*.md")
    assert repo.changed() == {"*.md": "D"}


def test_variables_of_a_hook_lead_nowhere_else(repo: TestRepository, tmp_path: Path) -> None:
    other = new_repository(tmp_path / "other", repo.environment)
    other.write("x.md", "x\n")
    before = other.save("x.md")
    repo.write("a.md", "changed\n")
    index = (other.top / ".git/index").read_bytes()
    commit(
        repo,
        "a.md",
        GIT_DIR=str(other.top / ".git"),
        GIT_WORK_TREE=str(other.top),
        GIT_INDEX_FILE=str(other.top / ".git/index"),
        GIT_OBJECT_DIRECTORY=str(other.top / ".git/objects"),
        GIT_NAMESPACE="elsewhere",
        GIT_PREFIX="deep/",
        GIT_GLOB_PATHSPECS="1",
        GIT_QUARANTINE_PATH=str(tmp_path),
        GIT_CONFIG_PARAMETERS="'core.bare=true'",
        GIT_CONFIG_COUNT="1",
        GIT_CONFIG_KEY_0="core.worktree",
        GIT_CONFIG_VALUE_0=str(tmp_path),
    )
    assert repo.changed() == {"a.md": "M"}
    assert other.head() == before
    assert (other.top / ".git/index").read_bytes() == index


def test_no_repository_is_no_news(repo: TestRepository, tmp_path: Path) -> None:
    bare = tmp_path / "plain"
    bare.mkdir()
    (bare / "a.md").write_text("x\n")
    plain = TestRepository(bare, repo.environment)
    assert commit(plain, "a.md", PATH="") == CommitReport()
    assert commit(repo, "a.md", GIT_CEILING_DIRECTORIES=str(repo.top.parent)) == CommitReport()
    shutil.rmtree(repo.top / ".git")
    assert commit(repo, "a.md") == CommitReport()
    (repo.top / ".git").mkdir()
    assert commit(repo, "a.md") == CommitReport()


def test_a_repository_that_went_away_is_told(repo: TestRepository, tmp_path: Path) -> None:
    repo.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    shutil.rmtree(repo.top)
    side = repo.at(tmp_path / "side")
    side.write("a.md", "changed\n")
    assert commit(side, "a.md").skipped.startswith("not a git repository: ")


def test_without_git_the_changes_wait(repo: TestRepository, tmp_path: Path, marks: Path) -> None:
    (tmp_path / "empty").mkdir()
    repo.write("a.md", "changed\n")
    assert commit(repo, "a.md", PATH=str(tmp_path / "empty")).skipped == "git is not installed"
    repo.mark("git", marks).rename(repo.top / "git")
    assert commit(repo, "a.md", PATH=str(repo.top)).skipped == "git is not installed"
    assert list(marks.glob("*.ran")) == []
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "git").write_text("#!/no/such/program\n")
    (broken / "git").chmod(0o755)
    assert commit(repo, "a.md", PATH=str(broken)).skipped.startswith("git cannot be run")


@pytest.mark.skipif(not ROOT, reason="only root can give files to somebody else")
def test_a_repository_of_somebody_else_is_not_trusted(repo: TestRepository) -> None:
    repo.write("a.md", "changed\n")
    before = repo.head()
    for path in (repo.top, repo.top / ".git"):
        os.chown(path, 65534, 65534)
    assert "dubious ownership" in commit(repo, "a.md").skipped
    for path in (repo.top, repo.top / ".git"):
        os.chown(path, 0, 0)
    assert (repo.head(), repo.status()) == (before, [" M a.md"])


@pytest.mark.parametrize(
    ("options", "prepare"),
    [
        (("--object-format=sha256",), ()),
        ((), ("update-index", "--split-index")),
        ((), ("update-index", "--index-version", "4")),
        ((), ("update-index", "--force-untracked-cache")),
        ((), ("config", "core.sharedRepository", "group")),
        ((), ("sparse-checkout", "set", "--cone", "--sparse-index", "kept")),
        ((), ("pack-refs", "--all")),
    ],
    ids=["sha256", "split index", "index 4", "untracked cache", "shared", "sparse", "packed"],
)
def test_every_kind_of_repository(
    tmp_path: Path, options: tuple[str, ...], prepare: tuple[str, ...]
) -> None:
    repo = new_repository(tmp_path / "v", person(tmp_path / "home"), *options)
    for path in ("a.md", "kept/b.md", "away/deep/c.md"):
        repo.write(path, "text\n")
    repo.save(".")
    if prepare:
        repo.git(*prepare)
    repo.write("kept/staged.md", "staged\n")
    repo.git("add", "kept/staged.md")
    mode = (repo.top / ".git/index").stat().st_mode
    repo.write("kept/b.md", "changed\n")
    repo.write("kept/new.md", "new\n")
    (repo.top / "a.md").unlink()
    commit(repo, "a.md", "kept/b.md", "kept/new.md")
    assert repo.changed() == {"a.md": "D", "kept/b.md": "M", "kept/new.md": "A"}
    assert repo.status() == ["A  kept/staged.md"]
    assert (repo.top / ".git/index").stat().st_mode == mode
    assert_sound(repo)
