"""The name of this machine, by which the files that it writes in a vault are told apart."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from amem_cli import config


def machine_name(environment: Mapping[str, str]) -> str:
    """A short random name of this machine, made once; `local` where none can be kept."""
    path = config.user_state_folder(environment) / "machine"
    return _kept(path) or _made(path)


def _kept(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()[:16] or "local"
    except (OSError, UnicodeDecodeError):
        return ""


def _made(path: Path) -> str:
    import secrets

    name = secrets.token_hex(4)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with path.open("x", encoding="ascii") as stream:
            stream.write(name)
    except FileExistsError:
        # Another process was faster, or nobody can read what is there.
        return _kept(path) or "local"
    except OSError:
        return "local"
    return name
