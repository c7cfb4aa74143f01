"""Opens the vault that a program names, with the models that it names."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

from amem_cli import config
from amem_cli.core.errors import SettingsError, UsageError
from amem_cli.vault_location import STATE_FOLDER
from amem_cli.wiring import Workspace

DEFAULT_FOLDER = "amem-vault"
KEY_VARIABLE = "AMEM_API_KEY"
# Servers that A-MEM's users run, by the protocol that they speak.
_SPOKEN_BY = {"lmstudio": "openai", "sglang": "openai", "vllm": "openai"}

log = logging.getLogger("amem_cli")
# A library prints nothing; a program that wants to hear it sets up logging.
log.addHandler(logging.NullHandler())


def open_workspace(
    vault: str | Path | None,
    *,
    model_name: str | None,
    llm_backend: str | None,
    llm_model: str | None,
    api_key: str | None,
    base_url: str | None,
) -> Workspace:
    """The vault with these settings over its own; made where there is none.

    Raises:
        UsageError, SettingsError: the arguments do not fit, or the folder cannot be made a vault.
        ModelError: the named language model is not there.
    """
    backend = _SPOKEN_BY.get(llm_backend or "", llm_backend)
    if backend != llm_backend and not base_url:
        raise UsageError(
            f"{llm_backend} is a server whose address is needed", hint="Give its base_url."
        )
    if model_name and (Path(model_name).expanduser() / STATE_FOLDER).is_dir():
        raise UsageError(f"{model_name} is a vault", hint=f"Write vault={model_name!r}.")
    chosen = {
        "encoder_model": model_name,
        "llm_backend": backend,
        "llm_model": llm_model,
        "llm_base_url": base_url,
    }
    given: dict[str, Any] = {
        name: config.checked(config.key_of(name), value, place="AgenticMemorySystem")
        for name, value in chosen.items()
        if value is not None
    }
    environment = dict(os.environ)
    if api_key:
        # It goes no further than this mapping: never to a file, a log or a child process.
        environment[KEY_VARIABLE] = api_key
    root = Path(vault or environment.get("AMEM_VAULT") or DEFAULT_FOLDER).expanduser().resolve()
    _make_vault(root)
    workspace = Workspace(root, overrides=given, notify=tell, environment=environment)
    if llm_backend or llm_model or base_url or api_key:
        _refuse_unusable_model(workspace)
    return workspace


def _refuse_unusable_model(workspace: Workspace) -> None:
    """Whoever names a model hears now that it cannot be used, not note by note."""
    settings = workspace.settings
    file = Path(settings.llm_model).expanduser()
    if settings.llm_backend == "llama.cpp" and settings.llm_model and not file.is_file():
        raise SettingsError(f"there is no model file {file}", hint="Name a GGUF file.")
    _ = workspace.model


def _make_vault(root: Path) -> None:
    if (root / STATE_FOLDER).is_dir():
        return
    from amem_cli.adapters.vault_template import adopt_vault
    from amem_cli.services.init import take_stock

    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(f"cannot make {root}: {error.strerror}") from None
    adopt_vault(root)
    fresh = Workspace(root)
    try:
        take_stock(fresh.ports)
    finally:
        fresh.close()


def tell(text: str) -> None:
    """Log a notice: a warning where it begins with an exclamation mark."""
    level = logging.WARNING if text.startswith("! ") else logging.INFO
    log.log(level, "%s", text.removeprefix("! "))
