"""The name of this machine, by which the files that it writes in a vault are told apart."""

from __future__ import annotations

from collections.abc import Mapping

from amem_cli import config


def machine_name(environment: Mapping[str, str]) -> str:
    """A short random name of this machine, made once."""
    folder = config.user_state_folder(environment)
    path = folder / "machine"
    try:
        return path.read_text(encoding="ascii").strip()[:16] or "local"
    except (OSError, UnicodeDecodeError):
        import secrets

        name = secrets.token_hex(4)
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with path.open("x", encoding="ascii") as stream:
            stream.write(name)
    except FileExistsError:
        return machine_name(environment)
    except OSError:
        return "local"
    return name
