"""A command loads what it uses and nothing else; what is known without loading it is true."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest
from typer.main import get_command

from amem_cli.cli.main import COMMANDS, app
from tests.conftest import Program

pytestmark = pytest.mark.slow

# What takes a noticeable time to load, or starts something.
COSTLY = {
    "asyncio",
    "filelock",
    "frontmatter",
    "httpx",
    "huggingface_hub",
    "importlib.metadata",
    "llama_cpp",
    "networkx",
    "numpy",
    "onnx",
    "onnxruntime",
    "pydantic",
    "requests",
    "rich.console",
    "sentence_transformers",
    "sqlite_vec",
    "tokenizers",
    "tomlkit",
    "torch",
    "transformers",
    "watchdog",
    "yaml",
}
COMMAND_MODULES = {f"amem_cli.cli.{module}" for module, _ in COMMANDS.values()}
# What one synchronisation of an unchanged vault has no use for.
OF_CHANGES = {
    "amem_cli.journal.events",
    "amem_cli.journal.link_decisions",
    "amem_cli.markdown.links",
    "amem_cli.language.words",
    "importlib.resources",
    "hashlib",
    "hmac",
}


@pytest.fixture(scope="module")
def settled(tmp_path_factory: pytest.TempPathFactory, cache_folder: Path) -> Program:
    """The program with a vault whose files' times alone say that nothing changed."""
    folder = tmp_path_factory.mktemp("settled")
    variables = {
        "AMEM_VAULT": str(folder / "v"),
        "AMEM_LLM_BACKEND": "none",
        "AMEM_CACHE_DIR": str(cache_folder),
        "AMEM_STATE_DIR": str(folder / "state"),
        "AMEM_CONFIG_DIR": str(folder / "config"),
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    program = Program(folder, variables)
    assert program("init", "v").code == 0
    time.sleep(2.5)
    assert program("index").code == 0
    return program


def loaded(program: Program, *line: str) -> set[str]:
    """The modules that a command had loaded when it ended."""
    code = (
        "import atexit, sys\n"
        "atexit.register(lambda: print('\\nLOADED', *sys.modules, file=sys.stderr))\n"
        f"sys.argv[1:] = {list(line)!r}\n"
        "from amem_cli.__main__ import main\n"
        "main()\n"
    )
    done = program.beside(sys.executable, "-c", code)
    assert done.code == 0, done.err
    return set(done.err.rpartition("\nLOADED ")[2].split())


@pytest.mark.parametrize(
    ("line", "used"),
    [
        (["--help"], set()),
        (["--version"], {"importlib.metadata"}),
        (["search", "--help"], set()),
        (["list"], set()),
        (["--json", "list"], set()),
        (["list", "--orphans", "--pending", "--sort", "read"], set()),
        (["search", "review", "--mode", "keyword", "--json"], set()),
        (["search", "review", "--mode", "keyword"], set()),
        (["show", "A highlight is not yet a note"], {"yaml"}),
        (["setup", "--json"], {"httpx", "importlib.metadata", "rich.console"}),
        (
            ["search", "review"],
            {"numpy", "onnxruntime", "sqlite_vec", "tokenizers"},
        ),
    ],
)
def test_a_command_loads_of_what_is_costly_only_what_it_uses(
    settled: Program, line: list[str], used: set[str]
) -> None:
    assert loaded(settled, *line) & COSTLY <= used


@pytest.mark.parametrize(
    ("line", "modules"),
    [
        (["--help"], set()),
        (["list"], {"search"}),
        (["search", "review", "--mode", "keyword"], {"search"}),
        (["search", "review"], {"search"}),
    ],
)
def test_of_the_commands_only_the_one_that_is_called_is_loaded(
    settled: Program, line: list[str], modules: set[str]
) -> None:
    found = loaded(settled, *line)
    assert found & COMMAND_MODULES == {f"amem_cli.cli.{name}" for name in modules}


def test_what_reads_and_changes_notes_is_not_loaded_where_nothing_changed(
    settled: Program,
) -> None:
    assert loaded(settled, "list") & OF_CHANGES == set()
    assert "amem_cli.workspace.workspace" not in loaded(settled, "--help")


def test_the_table_of_commands_says_what_the_commands_say() -> None:
    group = get_command(app)
    summaries = {
        name: group.commands[name].get_short_help_str(10_000)  # type: ignore[attr-defined]
        for name in COMMANDS
    }
    assert summaries == {name: summary for name, (_, summary) in COMMANDS.items()}


def test_a_misspelt_command_is_told_its_name(amem: Program) -> None:
    answer = amem("serch")
    assert (answer.code, answer.err.splitlines()[0]) == (
        2,
        "error: no such command 'serch'. Did you mean 'search'?",
    )
