"""A command whose reader has had enough ends as one that was read to the end."""

from __future__ import annotations

import shutil
import sys

import pytest

from tests.conftest import Program


@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
@pytest.mark.parametrize(
    "line",
    [
        *("list", "list --json", "export", "config list", "doctor", "--help", "list --help"),
        *("search a --mode keyword", "search a --mode keyword --json"),
        "search --mode keyword --queries <(yes walrus | head -n 300)",
    ],
)
def test_a_reader_that_leaves_makes_no_failure(amem: Program, line: str) -> None:
    assert amem("init", "v").code == 0
    command = f"set -o pipefail; {sys.executable} -m amem_cli --vault v {line} | true"
    done = amem.beside("bash", "-c", command)
    assert (done.code, done.err) == (0, "")
