"""`amem model`.

What a person means by a model to use, and what the settings become by it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from amem_cli.cli import model_pull as model_pulling
from amem_cli.cli.session import session_of
from amem_cli.cli.settings import AFTER_ENCODER
from amem_cli.errors import SettingsError, UsageError
from amem_cli.terminal.progress import Transferred, size

if TYPE_CHECKING:
    from amem_cli.memory.trial import ModelReport
    from amem_cli.settings import Settings
    from amem_cli.workspace.workspace import Workspace


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    group = typer.Typer(
        name="model", help="The language model and the encoder of a vault.", no_args_is_help=True
    )
    group.command("list")(list_models)
    group.command("pull")(model_pulling.pull)
    group.command("use")(use)
    group.command("test")(test)
    group.command("rm")(model_pulling.remove)
    app.add_typer(group)


def list_models(
    context: typer.Context,
    servers: Annotated[
        bool, typer.Option("--servers/--no-servers", help="Look for servers on this machine.")
    ] = True,
) -> None:
    """The models of this vault, those at hand, those of servers that run here, and some to try.

    Servers are looked for on this machine alone: Ollama, llama-server, LM Studio and vLLM at their
    usual ports, for a moment.

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
        verdict = _stored_verdict(workspace)
        gone = _is_gone(settings)
    found = running_servers(expected_servers(os.environ)) if servers else []
    document = models_document(
        {
            "backend": settings.llm_backend,
            "model": settings.llm_model or None,
            "base_url": settings.llm_base_url or None,
            "verdict": verdict or None,
            "gone": gone,
        },
        settings.encoder_model,
        shelf,
        found,
    )
    session.output.result(document, lambda _: session.output.plain(models_text(document)))


def _is_gone(settings: Settings) -> bool:
    """True where the vault's model is a file that is not there any more."""
    named = settings.llm_model if settings.llm_backend == "llama.cpp" else ""
    return bool(named) and not Path(named).expanduser().is_file()


def _stored_verdict(workspace: Workspace) -> str:
    from amem_cli.models.open import server_url
    from amem_cli.workspace.verdicts import model_subject, stored_verdict

    settings = workspace.settings
    found = stored_verdict(model_subject(settings, server_url(settings)), workspace.environment)
    return f"{found.line} ({found.day})" if found is not None else ""


def use(
    context: typer.Context,
    model: Annotated[
        str,
        typer.Argument(
            help="A fetched model, a GGUF file, a model of a server, 'bundled' or 'none'."
        ),
    ],
    backend: Annotated[
        str | None, typer.Option(help="llama.cpp, openai, ollama or none; guessed if missing.")
    ] = None,
    base_url: Annotated[str, typer.Option(help="An OpenAI-compatible server.")] = "",
    encoder: Annotated[
        bool, typer.Option("--encoder", help="The encoder, not the language model.")
    ] = False,
) -> None:
    """Choose the language model (or encoder) of this vault.

    A server on another machine gets the texts of your notes; choosing it here allows that for
    this vault on this machine. A file's digest is remembered and checked before every use.

    Examples:

        amem model use Qwen_Qwen3-4B-Q4_K_M

        amem model use ~/models/qwen3-4b-q4.gguf

        amem model use qwen3:4b --backend ollama

        amem model use none

        amem model use intfloat/multilingual-e5-small --encoder
    """
    from amem_cli.settings import checked_value
    from amem_cli.terminal.progress import transfer_progress
    from amem_cli.vault.settings_file import write_values

    checked = checked_value
    from amem_cli.models.open import default_url

    session = session_of(context)
    with session.workspace(sync=False) as workspace:
        if encoder:
            changes, follows = {"encoder.model": model}, []
        else:
            with transfer_progress(session.output) as progress:
                choice = chosen_model(model, backend, base_url, progress)
            changes = choice.settings
            settings = workspace.settings
            follows = what_follows(
                choice,
                choice.base_url or default_url(choice.backend),
                verdict_line(changes),
                settings.llm_memory_mb,
                settings.llm_context_tokens,
            )
        for key, value in changes.items():
            checked(key, value)
        _allow(workspace.root, changes)
        write_values(workspace.config_file, changes)
    if encoder:
        session.output.notice(AFTER_ENCODER)
    lines = [*(f"{key} = {value!r}" for key, value in changes.items()), *follows]
    document: dict[str, Any] = {**changes, "next": follows}
    session.output.result(document, lambda _: session.output.plain("\n".join(lines)))


def _allow(root: Path, changes: dict[str, str]) -> None:
    from amem_cli.models.open import consent_subject, default_url, encoder_subject, give_consent

    if "encoder.model" in changes:
        give_consent(root, encoder_subject(changes["encoder.model"]), os.environ)
    backend = changes.get("llm.backend")
    if backend in ("openai", "ollama"):
        url = changes["llm.base_url"] or default_url(backend)
        give_consent(root, consent_subject(url, changes["llm.model"]), os.environ)


def test(
    context: typer.Context,
    seconds: Annotated[
        float,
        typer.Option(min=5, max=3600, help="Time for the language model, with loading it."),
    ] = 60.0,
) -> None:
    """Try the models, and tell whether the language model is fit for this work.

    It is asked for metadata, links and changes of a few made-up notes, just as it is for yours, and
    what it says is judged by the same checks. The verdict is remembered: it decides whether the
    model is asked for all of that from then on, for the context alone, or for nothing.

    Examples:

        amem model test

        amem model test --seconds 300
    """
    from amem_cli.memory.trial import test_models
    from amem_cli.terminal.models import report_document, report_text

    session = session_of(context)
    with session.workspace(sync=False) as workspace:
        encoder, model = workspace.encoder, workspace.model
        with session.output.progress("asking the models", once_told=True) as progress:
            report = test_models(
                encoder,
                model,
                seconds=seconds,
                answer_seconds=workspace.settings.llm_deadline_seconds,
                progress=progress,
            )
        try:
            _store_verdict(workspace, report)
        except SettingsError as error:
            session.output.notice(f"! the verdict is not remembered: {error.message}")
    text = report_text(report)
    session.output.result(report_document(report), lambda _: session.output.plain(text))
    if report.verdict is not None and report.verdict.kind == "unfit":
        raise typer.Exit(1)


def _store_verdict(workspace: Workspace, report: ModelReport) -> None:
    """Remember a verdict that says something of the model, and not of the moment."""
    from datetime import date

    from amem_cli.models.open import server_url
    from amem_cli.workspace.verdicts import StoredVerdict, model_subject, store_verdict

    answered = any(one.was_answered for one in report.results)
    found, figures = report.verdict, report.figures
    if found is None or figures is None or not found.decided or not answered:
        return
    settings = workspace.settings
    today = date.today().isoformat()
    verdict = StoredVerdict(found.kind, found.line, today, figures.reliability)
    subject = model_subject(settings, server_url(settings))
    store_verdict(subject, verdict, workspace.environment)


BACKENDS = ("llama.cpp", "openai", "ollama", "none")


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """New values of the settings.

    Attributes:
        file: the model's file, where it is one that was named.
    """

    backend: str
    model: str = ""
    base_url: str = ""
    sha256: str = ""
    file: Path | None = field(default=None)

    @property
    def settings(self) -> dict[str, str]:
        """By dotted key; what another model had is emptied."""
        return {
            "llm.backend": self.backend,
            "llm.model": self.model,
            "llm.base_url": self.base_url,
            "llm.sha256": self.sha256,
        }


def chosen_model(
    name: str, backend: str | None, base_url: str, progress: Transferred
) -> ModelChoice:
    """Find the model of a name: bundled, a file, a fetched one, or one of a server.

    Raises:
        UsageError: there is none, or more than one.
        ModelError: the file is no GGUF model.
        SettingsError: no server can be asked at that address.
    """
    if backend is not None and backend not in BACKENDS:
        raise UsageError(f"no backend {backend!r}", hint=f"One of: {', '.join(BACKENDS)}.")
    if name == "none" or backend == "none":
        return ModelChoice("none")
    if name == "bundled":
        return ModelChoice("llama.cpp")
    if backend in ("openai", "ollama") or base_url:
        _check_server(name, base_url)
        kind = backend or "openai"
        return ModelChoice(kind, name, base_url or (_ollama_here() if kind == "ollama" else ""))
    local = _local(name, progress)
    if local is not None:
        return local
    if backend == "llama.cpp" or name.lower().endswith(".gguf"):
        raise UsageError(f"there is no file {name}", hint="Name a GGUF file, or amem model pull.")
    return _of_a_server(name)


def _check_server(name: str, base_url: str) -> None:
    from amem_cli.models.openai_server import check_address

    if not name.strip():
        raise UsageError("a server's model has a name", hint="amem model list shows some.")
    if base_url:
        check_address(base_url)


def _local(name: str, progress: Transferred) -> ModelChoice | None:
    from amem_cli.models.gguf import sha256_of
    from amem_cli.models.llama_cpp import check_model_file
    from amem_cli.models.sources import GGUF_ENDING
    from amem_cli.models.store import ModelStore

    store = ModelStore(os.environ)
    path = Path(name).expanduser()
    pulled = store.find(name) if path.name == name else None
    # The list tells names without their ending; a file of such a name may be anybody's.
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
    """The address to set where Ollama listens elsewhere than usual on this machine."""
    from amem_cli.models.openai_server import USUAL_SERVERS, expected_servers

    place = expected_servers(os.environ)[0]
    return "" if place == USUAL_SERVERS[0] else place.url


def _of_a_server(name: str) -> ModelChoice:
    from amem_cli.models.openai_server import expected_servers, running_servers
    from amem_cli.models.sources import HubModel, recommended, source_of

    servers = [one for one in running_servers(expected_servers(os.environ)) if name in one.models]
    if len(servers) == 1:
        return ModelChoice(servers[0].backend, name, servers[0].url)
    if servers:
        urls = ", ".join(one.url for one in servers)
        raise UsageError(f"{name} is on more than one server", hint=f"Name one: --base-url {urls}")
    if recommended(name) is not None or isinstance(source_of(name), HubModel):
        raise UsageError(f"{name} is not on this machine", hint=f"amem model pull {name}")
    raise UsageError(
        f"{name!r} was not fetched, and no server on this machine has it",
        hint="amem model list shows what there is; --base-url URL names a server.",
    )


def what_follows(
    choice: ModelChoice, url: str, verdict: str, memory_mb: int, context_tokens: int
) -> list[str]:
    """What a person should know after choosing a model, one line each.

    Args:
        url: of the server, where the model is a server's.
        verdict: what the test said of it, or an empty text.
        memory_mb, context_tokens: settings that the model has to do with.
    """
    if choice.backend == "none":
        return ["amem's own analyzer does the work."]
    told = []
    if choice.file is not None:
        told += _memory(choice.file, memory_mb, context_tokens)
    if choice.backend in ("openai", "ollama"):
        told += _where(choice, url)
    if verdict:
        told.append(f"tested before: {verdict}")
    elif choice.model:
        told.append(
            "next: amem model test, which tells within a minute whether it is fit for this work"
        )
    return told


def _where(choice: ModelChoice, url: str) -> list[str]:
    from amem_cli.models.http import host_of, is_loopback
    from amem_cli.models.openai_server import runs_elsewhere

    host = host_of(url)
    if is_loopback(host) and not runs_elsewhere(choice.model):
        return [f"It is asked at {url}; the texts of your notes stay on this machine."]
    where = "another machine" if is_loopback(host) else host
    return [
        f"The texts of your notes go to {where}, but for those with private: true."
        " amem config set llm.daily_tokens N bounds what is spent."
    ]


def _memory(file: Path, memory_mb: int, context_tokens: int) -> list[str]:
    import psutil

    from amem_cli.models.gguf import NotGguf, memory_needed

    try:
        needed = memory_needed(file, context_tokens)
    except (NotGguf, OSError):
        return []
    memory = psutil.virtual_memory()
    told = [f"It takes about {size(needed)} of memory; {size(memory.available)} are free."]
    if needed > memory.total:
        told.append("That is more than this machine has. A smaller model is better.")
    elif needed > memory.available:
        told.append("Other programs have to make room for it, or it will be slow.")
    if needed > memory_mb * 2**20:
        told.append(
            f"llm.memory_mb allows {memory_mb} MB: amem config set llm.memory_mb"
            f" {-(-needed * 5 // 4 // 2**20)}"
        )
    return told


def verdict_line(settings_of: Mapping[str, str]) -> str:
    """What `amem model test` said of the model that the given settings name; empty if nothing."""
    from dataclasses import replace

    from amem_cli.models.open import server_url
    from amem_cli.settings import Settings, setting_keys
    from amem_cli.workspace.verdicts import model_subject, stored_verdict

    names = setting_keys()
    values: dict[str, Any] = {names[key]: value for key, value in settings_of.items()}
    settings = replace(Settings(), **values)
    found = stored_verdict(model_subject(settings, server_url(settings)), os.environ)
    return f"{found.line} ({found.day})" if found is not None else ""
