"""Where things lie: the vault of a command, and the user's settings, caches and state."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from amem_cli.errors import SettingsError
from amem_cli.settings import CONFIG_NAME, load_settings

STATE_FOLDER = ".amem"


def find_vault(
    option: Path | None, *, environment: Mapping[str, str] | None = None, start: Path | None = None
) -> Path:
    """The vault that a command works on.

    In this order: the option, `AMEM_VAULT`, the nearest parent folder with `.amem/`, the default
    vault of the user's settings.

    Raises:
        SettingsError: there is none, or it is not a vault.
    """
    variables = os.environ if environment is None else environment
    named = option or (Path(variables["AMEM_VAULT"]) if variables.get("AMEM_VAULT") else None)
    if named is not None:
        if not (named.expanduser() / STATE_FOLDER).is_dir():
            raise SettingsError(
                f"{named} is not a vault", hint=f"Make it one: amem init {named} (--adopt)."
            )
        return named.expanduser().resolve()
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (folder / STATE_FOLDER).is_dir():
            return folder
    default = load_settings(None, user_settings_file(variables), {})[0].default_vault
    if default:
        return find_vault(Path(default), environment={}, start=start)
    raise SettingsError(
        "no vault here", hint="Go into one, name it with --vault, or make one: amem init DIR."
    )


def user_settings_file(environment: Mapping[str, str]) -> Path:
    """The settings of the user, which may be missing."""
    return user_config_folder(environment) / CONFIG_NAME


def machine_name(environment: Mapping[str, str]) -> str:
    """A short random name of this machine, made once; `local` if none can be kept."""
    path = user_state_folder(environment) / "machine"
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


def write_state(path: Path, document: object) -> None:
    """Put a document in place of the former one.

    Raises:
        SettingsError: it cannot be written.
    """
    # Two programs that write at once each have a file of their own until it is whole.
    temporary = path.with_suffix(f".{os.getpid()}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        temporary.write_text(json.dumps(document, indent=1), encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise SettingsError(
            f"{path} cannot be written: {error.strerror}",
            hint="Check the folder and the disk; AMEM_STATE_DIR names another folder.",
        ) from None


def read_state(path: Path) -> Any:
    """What a JSON file of the program's own holds; None if it is missing or damaged."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None


def user_config_folder(environment: Mapping[str, str] | None = None) -> Path:
    """Where the user's own settings are."""
    from platformdirs import user_config_path

    override = (os.environ if environment is None else environment).get("AMEM_CONFIG_DIR")
    return Path(override) if override else user_config_path("amem", appauthor=False)


def user_cache_folder(environment: Mapping[str, str] | None = None) -> Path:
    """Where what can be made again is kept, such as exported encoders."""
    from platformdirs import user_cache_path

    override = (os.environ if environment is None else environment).get("AMEM_CACHE_DIR")
    return Path(override) if override else user_cache_path("amem", appauthor=False)


def user_state_folder(environment: Mapping[str, str] | None = None) -> Path:
    """Where this machine's name and consents are kept."""
    from platformdirs import user_state_path

    override = (os.environ if environment is None else environment).get("AMEM_STATE_DIR")
    return Path(override) if override else user_state_path("amem", appauthor=False)


def user_data_folder(environment: Mapping[str, str] | None = None) -> Path:
    """Where models that were fetched are kept."""
    from platformdirs import user_data_path

    override = (os.environ if environment is None else environment).get("AMEM_DATA_DIR")
    return Path(override) if override else user_data_path("amem", appauthor=False)
