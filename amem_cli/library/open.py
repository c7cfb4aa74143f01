"""Opens the vault that a program names, with the models that it names."""

from __future__ import annotations

import logging
import os
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Any

from amem_cli.errors import SettingsError, UsageError
from amem_cli.settings import STATE_FOLDER, Settings, checked_value, key_of
from amem_cli.workspace.workspace import Workspace

DEFAULT_FOLDER = "amem-vault"
KEY_VARIABLE = "AMEM_API_KEY"
# The process that opened the first vault. A child that it forks inherits what SQLite and the
# encoder think of locks and threads, and must not open a vault.
_processes: list[int] = []
# What such a child inherits is kept for good: closing it there would harm the parent's.
_inherited: list[object] = []
# Servers that A-MEM's users run, by the protocol that they speak.
_PROTOCOL_OF = {"lmstudio": "openai", "sglang": "openai", "vllm": "openai"}

log = logging.getLogger("amem_cli")
# A library prints nothing; a program that wants its messages sets up logging.
log.addHandler(logging.NullHandler())


class _Environment(dict[str, str]):
    """Variables that `repr` does not show, as keys are among them."""

    def __repr__(self) -> str:
        return f"<{len(self)} variables>"


def open_workspace(
    vault: str | Path | None,
    model_name: str | None,
    llm_backend: str | None,
    llm_model: str | None,
    api_key: str | None,
    base_url: str | None,
) -> Workspace:
    """The vault with these settings over its own; made if there is none.

    Raises:
        UsageError, SettingsError: the arguments do not fit, the folder cannot be made a vault, or
            the process was forked from one that had opened a vault.
        ModelError: the named language model is missing.
    """
    refuse_fork()
    backend = _PROTOCOL_OF.get(llm_backend or "", llm_backend)
    if backend != llm_backend and not base_url:
        raise UsageError(
            f"{llm_backend} is a server whose address is needed", hint="Give its base_url."
        )
    # Otherwise a vault given as the first argument would be loaded as an encoder.
    if model_name and (Path(model_name).expanduser() / STATE_FOLDER).is_dir():
        raise UsageError(f"{model_name} is a vault", hint=f"Write vault={model_name!r}.")
    chosen = {
        # A vault may have chosen another one; two would take turns at its index.
        "encoder_model": None if model_name == Settings().encoder_model else model_name,
        "llm_backend": backend,
        "llm_model": llm_model,
        "llm_base_url": base_url,
    }
    given: dict[str, Any] = {
        name: checked_value(key_of(name), value, place="AgenticMemorySystem")
        for name, value in chosen.items()
        if value is not None
    }
    environment = _Environment(os.environ)
    if api_key:
        # It goes no further than this mapping: never to a file, a log or a child process.
        environment[KEY_VARIABLE] = api_key
    root = Path(vault or environment.get("AMEM_VAULT") or DEFAULT_FOLDER).expanduser().resolve()
    _make_vault(root)
    workspace = Workspace(root, overrides=given, notify=log_notice, environment=environment)
    if llm_backend or llm_model or base_url or api_key:
        _refuse_unusable_model(workspace)
    return workspace


def refuse_fork(inherited: object = None) -> None:
    """Remember the process that opens the first vault, and refuse its forked children.

    What these inherited is kept as it is.
    """
    if not _processes:
        _processes.append(os.getpid())
    if os.getpid() != _processes[0]:
        _inherited.append(inherited)
        raise UsageError(
            "a memory was opened before this process was forked",
            hint="Start processes by `spawn`, or open the first memory after the fork.",
        )


def call_of(workspace: Workspace, in_step: bool = True) -> AbstractContextManager[Workspace]:
    """One call of a program; see `Workspace.call`."""
    refuse_fork(workspace)
    return workspace.call(in_step=in_step)


def close(workspace: Workspace, process: int) -> None:
    """Close a vault, unless the process is a fork of the one that opened it."""
    if os.getpid() == process:
        workspace.close()
    else:
        _inherited.append(workspace)


def _refuse_unusable_model(workspace: Workspace) -> None:
    """Report now, and not note by note, that the named model cannot be used."""
    settings = workspace.settings
    file = Path(settings.llm_model).expanduser()
    if settings.llm_backend == "llama.cpp" and settings.llm_model and not file.is_file():
        raise SettingsError(f"there is no model file {file}", hint="Name a GGUF file.")
    _ = workspace.models.model


def _make_vault(root: Path) -> None:
    if (root / STATE_FOLDER).is_dir():
        return
    from amem_cli.editing.edit import record_baseline
    from amem_cli.vault.template import adopt_vault

    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(f"cannot make {root}: {error.strerror}") from None
    # Not create_vault: a program's memory begins without sample notes.
    adopt_vault(root)
    with closing(Workspace(root)) as fresh:
        record_baseline(fresh.ports)


def log_notice(text: str) -> None:
    """Log a notice: a warning if it begins with an exclamation mark, or says that git refused."""
    level = logging.WARNING if text.startswith(("! ", "git: ")) else logging.INFO
    log.log(level, "%s", text.removeprefix("! "))
