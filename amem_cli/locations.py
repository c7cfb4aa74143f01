"""Where things lie: the vault of a command, and the user's settings, caches and state."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from pathlib import Path

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
    import secrets

    path = user_state_folder(environment) / "machine"
    try:
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            # Another process may be faster.
            with contextlib.suppress(FileExistsError), path.open("x", encoding="ascii") as stream:
                stream.write(secrets.token_hex(4))
        return path.read_text(encoding="ascii").strip()[:16] or "local"
    except (OSError, UnicodeDecodeError):
        return "local"


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


def user_config_folder(environment: Mapping[str, str] | None = None) -> Path:
    """Where the user's own settings are."""
    return _user_folder("config", environment)


def user_cache_folder(environment: Mapping[str, str] | None = None) -> Path:
    """Where what can be made again is kept, such as exported encoders."""
    return _user_folder("cache", environment)


def user_state_folder(environment: Mapping[str, str] | None = None) -> Path:
    """Where this machine's name and consents are kept."""
    return _user_folder("state", environment)


def user_data_folder(environment: Mapping[str, str] | None = None) -> Path:
    """Where models that were fetched are kept."""
    return _user_folder("data", environment)


def _user_folder(kind: str, environment: Mapping[str, str] | None) -> Path:
    import platformdirs

    override = (os.environ if environment is None else environment).get(f"AMEM_{kind.upper()}_DIR")
    return Path(override or getattr(platformdirs, f"user_{kind}_dir")("amem", appauthor=False))
