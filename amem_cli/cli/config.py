"""`amem config`: read and change settings."""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Argument, Option

from amem_cli.cli.session import session_of

AFTER_RENAMED_PROPERTY = (
    "next: `amem index --rebuild` reads notes by the new name; values under the old name stay in"
    " the notes and count as yours"
)
AFTER_ENCODER = (
    "next: `amem index` embeds all notes again; until then, searches use the old vectors"
)

config = typer.Typer(
    name="config", help="Read and change settings of the vault or the user.", no_args_is_help=True
)


@config.command("list")
def list_settings(context: typer.Context) -> None:
    """Show all settings, where each comes from and what it does.

    Examples:

        amem config list
    """
    from amem_cli.settings import explanations, setting_keys

    session = session_of(context)
    with session.workspace(sync=False) as workspace:
        settings, origin = workspace.settings, workspace.models.origin
    document = {
        key: {"value": _as_json(getattr(settings, name)), "from": origin[key]}
        for key, name in setting_keys().items()
    }
    told = explanations()
    lines = [
        f"{key} = {entry['value']!r}  ({entry['from']})\n    {told[key]}"
        for key, entry in document.items()
    ]
    session.output.result(document, "\n".join(lines))


@config.command()
def get(
    context: typer.Context, key: Annotated[str, Argument(help="For example llm.model.")]
) -> None:
    """Show one setting.

    Examples:

        amem config get evolution.mode
    """
    from amem_cli.settings import field_of

    session = session_of(context)
    name = field_of(key)
    with session.workspace(sync=False) as workspace:
        value = _as_json(getattr(workspace.settings, name))
    text = ", ".join(value) if isinstance(value, list) else str(value)
    session.output.result({"key": key, "value": value}, text)


@config.command("set")
def set_value(
    context: typer.Context,
    key: Annotated[str, Argument(help="For example llm.model.")],
    value: Annotated[str, Argument(help="The new value. Separate list items with commas.")],
    user: Annotated[
        bool, Option("--user", help="Change the user's settings, not the vault's.")
    ] = False,
) -> None:
    """Change a setting in the vault's config.toml, keeping its comments.

    Examples:

        amem config set evolution.mode off
        amem config set default_vault ~/notes --user
    """
    from amem_cli.errors import SettingsError
    from amem_cli.settings import CONFIG_NAME, parse_setting, user_config_folder
    from amem_cli.vault.settings_file import write_values
    from amem_cli.workspace.model_choice import choose

    session = session_of(context)
    new = parse_setting(key, value)
    # A vault's settings travel with the vault, and a key would travel with them.
    if "key" in key.rsplit(".", 1)[-1].split("_"):
        raise SettingsError("keys do not belong in settings", hint="Put it in AMEM_API_KEY.")
    if user:
        path = user_config_folder() / CONFIG_NAME
        write_values(path, {key: new})
    else:
        with session.workspace(sync=False) as workspace:
            path = workspace.config_file
            choose(workspace, {key: new})
    if key == "encoder.model":
        session.output.notice(AFTER_ENCODER)
    if key.startswith("properties."):
        session.output.notice(AFTER_RENAMED_PROPERTY)
    document = {"key": key, "value": _as_json(new), "file": str(path)}
    session.output.result(document, f"{key} = {value}  ({path})")


def _as_json(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value
