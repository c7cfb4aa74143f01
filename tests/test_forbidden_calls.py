"""The program's source writes files in few places, and follows and runs nothing of others.

Nothing is imported or run: the syntax tree of every module is read. An exception to a rule stands
below with its reason, and one that is no longer needed fails too. What else no module may call or
import, ruff tells (`banned-api` and the rules S in pyproject.toml).
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "amem_cli"

# Keywords that must not be given with anything but the harmless value.
GUARDED_KEYWORDS = {"follow_redirects": False, "trust_remote_code": False}
MAY_WRITE = {
    "vault/safe_write.py": "the one way in which bytes reach a note",
    "journal/change_store.py": "intents of changes under way, in .amem/intents",
    "models/encoder_build.py": "a prepared encoder, in the user's cache",
    "models/common_part.py": "what an encoder's vectors have in common, in the user's cache",
    "models/onnx_file.py": "a graph and its weights in the place that the preparation names",
    "watch/watcher.py": "which machines watch a vault, in .amem/devices",
    "models/judge_session.py": "a faster copy of the judge's model, in the user's cache",
    "models/command.py": "the temporary folder that a command works in",
    "models/program_run.py": "a program's input and output, in temporary files without names",
    "models/download.py": "a model that is being fetched, in the user's data folder",
    "git/repository.py": "the message of a commit, in a temporary folder",
    "index/connection.py": "a temporary index where the vault's cannot be written",
    "index/file.py": "the index, which can always be made again",
    "journal/files.py": "appends to this machine's journal",
    "models/llama_cpp_worker.py": "sends the noise of native code to the null device",
    "exchange/source_records.py": "a temporary copy of another program's database",
    "models/encoder_files.py": "what is known of an export, in the user's cache",
    "models/store.py": "fetched models and their digests, in the user's data folder",
    "system/files.py": "gives a file the name of another, for the modules that are listed here",
    "vault/dir_handle.py": "the calls that atomic_write writes, exchanges and deletes by",
    "obsidian.py": "removes what amem wrote among Obsidian's files; safe_write writes it",
    "settings.py": "consents and verdicts on models, in the user's state folder",
    "doctor/reading.py": "a temporary copy of the index, to look at without changing it",
    "vault/folder.py": "asks atomic_write, and removes what a killed write left",
    "vault/template.py": "the files of a new vault, where there are none",
    "workspace/watch_lock.py": "a file in the user's state folder that asks a watcher to end",
    "cli/main.py": "streams that are closed, to the null device, and the tracebacks of faults",
    "cli/demo.py": "the demonstration's own temporary folder",
    "cli/files.py": "exports to a named file, and the text that the user edits",
    "lsp/server.py": "the pipes from the editor and to it",
    "terminal/output.py": "a closed pipe goes to the null device",
}

_WRITING_FLAGS = frozenset({"O_WRONLY", "O_RDWR", "O_CREAT", "O_APPEND", "O_TRUNC"})
_WRITING_METHODS = frozenset(
    {"write_text", "write_bytes", "unlink", "rename", "rmdir", "symlink_to", "hardlink_to"}
)
_WRITING_CALLS = frozenset(
    f"{module}.{name}"
    for module, names in {
        "os": "unlink remove rename renames replace link symlink rmdir removedirs truncate mkfifo",
        "shutil": "copy copy2 copyfile copyfileobj copytree move rmtree",
        "tempfile": "mkstemp mkdtemp NamedTemporaryFile TemporaryDirectory TemporaryFile",
    }.items()
    for name in names.split()
) | {"amem_cli.system.files.move_over"}


def breaches(source: str) -> list[str]:
    """Keywords that a module gives with what may do harm."""
    return [
        f"{call.lineno}: {keyword.arg}"
        for call in ast.walk(ast.parse(source))
        if isinstance(call, ast.Call)
        for keyword in call.keywords
        if keyword.arg in GUARDED_KEYWORDS
        and getattr(keyword.value, "value", None) is not GUARDED_KEYWORDS[keyword.arg]
    ]


def writes(source: str) -> list[int]:
    """The lines of a module that create, change or delete files."""
    tree = ast.parse(source)
    names = _imported(tree)
    lines = []
    for node in ast.walk(tree):
        is_flag = isinstance(node, ast.Attribute) and node.attr in _WRITING_FLAGS
        is_call = isinstance(node, ast.Call) and _is_writing(node, names)
        if isinstance(node, ast.expr) and (is_flag or is_call):
            lines.append(node.lineno)
    return sorted(set(lines))


def _imported(tree: ast.AST) -> dict[str, str]:
    """The dotted names that a module's own names stand for."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {(item.asname or item.name): item.name for item in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {
                (item.asname or item.name): f"{node.module}.{item.name}" for item in node.names
            }
    return names


def _dotted(node: ast.expr, names: dict[str, str]) -> str:
    """`os.path.join` for the expression, by the imports' real names; empty for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.insert(0, node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([names.get(node.id, node.id), *parts])


def _is_writing(call: ast.Call, names: dict[str, str]) -> bool:
    called = _dotted(call.func, names)
    if called in _WRITING_CALLS:
        return True
    if called in ("open", "os.fdopen", "io.open"):
        return _mode_writes(call, position=1)
    if not isinstance(call.func, ast.Attribute):
        return False
    if call.func.attr == "open" and called != "os.open":
        return _mode_writes(call, position=0)
    # A path's replace has one argument, a text's has two.
    is_move = call.func.attr == "replace" and len(call.args) == 1 and not call.keywords
    # The program's own unlink takes two notes; a path's takes nothing but a keyword.
    is_verb = call.func.attr == "unlink" and len(call.args) >= 2
    return is_move or (call.func.attr in _WRITING_METHODS and not is_verb)


def _mode_writes(call: ast.Call, position: int) -> bool:
    given = [keyword.value for keyword in call.keywords if keyword.arg == "mode"]
    given += call.args[position : position + 1]
    if not given:
        return False
    mode = given[0]
    if isinstance(mode, ast.Constant):
        return isinstance(mode.value, str) and not set(mode.value) <= set("rbtU")
    return isinstance(mode, (ast.Name, ast.IfExp))


def _modules() -> list[str]:
    return sorted(path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py"))


@pytest.mark.parametrize("module", _modules())
def test_a_module_calls_nothing_that_is_forbidden(module: str) -> None:
    assert breaches((SOURCE / module).read_text(encoding="utf-8")) == []


def test_files_are_written_in_the_listed_places_only() -> None:
    writing = {
        module: lines
        for module in _modules()
        if (lines := writes((SOURCE / module).read_text(encoding="utf-8")))
    }
    assert {module: writing[module] for module in writing if module not in MAY_WRITE} == {}
    assert [module for module in MAY_WRITE if module not in writing] == []


def test_a_keyword_that_may_do_harm_is_found() -> None:
    assert breaches("load(name, trust_remote_code=True)\nget(x, follow_redirects=chosen)")
    assert breaches("load(name, trust_remote_code=False)") == []


@pytest.mark.parametrize(
    ("line", "writing"),
    [
        ("path.write_text('x')", True),
        ("path.open('w')", True),
        ("path.open(mode='ab')", True),
        ("path.open(chosen)", True),
        ("open(name, 'r+')", True),
        ("import os\nos.open(name, os.O_RDWR)", True),
        ("import shutil\nshutil.rmtree(name)", True),
        ("from os import replace\nreplace('a', 'b')", True),
        ("path.replace(target)", True),
        ("path.open('rb')", False),
        ("open(name)", False),
        ("text.replace('a', 'b')", False),
        ("moment.replace(tzinfo=None)", False),
        ("import os\nos.open(name, os.O_RDONLY)", False),
    ],
)
def test_a_line_that_writes_is_told_from_one_that_reads(line: str, writing: bool) -> None:
    assert bool(writes(line)) is writing


def test_onnxruntime_is_loaded_in_one_place_that_keeps_it_from_reporting() -> None:
    loading = [
        path.relative_to(SOURCE).as_posix()
        for path in sorted(SOURCE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if (isinstance(node, ast.Import) and node.names[0].name.startswith("onnxruntime"))
        or (isinstance(node, ast.ImportFrom) and (node.module or "").startswith("onnxruntime"))
    ]
    assert loading == ["models/encoder.py"]
