"""Checks the settings, and gives as many of them as are valid."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from amem_cli.doctor.finding import Finding
from amem_cli.errors import AmemError
from amem_cli.settings import (
    CONFIG_NAME,
    ENVIRONMENT_PREFIX,
    Settings,
    load_settings,
    setting_keys,
)

_LINE = re.compile(r"\bline ([0-9]+)")


@dataclass(frozen=True, slots=True)
class UsableSettings:
    """The valid settings."""

    settings: Settings
    origin: Mapping[str, str]
    findings: tuple[Finding, ...]
    trusted: bool


def read_settings(
    vault_file: Path | None, user_file: Path, environment: Mapping[str, str]
) -> UsableSettings:
    """Every layer's valid settings; each invalid one is a finding.

    Args:
        vault_file: None if the vault's own must not be read.
    """
    files = {"user": (user_file, str(user_file)), "vault": (vault_file, f".amem/{CONFIG_NAME}")}
    findings: list[Finding] = []

    def report(layer: str, key: str, error: AmemError) -> None:
        file, shown = files.get(layer, (None, ""))
        message, hint, line = error.message, error.hint, 0
        if file is not None and key:
            hint = hint or "Correct the value, or remove the line to use the default."
            line = _line_of(file, key)
        elif file is not None:
            hint = "Correct the file; until then none of its settings is used."
            found = _LINE.search(message)
            line = int(found[1]) if found else 0
        elif key:
            message = f"the variable {ENVIRONMENT_PREFIX}{setting_keys()[key].upper()}: {message}"
            hint = hint or "Unset or correct it."
        findings.append(Finding(shown, message, hint, line))

    settings, origin = load_settings(vault_file, user_file, environment, report=report)
    return UsableSettings(settings, origin, tuple(findings), not findings)


def _line_of(path: Path, key: str) -> int:
    """The 1-based line of a setting; 0 if it cannot be determined."""
    section, _, name = key.rpartition(".")
    current = ""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        stripped = line.strip()
        if stripped.startswith("["):
            current = stripped.strip("[] ")
        elif current == section and stripped.partition("=")[0].strip(" \"'") == name:
            return number
    return 0
