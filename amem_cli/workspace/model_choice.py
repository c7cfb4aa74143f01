"""Which models a vault uses: chosen by a person, and trusted as far as a test found them fit.

The verdicts of `amem model test` are kept in the user's state folder.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from amem_cli.errors import UsageError
from amem_cli.memory.outcome import ModelTrust
from amem_cli.memory.trust import asked_for, least_plausible
from amem_cli.models.open import server_url
from amem_cli.models.price import price_in
from amem_cli.settings import Settings, checked_value, user_state_folder, write_state

if TYPE_CHECKING:
    from amem_cli.index.records import Progress
    from amem_cli.memory.trial import ModelReport
    from amem_cli.vault.settings_file import Value
    from amem_cli.workspace.workspace import Workspace

VERDICTS_FILE = "model-verdicts.json"
# A model file that changes is a new subject; without a bound the old ones would pile up.
MOST_KEPT = 200
KINDS = ("fit", "usable", "unfit")


def choose(
    workspace: Workspace, changes: Mapping[str, Value | None], *, local: bool = False
) -> None:
    """Change settings of the vault as its user: all of them, or none.

    Choosing a model here allows its download, or its server to get notes, or its command to run
    and to get them; the settings of a vault that was cloned must not.

    Args:
        changes: new values by dotted key, None for the default; a language model's backend, name
            and address together.
        local: the user says that the command sends no text away from this machine.
    """
    from amem_cli.models.open import (
        command_subject,
        consent_subject,
        encoder_subject,
        give_consent,
        local_command_subject,
        usual_url,
        withdraw_consent,
    )
    from amem_cli.vault.settings_file import write_values

    # Before consent is given or anything is written.
    for key, value in changes.items():
        if value is not None:
            checked_value(key, value)
    subjects = [
        encoder_subject(str(changes[key]))
        for key in ("encoder.model", "search.reranker")
        if changes.get(key) is not None
    ]
    backend = changes.get("llm.backend")
    if local and backend != "command":
        raise UsageError("--local is said of a command", hint="Add --backend command.")
    if backend == "command" and "llm.model" in changes:
        from amem_cli.models.command import command_words

        line = str(changes["llm.model"])
        command_words(line, workspace.root, workspace.environment)
        subjects.append(command_subject(line))
        if local:
            subjects.append(local_command_subject(line))
        else:
            withdraw_consent(workspace.root, local_command_subject(line), workspace.environment)
    if backend in ("openai", "ollama") and "llm.model" in changes:
        url = str(changes["llm.base_url"]) or usual_url(str(backend), workspace.environment)
        subjects.append(consent_subject(url, str(changes["llm.model"])))
    for subject in subjects:
        give_consent(workspace.root, subject, workspace.environment)
    write_values(workspace.config_file, changes)


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
        workspace.model,
        seconds=seconds,
        answer_seconds=settings.llm_deadline_seconds,
        progress=progress,
    )
    new, figures = report.verdict, report.figures
    if new is not None and figures is not None:
        today = date.today().isoformat()
        verdict = StoredVerdict(new.kind, new.line, today, figures.reliability)
        # Testing took up to a minute: the result is given even if it cannot be stored.
        try:
            subject = model_subject(settings, workspace.environment)
            store_verdict(subject, verdict, workspace.environment)
        except SettingsError as error:
            workspace.notice(f"! the verdict was not stored: {error.message}")
    cost = None
    if figures is not None:
        tokens = figures.prompt_tokens_per_note, figures.answer_tokens_per_note
        cost = price_in(settings).of(report.model, *tokens)
    return replace(report, notes=workspace.index.notes.count(), cost_per_note=cost)


@dataclass(frozen=True, slots=True)
class StoredVerdict:
    """A verdict that still holds.

    Attributes:
        kind: `fit`, `usable` or `unfit`.
        day: when the test was made, ISO 8601.
        reliability: how often its yes to a link is right, 0..1 (see `memory.trust`).
    """

    kind: str
    line: str
    day: str
    reliability: float


def model_subject(settings: Settings, environment: Mapping[str, str]) -> str:
    """What a verdict is about: a file by its digest (or size and time), a server's model, or a
    command line."""
    if settings.llm_backend == "none":
        return ""
    if settings.llm_backend == "command":
        return f"command {settings.llm_model}"
    if settings.llm_backend != "llama.cpp":
        return f"server {server_url(settings, environment)} {settings.llm_model}"
    if not settings.llm_model:
        return "bundled"
    if settings.llm_sha256:
        return f"sha256 {settings.llm_sha256.lower()}"
    path = Path(settings.llm_model).expanduser()
    try:
        status = path.stat()
    except OSError:
        return ""
    return f"file {path.resolve()} {status.st_size} {status.st_mtime_ns}"


def stored_verdict(subject: str, environment: Mapping[str, str]) -> StoredVerdict | None:
    """The verdict on a model, or None if it was not tested, or with other prompts."""
    if not subject:
        return None
    stored = _verdicts(environment).get(subject)
    if not isinstance(stored, dict) or stored.get("asked_with") != _asked_with():
        return None
    # The file may be damaged or edited; such an entry must not make a model trusted.
    kind, line, day = (str(stored.get(name, "")) for name in ("kind", "line", "day"))
    reliability = stored.get("reliability")
    if kind not in KINDS or not isinstance(reliability, float) or not 0 <= reliability <= 1:
        return None
    return StoredVerdict(kind, line, day, reliability)


def store_verdict(subject: str, verdict: StoredVerdict, environment: Mapping[str, str]) -> None:
    """Remember a verdict.

    Raises:
        SettingsError: it cannot be written.
    """
    if not subject:
        return
    verdicts = {key: each for key, each in _verdicts(environment).items() if key != subject}
    # A verdict that is renewed goes last, so that the bound drops the oldest.
    newest = dict(list(verdicts.items())[-(MOST_KEPT - 1) :])
    # JSON would keep a whole number as one, which is not accepted when it is read.
    reliability = float(verdict.reliability)
    newest[subject] = {**asdict(verdict), "reliability": reliability, "asked_with": _asked_with()}
    write_state(user_state_folder(environment) / VERDICTS_FILE, newest)


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


def trust_in(settings: Settings, environment: Mapping[str, str]) -> ModelTrust:
    """What the language model of the settings is asked for.

    If it was tested, the test decides; otherwise a model that a person named is asked for all,
    and the bundled one for the context alone. The bundled one is never asked for more.
    """
    verdict = stored_verdict(model_subject(settings, environment), environment)
    named = bool(settings.llm_model)
    if verdict is None:
        return ModelTrust("all" if named else "context")

    asked = asked_for(verdict.kind)
    if asked == "all" and not named:
        return ModelTrust("context")
    return ModelTrust(asked, least_plausible(verdict.reliability))


def _asked_with() -> str:
    """The cases and prompts of the test; with others the model may do better or worse."""
    # Not loaded if no model is asked.
    from amem_cli.memory.describe import METADATA_PROMPT
    from amem_cli.memory.link import JOINT_PROMPT, LINKING_PROMPT
    from amem_cli.memory.trial import TRIAL

    return f"{TRIAL} {JOINT_PROMPT} {METADATA_PROMPT} {LINKING_PROMPT}"


def _verdicts(environment: Mapping[str, str]) -> dict[str, object]:
    path = user_state_folder(environment) / VERDICTS_FILE
    try:
        verdicts = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return verdicts if isinstance(verdicts, dict) else {}
