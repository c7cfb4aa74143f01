"""What works on some operating systems only is used in few modules, each with another way.

Nothing is imported or run: the syntax tree of every module is read. A name that a module needs no
more fails too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "amem_cli"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# What every system has, though Windows does something else with it. What one lacks mypy tells: it
# reads the package as on each of them (`make types-win32`, `make types-darwin`).
LACKING_NAMES = {"os": _words("kill readlink rename renames symlink")}
# Arguments that Windows refuses.
LACKING_ARGUMENTS = _words(
    "preexec_fn pass_fds start_new_session process_group dir_fd src_dir_fd dst_dir_fd umask"
)
LACKING_PLACES = ("/bin/", "/dev/", "/etc/", "/proc", "/sys/", "/tmp", "/usr/", "/var/")

# Which of these a module uses, and what it does where the system has none.
ALLOWED: dict[str, tuple[str, str]] = {
    "system/inotify.py": ("/proc", "no limits to report"),
    "system/leases.py": ("/proc/self/mountinfo", "nobody is waited for"),
    "system/processes.py": ("/proc/self/ns/pid", "psutil"),
    "cli/watch.py": ("os.kill", "a process may end itself on every system"),
    "terminal/board.py": ("os.kill", "no key there suspends a program"),
    "vault/dir_handle.py": (
        "dir_fd= dst_dir_fd= os.rename src_dir_fd=",
        "names are joined to the folder's path",
    ),
}


def uses(source: str) -> set[str]:
    """What a module uses that some systems lack, without what it first asks for by `getattr`."""
    return set(_uses(ast.parse(source)))


def _uses(tree: ast.AST) -> Iterator[str]:
    texts = _docstrings(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            module = (node.module or "").partition(".")[0]
            lacking = LACKING_NAMES.get(module, frozenset())
            yield from (f"{module}.{item.name}" for item in node.names if item.name in lacking)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.attr in LACKING_NAMES.get(node.value.id, ()):
                yield f"{node.value.id}.{node.attr}"
        elif isinstance(node, ast.keyword) and node.arg in LACKING_ARGUMENTS:
            yield f"{node.arg}="
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and node not in texts
            and node.value.startswith(LACKING_PLACES)
        ):
            yield node.value
        elif isinstance(node, ast.Call):
            yield from _odd_call(node)


def _odd_call(call: ast.Call) -> Iterator[str]:
    """Text files in the system's encoding, and renames that fail over an existing file."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    name = call.func.id if isinstance(call.func, ast.Name) else name
    given = {keyword.arg for keyword in call.keywords}
    modes = [k.value for k in call.keywords if k.arg == "mode"] + call.args[:2]
    is_binary = any(isinstance(m, ast.Constant) and "b" in str(m.value) for m in modes)
    is_descriptor = isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name)
    is_descriptor = is_descriptor and call.func.value.id in ("os", "webbrowser", "gzip", "zipfile")  # type: ignore[attr-defined]
    is_method = isinstance(call.func, ast.Attribute)
    # The encoding is the first argument of one, the second of the other.
    before = {"read_text": 0, "write_text": 1}.get(name)
    if is_method and before is not None and "encoding" not in given and not call.args[before:]:
        yield f"{name} without encoding"
    if name == "strftime" and any("%-" in ast.unparse(each) for each in call.args):
        yield "strftime with %-"
    if name in ("symlink_to", "hardlink_to"):
        yield name
    if name == "open" and not is_binary and not is_descriptor:
        opens_text = isinstance(call.func, ast.Name) or _is_mode(call.args[:1])
        if opens_text and "encoding" not in given:
            yield "open without encoding"
    if given & {"text", "universal_newlines"} and "encoding" not in given and name in _STARTING:
        yield f"{name} without encoding"


_STARTING = ("run", "Popen", "check_output", "NamedTemporaryFile")


def _is_mode(arguments: list[ast.expr]) -> bool:
    return not arguments or (
        isinstance(arguments[0], ast.Constant) and set(str(arguments[0].value)) <= set("rwaxt+")
    )


def _docstrings(tree: ast.AST) -> set[ast.Constant]:
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }


def _modules() -> list[str]:
    return sorted(path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py"))


def test_what_a_system_may_lack_is_used_in_the_listed_places_only() -> None:
    used = {
        module: found
        for module in _modules()
        if (found := uses((SOURCE / module).read_text(encoding="utf-8")))
    }
    assert used == {module: set(names.split()) for module, (names, _) in ALLOWED.items()}


@pytest.mark.parametrize(
    "line",
    [
        "from os import kill",
        "os.rename(a, b)",
        "Popen(x, start_new_session=True)",
        "Path('/proc/self/fd')",
        "path.read_text()",
        "path.write_text('x')",
        "open(name)",
        "path.open()",
        "path.open('w')",
        "subprocess.run(x, text=True)",
        "now.strftime('%-d')",
        "path.symlink_to(x)",
    ],
)
def test_what_a_system_may_lack_is_found(line: str) -> None:
    assert uses(line)


@pytest.mark.parametrize(
    "line",
    [
        "path.read_text(encoding='utf-8')",
        "path.write_text('x', 'utf-8')",
        "path.open('rb')",
        "os.open(name, os.O_RDONLY)",
        "folder.open(name, flags)",
        "subprocess.run(x, text=True, encoding='utf-8')",
        "getattr(os, 'O_NOFOLLOW', 0)",
        "def f():\n    '/proc is said here'",
    ],
)
def test_what_every_system_has_is_let_pass(line: str) -> None:
    assert uses(line) == set()
