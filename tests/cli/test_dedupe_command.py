"""`amem dedupe` and the warning of `amem add`, as a user runs them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Program
from tests.vaults import hashes_but_trash, tree_hashes, write_note

TEXT = "The walrus hauls out on the ice to rest between dives and is loud about it.\n"


def vault(amem: Program, **notes: str) -> Path:
    root = amem.folder / "v"
    for name, text in notes.items():
        write_note(root, f"{name}.md", text)
    assert amem("init", "--adopt", "v").code == 0
    return root


def test_duplicates_are_shown_with_code_1_and_none_with_code_0(amem: Program) -> None:
    root = vault(amem, One=TEXT, Two=TEXT, Three="Bread.\n")
    found = amem("--vault", "v", "dedupe", "--exact")
    assert found.code == 1
    assert found.out.splitlines()[:2] == ["exact keep  One  One.md", "      same  Two  Two.md"]
    document = amem("--vault", "v", "dedupe", "--exact", "--json").json
    (group,) = document["groups"]
    assert (group["kind"], group["keep"]["path"]) == ("exact", "One.md")
    assert [each["path"] for each in group["duplicates"]] == ["Two.md"]
    (root / "Two.md").unlink()
    none = amem("--vault", "v", "dedupe", "--exact")
    assert (none.code, none.out) == (0, "no duplicates among 2 notes\n")


def test_two_notes_are_merged_and_one_undo_takes_it_back(amem: Program) -> None:
    root = vault(amem, One=TEXT, Two=f"{TEXT}\nCalves stay.\n", Linking="[[Two]]\n")
    before = hashes_but_trash(root)
    trial = amem("--vault", "v", "dedupe", "--merge", "One", "Two", "--dry-run")
    assert (trial.code, hashes_but_trash(root)) == (0, before)
    assert "would be merged into One.md" in trial.out
    done = amem("--vault", "v", "dedupe", "--merge", "One", "Two", "--json")
    (merged,) = done.json["merged"]
    assert merged["redirected"] == ["Linking.md"]
    assert (root / "Linking.md").read_text() == "[[One]]\n"
    assert (root / "One.md").read_text().endswith("\n---\n\n## Two\n\nCalves stay.\n")
    told = amem("--vault", "v", "history").out
    assert "you merged “Two.md” into “One”" in told
    assert amem("--vault", "v", "undo", merged["event"]).code == 0
    assert hashes_but_trash(root) == before
    assert amem("--vault", "v", "index", "--check").code == 0


def test_all_exact_duplicates_are_merged_unasked_on_request(amem: Program) -> None:
    other = "Bread wants a warm kitchen and a baker who can wait for it.\n"
    root = vault(amem, One=TEXT, Two=TEXT, Three=TEXT, Four=other, Five=other, Six="x [[Three]]")
    done = amem("--vault", "v", "dedupe", "--merge", "--exact", "--yes", "--json")
    assert len(done.json["merged"]) == 3
    assert sorted(path.name for path in root.glob("*.md")) == ["Five.md", "Six.md", "Three.md"]
    assert amem("--vault", "v", "dedupe", "--exact").code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ("--merge",),
        ("--merge", "One"),
        ("--yes",),
        ("--merge", "--yes"),
        ("--threshold", "2"),
        ("--merge", "One", "One"),
    ],
)
def test_what_makes_no_sense_is_refused(amem: Program, arguments: tuple[str, ...]) -> None:
    vault(amem, One=TEXT, Two=TEXT)
    assert amem("--vault", "v", "dedupe", *arguments).code == 2


def test_adding_a_text_that_is_there_is_told_and_done(amem: Program) -> None:
    vault(amem, One=TEXT)
    added = amem("--vault", "v", "add", TEXT, "--title", "Mine", "--no-wait", "--json")
    assert added.code == 0
    assert [each["path"] for each in added.json["duplicates"]] == ["One.md"]
    assert added.json["known"] is False
    assert "! the same text is in One.md" in added.err
    quiet = amem("--vault", "v", "--quiet", "add", TEXT, "--no-wait")
    assert (quiet.code, quiet.err) == (0, "")
    new = amem("--vault", "v", "add", "Bread.", "--no-wait", "--json")
    assert (new.json["duplicates"], new.err) == ([], "")


def test_a_known_text_is_not_added_where_that_is_wanted(amem: Program) -> None:
    root = vault(amem, One=f"---\nid: '20250101000000'\n---\n{TEXT}")
    before = tree_hashes(root)
    known = amem("--vault", "v", "add", f"{TEXT}\n\n", "--unless-known", "--json")
    assert known.code == 0
    assert (known.json["id"], known.json["known"]) == ("20250101000000", True)
    assert tree_hashes(root) == before
    told = amem("--vault", "v", "add", TEXT, "--unless-known")
    assert told.out == "nothing added: the same text is in One.md\n"
    new = amem("--vault", "v", "add", "Bread.", "--unless-known", "--no-wait", "--json")
    assert new.json["known"] is False


def test_an_update_to_a_text_that_is_there_is_told(amem: Program) -> None:
    vault(amem, One=TEXT, Two="Bread.\n")
    told = amem("--vault", "v", "update", "Two", "--content", TEXT, "--no-wait", "--json")
    assert [each["path"] for each in told.json["duplicates"]] == ["One.md"]


def test_a_merge_of_several_notes_tells_what_was_done_where_a_later_one_cannot_be(
    amem: Program,
) -> None:
    texts = {name: f"The {name} text.\n" for name in ("Keep", "Second", "Third")}
    root = vault(amem, **texts, Locked="See [[Second]].\n")
    (root / "Locked.md").chmod(0o444)
    refused = amem("--vault", "v", "dedupe", "--merge", "Keep", "Second", "--dry-run")
    assert refused.code == 3
    assert "Locked.md is read-only and must change" in refused.err
    run = amem("--vault", "v", "dedupe", "--merge", "Keep", "Third", "Second")
    assert run.code == 1
    assert "Third.md → merged into Keep.md" in run.out and "amem undo " in run.out
    assert "! Second.md: Locked.md is read-only" in run.out
    assert (root / "Second.md").exists()
