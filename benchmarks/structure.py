"""How large the code is: files and lines of Python, of the package and beside it.

python benchmarks/structure.py --size
"""

from __future__ import annotations

import argparse
from pathlib import Path

TOP = Path(__file__).parents[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--size", action="store_true", help="the only figures there are")
    parser.parse_args()
    for folder in ("amem_cli", "tests", "benchmarks"):
        files = [each for each in (TOP / folder).rglob("*.py") if "node_modules" not in each.parts]
        lines = sum(len(each.read_bytes().splitlines()) for each in files)
        print(f"{f'{folder}: files':42}{len(files):12,}")
        print(f"{f'{folder}: lines':42}{lines:12,}")


if __name__ == "__main__":
    main()
