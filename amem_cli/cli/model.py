"""`amem model`: choose and test the models of a vault."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from amem_cli.cli import model_pull
from amem_cli.cli.config import AFTER_ENCODER
from amem_cli.cli.session import session_of
from amem_cli.errors import SettingsError, UsageError
from amem_cli.settings import checked_value
from amem_cli.terminal.output import size

if TYPE_CHECKING:
    from amem_cli.memory.trial import ModelReport
    from amem_cli.settings import Settings
    from amem_cli.terminal.progress import Transferred
    from amem_cli.workspace.workspace import Workspace


model = typer.Typer(
    name="model",
    help="Manage the language model and the encoder of a vault.",
    no_args_is_help=True,
)
model.command("pull")(model_pull.pull)
model.command("rm")(model_pull.rm)


@model.command("list")
def list_models(
    context: typer.Context,
    servers: Annotated[
        bool, typer.Option("--servers/--no-servers", help="Look for model servers on this machine.")
    ] = True,
) -> None:
    """List this vault's models, others on this machine, and some to download.

    amem briefly looks for servers on this machine only: Ollama, llama-server, LM Studio and vLLM
    at their default ports.

    Examples:

        amem model list
    """
    from amem_cli.models.openai_server import expected_servers, running_servers
    from amem_cli.models.store import models_at_hand
    from amem_cli.terminal.models import models_document, models_text

    session = session_of(context)
    with session.workspace(sync=False) as workspace:
        settings = workspace.settings
        shelf = models_at_hand(settings, os.environ)
        verdict = _verdict_line(settings)
    file = settings.llm_model if settings.llm_backend == "llama.cpp" else ""
    running = running_servers(expected_servers(os.environ)) if servers else []
    document = models_document(
        {
            "backend": settings.llm_backend,
            "model": settings.llm_model or None,
            "base_url": settings.llm_base_url or None,
            "verdict": verdict or None,
            "gone": bool(file) and not Path(file).expanduser().is_file(),
        },
        settings.encoder_model,
        shelf,
        running,
    )
    session.output.result(document, models_text(document))


def _verdict_line(settings: Settings) -> str:
    """What `amem model test` found out about the model of these settings; empty if nothing."""
    from amem_cli.models.open import server_url
    from amem_cli.workspace.verdicts import model_subject, stored_verdict

    stored = stored_verdict(model_subject(settings, server_url(settings)), os.environ)
    return f"{stored.line} ({stored.day})" if stored is not None else ""


@model.command()
def use(
    context: typer.Context,
    name: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="A downloaded model, a GGUF file, a model of a server, 'bundled' or 'none'.",
        ),
    ],
    backend: Annotated[
        Literal["llama.cpp", "openai", "ollama", "none"] | None,
        typer.Option(help="What runs the model. By default, amem finds out."),
    ] = None,
    base_url: Annotated[str, typer.Option(help="Address of an OpenAI-compatible server.")] = "",
    encoder: Annotated[bool, typer.Option("--encoder", help="Choose the encoder instead.")] = False,
) -> None:
    """Choose the language model (or encoder) of this vault.

    A server on another machine receives the texts of your notes. Choosing it allows that, for this
    vault on this machine. amem stores a file's digest and checks it before every use.

    Examples:

        amem model use Qwen_Qwen3-4B-Q4_K_M

        amem model use ~/models/qwen3-4b-q4.gguf

        amem model use qwen3:4b --backend ollama

        amem model use none

        amem model use intfloat/multilingual-e5-small --encoder
    """
    from amem_cli.models.open import default_url
    from amem_cli.terminal.progress import transfer_progress
    from amem_cli.vault.settings_file import write_values

    session = session_of(context)
    with session.workspace(sync=False) as workspace:
        if encoder:
            changes, follows = {"encoder.model": name}, []
        else:
            with transfer_progress(session.output) as progress:
                choice = chosen_model(name, backend, base_url, progress)
            changes = choice.settings
            settings = workspace.settings
            follows = what_follows(
                choice,
                choice.base_url or default_url(choice.backend),
                _verdict_line(_settings_of(changes)),
                settings.llm_memory_mb,
                settings.llm_context_tokens,
            )
        # Before consent is given or anything is written: all settings change, or none.
        for key, value in changes.items():
            checked_value(key, value)
        _allow(workspace.root, changes)
        write_values(workspace.config_file, changes)
    if encoder:
        session.output.notice(AFTER_ENCODER)
    lines = [*(f"{key} = {value!r}" for key, value in changes.items()), *follows]
    document: dict[str, Any] = {**changes, "next": follows}
    session.output.result(document, "\n".join(lines))


def _settings_of(changes: Mapping[str, str]) -> Settings:
    from amem_cli.settings import Settings, setting_keys

    names = setting_keys()
    values: dict[str, Any] = {names[key]: value for key, value in changes.items()}
    return Settings(**values)


def _allow(root: Path, changes: dict[str, str]) -> None:
    from amem_cli.models.open import consent_subject, default_url, encoder_subject, give_consent

    # Only a choice made here is consent; a cloned vault's settings are not.
    if "encoder.model" in changes:
        give_consent(root, encoder_subject(changes["encoder.model"]), os.environ)
    backend = changes.get("llm.backend")
    if backend in ("openai", "ollama"):
        url = changes["llm.base_url"] or default_url(backend)
        give_consent(root, consent_subject(url, changes["llm.model"]), os.environ)


@model.command()
def test(
    context: typer.Context,
    seconds: Annotated[
        float,
        typer.Option(
            min=5, max=3600, help="Time limit for the language model, including loading it."
        ),
    ] = 60.0,
) -> None:
    """Test the models, and find out whether the language model is fit for this work.

    The model writes metadata, links and changes for a few sample notes, as it would for yours, and
    must pass the same checks. amem stores the verdict, which decides what it asks the model for
    from then on: everything, only the context, or nothing.

    Examples:

        amem model test

        amem model test --seconds 300
    """
    from amem_cli.memory.trial import test_models
    from amem_cli.terminal.models import report_document, report_text

    session = session_of(context)
    with session.workspace(sync=False) as workspace:
        encoder, language_model = workspace.encoder, workspace.model
        with session.output.progress("testing the models", on_first_call=True) as progress:
            report = test_models(
                encoder,
                language_model,
                seconds=seconds,
                answer_seconds=workspace.settings.llm_deadline_seconds,
                progress=progress,
            )
        # Testing took up to a minute: show the result even if it cannot be stored.
        try:
            _store_verdict(workspace, report)
        except SettingsError as error:
            session.output.notice(f"! the verdict was not stored: {error.message}")
    session.output.result(report_document(report), report_text(report))
    if report.verdict is not None and report.verdict.kind == "unfit":
        raise typer.Exit(1)


def _store_verdict(workspace: Workspace, report: ModelReport) -> None:
    """Store a verdict, unless the model was not reached or the time was too short for one."""
    from amem_cli.models.open import server_url
    from amem_cli.workspace.verdicts import StoredVerdict, model_subject, store_verdict

    answered = any(result.was_answered for result in report.results)
    new, figures = report.verdict, report.figures
    if new is None or figures is None or not new.decided or not answered:
        return
    settings = workspace.settings
    today = date.today().isoformat()
    verdict = StoredVerdict(new.kind, new.line, today, figures.reliability)
    subject = model_subject(settings, server_url(settings))
    store_verdict(subject, verdict, workspace.environment)


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """New values for the settings of the language model.

    Attributes:
        file: the model's file, if it is one.
    """

    backend: str
    model: str = ""
    base_url: str = ""
    sha256: str = ""
    file: Path | None = field(default=None)

    @property
    def settings(self) -> dict[str, str]:
        """By dotted key; values of the previous model are cleared."""
        return {
            "llm.backend": self.backend,
            "llm.model": self.model,
            "llm.base_url": self.base_url,
            "llm.sha256": self.sha256,
        }


def chosen_model(
    name: str, backend: str | None, base_url: str, progress: Transferred
) -> ModelChoice:
    """Find the model with this name: bundled, a file, a downloaded one, or one of a server.

    Raises:
        UsageError: there is none, or more than one.
        ModelError: the file is not a GGUF model.
        SettingsError: the server's address is not valid.
    """
    if name == "none" or backend == "none":
        return ModelChoice("none")
    if name == "bundled":
        return ModelChoice("llama.cpp")
    if backend in ("openai", "ollama") or base_url:
        from amem_cli.models.openai_server import check_address

        if not name.strip():
            raise UsageError("the model's name is empty", hint="amem model list shows some.")
        if base_url:
            check_address(base_url)
        kind = backend or "openai"
        return ModelChoice(kind, name, base_url or (_ollama_here() if kind == "ollama" else ""))
    local = _local(name, progress)
    if local is not None:
        return local
    if backend == "llama.cpp" or name.lower().endswith(".gguf"):
        raise UsageError(
            f"there is no file {name}", hint="Name a GGUF file, or download one: amem model pull."
        )
    return _of_a_server(name)


def _local(name: str, progress: Transferred) -> ModelChoice | None:
    from amem_cli.models.gguf import sha256_of
    from amem_cli.models.llama_cpp import check_model_file
    from amem_cli.models.sources import GGUF_ENDING
    from amem_cli.models.store import ModelStore

    store = ModelStore(os.environ)
    path = Path(name).expanduser()
    pulled = store.find(name) if path.name == name else None
    # `model list` shows names without .gguf; a file without it may be anything.
    if path.is_file() and (pulled is None or path.suffix.lower() == GGUF_ENDING):
        path, known = path.resolve(), ""
    elif pulled is not None:
        path, known = pulled.path, pulled.sha256
    else:
        return None
    check_model_file(path)
    digest = known or sha256_of(path, partial(progress, "checking"))
    return ModelChoice("llama.cpp", str(path), "", digest, path)


def _ollama_here() -> str:
    """Ollama's address on this machine, if it is not the default."""
    from amem_cli.models.openai_server import USUAL_SERVERS, expected_servers

    place = expected_servers(os.environ)[0]
    return "" if place == USUAL_SERVERS[0] else place.url


def _of_a_server(name: str) -> ModelChoice:
    from amem_cli.models.openai_server import expected_servers, running_servers
    from amem_cli.models.sources import HubModel, recommended, source_of

    servers = [
        server for server in running_servers(expected_servers(os.environ)) if name in server.models
    ]
    if len(servers) == 1:
        return ModelChoice(servers[0].backend, name, servers[0].url)
    if servers:
        urls = ", ".join(server.url for server in servers)
        raise UsageError(f"{name} is on more than one server", hint=f"Name one: --base-url {urls}")
    if recommended(name) is not None or isinstance(source_of(name), HubModel):
        raise UsageError(f"{name} is not on this machine", hint=f"amem model pull {name}")
    raise UsageError(
        f"no downloaded model and no server on this machine has the name {name!r}",
        hint="amem model list shows all; --base-url URL names a server.",
    )


def what_follows(
    choice: ModelChoice, url: str, verdict: str, memory_mb: int, context_tokens: int
) -> list[str]:
    """What to know after choosing a model, one line each.

    Args:
        url: of the model's server, if it has one.
        verdict: of an earlier test, or an empty text.
        memory_mb, context_tokens: the settings that limit the model.
    """
    if choice.backend == "none":
        return ["amem works without a language model."]
    lines = []
    if choice.file is not None:
        lines += _memory(choice.file, memory_mb, context_tokens)
    if choice.backend in ("openai", "ollama"):
        lines += _privacy(choice, url)
    if verdict:
        lines.append(f"tested before: {verdict}")
    elif choice.model:
        lines.append(
            "next: amem model test, to see within a minute whether it is fit for this work"
        )
    return lines


def _privacy(choice: ModelChoice, url: str) -> list[str]:
    from amem_cli.models.http import host_of, is_loopback
    from amem_cli.models.openai_server import runs_elsewhere

    host = host_of(url)
    if is_loopback(host) and not runs_elsewhere(choice.model):
        return [f"It runs at {url}; the texts of your notes stay on this machine."]
    where = "another machine" if is_loopback(host) else host
    return [
        f"The texts of your notes go to {where}, except those with private: true."
        " To limit what you spend: amem config set llm.daily_tokens N"
    ]


def _memory(file: Path, memory_mb: int, context_tokens: int) -> list[str]:
    import psutil

    from amem_cli.models.gguf import NotGguf, memory_needed

    try:
        needed = memory_needed(file, context_tokens)
    except (NotGguf, OSError):
        return []
    memory = psutil.virtual_memory()
    lines = [f"It needs about {size(needed)} of memory; {size(memory.available)} are free."]
    if needed > memory.total:
        lines.append("That is more than this machine has; choose a smaller model.")
    elif needed > memory.available:
        lines.append("Close other programs, or it will be slow.")
    if needed > memory_mb * 2**20:
        # The estimate is rough, so suggest a quarter more.
        lines.append(
            f"llm.memory_mb only allows {memory_mb} MB: amem config set llm.memory_mb"
            f" {-(-needed * 5 // 4 // 2**20)}"
        )
    return lines
