"""Finds the vault that a command works on, and the user's settings."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from amem_cli import config
from amem_cli.core.errors import SettingsError

STATE_FOLDER = ".amem"


def find_vault(
    option: Path | None, *, environment: Mapping[str, str] | None = None, start: Path | None = None
) -> Path:
    """The vault that a command works on.

    In this order: the option, `AMEM_VAULT`, the nearest parent folder with `.amem/`, the default
    vault of the user's settings.

    Raises:
        SettingsError: there is none, or it is no vault.
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
    default = config.load(None, user_settings_file(variables), {})[0].default_vault
    if default:
        return find_vault(Path(default), environment={}, start=start)
    raise SettingsError(
        "no vault here", hint="Go into one, name it with --vault, or make one: amem init DIR."
    )


def user_settings_file(environment: Mapping[str, str]) -> Path:
    """The settings of the user, which may be missing."""
    return config.user_config_folder(environment) / config.CONFIG_NAME
