"""`amem model`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from amem_cli.cli import model_pulling
from amem_cli.cli.session import session_of
from amem_cli.cli.settings_commands import AFTER_ENCODER
from amem_cli.core.errors import SettingsError

if TYPE_CHECKING:
    from amem_cli.config import Settings
    from amem_cli.services.model_test import ModelReport
    from amem_cli.wiring import Workspace


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
    from amem_cli.adapters.model_shelf import models_at_hand
    from amem_cli.adapters.server_discovery import places_of, servers_here
    from amem_cli.rendering.models import models_document, models_text

    session = session_of(context)
    with session.workspace(sync=False) as workspace:
        settings = workspace.settings
        shelf = models_at_hand(settings, os.environ)
        verdict = _stored_verdict(workspace)
        gone = _is_gone(settings)
    found = servers_here(places_of(os.environ)) if servers else []
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
    from amem_cli.adapters.model_verdicts import model_subject, stored_verdict
    from amem_cli.model_opening import server_url

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
    from amem_cli.adapters.settings_file import write_values
    from amem_cli.cli.model_choice import chosen_model, verdict_line, what_follows
    from amem_cli.cli.transfer_progress import transfer_progress
    from amem_cli.config import checked
    from amem_cli.model_opening import default_url

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
    from amem_cli.adapters.model_consents import consent_subject, encoder_subject, give_consent
    from amem_cli.model_opening import default_url

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
    from amem_cli.rendering.models import report_document, report_text
    from amem_cli.services.model_test import test_models

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

    from amem_cli.adapters.model_verdicts import StoredVerdict, model_subject, store_verdict
    from amem_cli.model_opening import server_url

    answered = any(one.was_answered for one in report.results)
    found, figures = report.verdict, report.figures
    if found is None or figures is None or not found.decided or not answered:
        return
    settings = workspace.settings
    today = date.today().isoformat()
    verdict = StoredVerdict(found.kind, found.line, today, figures.reliability)
    subject = model_subject(settings, server_url(settings))
    store_verdict(subject, verdict, workspace.environment)
