"""Standard input and output as a wire for a protocol, which nothing else in the process sees."""

from __future__ import annotations

import os
import sys
from typing import NamedTuple


class Wire(NamedTuple):
    """The descriptors of what comes from the client and what goes to it."""

    source: int
    sink: int


def take_wire() -> Wire:
    """Take standard input and output for the protocol alone.

    What anything else prints, native code and child processes too, goes to stderr from then on, and
    what reads standard input finds its end.
    """
    sys.stdout.flush()
    # Child processes do not inherit descriptors that Python duplicated.
    wire = Wire(os.dup(0), os.dup(1))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return wire
