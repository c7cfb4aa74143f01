"""What a search finds in a real vault: by meaning, words, time and links."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.sync import synchronise
from amem_cli.notes.names import resolve
from amem_cli.search.scoring import QueryScorer
from amem_cli.search.search import Filters, Hit, Mode, search
from tests.fakes.encoder import FakeEncoder
from tests.vaults import indexed, open_vault, write_note

if TYPE_CHECKING:
    from amem_cli.models.ports import Vectors

FILLER = (
    "steel", "wool", "harbour", "lamp", "orchard", "violin", "quarry", "meadow", "copper", "anchor"
)  # fmt: skip


def a_vault(root: Path, notes: dict[str, str]) -> VaultPorts:
    for path, text in notes.items():
        write_note(root, path, text)
    return indexed(open_vault(root))


def found(ports: VaultPorts, query: str, mode: Mode = "hybrid", **values: object) -> list[str]:
    hits = search(
        ports.index,
        query,
        encoder=FakeEncoder(),
        mode=mode,
        neighbors=False,
        **values,  # type: ignore[arg-type]
    )
    return [hit.note.path for hit in hits]


def said_at(moment: str, text: str) -> str:
    return f"---\ncreated: {moment}\n---\n{text}\n"


def fillers(folder: str = "other") -> dict[str, str]:
    """Notes of other subjects and days, so that there is something to find a note among."""
    day = datetime(2020, 1, 1, 12)
    return {
        f"{folder}/{word} {i}.md": said_at(
            (day + timedelta(days=10 * i)).isoformat(), f"The {word} of the {FILLER[i - 3]}."
        )
        for i, word in enumerate(FILLER)
    }


@pytest.mark.parametrize(("end", "first"), [("?", "talk/c.md"), (".", "talk/b.md")])
def test_what_follows_a_question_is_found_before_what_stands_ahead_of_it(
    tmp_path: Path, end: str, first: str
) -> None:
    notes = {
        "talk/a.md": said_at("2024-05-01T10:00:00", "Herring is dear, oats are cheap."),
        "talk/b.md": said_at("2024-05-01T10:00:20", f"When is the walrus fed{end}"),
        "talk/c.md": said_at("2024-05-01T10:00:40", "At noon, with herring."),
    }
    ports = a_vault(tmp_path, {**notes, **fillers()})
    assert found(ports, "the walrus fed when", limit=1) == [first]


@pytest.mark.parametrize(
    ("folder", "moment"),
    [("elsewhere", "2024-05-01T10:00:20"), ("talk", "2024-05-02T10:00:20"), ("talk", "2024-05-01")],
)
def test_notes_of_other_folders_and_days_lend_each_other_nothing(
    tmp_path: Path, folder: str, moment: str
) -> None:
    def score(asked: str) -> float:
        notes = {
            "talk/question.md": said_at(asked, "When is the walrus fed?"),
            f"{folder}/answer.md": said_at(moment, "Herring, herring, herring."),
        }
        ports = a_vault(tmp_path / asked[:4], {**notes, **fillers()})
        hits = search(ports.index, "walrus fed", encoder=FakeEncoder(), limit=20)
        return next(hit.rank_score for hit in hits if "answer" in hit.note.path)

    assert score("2024-05-01T10:00:00") == score("2019-01-01T10:00:00")


def test_an_encoder_that_cannot_read_the_question_has_less_of_a_say(tmp_path: Path) -> None:
    notes = {"short.md": "walrus", "long.md": f"The walrus, the walrus. {'Herring and ice. ' * 9}"}
    ports = a_vault(tmp_path, {**notes, **fillers()})

    def lead(reads: float) -> float:
        hits = search(ports.index, "walrus", encoder=FakeEncoder(reads=reads), neighbors=False)
        scores = {hit.note.path: hit.rank_score for hit in hits}
        return scores["short.md"] - scores["long.md"]

    assert lead(0.0) < lead(0.3) < lead(1.0)


@pytest.mark.parametrize(
    ("query", "beginning", "counts"),
    [
        ("zebra quagga", "", True),
        ("zebra", "", False),
        ("zebra quagga okapi tapir gnu dik kudu eland oryx nyala impala topi", "", False),
        ("zebra quagga", "Ann: ", False),
    ],
)
def test_the_best_are_compared_word_by_word_but_for_turns_and_very_long_questions(
    tmp_path: Path, query: str, beginning: str, counts: bool
) -> None:
    notes = {f"{each}.md": f"{beginning}The {each} of the {each}." for each in ("herring", *FILLER)}
    ports = a_vault(tmp_path, notes)
    encoder = FakeEncoder()
    vector = encoder.encode([query])[0]
    _, tokens = encoder.encode_question("herring")
    scorer = QueryScorer(ports.index, query, 100, None)
    rank = [*scorer.by_both(vector, tokens)].index("herring.md")
    rank_without = [*scorer.by_both(vector, tokens[:0])].index("herring.md")
    assert (rank == 0 < rank_without) if counts else rank == rank_without


class ReadingEncoder(FakeEncoder):
    """One that finds that the text with a word answers every question."""

    def __init__(self, word: str, reads: float = 1.0) -> None:
        super().__init__(reads=reads)
        self._word = word
        self.texts: list[str] = []

    def relevance(self, question: str, texts: Sequence[str]) -> Vectors:
        self.texts = list(texts)
        return np.array([3.0 if self._word in text else -3.0 for text in texts], np.float32)


@pytest.mark.parametrize(
    ("beginning", "reads", "mode", "counts"),
    [
        ("", 1.0, "hybrid", True),
        # Turns of a conversation, a script that the encoder cannot read, and by words alone.
        ("Ann: ", 1.0, "hybrid", False),
        ("", 0.5, "hybrid", False),
        ("", 1.0, "keyword", False),
    ],
)
def test_the_first_notes_are_read_together_with_the_question(
    tmp_path: Path, beginning: str, reads: float, mode: Mode, counts: bool
) -> None:
    notes = {
        f"{each}.md": f"{beginning}Walruses eat herring, which is {each}."
        for each in ("cheap", "salted", "smoked", "scarce", "fat", "frozen")
    }
    ports = a_vault(tmp_path, notes)

    def hits(encoder: FakeEncoder) -> list[Hit]:
        return search(
            ports.index, "walruses eat herring", encoder=encoder, mode=mode, limit=6,
            neighbors=False,
        )  # fmt: skip

    plain = hits(FakeEncoder(reads=reads))
    order = [hit.note.path for hit in plain]
    last = order[3]
    encoder = ReadingEncoder(last.removesuffix(".md"), reads)
    again = hits(encoder)
    expected = [last, *(path for path in order if path != last)] if counts else order
    assert [hit.note.path for hit in again] == expected
    assert [hit.rank_score for hit in again] == [hit.rank_score for hit in plain]
    assert len(encoder.texts) == (4 if counts else 0)
    assert not counts or encoder.texts[0] == f"{order[0][:-3]}\n{notes[order[0]]}"


def test_what_is_longer_than_a_question_is_not_read_again(tmp_path: Path) -> None:
    ports = a_vault(tmp_path, fillers())
    encoder = ReadingEncoder("lamp")
    search(ports.index, " ".join(FILLER), encoder=encoder)
    assert len(encoder.texts) == 4
    encoder.texts = []
    search(ports.index, " ".join([*FILLER, "walrus", "herring"]), encoder=encoder)
    assert not encoder.texts


def test_only_notes_that_may_be_found_are_read_and_a_single_one_is_not(tmp_path: Path) -> None:
    notes = {"open.md": "Walruses eat herring.", "secret.md": "Walruses eat herring at night."}
    ports = a_vault(tmp_path, {**notes, **fillers()})
    encoder = ReadingEncoder("night")
    search(ports.index, "walruses", encoder=encoder, filters=Filters(hidden={"secret.md"}))
    assert len(encoder.texts) == 4
    assert not any("night" in text for text in encoder.texts)
    encoder.texts = []
    search(ports.index, "walruses", encoder=encoder, filters=Filters(path="secret.md"))
    search(ports.index, "walruses", encoder=encoder, mode="semantic")
    assert not encoder.texts


def test_of_a_long_note_the_passage_nearest_to_the_question_is_read(tmp_path: Path) -> None:
    long = "\n\n".join(f"# {word}\n" + f"The {word} stands here. " * 60 for word in FILLER)
    ports = a_vault(tmp_path, {"long.md": long, "b.md": "The harbour is small."})
    encoder = ReadingEncoder("harbour")
    search(ports.index, "violin stands", encoder=encoder)
    assert encoder.texts[0].count("violin") > encoder.texts[0].count("harbour")


def test_a_linked_note_is_among_the_best_without_a_word_of_the_question(tmp_path: Path) -> None:
    notes = {
        "cause.md": "The walrus is ill. See [[effect]].",
        "effect.md": "Tickets are refunded until Friday.",
    }
    ports = a_vault(tmp_path, {**notes, **fillers()})
    assert found(ports, "ill walrus", limit=2) == ["cause.md", "effect.md"]
    assert found(ports, "ill walrus", "keyword", limit=2) == ["cause.md"]


def test_a_long_note_is_not_found_for_its_length(tmp_path: Path) -> None:
    said = "The walrus sleeps on the warm rock by the harbour."
    notes = {"note short.md": said, "note long.md": " ".join([said] * 200)}
    ports = a_vault(tmp_path, {**notes, **fillers()})
    scores = {
        hit.note.path: hit.rank_score
        for hit in search(ports.index, said, encoder=FakeEncoder(), mode="semantic", limit=20)
    }
    assert scores["note short.md"] > scores["note long.md"] > 0.5
    assert ports.index.text.passage_counts(["note long.md", "none.md"])["note long.md"] > 8


def test_filters_hold_for_what_time_and_links_bring(tmp_path: Path) -> None:
    notes = {
        "in/cause.md": said_at("2024-05-01T10:00:00", "The walrus is ill. See [[effect]]."),
        "out/effect.md": said_at("2024-05-01T10:00:10", "Tickets are refunded."),
        "out/next.md": said_at("2024-05-01T10:00:20", "Oh no."),
    }
    ports = a_vault(tmp_path, {**notes, **fillers("in")})
    assert all(
        path.startswith("in/")
        for path in found(ports, "ill walrus", limit=20, filters=Filters(path="in"))
    )


def test_a_note_is_found_by_its_day_in_words(tmp_path: Path) -> None:
    notes = {
        "a.md": said_at("2023-05-08T13:56:00", "We met at the harbour."),
        "b.md": said_at("2023-06-09T13:56:00", "We met at the harbour."),
    }
    ports = a_vault(tmp_path, notes)
    for query in ("harbour on 8 May 2023", "2023-05-08 harbour", "harbour am 8. Mai"):
        assert found(ports, query, "keyword")[0] == "a.md", query


def test_keyword_search_forgives_typos_where_nothing_else_matches(tmp_path: Path) -> None:
    notes = {"a.md": "The vacuum frees dead tuples.", "b.md": "About photography in winter."}
    ports = a_vault(tmp_path, {**notes, **fillers()})
    assert found(ports, "vaccum", "keyword") == ["a.md"]
    assert found(ports, "avcuum", "keyword") == ["a.md"]
    assert found(ports, "phtography wintr", "keyword") == ["b.md"]
    assert found(ports, "quantum chromodynamics", "keyword") == []
    (hit,) = search(ports.index, "vaccum", encoder=None, mode="keyword", neighbors=False)
    assert "vacuum" in hit.snippet


def test_a_word_that_matches_is_never_corrected(tmp_path: Path) -> None:
    ports = a_vault(tmp_path, {"a.md": "A vacuum.", "b.md": "A vaccum, as I spelt it."})
    assert found(ports, "vaccum", "keyword") == ["b.md"]


def test_hybrid_search_too_takes_a_phrase_for_its_words_where_it_is_nowhere(
    tmp_path: Path,
) -> None:
    notes = {"ko.md": "물을 하루에 여덟 잔 마시는 것이 좋다.", "en.md": "Walruses eat herring."}
    ports = a_vault(tmp_path, {**notes, **fillers()})
    blind = FakeEncoder(name="other words")

    def best(query: str) -> str:
        # All that the encoder of the question sees is noise.
        seen = blind.encode_question("xyz")
        return next(iter(QueryScorer(ports.index, query, 100, None).by_both(*seen, 0.0)))

    assert best("물은") == "ko.md"
    assert best('"herring walruses"') == "en.md"


@pytest.mark.parametrize(
    "date",
    [
        "2024-05-01",
        "2024-05-01T00:00:00",
        "2024-05-01T00:00",
        "2024-05-01T00:00:00+02:00",
        "2024-05-01 00:00:00.000-05:30",
    ],
)
def test_a_mere_date_is_no_moment(tmp_path: Path, date: str) -> None:
    ports = a_vault(tmp_path, {"a.md": said_at(date, "one"), "b.md": said_at(date, "two")})
    assert ports.index.notes.neighbours_in_time("a.md", 3) == ("", [], [])


def test_a_moved_note_takes_its_place_in_the_other_folder(tmp_path: Path) -> None:
    notes = {
        "talk/question.md": said_at("2024-05-01T10:00:00", "When is the walrus fed?"),
        "inbox/answer.md": said_at("2024-05-01T10:00:20", "At noon, with herring."),
    }
    ports = a_vault(tmp_path, {**notes, **fillers()})
    (tmp_path / "inbox/answer.md").rename(tmp_path / "talk/answer.md")
    synchronise(ports)
    assert ports.index.notes.neighbours_in_time("talk/question.md", 3) == (
        "2024-05-01T10:00:00",
        [],
        [("talk/answer.md", "2024-05-01T10:00:20")],
    )


LONG = "\n\n".join(
    f"# {heading}\n\n{text} {'Nothing more of note was said that day. ' * 18}"
    for heading, text in (
        ("Harbour", "The harbour of copper and lamps."),
        ("Feeding", "Herring for the walrus at noon."),
        ("Tickets", "Tickets for the violin quarry."),
    )
)


@pytest.mark.parametrize("mode", ["semantic", "hybrid"])
def test_the_snippet_is_of_the_passage_that_was_near_where_words_do_not_decide(
    tmp_path: Path, mode: Mode
) -> None:
    ports = a_vault(tmp_path, {"long.md": LONG, **fillers()})
    assert len(ports.index.text.passages("long.md")) == 3

    class Meaning(FakeEncoder):
        def encode(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
            meant = ["Herring for the walrus at noon." if query else text for text in texts]
            return super().encode(meant, query=query)

    hits = search(ports.index, "lunchtime fish", encoder=Meaning(), mode=mode, limit=20)
    (hit,) = (hit for hit in hits if hit.note.path == "long.md")
    assert "Herring" in hit.snippet
    assert hit.marks == ()


def test_the_snippet_of_a_hybrid_hit_has_the_words_asked_for(tmp_path: Path) -> None:
    ports = a_vault(tmp_path, {"long.md": LONG, **fillers()})
    hits = search(ports.index, "violin tickets", encoder=FakeEncoder(), limit=20)
    (hit,) = (hit for hit in hits if hit.note.path == "long.md")
    assert {hit.snippet[start:end] for start, end in hit.marks} == {"Tickets", "violin"}


def test_a_hub_of_many_links_is_resolved_as_each_link_alone(tmp_path: Path) -> None:
    notes = {f"many/n{i}.md": f"Walrus {i}, see [[hub]]." for i in range(40)}
    notes |= {f"other/n{i}.md": "A namesake." for i in range(5)}
    notes["hub.md"] = " ".join(
        (
            *(f"[[n{i}]]" for i in range(40)),
            "[[other/n1]]",
            "[[gone]]",
            "[[Alias#Part|so]]",
            "[[N7]]",
        )
    )
    notes["named.md"] = "---\naliases: [Alias]\n---\nSomething else."
    ports = a_vault(tmp_path, notes)
    one_by_one = [
        (target, link)
        for link in ports.index.links.written("hub.md")
        if (target := resolve(link.target, "hub.md", ports.index.names)) is not None
    ]
    assert ports.index.links.outgoing("hub.md") == one_by_one
    assert len(one_by_one) == 43
    assert {path for path, _ in ports.index.links.incoming("hub.md")} == {
        f"many/n{i}.md" for i in range(40)
    }
