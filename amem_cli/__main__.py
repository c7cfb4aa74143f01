"""Runs the program with `python -m amem_cli`."""

from amem_cli.cli.main import run

run()
