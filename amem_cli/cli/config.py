"""`amem config`: read and change settings."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from amem_cli.cli.session import Session, session_of
from amem_cli.errors import SettingsError
from amem_cli.settings import (
    explanations,
    load_settings,
    parse_setting,
    setting,
    setting_keys,
    user_settings_file,
)

if TYPE_CHECKING:
    from pathlib import Path

    from amem_cli.vault.settings_file import Value
    from amem_cli.workspace.workspace import Workspace

AFTER_RENAMED_PROPERTY = (
    "next: `amem index --rebuild` reads notes by the new name; values under the old name stay in"
    " the notes and count as yours"
)
AFTER_ENCODER = "next: `amem index`, the next search or a running watcher embeds all notes again"
KeyArgument = Annotated[str, Argument(help="For example llm.model.")]
UserOption = Annotated[bool, Option("--user", help="Change the user's settings, not the vault's.")]

config = typer.Typer(
    name="config", help="Read and change settings of the vault or the user.", no_args_is_help=True
)


@config.command("list")
def list_settings(context: typer.Context) -> None:
    """Show all settings, where each comes from, its default, and what it does.

    Examples:

        amem config list
    """
    session = session_of(context)
    with session.workspace(sync=False) as workspace:
        document = {key: _entry(workspace, key) for key in setting_keys()}
    meanings = explanations()
    lines = [
        f"{key} = {entry['value']!r}  ({_origin(entry)})\n    {meanings[key]}"
        for key, entry in document.items()
    ]
    session.output.result(document, lambda console: console.print("\n".join(lines)))


@config.command()
def get(context: typer.Context, key: KeyArgument) -> None:
    """Show one setting, and on stderr where it comes from and its default.

    Examples:

        amem config get evolution.mode
    """
    session = session_of(context)
    with session.workspace(sync=False) as workspace:
        entry = _entry(workspace, key)
    session.output.result({"key": key, **entry}, _as_text(entry["value"]))
    if not session.output.as_json:
        session.output.notice(f"({_origin(entry)})")


@config.command("set")
def set_value(
    context: typer.Context,
    key: KeyArgument,
    value: Annotated[str, Argument(help="The new value. Separate list items with commas.")],
    user: UserOption = False,
) -> None:
    """Change a setting in the vault's config.toml, keeping its comments.

    Examples:

        amem config set evolution.mode off
        amem config set default_vault ~/notes --user
    """
    session = session_of(context)
    new = parse_setting(key, value)
    # A vault's settings travel with the vault, and a key would travel with them.
    if "key" in key.rsplit(".", 1)[-1].split("_"):
        raise SettingsError("keys do not belong in settings", hint="Put it in AMEM_API_KEY.")
    path = _write(session, key, new, user=user)
    document = {"key": key, "value": _as_json(new), "file": str(path)}
    session.output.result(document, f"{key} = {value}  ({path})")


@config.command()
def unset(context: typer.Context, key: KeyArgument, user: UserOption = False) -> None:
    """Remove a setting from the vault's config.toml, so that its default holds again.

    If the user's settings or the environment name it, that holds; what does is shown.

    Examples:

        amem config unset evolution.mode
        amem config unset default_vault --user
    """
    session = session_of(context)
    name = setting(key).name
    path = _write(session, key, None, user=user)
    own = None if user else path
    settings, origins = load_settings(own, user_settings_file(os.environ), os.environ)
    value, origin = _as_json(getattr(settings, name)), origins[key]
    document = {"key": key, "value": value, "from": origin, "file": str(path)}
    session.output.result(document, f"{key} = {_as_text(value)}  ({origin})")


def _write(session: Session, key: str, value: Value | None, *, user: bool) -> Path:
    """Write a setting or, for None, remove it; returns the file."""
    from amem_cli.vault.settings_file import write_values
    from amem_cli.workspace.model_choice import choose

    if user:
        path = user_settings_file(os.environ)
        write_values(path, {key: value})
    else:
        with session.workspace(sync=False) as workspace:
            path = workspace.models.files[1]
            choose(workspace, {key: value})
    if key == "encoder.model":
        session.output.notice(AFTER_ENCODER)
    if key.startswith("properties."):
        session.output.notice(AFTER_RENAMED_PROPERTY)
    return path


def _entry(workspace: Workspace, key: str) -> dict[str, object]:
    """The value of a setting, where it comes from, and its default."""
    item = setting(key)
    return {
        "value": _as_json(getattr(workspace.settings, item.name)),
        "from": workspace.models.origin[key],
        "default": _as_json(item.default),
    }


def _origin(entry: Mapping[str, object]) -> str:
    """Where a value comes from, and the default if that is another place."""
    origin = str(entry["from"])
    return origin if origin == "built-in" else f"{origin}; default {entry['default']!r}"


def _as_json(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _as_text(value: object) -> str:
    return ", ".join(value) if isinstance(value, list) else str(value)
