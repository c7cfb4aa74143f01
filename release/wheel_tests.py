"""Tries the wheel in an empty environment of each Python that it is for, as far as these are here.

    make test-wheel

The tests run in a folder that has them and no source of amem, so that they cannot test anything
but what is installed: all that are named with the oldest Python, those of the formats, the index
and the search with the newest, and some commands with those in between.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).parents[1]
UV = Path(sys.executable).with_name("uv")
VERSIONS = ("3.10", "3.11", "3.12", "3.13")
# Of the extra `dev`, what the tests need that run here.
TEST_PACKAGES = ("hypothesis", "jsonschema", "pytest", "pytest-xdist", "python-frontmatter")
# A map, and the web page's libraries, take more.
LEFT_OUT = ("tests/graph",)
IN_BETWEEN = ["tests/cli/test_unchanged.py"]
WITH_THE_NEWEST = [
    *("tests/notes", "tests/vault", "tests/journal", "tests/markdown", "tests/language"),
    *("tests/index", "tests/search", *IN_BETWEEN),
]
IN_SHARE = (
    "man/man1/amem.1",
    "bash-completion/completions/amem",
    "zsh/site-functions/_amem",
    "fish/vendor_completions.d/amem.fish",
)
WHERE = "import amem_cli, pathlib; print(pathlib.Path(amem_cli.__file__).parent)"


def main(tests: list[str]) -> None:
    """Build the wheel and try it with each Python; ends with status 1 if anything fails."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        build = [sys.executable, "-m", "build", "--outdir", str(folder / "dist"), str(TOP)]
        subprocess.run(build, check=True, stdout=subprocess.DEVNULL)
        (wheel,) = (folder / "dist").glob("*.whl")
        tree = folder / "tree"
        for part in ("tests", "vault_template"):
            left_out = shutil.ignore_patterns("node_modules", "__pycache__")
            shutil.copytree(TOP / part, tree / part, ignore=left_out)
        shutil.copy(TOP / "pyproject.toml", tree)
        here = {version: python for version in VERSIONS if (python := python_of(version))}
        for version in VERSIONS:
            if version not in here:
                print(f"Python {version}: not on this machine, so the wheel is not tried with it")
                continue
            print(f"Python {version}: {here[version]}", flush=True)
            chosen = WITH_THE_NEWEST if version == max(here, key=VERSIONS.index) else IN_BETWEEN
            if version == min(here, key=VERSIONS.index):
                chosen = [test for test in tests if test not in LEFT_OUT]
            check(Installed(folder / version, here[version], wheel), tree, chosen)


def python_of(version: str) -> str | None:
    """A Python of this version that runs: on the PATH, or one of pyenv's."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    kept = sorted(map(str, root.glob(f"versions/{version}.*/bin/python{version}")))
    for found in (shutil.which(f"python{version}"), *kept):
        if found and not subprocess.run([found, "-c", ""], stderr=subprocess.DEVNULL).returncode:
            return found
    return None


class Installed:
    """The wheel in an environment of its own, with a home of its own."""

    def __init__(self, folder: Path, python: str, wheel: Path) -> None:
        self.folder = folder
        home = folder / "home"
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("AMEM_", "PYTHON"))
        }
        self.environment |= {"HOME": str(home), "XDG_CONFIG_HOME": str(home / "config")}
        self.environment |= {"HYPOTHESIS_PROFILE": "quick", "OLLAMA_HOST": "127.0.0.1:9"}
        subprocess.run([UV, "venv", "--quiet", "--python", python, folder], check=True)
        self.install(str(wheel))

    def install(self, *packages: str) -> None:
        """Put packages into the environment."""
        python = ("--python", str(self.folder / "bin/python"))
        subprocess.run([UV, "pip", "install", "--quiet", *python, *packages], check=True)

    def __call__(self, program: str, *words: str, place: Path | None = None) -> str:
        """Run a program of the environment; returns what it prints."""
        command = [str(self.folder / "bin" / program), *words]
        place = place or self.folder
        return subprocess.run(
            command, cwd=place, env=self.environment, check=True, stdout=subprocess.PIPE, text=True
        ).stdout

    def test(self, tree: Path, tests: list[str]) -> None:
        """Run tests of the tree with what is installed."""
        options = ["-m", "not models and not slow", "-n", "2", "--dist", "worksteal", "--no-header"]
        command = [str(self.folder / "bin/python"), "-m", "pytest", *options, *tests]
        subprocess.run(command, cwd=tree, env=self.environment, check=True)


def check(amem: Installed, tree: Path, tests: list[str]) -> None:
    """The program works, has what belongs to it, and passes tests."""
    amem("amem", "init", "vault")
    vault = amem.folder / "vault"
    amem("amem", "add", "--title", "Rye", "Sourdough needs a warm kitchen.", place=vault)
    assert "Rye" in amem("amem", "search", "baking bread", "--mode", "semantic", place=vault)
    amem("amem", "doctor", place=vault)
    for part in IN_SHARE:
        assert (amem.folder / "share" / part).is_file(), part
    amem.install(*TEST_PACKAGES)
    # The tree comes first on the path here as it does for pytest.
    assert "site-packages" in amem("python", "-c", WHERE, place=tree)
    amem.test(tree, tests)


if __name__ == "__main__":
    main(sys.argv[1:])
