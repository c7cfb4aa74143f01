"""Which models a vault uses: chosen by a person, and tested."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from amem_cli.models.open import server_url
from amem_cli.settings import Settings, checked_value
from amem_cli.workspace.verdicts import StoredVerdict, model_subject, store_verdict

if TYPE_CHECKING:
    from amem_cli.index.records import Progress
    from amem_cli.memory.trial import ModelReport
    from amem_cli.vault.settings_file import Value
    from amem_cli.workspace.workspace import Workspace


def choose(workspace: Workspace, changes: Mapping[str, Value | None]) -> None:
    """Change settings of the vault as its user: all of them, or none.

    Choosing a model here allows its download, or its server to get notes, or its command to run
    and to get them; the settings of a vault that was cloned must not.

    Args:
        changes: new values by dotted key, None for the default; a language model's backend, name
            and address together.
    """
    from amem_cli.models.open import (
        command_subject,
        consent_subject,
        encoder_subject,
        give_consent,
        usual_url,
    )
    from amem_cli.vault.settings_file import write_values

    # Before consent is given or anything is written.
    for key, value in changes.items():
        if value is not None:
            checked_value(key, value)
    encoder = changes.get("encoder.model")
    subjects = [] if encoder is None else [encoder_subject(str(encoder))]
    backend = changes.get("llm.backend")
    if backend == "command" and "llm.model" in changes:
        from amem_cli.models.command import command_words

        line = str(changes["llm.model"])
        command_words(line, workspace.root, workspace.environment)
        subjects.append(command_subject(line))
    if backend in ("openai", "ollama") and "llm.model" in changes:
        url = str(changes["llm.base_url"]) or usual_url(str(backend), workspace.environment)
        subjects.append(consent_subject(url, str(changes["llm.model"])))
    for subject in subjects:
        give_consent(workspace.root, subject, workspace.environment)
    write_values(workspace.models.files[1], changes)


def report_on_models(
    workspace: Workspace, seconds: float, progress: Progress | None
) -> ModelReport:
    """Test the models of a vault, and keep the verdict; without one, a former verdict stays.

    Args:
        seconds: for the language model in all.
    """
    from amem_cli.errors import SettingsError
    from amem_cli.memory.trial import test_models

    settings = workspace.settings
    report = test_models(
        workspace.encoder,
        workspace.models.model,
        seconds=seconds,
        answer_seconds=settings.llm_deadline_seconds,
        progress=progress,
    )
    new, figures = report.verdict, report.figures
    if new is not None and figures is not None:
        today = date.today().isoformat()
        verdict = StoredVerdict(new.kind, new.line, today, figures.reliability, new.keywords)
        # Testing took up to a minute: the result is given even if it cannot be stored.
        try:
            subject = model_subject(settings, workspace.environment)
            store_verdict(subject, verdict, workspace.environment)
        except SettingsError as error:
            workspace.notice(f"! the verdict was not stored: {error.message}")
    return replace(report, notes=workspace.index.notes.count())


def leaves_machine(settings: Settings, environment: Mapping[str, str]) -> bool:
    """Whether the model of the settings takes texts to another machine, as far as amem knows.

    Raises:
        SettingsError: `OLLAMA_HOST` decides and cannot be read.
    """
    if settings.llm_backend not in ("openai", "ollama"):
        return settings.llm_backend == "command"
    from amem_cli.models.http import host_of, is_loopback
    from amem_cli.models.openai_server import runs_elsewhere

    here = is_loopback(host_of(server_url(settings, environment)))
    return not here or runs_elsewhere(settings.llm_model)


def is_gone(settings: Settings, environment: Mapping[str, str]) -> bool:
    """Whether the model's file or program is no longer on this machine."""
    from amem_cli.models.command import names_program

    name = settings.llm_model
    if settings.llm_backend == "command":
        return not names_program(name, environment)
    return (
        settings.llm_backend == "llama.cpp" and bool(name) and not Path(name).expanduser().is_file()
    )
