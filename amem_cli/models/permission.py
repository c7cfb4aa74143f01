"""Where the key of a model's server comes from: the environment, else the system's keyring.

Which servers and encoders the user of this machine chose for which vault; kept outside of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from amem_cli.errors import SettingsError
from amem_cli.locations import user_state_folder, write_state

API_KEY_VARIABLES = ("AMEM_API_KEY", "OPENAI_API_KEY")
KEYRING_SERVICE = "amem"


def api_key_for(host: str, environment: Mapping[str, str]) -> str | None:
    """The key for a server, or None where the user has none.

    The keyring is asked only where the optional package `keyring` is installed; a key is put there
    by `keyring set amem HOST`.

    Args:
        host: the server's host, without a port.
    """
    for name in API_KEY_VARIABLES:
        if environment.get(name):
            return environment[name]
    return _from_keyring(host)


def _from_keyring(host: str) -> str | None:
    try:
        import keyring
    except ImportError:
        return None
    try:
        found = keyring.get_password(KEYRING_SERVICE, host)
    # Backends raise errors of their own and of the system's; all mean that no key is to be had.
    except Exception:
        return None
    return str(found) if found else None


CONSENTS_FILE = "remote-models.json"


def consent_subject(url: str, model: str) -> str:
    """What the user agrees to: a server, and the model too where that decides who reads along."""
    from amem_cli.models.openai_server import runs_elsewhere

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
    path = user_state_folder(environment) / CONSENTS_FILE
    write_state(path, [*consents, [str(root), subject]])


def _consents(environment: Mapping[str, str]) -> list[list[str]]:
    path = user_state_folder(environment) / CONSENTS_FILE
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
    from amem_cli.models.encoder_files import EncoderMissing, find_encoder

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
