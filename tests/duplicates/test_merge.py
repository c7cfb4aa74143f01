"""A merge keeps all text, redirects links, is one change, and one undo takes it back."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from amem_cli.duplicates.merge import Merged, merge
from amem_cli.editing.add import NewNote, add
from amem_cli.editing.edit import link
from amem_cli.editing.undo import undo, undo_since
from amem_cli.errors import HeaderRefused, NotFoundError, SettingsError, WriteConflict
from amem_cli.index.draft import NoteDraft, new_event, provenance_of
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.sync import check_index, embed_missing, refresh, synchronise
from amem_cli.journal.events import LinkRecord
from amem_cli.notes.names import resolve
from amem_cli.notes.note import body_bytes, parse_note
from tests.editing.test_undo import machine_sets, own, remember
from tests.fakes.encoder import FakeEncoder
from tests.index_dump import canonical_dump
from tests.vaults import (
    hashes_but_trash,
    indexed,
    open_vault,
    summary_of,
    tree_hashes,
    write_note,
)

KEPT = (
    '---\nid: "20250101000000"\ntags:\n  - a # mine\nstatus: done\n---\n'
    "# Kept\n\nShared paragraph.\n\nOnly here.\n"
)
OTHER = (
    '---\nid: "20260101000000"\ncreated: 2026-01-01T10:00:00\ntags: [a, b]\nstatus: open\n'
    "rating:   5   # good\naliases: Second\n---\n"
    "# Other\n\nShared paragraph.  \n\n## Deep\n\nOnly there, see [[#Deep]] and [[Other#Deep]].\n"
)


def vault(root: Path, **notes: str) -> VaultPorts:
    ports = open_vault(root)
    for name, text in {"Kept": KEPT, "Other": OTHER, **notes}.items():
        write_note(root, f"{name}.md", text)
    synchronise(ports)
    return ports


def merged(
    ports: VaultPorts, kept: str = "Kept.md", other: str = "Other.md", *, dry_run: bool = False
) -> Merged:
    return merge(ports, summary_of(ports, kept), summary_of(ports, other), dry_run=dry_run)


def text(root: Path, name: str) -> str:
    return (root / f"{name}.md").read_bytes().decode()


def test_the_kept_text_stays_and_what_the_other_has_beyond_it_comes_below(tmp_path: Path) -> None:
    ports = vault(tmp_path)
    assert merged(ports).fields == ("tags", "aliases")
    kept = text(tmp_path, "Kept")
    body = "# Kept\n\nShared paragraph.\n\nOnly here.\n"
    assert kept == (
        '---\nid: "20250101000000"\ntags:\n  - a # mine\n  - b\nstatus: done\n'
        "aliases:\n  - Other\n  - Second\nrating:   5   # good\n---\n"
        f"{body}\n---\n\n## Other (2026-01-01)\n\n```yaml\nstatus: open\n```\n\n"
        "## Deep\n\nOnly there, see [[#Deep]] and [[Kept#Deep]].\n"
    )
    assert not (tmp_path / "Other.md").exists()
    assert (tmp_path / ".trash/Other.md").read_bytes() == OTHER.encode()
    assert check_index(ports) == []


def test_a_comment_in_the_header_of_the_removed_note_is_kept(tmp_path: Path) -> None:
    ports = vault(tmp_path, Third="---\n# ask Ada first\nstatus: done\n---\nThird text.\n")
    merged(ports, other="Third.md")
    assert "```yaml\n# ask Ada first\n```\n\nThird text.\n" in text(tmp_path, "Kept")


def test_one_undo_gives_every_note_its_exact_bytes_back(tmp_path: Path) -> None:
    ports = vault(
        tmp_path,
        **{
            "In text": "See [[Other]], [[Other|so]], ![[Other#Deep]] and [m](Other.md#x).\r\n",
            "In properties": '---\nup: "[[Other]]"\nlinks: ["[[Other]]"] # mine\n---\nText.',
        },
    )
    before = hashes_but_trash(tmp_path)
    done = merged(ports)
    assert sorted(done.redirected) == ["In properties.md", "In text.md"]
    undone = undo(ports, done.event)
    assert hashes_but_trash(tmp_path) == before
    assert undone.kept == ()
    assert check_index(ports) == []


def test_links_lead_to_the_kept_note_in_every_form(tmp_path: Path) -> None:
    body = (
        "[[Other]] [[Other.md]] [[Other|shown]] ![[Other]] [[Other#Deep|d]] [[other#^b1]]\n"
        '| [[Other\\|t]] |\n[m](Other.md) [n](<Other.md> "title") ![e](./Other.md#Deep)\n'
        "`[[Other]]` %%[[Other]]%% [[Second]] [[Otherwise]] [w](https://x.org/Other.md)\n"
    )
    ports = vault(tmp_path, Linking=body)
    merged(ports)
    assert text(tmp_path, "Linking") == (
        "[[Kept]] [[Kept]] [[Kept|shown]] ![[Kept]] [[Kept#Deep|d]] [[Kept#^b1]]\n"
        '| [[Kept\\|t]] |\n[m](Kept.md) [n](<Kept.md> "title") ![e](Kept.md#Deep)\n'
        "`[[Other]]` %%[[Other]]%% [[Second]] [[Otherwise]] [w](https://x.org/Other.md)\n"
    )
    # A link by an alias follows by itself.
    assert resolve("Second", "Linking.md", ports.index.names) == "Kept.md"


def test_links_between_folders_and_with_blanks_lead_to_the_kept_note(tmp_path: Path) -> None:
    ports = open_vault(tmp_path)
    write_note(tmp_path, "a/Ma né (1).md", "One text of a few words that is here twice.\n")
    write_note(tmp_path, "b/Twin.md", "One text of a few words that is here twice.\n")
    write_note(tmp_path, "c/d/Far.md", "[x](../../b/Twin.md) [y](/b/Twin.md) [[b/Twin]]\n")
    synchronise(ports)
    merged(ports, "a/Ma né (1).md", "b/Twin.md")
    assert text(tmp_path, "c/d/Far") == (
        "[x](../../a/Ma%20né%20%281%29.md) [y](/a/Ma%20né%20%281%29.md) [[Ma né (1)]]\n"
    )
    assert [path for path, _ in ports.index.links.incoming("a/Ma né (1).md")] == ["c/d/Far.md"] * 3


def test_links_and_pictures_of_the_other_mean_the_same_in_another_folder(tmp_path: Path) -> None:
    ports = vault(tmp_path)
    write_note(tmp_path, "a/Near.md", "Near a.\n")
    write_note(tmp_path, "b/Near.md", "Near b.\n")
    write_note(tmp_path, "b/p.png", "picture")
    write_note(tmp_path, "b/Two.md", "Look: [[Near]], [n](Near.md), ![p](p.png), ![[p.png]].\n")
    write_note(tmp_path, "a/One.md", "Another text.\n")
    synchronise(ports)
    merged(ports, "a/One.md", "b/Two.md")
    assert text(tmp_path, "a/One").endswith(
        "Look: [[b/Near]], [n](../b/Near.md), ![p](../b/p.png), ![[p.png]].\n"
    )


def test_of_the_same_text_nothing_is_appended(tmp_path: Path, ports: VaultPorts) -> None:
    write_note(tmp_path, "One.md", "# One\n\nThe text\r\nof both.\r\n")
    write_note(tmp_path, "Two.md", "The text  \nof both.\n\n\n")
    synchronise(ports)
    done = merged(ports, "One.md", "Two.md")
    assert done.appended == ""
    assert body_bytes((tmp_path / "One.md").read_bytes()) == b"# One\n\nThe text\r\nof both.\r\n"
    assert own(ports, "One.md").aliases == ("Two",)


def test_line_endings_and_a_missing_last_one_stay(tmp_path: Path, ports: VaultPorts) -> None:
    write_note(tmp_path, "One.md", "\ufeffFirst.\r\nLine.")
    write_note(tmp_path, "Two.md", "Second.\nLine.\n")
    synchronise(ports)
    merged(ports, "One.md", "Two.md")
    raw = (tmp_path / "One.md").read_bytes()
    assert raw.startswith(b"\xef\xbb\xbf---\r\n")
    assert raw.endswith(
        b"---\r\nFirst.\r\nLine.\r\n\r\n---\r\n\r\n## Two\r\n\r\nSecond.\r\nLine.\r\n"
    )


def test_a_private_text_does_not_get_into_a_public_note(tmp_path: Path) -> None:
    ports = vault(tmp_path, Secret="---\nprivate: true\n---\nNobody knows.\n")
    before = tree_hashes(tmp_path)
    with pytest.raises(SettingsError, match=r"Secret\.md is private and Kept\.md is not") as told:
        merged(ports, "Kept.md", "Secret.md")
    assert told.value.hint == 'Keep the private one: amem dedupe --merge "Secret.md" "Kept.md"'
    assert tree_hashes(tmp_path) == before
    merged(ports, "Secret.md", "Kept.md")
    assert own(ports, "Secret.md").private


@pytest.mark.parametrize("broken", ["Kept", "Other"])
def test_a_note_that_cannot_be_edited_is_refused(tmp_path: Path, broken: str) -> None:
    ports = vault(tmp_path, **{broken: "---\na: 1\na: 2\n---\nText.\n"})
    before = tree_hashes(tmp_path)
    with pytest.raises(HeaderRefused):
        merged(ports)
    assert tree_hashes(tmp_path) == before


def test_a_linking_note_that_cannot_be_edited_is_told_and_left(tmp_path: Path) -> None:
    ports = vault(tmp_path, Odd="---\na: 1\na: 2\n---\n[[Other]]\n")
    done = merged(ports)
    assert len(done.left) == 1
    assert done.left[0].startswith("Odd.md still links to “Other”: Odd.md:3:")


def test_a_link_in_a_text_that_is_not_utf_8_is_redirected_and_no_other_byte_changes(
    tmp_path: Path,
) -> None:
    ports = vault(tmp_path)
    former = b"---\nid: l1\n---\ncaf\xe9, see [[Other]]\n"
    (tmp_path / "Latin.md").write_bytes(former)
    synchronise(ports)
    done = merged(ports)
    assert (done.left, done.redirected) == ((), ("Latin.md",))
    assert (tmp_path / "Latin.md").read_bytes() == former.replace(b"Other", b"Kept")
    undo(ports, done.event)
    assert (tmp_path / "Latin.md").read_bytes() == former


def test_a_link_in_the_kept_text_stays_and_is_told(tmp_path: Path) -> None:
    ports = vault(tmp_path, Kept="See [[Other]].\n")
    done = merged(ports)
    assert done.left == ("Kept.md itself links to “Other”; its text stays as it is",)
    assert "See [[Other]].\n" in text(tmp_path, "Kept")
    assert resolve("Other", "Kept.md", ports.index.names) == "Kept.md"


def test_a_text_that_ends_in_a_code_block_is_refused(tmp_path: Path) -> None:
    ports = vault(tmp_path, Kept="Code:\n\n```\nnever closed\n")
    with pytest.raises(SettingsError, match="ends within a code block"):
        merged(ports)


def test_a_trial_writes_nothing(tmp_path: Path) -> None:
    ports = vault(tmp_path)
    before, events = tree_hashes(tmp_path), ports.index.events.read()
    trial = merged(ports, dry_run=True)
    assert trial.event == ""
    assert "## Other (2026-01-01)" in trial.appended
    assert (tree_hashes(tmp_path), ports.index.events.read()) == (before, events)


def test_an_edit_since_is_no_loss(tmp_path: Path) -> None:
    ports = vault(tmp_path, Linking="See [[Other]].\n")
    done = merged(ports)
    (tmp_path / "Linking.md").write_text("See [[Kept]], as I said.\n")
    synchronise(ports)
    before = hashes_but_trash(tmp_path)
    with pytest.raises(SettingsError, match=r"text of Linking\.md was edited since"):
        undo(ports, done.event)
    assert hashes_but_trash(tmp_path) == before
    undone = undo(ports, done.event, keep_edits=True)
    assert undone.kept == ("the text of Linking.md stays as you edited it",)
    assert text(tmp_path, "Kept") == KEPT
    assert text(tmp_path, "Other") == OTHER
    assert text(tmp_path, "Linking") == "See [[Kept]], as I said.\n"


def test_a_note_that_an_editor_saves_meanwhile_stops_the_whole_merge(tmp_path: Path) -> None:
    ports = vault(tmp_path, Linking="See [[Other]].\n")
    apply = ports.changes.apply

    def saved_first(writes: object, events: object, **rest: object) -> None:
        write_note(tmp_path, "Linking.md", "Saved [[Other]] meanwhile.\n")
        apply(writes, events, **rest)  # type: ignore[arg-type]

    ports.changes.apply = saved_first  # type: ignore[method-assign]
    with pytest.raises(WriteConflict):
        merged(ports)
    assert (text(tmp_path, "Kept"), text(tmp_path, "Other")) == (KEPT, OTHER)
    assert text(tmp_path, "Linking") == "Saved [[Other]] meanwhile.\n"
    synchronise(ports)
    assert [event for event in ports.index.events.read() if event.kind == "merge"] == []


def test_the_machines_words_stay_the_machines_and_a_persons_a_persons(ports: VaultPorts) -> None:
    one = add(ports, NewNote("Dough rests.", title="One", keywords=["mine"]))
    two = add(ports, NewNote("Butter melts.", title="Two", keywords=["yours", "both"]))
    machine_sets(ports, one, keywords=["mine", "both"], context="A machine's sentence.")
    machine_sets(ports, two, keywords=["yours", "both", "theirs"])
    merged(ports, one, two)
    note = own(ports, one)
    assert note.keywords == ("mine", "both", "yours", "theirs")
    owned = provenance_of(ports.index, note.id or "")
    # A person had written `both` in the other note, so the machine may not take it away.
    assert owned.keywords == {"theirs"}
    assert owned.context == "A machine's sentence."


def test_a_persons_context_comes_before_the_machines(ports: VaultPorts) -> None:
    one = add(ports, NewNote("Dough rests.", title="One"))
    two = add(ports, NewNote("Butter melts.", title="Two", context="What I say."))
    three = add(ports, NewNote("Flour dusts.", title="Three", context="What I say, too."))
    machine_sets(ports, one, context="A machine's sentence.")
    merged(ports, one, two)
    assert own(ports, one).context == "What I say."
    assert provenance_of(ports.index, own(ports, one).id or "").context is None
    merged(ports, one, three)
    assert own(ports, one).context == "What I say."
    assert 'context: "What I say, too."' in own(ports, one).body


def machine_links(ports: VaultPorts, source: str, target: str) -> None:
    """The machine links a note to another."""
    draft = NoteDraft(ports, ports.vault.read(source))
    summary = summary_of(ports, target)
    written = f"[[{summary.title}]]"
    record = LinkRecord(summary.key, target, written, "supports", 0.7, "alike")
    draft.change({"links": [*draft.note.links, written]}, new_event(ports, "link", links=(record,)))
    ports.changes.apply(draft.write(), draft.events)
    refresh(ports, [source])


def test_the_machines_links_stay_its_own_and_are_no_verdict_of_a_persons(tmp_path: Path) -> None:
    ports = open_vault(tmp_path)
    paths = {name: add(ports, NewNote(f"{name}.", title=name)) for name in ("K", "O", "S", "T")}
    machine_links(ports, paths["S"], paths["O"])
    machine_links(ports, paths["O"], paths["T"])
    before = hashes_but_trash(tmp_path)
    done = merged(ports, paths["K"], paths["O"])
    assert own(ports, paths["S"]).links == ("[[K]]",)
    assert own(ports, paths["K"]).links == ("[[T]]",)
    for source, target in (("S", "K"), ("K", "T")):
        owned = provenance_of(ports.index, own(ports, paths[source]).id or "")
        (record,) = owned.links.values()
        assert (record.path, record.by, record.relation) == (paths[target], "machine", "supports")
        assert owned.declined == frozenset()
    assert ports.index.link_history.decided() == []
    undo(ports, done.event)
    assert hashes_but_trash(tmp_path) == before
    owned = provenance_of(ports.index, own(ports, paths["S"]).id or "")
    assert [record.path for record in owned.links.values()] == [paths["O"]]


def test_two_links_become_one_and_none_leads_to_itself(tmp_path: Path) -> None:
    ports = vault(
        tmp_path, Both='---\nlinks:\n  - "[[Kept]]"\n  - "[[Other]]"\n  - "[[Third]]"\n---\n'
    )
    write_note(tmp_path, "Third.md", "Third.\n")
    synchronise(ports)
    kept, other = summary_of(ports, "Kept.md"), summary_of(ports, "Other.md")
    link(ports, kept, other)
    link(ports, other, kept)
    before = hashes_but_trash(tmp_path)
    done = merged(ports)
    assert own(ports, "Both.md").links == ("[[Kept]]", "[[Third]]")
    assert own(ports, "Kept.md").links == ()
    undo(ports, done.event)
    assert hashes_but_trash(tmp_path) == before


def test_a_note_in_which_only_links_changed_needs_no_model_again(ports: VaultPorts) -> None:
    paths = {name: add(ports, NewNote(f"{name} is here.", title=name)) for name in ("K", "O")}
    source = add(ports, NewNote("See [[O]] about it.", title="S"))
    for path in (*paths.values(), source):
        remember(ports, path)
    assert ports.index.queue.pending() == []
    merged(ports, paths["K"], paths["O"])
    assert [note.path for note in ports.index.queue.pending()] == [paths["K"]]


def test_a_copy_with_the_same_id_is_merged_and_comes_back(tmp_path: Path) -> None:
    ports = vault(tmp_path, Copy=KEPT.replace("Only here", "Changed in the copy"))
    before = hashes_but_trash(tmp_path)
    done = merged(ports, "Kept.md", "Copy.md")
    assert "Changed in the copy." in text(tmp_path, "Kept")
    undo(ports, done.event)
    assert hashes_but_trash(tmp_path) == before


def test_several_merges_are_taken_back_one_by_one(tmp_path: Path) -> None:
    ports = vault(tmp_path, Third="Third text.\n", Linking="[[Other]] [[Third]]\n")
    states = [hashes_but_trash(tmp_path)]
    done = [merged(ports)]
    states.append(hashes_but_trash(tmp_path))
    done.append(merged(ports, "Kept.md", "Third.md"))
    for each, state in zip(reversed(done), reversed(states), strict=True):
        undo(ports, each.event)
        assert hashes_but_trash(tmp_path) == state


def test_what_the_machine_did_since_a_day_leaves_a_merge_alone(tmp_path: Path) -> None:
    ports = open_vault(tmp_path)
    one = add(ports, NewNote("Dough.", title="One"))
    two = add(ports, NewNote("Butter.", title="Two"))
    machine_sets(ports, two, keywords=["theirs"])
    merged(ports, one, two)
    state = hashes_but_trash(tmp_path)
    # The one change that is older than the merge is of the note that is gone.
    with pytest.raises(NotFoundError):
        undo_since(ports, "2030-01-01")
    assert hashes_but_trash(tmp_path) == state


def test_a_rebuilt_index_is_the_same(tmp_path: Path) -> None:
    ports = vault(tmp_path, Linking="[[Other]]\n")
    merged(ports)
    embed_missing(ports, FakeEncoder())
    fresh = indexed(open_vault(tmp_path, index="fresh.db"))
    live, rebuilt = (canonical_dump(each.index) for each in (ports, fresh))
    for table, rows in live.items():
        assert set(rows) == set(rebuilt[table]), table


def test_a_property_that_came_with_one_merge_follows_the_next(tmp_path: Path) -> None:
    ports = open_vault(tmp_path)
    for name, header in {"A": "", "B": '---\nup: "[[D]]"\n---\n', "C": "", "D": ""}.items():
        write_note(tmp_path, f"{name}.md", f"{header}Text.\n")
    synchronise(ports)
    merged(ports, "A.md", "B.md")
    merged(ports, "C.md", "D.md")
    assert 'up: "[[C]]"' in text(tmp_path, "A")


def test_a_card_of_a_canvas_shows_the_kept_note_until_an_undo(tmp_path: Path) -> None:
    ports = vault(tmp_path)
    board = (
        '{"nodes": [{"type": "file", "file": "Other.md"}, {"type": "text", "text": "[[Other]]"}]}'
    )
    write_note(tmp_path, "b.canvas", board)
    before = hashes_but_trash(tmp_path)
    done = merged(ports)
    assert done.redirected == ("b.canvas",)
    assert (tmp_path / "b.canvas").read_text() == board.replace("Other", "Kept")
    undo(ports, done.event)
    assert before.items() <= hashes_but_trash(tmp_path).items()


def test_a_link_of_the_kept_text_that_comes_to_mean_a_third_note_is_told(tmp_path: Path) -> None:
    ports = vault(tmp_path, Kept="See [[b/Other]].\n", **{"b/Other": OTHER, "c/Other": "Third.\n"})
    (tmp_path / "Other.md").unlink()
    synchronise(ports)
    done = merged(ports, other="b/Other.md")
    assert done.left == (
        "Kept.md itself links to “Other”; its text stays as it is,"
        " and the link will lead to c/Other.md",
    )


def test_footnotes_of_the_other_note_get_labels_of_their_own(tmp_path: Path) -> None:
    ports = vault(
        tmp_path,
        Kept="First claim.[^1]\n\n[^1]: First source.\n",
        Other="Second claim.[^1]\n\n`[^1]`\n\n[^1]: Second source.\n",
    )
    before = hashes_but_trash(tmp_path)
    done = merged(ports)
    assert body_bytes((tmp_path / "Kept.md").read_bytes()).decode() == (
        "First claim.[^1]\n\n[^1]: First source.\n\n---\n\n## Other\n\n"
        "Second claim.[^2]\n\n`[^1]`\n\n[^2]: Second source.\n"
    )
    undo(ports, done.event)
    assert hashes_but_trash(tmp_path) == before


def test_link_definitions_of_the_other_note_get_labels_of_their_own(tmp_path: Path) -> None:
    ports = vault(
        tmp_path,
        Kept="One [r], two [s].\n\n[r]: x.md\n[s]: <same.md>\n",
        Other="A [r], b [Q][R], c [r][], d [s].\n\n`[r]`\n\n"
        '[R]: y.md "t"\n[s]: same.md\n[r-2]: z\n',
        x="X.\n",
        y="Y.\n",
    )
    merged(ports)
    assert body_bytes((tmp_path / "Kept.md").read_bytes()).decode() == (
        "One [r], two [s].\n\n[r]: x.md\n[s]: <same.md>\n\n---\n\n## Other\n\n"
        "A [r][R-3], b [Q][R-3], c [r][R-3], d [s].\n\n`[r]`\n\n"
        '[R-3]: y.md "t"\n[s]: same.md\n[r-2]: z\n'
    )


def test_a_note_with_a_link_that_cannot_be_written_is_named_before_anything_is_done(
    tmp_path: Path,
) -> None:
    notes = {f"Linking {number}": "See [[Other]].\n" for number in range(5)}
    ports = vault(tmp_path, **notes, **{"a/Locked": "See [[Other]].\n"})
    (tmp_path / "a/Locked.md").chmod(0o444)
    before = hashes_but_trash(tmp_path)
    for dry_run in (True, False):
        with pytest.raises(SettingsError) as refused:
            merged(ports, dry_run=dry_run)
        assert refused.value.message == (
            "a/Locked.md is read-only and must change, so nothing was merged"
        )
        assert refused.value.hint == "Allow writing it, if amem may. Then merge again."
    assert hashes_but_trash(tmp_path) == before
    assert ports.index.events.read() == []


def test_notes_that_get_an_id_by_one_merge_get_each_its_own_and_their_bytes_back(
    tmp_path: Path, ports: VaultPorts
) -> None:
    for name in ("Kept", "Other"):
        write_note(tmp_path, f"{name}.md", f"{name}.\n")
    for name in ("One", "Two", "Three", "Kept"):
        write_note(tmp_path, f"{name}.md", f'---\nlinks:\n  - "[[Other]]"\n---\n{name}.\n')
    for path in tmp_path.glob("*.md"):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    synchronise(ports)
    before = hashes_but_trash(tmp_path)
    done = merged(ports)
    changed = ("Kept", "One", "Two", "Three")
    ids = [parse_note(name, (tmp_path / f"{name}.md").read_bytes()).id for name in changed]
    assert all(ids) and len(set(ids)) == 4
    assert undo(ports, done.event).kept == ()
    assert hashes_but_trash(tmp_path) == before
