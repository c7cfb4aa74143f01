"""A note that says what became of an older one changes it, without a language model."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Answer, Program

DECISION = "We buy a new deck oven from Miwe for the bakery, 14,000 euros, delivered in June."
OPENING = "The bakery opens on 1 May with a small party for the street."
RYE = "Rye loaf, steam for ten minutes: the crumb is tight and gummy, I blame the flour."
ROSSI = "This replaces the decision of 4 March. We take the used deck oven of the Rossi bakery."
PARTY = "[[Opening date]] is wrong: we open on 15 May, the permit takes longer."
CAUSE = "So it wasn't the flour. With the stone at 250 degrees the rye crumb opens."


def told(amem: Program, title: str, day: str, text: str, *more: str) -> Answer:
    done = amem("add", text, "--title", title, "--created", f"{day}T10:00:00", *more)
    assert done.code == 0, done.err
    return done


# The older note, the newer, and what a proposal quotes of it.
REVISED = [
    (
        "Nitrate",
        "Nitrate of the well by the strip: 0.14 mg/l.",
        "The well again",
        "Strip again: nitrate of the well 0.16, up from 0.14.",
        "0.16, up from 0.14",
    ),
    (
        "Clinic",
        "The clinic's invoices are due after 30 days. Reminder after that, friendly.",
        "Terms of the clinic",
        "The clinic's invoices are due after 14 days now, not 30. The bank wanted it.",
        "due after 14 days now, not 30",
    ),
    (
        "Country loaf",
        "Salt for the country loaf: 28 g a kilo of flour, from the yellow book.",
        "Bread",
        "I had copied it wrong from the yellow book: the country loaf gets 12 g of salt, not 28.",
        "12 g of salt, not 28",
    ),
    (
        "Copying the accounts",
        "On Sundays I copy the accounts to the blue disk, it takes ten minutes.",
        "A box in the cupboard",
        "A little box does it every night. Copying the accounts on Sundays is history.",
        "Copying the accounts on Sundays is history",
    ),
    (
        "Committee of the choir",
        "The committee of the choir meets for Friday lunch at the Anchor.",
        "Sunday again",
        "The choir's committee is back to Sunday; Friday lunch at the Anchor never worked.",
        "back to Sunday; Friday lunch",
    ),
    (
        "Winter feed",
        "Per hive about 9 kg of sugar for the winter, as 3:2 syrup, only in the evening.",
        "Syrup",
        "From this autumn on I feed ready-made syrup. 12 kg of Apiinvert replace about 9 kg of"
        " sugar per hive. No more stirring in the bath tub.",
        "From this autumn on I feed ready-made syrup. 12 kg of Apiinvert replace",
    ),
    (
        "Winterfutter",
        "Fürs Winterfutter der Bienen rühre ich Zuckerwasser 3:2 an, etwa 9 kg je Volk.",
        "Futter",
        "Ab diesem Herbst gibt es fertigen Sirup als Winterfutter, nicht mehr Zuckerwasser.",
        "fertigen Sirup als Winterfutter",
    ),
    (
        "Chorprobe",
        "Die Chorprobe ist immer am Dienstag um 19 Uhr im Gemeindesaal.",
        "Neue Zeit",
        "Die Chorprobe ist jetzt am Donnerstag, nicht mehr am Dienstag.",
        "jetzt am Donnerstag, nicht mehr am Dienstag",
    ),
    (
        "Stellplatz",
        "Der Stellplatz am Hafen kostet 60 Euro im Monat.",
        "Hafenpost",
        "Der Stellplatz am Hafen steigt auf 75 Euro.",
        "steigt auf 75 Euro",
    ),
    (
        "Piano lessons",
        "A piano lesson of 45 minutes costs 38.",
        "Prices",
        "From the new term on I charge 42 for a piano lesson.",
        "From the new term on I charge 42",
    ),
    (
        "Clase",
        "La clase de cerámica cuesta 60 euros al mes.",
        "Carta",
        "Desde enero la clase de cerámica cuesta 72 euros.",
        "cuesta 72 euros",
    ),
    (
        "房租",
        "书店房租每月六千元，一号交。",
        "房东来信",
        "房东说书店房租从七月起涨到6800元。",
        "涨到6800元",
    ),
    (
        "教室",
        "陶芸教室は毎週火曜日の午後です。",
        "変更",
        "陶芸教室は火曜日ではなく木曜日に変更になった。",
        "木曜日に変更",
    ),
]


@pytest.mark.parametrize(("title", "old", "later", "new", "quoted"), REVISED)
def test_a_revision_in_natural_words_is_proposed_and_quotes_what_holds_now(
    amem: Program, title: str, old: str, later: str, new: str, quoted: str
) -> None:
    assert amem("init", ".").code == 0
    told(amem, title, "2026-03-04", old)
    told(amem, later, "2026-06-20", new)
    [waiting] = amem("review", "--json").json["waiting"]
    assert waiting["path"] == f"notes/{title}.md"
    assert quoted in waiting["after"]
    shown = amem("review", "--list").out
    assert "accepting it also marks the note as superseded by that one" in shown
    assert amem("review", "--accept-all").code == 0
    shown = amem("show", title, "--json").json
    assert [each["title"] for each in shown["superseded_by"] + shown["contradicted_by"]] == [later]


def test_a_revision_of_a_note_whose_context_is_its_owners_is_proposed_for_the_link(
    amem: Program,
) -> None:
    title, old, later, new, _ = REVISED[2]
    assert amem("init", ".").code == 0
    told(amem, title, "2026-03-04", old, "--context", "Salt in bread.")
    told(amem, later, "2026-06-20", new)
    [waiting] = amem("review", "--json").json["waiting"]
    assert waiting["path"] == f"notes/{later}.md"
    assert amem("review", "--accept-all").code == 0
    shown = amem("show", title, "--json").json
    assert shown["context"] == "Salt in bread."
    assert [each["title"] for each in shown["superseded_by"]] == [later]


CLINIC = "The clinic's invoices are due after 30 days. Reminder after that. Late fee 5 euros."
TERMS = "The clinic's invoices are due after 14 days now, not 30. The bank wanted it."
FEE = "The clinic's late fee is now 8 euros, no longer 5 euros."
BOTH = (
    "Since 2026-06-20: The clinic's invoices are due after 14 days now, not 30"
    f" — since 2026-06-20: {FEE}"
)


@pytest.fixture
def clinic(amem: Program, tmp_path: Path) -> Path:
    """A note that is proposed to revise “Clinic”, and will say more of it."""
    assert amem("init", ".").code == 0
    told(amem, "Clinic", "2026-03-04", CLINIC)
    told(amem, "Terms", "2026-06-20", TERMS)
    return tmp_path / "notes/Terms.md"


def say(amem: Program, note: Path, text: str) -> None:
    note.write_text(f"{note.read_text()}{text}\n")
    assert amem("evolve").code == 0


def accept_all(amem: Program) -> int:
    return len(amem("review", "--accept-all", "--json").json["accepted"])


def newer(amem: Program, title: str) -> list[str]:
    return [each["title"] for each in amem("show", title, "--json").json["superseded_by"]]


@pytest.mark.parametrize("accepted_before", [True, False])
def test_a_second_revision_by_the_same_note_stands_beside_the_first(
    amem: Program, clinic: Path, accepted_before: bool
) -> None:
    assert not accepted_before or accept_all(amem) == 1
    say(amem, clinic, FEE)
    assert accept_all(amem) == (1 if accepted_before else 2)
    assert (context(amem, "Clinic"), newer(amem, "Clinic")) == (BOTH, ["Terms"])
    # What is quoted is not proposed again.
    say(amem, clinic, "Told to everyone.")
    assert accept_all(amem) == 0
    assert (context(amem, "Clinic"), newer(amem, "Clinic")) == (BOTH, ["Terms"])


def test_what_two_revisions_say_is_told_and_stays_when_the_older_note_is_described_anew(
    amem: Program, clinic: Path
) -> None:
    assert accept_all(amem) == 1
    say(amem, clinic, FEE)
    assert accept_all(amem) == 1
    assert BOTH in amem("ask", "when are the clinic's invoices due").out
    assert amem("evolve", "--again", "Clinic").code == 0
    assert context(amem, "Clinic") == BOTH


def test_what_was_taken_back_does_not_come_back_with_what_is_accepted_later(
    amem: Program, clinic: Path
) -> None:
    assert accept_all(amem) == 1
    say(amem, clinic, FEE)
    (accepted,) = (
        each for each in amem("history", "Clinic", "--json").json if each["kind"] == "evolve"
    )
    assert amem("undo", accepted["id"], "--yes").code == 0
    assert accept_all(amem) == 1
    assert context(amem, "Clinic") == f"Since 2026-06-20: {FEE}"


OVEN = "The bread oven of the shed is heated to 230 degrees for 45 minutes. The stone is from Anna."
SATURDAY = (
    "Bread oven of the shed, Saturday. The 230 degrees are no longer true. Mia called. Then it was"
    " evening, and the bread oven in the shed was heated to 260 degrees for 35 minutes with the"
    " stone from Anna. The bread was good."
)


@pytest.mark.parametrize("accepted", [True, False])
def test_a_revision_is_proposed_once_though_another_sentence_of_it_is_quoted(
    amem: Program, tmp_path: Path, accepted: bool
) -> None:
    assert amem("init", ".").code == 0
    told(amem, "Oven", "2026-03-04", OVEN)
    told(amem, "Saturday", "2026-06-20", SATURDAY)
    [waiting] = amem("review", "--json").json["waiting"]
    assert "260 degrees" in waiting["after"] and "no longer" not in waiting["after"]
    assert not accepted or accept_all(amem) == 1
    note = tmp_path / "notes/Saturday.md"
    assert amem("evolve", "Saturday").code == 0
    say(amem, note, "We had soup.")
    assert accept_all(amem) == (0 if accepted else 1)
    # What it says beside is new.
    say(amem, note, "The stone of the bread oven in the shed is no longer from Anna, but from Ben.")
    assert accept_all(amem) == 1
    assert "260 degrees" in context(amem, "Oven") and "Ben" in context(amem, "Oven")


def test_a_revision_that_was_accepted_counts_as_any_other_supersession(
    amem: Program, clinic: Path, tmp_path: Path
) -> None:
    assert accept_all(amem) == 1
    question = "when are the clinic's invoices due"
    asked = amem("ask", question).out
    for said in (
        amem("show", "Clinic").out,
        amem("search", question, "--mode", "keyword").out,
        asked,
    ):
        assert "superseded by “Terms” since 2026-06-20" in said
    assert asked.index("14 days") < asked.index("30 days")
    assert "(superseded)" in amem("list").out
    assert amem("obsidian").code == 0
    assert "Clinic" in (tmp_path / ".obsidian/snippets/amem.css").read_text()
    # It follows a rename of either.
    assert amem("mv", "Clinic", "Invoices").code == amem("mv", "Terms", "Days").code == 0
    assert "superseded by “Days”" in amem("show", "Invoices").out


def test_a_heading_that_repeats_the_title_is_not_quoted(amem: Program) -> None:
    assert amem("init", ".").code == 0
    told(amem, "Clinic", "2026-03-04", "The clinic's invoices are due after 30 days. Late fee 5.")
    title = "The clinic's invoices are no longer due after 30 days"
    told(amem, title, "2026-06-20", f"# {title}\n\nThe bank wanted 14. Anna has told them so.")
    [waiting] = amem("review", "--json").json["waiting"]
    assert "wanted 14" in waiting["after"] and title not in waiting["after"]


def test_what_a_note_revised_stays_so_when_it_revises_another_one(
    amem: Program, clinic: Path
) -> None:
    told(
        amem, "Piano", "2026-03-05", "The piano lesson of 45 minutes costs 38 at the music school."
    )
    assert accept_all(amem) == 1
    say(amem, clinic, FEE)
    assert accept_all(amem) == 1
    say(amem, clinic, "From the new term on I charge 42 for a piano lesson at the music school.")
    assert accept_all(amem) == 1
    assert newer(amem, "Piano") == newer(amem, "Clinic") == ["Terms"]
    assert context(amem, "Clinic") == BOTH


def test_what_a_note_no_longer_says_makes_room_for_what_it_says(
    amem: Program, clinic: Path
) -> None:
    assert accept_all(amem) == 1
    clinic.write_text(clinic.read_text().replace("14 days", "10 days"))
    assert amem("evolve").code == 0 and accept_all(amem) == 1
    said = "Since 2026-06-20: The clinic's invoices are due after 10 days now, not 30."
    assert context(amem, "Clinic") == said
    # So does what another note says later.
    told(amem, "Fee", "2026-07-01", FEE)
    assert accept_all(amem) == 1
    assert context(amem, "Clinic") == f"Since 2026-07-01: {FEE}"
    clinic.write_text(clinic.read_text().replace(TERMS[:54].replace("14", "10"), "Trains and"))
    assert amem("evolve").code == 0
    assert newer(amem, "Clinic") == ["Fee"]


@pytest.fixture(params=[0, 5])
def files(amem: Program, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """The same two notes as files; the newer one gets an id with a link, or stays without one."""
    assert amem("init", ".").code == 0
    assert amem("config", "set", "evolution.max_links", f"{request.param}").code == 0
    for title, day, text in (("Clinic", "2026-03-04", CLINIC), ("Terms", "2026-06-20", TERMS)):
        header = f"created: {day}T10:00:00\nkeywords: [money]\ntags: [money]\ncontext: Money.\n"
        head = header if title == "Terms" else f"created: {day}T10:00:00\n"
        (tmp_path / f"{title}.md").write_text(f"---\n{head}---\n{text}\n")
    assert amem("evolve", "Clinic", "Terms", "--no-llm").code == 0
    assert ("id:" in (tmp_path / "Terms.md").read_text()) == bool(request.param)
    return tmp_path


def outdated(amem: Program) -> list[str]:
    return [each["outdated"] for each in amem("review", "--json").json["waiting"]]


def test_the_note_that_revises_is_known_with_an_id_and_without(amem: Program, files: Path) -> None:
    assert [each["title"] for each in amem("review", "Terms", "--json").json["waiting"]] == [
        "Clinic"
    ]
    assert amem("mv", "Terms", "New terms").code == 0
    assert amem("review", "New terms", "--json").json["waiting"]
    assert accept_all(amem) == 1
    assert newer(amem, "Clinic") == ["New terms"]


def test_what_held_on_a_day_is_told_without_what_notes_said_later(
    amem: Program, clinic: Path
) -> None:
    assert accept_all(amem) == 1
    told(amem, "Fee", "2026-07-01", FEE)
    assert accept_all(amem) == 1
    question = "when are the clinic's invoices due"
    for day, said, unsaid in (
        ("2026-06-01", [], ["14 days", "8 euros"]),
        ("2026-06-21", ["14 days"], ["8 euros"]),
        ("2026-07-02", ["8 euros"], ["14 days"]),
    ):
        for command in (("ask", question), ("search", question), ("list",)):
            found = amem(*command, "--as-of", day, "--json").json
            rows = found if command[0] == "list" else found.get("sources") or found["hits"]
            [clinics] = [each for each in rows if each["title"] == "Clinic"]
            context = clinics.get("now", clinics.get("context"))
            assert all(each in context for each in said), (day, command)
            assert not any(each in context for each in unsaid), (day, command)
    # Also of a note that is gone.
    assert amem("rm", "Fee").code == 0
    rows = amem("list", "--json", "--as-of", "2026-06-21").json
    assert next(each for each in rows if each["title"] == "Clinic")["context"].count("euros") == 0


def test_what_was_proposed_because_of_a_note_that_is_gone_is_outdated(
    amem: Program, files: Path
) -> None:
    assert outdated(amem) == [None]
    assert amem("rm", "Terms").code == 0
    [why] = outdated(amem)
    assert why.endswith("is gone")
    assert accept_all(amem) == 0 and newer(amem, "Clinic") == []


def test_a_copy_of_what_caused_a_proposal_takes_nothing_away(amem: Program, files: Path) -> None:
    copy = files / "Terms 2.md"
    copy.write_text((files / "Terms.md").read_text())
    assert amem("index").code == 0 and outdated(amem) == [None]
    copy.unlink()
    assert accept_all(amem) == 1
    assert newer(amem, "Clinic") == ["Terms"]


def test_another_note_in_its_place_is_not_what_caused_a_proposal(
    amem: Program, files: Path
) -> None:
    (files / "Terms.md").rename(files / "Days.md")
    (files / "Terms.md").write_text("I bought bread and slept badly.\n")
    assert amem("index").code == 0
    assert amem("review", "Days", "--json").json["waiting"] and outdated(amem) == [None]


@pytest.mark.parametrize("text", ["I bought bread and slept badly.", "Bread.\n\n- no\n"])
def test_what_is_said_again_is_proposed_again(amem: Program, files: Path, text: str) -> None:
    note = files / "Terms.md"
    before = note.read_text()
    daily = files / "2026-06-20.md"
    note.rename(daily)
    daily.write_text(before.replace(TERMS, text))
    assert amem("evolve").code == 0
    question = "when are the clinic's invoices due"
    assert "before:" not in amem("ask", question).out
    assert outdated(amem) != [None] and accept_all(amem) == 0
    daily.write_text(before)
    assert amem("evolve", "2026-06-20", "--no-llm").code == 0
    assert accept_all(amem) == 1


def test_what_a_note_no_longer_says_is_outdated(amem: Program, clinic: Path) -> None:
    clinic.write_text(clinic.read_text().replace("The bank wanted it.", "So says the bank."))
    amem("evolve")
    assert outdated(amem) == [None]
    clinic.write_text(clinic.read_text().replace(TERMS[:56], "Nothing new of the clinic."))
    amem("evolve")
    assert outdated(amem) == ["“Terms” no longer says so"]
    assert accept_all(amem) == 0 and newer(amem, "Clinic") == []


def test_what_built_on_an_acceptance_goes_as_a_whole(amem: Program, clinic: Path) -> None:
    assert accept_all(amem) == 1
    told(amem, "Fee", "2026-07-01", FEE)
    assert accept_all(amem) == 1
    assert set(newer(amem, "Clinic")) == {"Terms", "Fee"}
    first = next(
        each
        for each in amem("history", "Clinic", "--json").json
        if each["kind"] == "evolve" and each["because"] == "Terms"
    )
    assert amem("undo", first["id"], "--cascade", "--yes").code == 0
    assert (context(amem, "Clinic"), newer(amem, "Clinic")) == ("", [])


UNCHANGED = [
    ("The clinic's invoices are due after 30 days.", "Two invoices of the clinic sent today."),
    ("Nitrate of the well: 0.14 mg/l.", "I do not like the pump of the well, it is not quiet."),
    ("Friday lunch at the Anchor.", "If the Anchor is closed, we go back to the Crown?"),
]


@pytest.mark.parametrize(("old", "new"), UNCHANGED)
def test_a_note_that_says_nothing_of_what_the_older_one_holds_proposes_nothing(
    amem: Program, old: str, new: str
) -> None:
    assert amem("init", ".").code == 0
    told(amem, "Earlier", "2026-03-04", old)
    told(amem, "Later", "2026-06-20", new)
    assert amem("review", "--json").json["waiting"] == []


@pytest.fixture
def vault(amem: Program) -> Program:
    assert amem("init", ".").code == 0
    told(amem, "Oven decision", "2026-03-04", DECISION)
    told(amem, "Opening date", "2026-03-06", OPENING, "--context", "When the bakery opens.")
    told(amem, "Bake 14", "2026-03-10", RYE)
    return amem


def context(amem: Program, title: str) -> str:
    return str(amem("show", title, "--json").json["context"] or "")


def test_the_older_note_says_what_holds_now(vault: Program) -> None:
    before = context(vault, "Oven decision")
    done = told(vault, "Rossi", "2026-03-20", ROSSI, "--json").json
    assert [(each["relation"], each["path"]) for each in done["links"]] == [
        ("supersedes", "notes/Oven decision.md")
    ]
    assert "“replaces”" in done["links"][0]["reason"]
    after = context(vault, "Oven decision")
    assert after.endswith("ince 2026-03-20: We take the used deck oven of the Rossi bakery.")
    event = next(
        each
        for each in vault("history", "Oven decision", "--json").json
        if each["kind"] == "evolve"
    )
    assert "“replaces”" in event["reason"]
    assert vault("undo", event["id"]).code == 0
    assert context(vault, "Oven decision") == before


def test_a_persons_context_stays_and_both_notes_tell_the_contradiction(vault: Program) -> None:
    told(vault, "Street party", "2026-03-21", PARTY)
    assert context(vault, "Opening date") == "When the bakery opens."
    assert "contradicted by “Street party”" in vault("show", "Opening date").out
    assert "contradicts" in vault("show", "Street party").out


def test_what_only_the_subject_points_at_waits_for_a_person(vault: Program) -> None:
    before = context(vault, "Bake 14")
    told(vault, "Bake 17", "2026-03-24", CAUSE)
    assert context(vault, "Bake 14") == before
    [waiting] = vault("review", "--json").json["waiting"]
    assert waiting["path"] == "notes/Bake 14.md"
    assert vault("review", "--accept-all").code == 0
    assert "orrected 2026-03-24: So it wasn't the flour." in context(vault, "Bake 14")


def test_nothing_changes_when_evolution_is_off(vault: Program) -> None:
    before = context(vault, "Oven decision")
    assert vault("config", "set", "evolution.mode", "off").code == 0
    told(vault, "Rossi", "2026-03-20", ROSSI)
    assert context(vault, "Oven decision") == before


def test_a_private_note_says_nothing_of_a_public_one(vault: Program, tmp_path: Path) -> None:
    before = context(vault, "Oven decision")
    secret = f"---\ncreated: 2026-03-20T10:00:00\nprivate: true\n---\n{ROSSI}"
    (tmp_path / "notes/Rossi.md").write_text(secret, encoding="utf-8")
    assert vault("evolve", "Rossi").code == 0
    assert context(vault, "Oven decision") == before


def test_what_a_note_says_is_written_however_careful_the_links_are(vault: Program) -> None:
    assert vault("config", "set", "evolution.links", "careful").code == 0
    done = told(vault, "Rossi", "2026-03-20", ROSSI, "--json").json
    assert [each["relation"] for each in done["links"]] == ["supersedes"]
    assert "ince 2026-03-20" in context(vault, "Oven decision")
