"""How large the code is: files and lines of Python, of the package and beside it.

python benchmarks/structure.py --size [--against ../amem-before]
"""

from __future__ import annotations

import argparse
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--against", type=Path, help="another checkout, shown beside this one")
    parser.add_argument("--size", action="store_true", help="all that is measured")
    given = parser.parse_args()
    checkouts = [each for each in (given.against, Path(__file__).parents[1]) if each is not None]
    for folder in ("amem_cli", "tests", "benchmarks"):
        counts = [sizes(checkout / folder) for checkout in checkouts]
        for name, column in zip(("files", "lines"), zip(*counts, strict=True), strict=True):
            print(f"{f'{folder}: {name}':<42}" + "".join(f"{count:>12,}" for count in column))


def sizes(folder: Path) -> tuple[int, int]:
    """Files of Python in a folder, and their lines."""
    files = [each for each in folder.rglob("*.py") if "node_modules" not in each.parts]
    return len(files), sum(len(each.read_bytes().splitlines()) for each in files)


if __name__ == "__main__":
    main()
