"""The parts of a benchmark find one another as they do where it is run as a script."""

from __future__ import annotations

import sys
from pathlib import Path

BENCHMARKS = str(Path(__file__).parents[2] / "benchmarks")

if BENCHMARKS not in sys.path:
    sys.path.append(BENCHMARKS)
