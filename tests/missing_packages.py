"""An environment in which packages are as if they were not installed."""

from __future__ import annotations

import os
from pathlib import Path

# The finder that looks through folders is asked for everything, and finds these no more.
_BLOCKER = """\
from importlib.machinery import PathFinder

_missing, _found = frozenset({names!r}), PathFinder.find_spec


def _find_spec(name, path=None, target=None):
    return None if name.partition(".")[0] in _missing else _found(name, path, target)


PathFinder.find_spec = staticmethod(_find_spec)
"""


def without_packages(folder: Path, *names: str) -> dict[str, str]:
    """This process's environment, changed so that a new Python does not find these packages."""
    place = folder / "sitecustomize"
    place.mkdir(exist_ok=True)
    (place / "sitecustomize.py").write_text(_BLOCKER.format(names=sorted(names)))
    root = str(Path(__file__).parents[1])
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(place), root])}
