"""How fast are real vaults adopted and indexed, and does one byte of a note change?

    python benchmarks/real_vaults.py VAULT_OR_TAR...

Each argument is a folder of markdown or a .tar.gz of one; it is copied, adopted, indexed twice.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import tarfile
import tempfile
import time
from pathlib import Path

from amem_cli.editing.edit import take_stock
from amem_cli.index.sync import embed_missing, synchronise
from amem_cli.vault.template import adopt_vault
from amem_cli.workspace.workspace import Workspace


def hashes(root: Path) -> dict[str, str]:
    return {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in root.rglob("*")
        if path.is_file()
        and path.relative_to(root).parts[0] not in (".amem", ".gitignore", ".gitattributes")
    }


def measure(source: Path, folder: Path) -> None:
    root = folder / "vault"
    if source.is_dir():
        shutil.copytree(source, root, symlinks=True)
    else:
        with tarfile.open(source) as archive:
            archive.extractall(root, filter="data")
    before = hashes(root)
    adopt_vault(root)
    workspace = Workspace(root)
    started = time.perf_counter()
    notes = take_stock(workspace.ports)
    read = time.perf_counter() - started
    workspace.encoder.encode(["warm"])
    started = time.perf_counter()
    passages = embed_missing(workspace.ports, workspace.encoder)
    embedded = time.perf_counter() - started
    started = time.perf_counter()
    synchronise(workspace.ports)
    again = time.perf_counter() - started
    problems = workspace.index.files.problems()
    workspace.close()
    after = hashes(root)
    changed = [path for path in before if after.get(path) != before[path]]
    print(
        f"{source.name:<24} {notes:>6} notes  read {notes / read:>6.0f}/s"
        f"  embed {passages / max(embedded, 1e-9):>5.0f} passages/s"
        f"  in all {notes / (read + embedded):.0f} notes/s"
        f"  again {again:.3f} s  problems {len(problems)}  bytes changed in {len(changed)} files"
    )
    for problem in problems[:5]:
        print(f"    {problem.path}:{problem.line}: {problem.message}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("vaults", nargs="+", type=Path)
    for source in parser.parse_args().vaults:
        with tempfile.TemporaryDirectory() as folder:
            measure(source, Path(folder))


if __name__ == "__main__":
    main()
