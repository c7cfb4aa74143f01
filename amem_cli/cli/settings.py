"""`amem config`."""

from __future__ import annotations

from typing import Annotated

import typer

from amem_cli.cli.session import session_of

_AFTER_NAME = (
    "next: amem index --rebuild reads the notes by this name; what stands in them under the former"
    " name stays, and counts as yours"
)
AFTER_ENCODER = "next: amem index embeds the notes anew; searches use the former vectors until then"


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    group = typer.Typer(
        name="config", help="Settings of the vault and of the user.", no_args_is_help=True
    )
    group.command("list")(list_settings)
    group.command("get")(get)
    group.command("set")(set_value)
    app.add_typer(group)


def list_settings(context: typer.Context) -> None:
    """All settings in force and where each comes from.

    Examples:

        amem config list
    """
    from amem_cli.settings import setting_keys

    session = session_of(context)
    with session.workspace(sync=False) as workspace:
        settings, origin = workspace.settings, workspace.origin
    document = {
        key: {"value": _shown(getattr(settings, name)), "from": origin[key]}
        for key, name in setting_keys().items()
    }
    lines = [f"{key} = {entry['value']!r}  ({entry['from']})" for key, entry in document.items()]
    session.output.result(document, lambda _: session.output.plain("\n".join(lines)))


def get(
    context: typer.Context, key: Annotated[str, typer.Argument(help="Such as llm.model.")]
) -> None:
    """One setting.

    Examples:

        amem config get evolution.mode
    """
    from amem_cli.settings import field_of

    session = session_of(context)
    name = field_of(key)
    with session.workspace(sync=False) as workspace:
        value = _shown(getattr(workspace.settings, name))
    text = ", ".join(value) if isinstance(value, list) else str(value)
    session.output.result({"key": key, "value": value}, lambda _: session.output.plain(text))


def set_value(
    context: typer.Context,
    key: Annotated[str, typer.Argument(help="Such as llm.model.")],
    value: Annotated[str, typer.Argument(help="The new value; lists with commas.")],
    user: Annotated[
        bool, typer.Option("--user", help="In the user's settings instead of the vault's.")
    ] = False,
) -> None:
    """Change a setting in the vault's config.toml, keeping its comments.

    Examples:

        amem config set evolution.mode off

        amem config set default_vault ~/notes --user
    """
    import os

    from amem_cli.errors import SettingsError
    from amem_cli.locations import user_config_folder
    from amem_cli.models.open import encoder_subject, give_consent
    from amem_cli.settings import CONFIG_NAME, parse_setting
    from amem_cli.vault.settings_file import write_value

    session = session_of(context)
    new = parse_setting(key, value)
    if "key" in key.rsplit(".", 1)[-1].split("_"):
        raise SettingsError("keys do not belong into settings", hint="Put it into AMEM_API_KEY.")
    if user:
        path = user_config_folder() / CONFIG_NAME
    else:
        with session.workspace(sync=False) as workspace:
            path = workspace.config_file
        if key in ("encoder.model", "search.reranker"):
            # Whoever sets it here may be made to download it; whoever clones the vault may not.
            give_consent(path.parent.parent, encoder_subject(str(new)), os.environ)
    write_value(path, key, new)
    if key == "encoder.model":
        session.output.notice(AFTER_ENCODER)
    if key.startswith("properties."):
        session.output.notice(_AFTER_NAME)
    document = {"key": key, "value": _shown(new), "file": str(path)}
    session.output.result(document, lambda _: session.output.plain(f"{key} = {value}  ({path})"))


def _shown(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value
