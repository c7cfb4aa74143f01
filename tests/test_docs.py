"""The documents say what is so, their examples run, and the tests that they name exist."""

from __future__ import annotations

import ast
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from typer.main import get_command

from amem_cli.cli.main import app
from amem_cli.language.lexicon import languages
from amem_cli.settings import setting_keys
from tests import manual_pages, recorded_session
from tests.command_reference import command_names, help_text, reference
from tests.documents import TOP, Page, pages
from tests.outside_tools import program

_SETTING = re.compile(
    r"(?<![\w./-])((?:encoder|search|llm|evolution|watch|exclude|git|properties)\.[a-z_0-9]+)\b"
    r"(?!\.|/|\()"
)
_VARIABLE = re.compile(r"\bAMEM_[A-Z_]+\b")
each_page = pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)


def test_the_command_reference_is_up_to_date() -> None:
    assert (TOP / "docs" / "cli.md").read_text(encoding="utf-8") == reference()


def test_the_manual_pages_are_up_to_date() -> None:
    made = {path.name: path.read_text("ascii") for path in manual_pages.FOLDER.glob("*.1")}
    assert made == manual_pages.pages(), "`make man` makes them anew"


def test_every_command_has_a_manual_page() -> None:
    expected = {f"amem-{'-'.join(words)}.1" for words in command_names(get_command(app))}
    assert expected <= set(manual_pages.pages())


def test_groff_has_nothing_to_say_against_the_manual_pages() -> None:
    found = sorted(map(str, manual_pages.FOLDER.glob("*.1")))
    line = [program("groff"), "-man", "-Tutf8", "-ww", "-z", *found]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("words", command_names(get_command(app)), ids=" ".join)
def test_every_command_explains_itself_with_an_example(words: tuple[str, ...]) -> None:
    text = help_text(words)
    assert f"amem {' '.join(words)}" in text.split("Examples:", 1)[1]


def test_the_page_on_languages_explains_every_field_that_a_file_uses() -> None:
    page = (TOP / "docs" / "your-language.md").read_text(encoding="utf-8")
    used = {field for each in languages() for field in each.phrases}
    names = {field.split(".")[1] for field in used} | {
        key for each in languages() for key in each.words
    }
    assert not {name for name in names if f"`{name}`" not in page}


@each_page
def test_links_lead_to_pages_pictures_and_headings_that_exist(page: Page) -> None:
    for target in page.targets:
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        other = Page((page.path.parent / name).resolve() if name else page.path)
        assert other.path.exists(), target
        if anchor and other.path.suffix == ".md":
            assert anchor in other.anchors, target


def test_the_index_of_the_documentation_names_every_page() -> None:
    index = Page(TOP / "docs" / "README.md")
    named = {(index.path.parent / target).resolve() for target in index.targets}
    assert {page.path for page in pages()} - named == {index.path}


@each_page
def test_the_commands_and_options_of_a_page_exist(page: Page) -> None:
    for line in page.code:
        for words in _calls(line):
            fault = _fault(words)
            assert fault is None, f"{line}: {fault}"


@each_page
def test_the_settings_of_a_page_exist(page: Page) -> None:
    known = setting_keys()
    for line in page.code:
        for name in _SETTING.findall(line):
            assert name in known, line


@each_page
def test_the_variables_of_a_page_are_read_by_something(page: Page) -> None:
    for name in _VARIABLE.findall(page.text):
        assert name in _variables(), name


def test_the_messages_of_the_troubleshooting_page_are_those_of_the_program() -> None:
    page = (TOP / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    told = [text for row in re.findall(r"^\| ([^|]+) \|", page, re.M) for text in _quoted(row)]
    assert len(told) > 30
    texts = _program_texts()
    for message in told:
        for part in filter(None, (part.strip() for part in message.split("…"))):
            assert any(part in text for text in texts), message


def _quoted(row: str) -> Iterator[str]:
    for text in re.findall(r"`([^`]+)`", row):
        if not text.startswith(("amem", "config.toml")):
            yield text


@cache
def _variables() -> set[str]:
    settings = {f"AMEM_{name.upper()}" for name in setting_keys().values()}
    read = [*_program_texts(), *_texts_of(TOP / "tests"), (TOP / "Makefile").read_text("utf-8")]
    return settings | set(_VARIABLE.findall("\n".join(read)))


@cache
def _program_texts() -> tuple[str, ...]:
    """Every text of the program's source, joined as Python joins it."""
    return tuple(_texts_of(TOP / "amem_cli"))


def _texts_of(folder: Path) -> Iterator[str]:
    for path in folder.rglob("*.py"):
        if "node_modules" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


def _calls(line: str) -> Iterator[list[str]]:
    """The command lines of amem in a line of code, each as its words without `amem`."""
    for found in re.finditer(r"(?:^|[|&;(] *|\$ +|/)amem +([a-z-][^|;&)]*)", line):
        text = re.sub(r"(?:^|\s)#\s.*", "", found[1])
        try:
            yield shlex.split(text)
        except ValueError:
            yield text.split()


def _fault(words: list[str]) -> str | None:
    """Why amem would not understand the line, or None."""
    command: Any = get_command(app)
    known = _options(command)
    while words and getattr(command, "commands", None) is not None:
        word = words.pop(0)
        if word.startswith("-"):
            if word.split("=")[0] not in known:
                return f"no option {word}"
            if word == "--vault":
                words = words[1:]
            continue
        if word not in command.commands:
            return f"no command {word}"
        command = command.commands[word]
        known |= _options(command)
    for word in words:
        if word == "--":
            break
        if re.match(r"--?[a-z]", word) and word.split("=")[0].rstrip(".,:") not in known:
            return f"no option {word}"
    return None


def _options(command: Any) -> set[str]:
    names = {"-h", "--help"}
    for parameter in command.params:
        names |= {*parameter.opts, *parameter.secondary_opts}
    return {name for name in names if name.startswith("-")}


def test_the_pictures_are_no_larger_than_a_page_may_load() -> None:
    for path in Path(TOP / "docs" / "images").iterdir():
        assert path.stat().st_size < 1_000_000, path.name


@pytest.mark.parametrize("path", sorted((TOP / "docs" / "images").glob("*.svg")), ids=str)
def test_a_drawing_is_sound_names_itself_and_loads_nothing(path: Path) -> None:
    root = ElementTree.fromstring(path.read_text(encoding="utf-8"))
    assert root.findtext("{http://www.w3.org/2000/svg}title")
    text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
    assert "://" not in text and "<script" not in text and "prefers-color-scheme: dark" in text


def test_the_commands_of_the_recorded_session_exist() -> None:
    for typed in recorded_session.TYPED:
        for words in _calls(f"$ {typed}".replace("\\\n", " ")):
            assert _fault(words) is None, typed


@pytest.mark.models
def test_the_session_can_be_recorded_anew() -> None:
    drawn = recorded_session.drawing(recorded_session.record())
    for kept in ("supersedes", "superseded by", "evolved", "took back the change of context"):
        assert kept in drawn and kept in (TOP / "docs" / "images" / "session.svg").read_text(
            "utf-8"
        )


PACKAGES = sorted(path.parent.name for path in (TOP / "amem_cli").glob("*/__init__.py"))
NAMED_MODULES = sorted(
    {
        (page.relative_to(TOP).as_posix(), module)
        for page in [*(TOP / "docs").rglob("*.md"), TOP / "README.md"]
        for module in re.findall(
            rf"`((?:{'|'.join(PACKAGES)})/\w+)(?:\.py)?`", page.read_text(encoding="utf-8")
        )
    }
)


@pytest.mark.parametrize(("page", "module"), NAMED_MODULES)
def test_a_module_that_a_page_names_exists(page: str, module: str) -> None:
    place = TOP / ("tests" if "/test_" in module else "amem_cli") / module
    assert place.with_suffix(".py").is_file() or place.is_dir()


def test_the_tests_that_a_promise_names_exist() -> None:
    promises = (TOP / "docs" / "reliability.md").read_text(encoding="utf-8")
    place = Path("none")
    for file, name, more in re.findall(r"`((?:tests/)?[\w/]+\.py)?::(test_\w+)(\*?)", promises):
        place = TOP / "tests" / file.removeprefix("tests/") if file else place
        ending = "" if more else r"\("
        assert re.search(rf"def {name}{ending}", place.read_text(encoding="utf-8")), (place, name)


SECURITY = (TOP / "docs" / "security.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
    for line in SECURITY.splitlines()
    if line.startswith("| ") and not line.startswith("| threat")
]


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(tests/[\w/]+\.py)`", SECURITY))))
def test_a_cited_test_exists(name: str) -> None:
    assert "def test_" in (TOP / name).read_text(encoding="utf-8") or (
        name == "tests/dependency_audit.py"
    )


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row[0])[:50])
def test_every_threat_has_a_defence_and_a_test_or_says_that_there_is_nothing(
    row: list[str],
) -> None:
    threat, defence, shown = row
    assert threat and defence
    assert re.search(r"`tests/", shown) or (shown == "–" and "There is n" in defence)


PYTHON = (TOP / "docs" / "python.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", PYTHON, re.MULTILINE | re.DOTALL)
SAID = (
    r"\[.+\]\nTrue\n[01]\.\d+ .*\n[01]\.\d+ .*\n",
    r"<AgenticMemorySystem vault='.*agent-memory'>\n",
    r"1 memories\n\d{14} 202503021500 Notes of the meeting about the first quarter\.\n",
    r"the note is empty\n",
    r"3\n",
)


@pytest.mark.parametrize(("example", "said"), list(zip(EXAMPLES, SAID, strict=True)))
def test_an_example_of_the_page_runs_and_says_what_it_should(
    tmp_path: Path, example: str, said: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", example],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(TOP)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(said, done.stdout), done.stdout


def test_the_page_tells_of_every_public_call() -> None:
    from amem_cli import AgenticMemorySystem

    calls = [name for name in dir(AgenticMemorySystem) if not name.startswith("_")]
    assert [name for name in calls if name not in PYTHON] == []
