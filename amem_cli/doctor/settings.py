"""Checks the settings, and reads as many of them as can be used."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from amem_cli.doctor.finding import Finding
from amem_cli.errors import AmemError, SettingsError
from amem_cli.settings import (
    CONFIG_NAME,
    ENVIRONMENT_PREFIX,
    Settings,
    checked_value,
    load_settings,
    parse_setting,
    read_settings_file,
    setting_keys,
)

_LINE = re.compile(r"\bline ([0-9]+)")


@dataclass(frozen=True, slots=True)
class UsableSettings:
    """The settings as far as they can be used.

    Attributes:
        origin: the layer of each by dotted key.
        trusted: nothing was left out, so that the notes are read as their owner wants them.
    """

    settings: Settings
    origin: Mapping[str, str]
    findings: tuple[Finding, ...]
    trusted: bool


def read_settings(
    vault_file: Path | None, user_file: Path, environment: Mapping[str, str]
) -> UsableSettings:
    """Every layer's settings, without those that do not fit; each of these is a finding.

    Args:
        vault_file: None if the vault's own must not be read.
    """
    findings: list[Finding] = []
    settings = Settings()
    origin = dict.fromkeys(setting_keys(), "built-in")
    layers = (
        ("user", _file_values(user_file, str(user_file), findings)),
        ("vault", _file_values(vault_file, f".amem/{CONFIG_NAME}", findings)),
        ("environment", _environment_values(environment, findings)),
    )
    for layer, values in layers:
        changes = {setting_keys()[key]: value for key, value in values.items()}
        settings = replace(settings, **changes)
        origin.update(dict.fromkeys(values, layer))
    broken = any(finding.severity == "problem" for finding in findings)
    try:
        settings, found = load_settings(vault_file, user_file, environment)
        origin = dict(found)
    except SettingsError as error:
        if not broken:
            findings.append(Finding("settings", "", error.message, error.hint))
        broken = True
    return UsableSettings(settings, origin, tuple(findings), not broken)


def _file_values(path: Path | None, shown: str, findings: list[Finding]) -> dict[str, Any]:
    if path is None:
        return {}
    try:
        values = read_settings_file(path)
    except SettingsError as error:
        line = _LINE.search(error.message)
        hint = "Correct the file; until then none of its settings counts."
        number = int(line[1]) if line else 0
        findings.append(Finding("settings", shown, error.message, hint, number))
        return {}
    usable = {}
    known = setting_keys()
    for key, value in values.items():
        place = _line_of(path, key)
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"Did you mean {near[0]}?" if near else "`amem config list` shows all of them."
            findings.append(Finding("settings", shown, f"there is no setting {key}", hint, place))
            continue
        try:
            usable[key] = checked_value(key, value)
        except AmemError as error:
            hint = error.hint or "Correct the value, or remove the line for the default."
            findings.append(Finding("settings", shown, error.message, hint, place))
    return usable


def _environment_values(environment: Mapping[str, str], findings: list[Finding]) -> dict[str, Any]:
    usable = {}
    for key, name in setting_keys().items():
        variable = ENVIRONMENT_PREFIX + name.upper()
        text = environment.get(variable)
        if not text:
            continue
        try:
            usable[key] = parse_setting(key, text)
        except AmemError as error:
            message = f"the variable {variable}: {error.message}"
            findings.append(Finding("settings", "", message, error.hint or "Unset or correct it."))
    return usable


def _line_of(path: Path, key: str) -> int:
    """Where a setting stands; 0 if that cannot be told."""
    section, _, name = key.rpartition(".")
    inside = not section
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return 0
    for number, line in enumerate(lines, 1):
        stripped = line.strip()
        if stripped.startswith("["):
            inside = stripped.strip("[] ") == section
        elif inside and stripped.partition("=")[0].strip(" \"'") == name:
            return number
    return 0
