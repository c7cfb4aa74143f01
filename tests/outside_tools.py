"""Programs of others that the tests hold amem's files against: node and its packages, Graphviz."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

NODE_FOLDER = Path(__file__).parent / "node"
# Read before a test takes amem's variables out of the environment.
_REQUIRED = bool(os.environ.get("AMEM_REQUIRE_OUTSIDE_TOOLS"))


def missing(what: str) -> None:
    """Skip the test, or fail it where all such programs have to be there."""
    if _REQUIRED:
        pytest.fail(f"{what} is not installed")
    pytest.skip(f"{what} is not installed")


def program(*names: str) -> str:
    """The path of the first of these programs that is installed."""
    found = next((path for name in names if (path := shutil.which(name))), None)
    if found is None:
        missing(names[0])
    assert found is not None
    return found


def node_package(name: str) -> Path:
    """The folder of an npm package of `tests/node/package.json`."""
    folder = NODE_FOLDER / "node_modules" / name
    if not folder.is_dir():
        missing(f"the npm package {name}")
    return folder


def node(script: str, *arguments: str, stdin: str = "", packages: tuple[str, ...] = ()) -> str:
    """What a script (an ES module) prints, run where it can import the packages it names.

    Raises:
        AssertionError: it failed; the message is what it wrote to stderr.
    """
    for name in packages:
        node_package(name)
    done = subprocess.run(
        [program("node"), "--input-type=module", "--eval", script, *arguments],
        cwd=NODE_FOLDER,
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout
