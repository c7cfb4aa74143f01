"""Which servers and encoders the user of this machine chose for which vault; kept outside of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from amem_cli import config
from amem_cli.adapters.state_file import write_state
from amem_cli.core.errors import SettingsError

CONSENTS_FILE = "remote-models.json"


def consent_subject(url: str, model: str) -> str:
    """What the user agrees to: a server, and the model too where that decides who reads along."""
    from amem_cli.adapters.openai_server import runs_elsewhere

    return f"{url} {model}" if runs_elsewhere(model) else url


def encoder_subject(encoder: str) -> str:
    """What the user agrees to: that an encoder is downloaded."""
    return f"encoder {encoder}"


def consented(root: Path, subject: str, environment: Mapping[str, str]) -> bool:
    """True where the user of this machine chose this server for this vault."""
    return [str(root), subject] in _consents(environment)


def give_consent(root: Path, subject: str, environment: Mapping[str, str]) -> None:
    """Remember that the user of this machine chose this server for this vault.

    Raises:
        SettingsError: it cannot be written.
    """
    consents = [each for each in _consents(environment) if each != [str(root), subject]]
    path = config.user_state_folder(environment) / CONSENTS_FILE
    write_state(path, [*consents, [str(root), subject]])


def _consents(environment: Mapping[str, str]) -> list[list[str]]:
    path = config.user_state_folder(environment) / CONSENTS_FILE
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return []
    return [each for each in found if isinstance(each, list)] if isinstance(found, list) else []


def refuse_unasked_download(
    encoder: str, root: Path, environment: Mapping[str, str], *, key: str = "encoder.model"
) -> None:
    """A vault that somebody shared must not make this machine download what it names.

    Args:
        key: the setting that names it.

    Raises:
        SettingsError: the encoder is not here, and nobody on this machine chose it.
    """
    from amem_cli.adapters.encoder_models import EncoderMissing, find_encoder

    if consented(root, encoder_subject(encoder), environment):
        return
    try:
        find_encoder(encoder)
    except EncoderMissing:
        kind = key.rpartition(".")[2] if key != "encoder.model" else "encoder"
        raise SettingsError(
            f"this vault's settings name the {kind} {encoder}, which is not on this machine",
            hint=f"To download it: amem config set {key} {encoder}",
        ) from None
