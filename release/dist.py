"""Makes what is published: sdist, wheel, digests and the list of components, into dist/.

    make dist

Both packages are built twice, the second time from the first sdist in another folder, and have to
be the same byte for byte.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path

TOP = Path(__file__).parents[1]
OUT = TOP / "dist"
UV = Path(sys.executable).with_name("uv")


def main() -> None:
    """Build, compare, check; ends with status 1 and a reason if anything is wrong."""
    environment = {**os.environ, "SOURCE_DATE_EPOCH": source_date()}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        first = build(TOP, folder / "first", environment)
        (sdist,) = (path for path in first if path.name.endswith(".tar.gz"))
        with tarfile.open(sdist) as archive:
            archive.extractall(folder / "source", filter="data")
        (source,) = (folder / "source").iterdir()
        os.umask(0o077)
        second = build(source, folder / "second", environment)
        os.umask(0o022)
        for one, other in zip(first, second, strict=True):
            if one.name != other.name or one.read_bytes() != other.read_bytes():
                sys.exit(f"{one.name} is another one when it is built again from the sdist")
        run("-m", "twine", "check", "--strict", *map(str, first))
        shutil.rmtree(OUT, ignore_errors=True)
        OUT.mkdir()
        for path in first:
            shutil.copy(path, OUT)
        components(folder / "empty", next(OUT.glob("*.whl")), environment)
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}" for path in made()]
    (OUT / "SHA256SUMS").write_text("\n".join(sums) + "\n")
    print(*sums, sep="\n")


def source_date() -> str:
    """`SOURCE_DATE_EPOCH` as it is set, else the time of the last commit, seconds since 1970."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given:
        return given
    command = ["git", "log", "-1", "--format=%ct"]
    return subprocess.check_output(command, cwd=TOP, text=True).strip()


def build(source: Path, out: Path, environment: Mapping[str, str]) -> list[Path]:
    """Build the sdist, and from it the wheel, into a new folder."""
    run("-m", "build", "--outdir", str(out), str(source), environment=environment)
    return sorted(out.iterdir())


def components(folder: Path, wheel: Path, environment: Mapping[str, str]) -> None:
    """Write what an installation of the locked packages consists of, as CycloneDX."""
    name, version, *_ = wheel.name.split("-")
    for line in (
        ("venv", "--quiet", "--python", sys.executable, str(folder)),
        ("pip", "install", "--quiet", "--require-hashes", "-r", str(TOP / "requirements.lock")),
        ("pip", "install", "--quiet", "--no-index", "--no-deps", "--find-links", str(OUT), name),
    ):
        subprocess.run([UV, *line], check=True, env={**environment, "VIRTUAL_ENV": str(folder)})
    where = ("--output-file", str(OUT / f"{name}-{version}.cdx.json"), "--output-reproducible")
    python = str(folder / "bin/python")
    run("-m", "cyclonedx_py", "environment", *where, python, environment=environment)


def made() -> list[Path]:
    """The files that are published."""
    return sorted(path for path in OUT.iterdir() if path.name != "SHA256SUMS")


def run(*words: str, environment: Mapping[str, str] | None = None) -> None:
    """Run a module of Python; its output is shown if it fails."""
    command = [sys.executable, *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(words[:3])} failed:\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    main()
