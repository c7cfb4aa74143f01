"""`amem model`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from amem_cli.cli.session import session_of
from amem_cli.cli.settings_commands import AFTER_ENCODER
from amem_cli.core.errors import UsageError

BACKENDS = ("llama.cpp", "openai", "ollama", "none")


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    group = typer.Typer(
        name="model", help="The language model and the encoder of a vault.", no_args_is_help=True
    )
    group.command("list")(list_models)
    group.command("use")(use)
    group.command("test")(test)
    app.add_typer(group)


def list_models(context: typer.Context) -> None:
    """The models of this vault and those that are at hand.

    Examples:

        amem model list
    """
    from amem_cli.adapters.model_shelf import models_at_hand

    session = session_of(context)
    with session.workspace(sync=False) as workspace:
        settings = workspace.settings
        shelf = models_at_hand(settings)
    document = {
        "language_model": {
            "backend": settings.llm_backend,
            "model": settings.llm_model or None,
            "base_url": settings.llm_base_url or None,
        },
        "encoder": settings.encoder_model,
        "available": [
            {"role": each.role, "name": each.name, "bytes": each.size, "in_use": each.in_use}
            for each in shelf
        ],
    }
    lines = [f"language model: {settings.llm_backend} {settings.llm_model or '(bundled)'}"]
    lines.append(f"encoder:        {settings.encoder_model}")
    for each in shelf:
        mark = "*" if each.in_use else " "
        size = f"{each.size / 1e6:.0f} MB" if each.size else ""
        lines.append(f"{mark} {each.role:<15} {each.name}  {size}")
    session.output.result(document, lambda _: session.output.plain("\n".join(lines)))


def use(
    context: typer.Context,
    model: Annotated[
        str,
        typer.Argument(help="A GGUF file, a model of a server, 'bundled' or 'none'."),
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
    this vault on this machine.

    Examples:

        amem model use ~/models/qwen3-4b-q4.gguf

        amem model use qwen3:4b --backend ollama

        amem model use none

        amem model use intfloat/multilingual-e5-small --encoder
    """
    from amem_cli.adapters.settings_file import write_value
    from amem_cli.config import checked

    session = session_of(context)
    if encoder:
        changes: dict[str, str] = {"encoder.model": model}
    else:
        changes = _language_model(model, backend, base_url)
    for key, value in changes.items():
        checked(key, value)
    with session.workspace(sync=False) as workspace:
        _allow(workspace.root, changes)
        for key, value in changes.items():
            write_value(workspace.config_file, key, value)
    if encoder:
        session.output.notice(AFTER_ENCODER)
    text = "\n".join(f"{key} = {value!r}" for key, value in changes.items())
    session.output.result(changes, lambda _: session.output.plain(text))


def _language_model(model: str, backend: str | None, base_url: str) -> dict[str, str]:
    if backend is not None and backend not in BACKENDS:
        raise UsageError(f"no backend {backend!r}", hint=f"One of: {', '.join(BACKENDS)}.")
    if backend is None:
        local = model.endswith(".gguf") or model == "bundled"
        backend = "none" if model == "none" else "llama.cpp" if local else "openai"
        if backend == "openai" and not base_url:
            raise UsageError(
                f"{model!r} is no GGUF file", hint="Name --backend ollama, or --base-url URL."
            )
    name = "" if model in ("bundled", "none") else model
    if backend == "llama.cpp" and name:
        path = Path(name).expanduser()
        if not path.is_file():
            raise UsageError(f"there is no file {name}", hint="Name a GGUF file.")
        name = str(path.resolve())
    # A checksum is of the model that was there before.
    return {
        "llm.backend": backend,
        "llm.model": name,
        "llm.base_url": base_url,
        "llm.sha256": "",
    }


def _allow(root: Path, changes: dict[str, str]) -> None:
    import os

    from amem_cli.adapters.model_consents import consent_subject, encoder_subject, give_consent
    from amem_cli.wiring import default_url

    if "encoder.model" in changes:
        give_consent(root, encoder_subject(changes["encoder.model"]), os.environ)
    backend = changes.get("llm.backend")
    if backend in ("openai", "ollama"):
        url = changes["llm.base_url"] or default_url(backend)
        give_consent(root, consent_subject(url, changes["llm.model"]), os.environ)


def test(context: typer.Context) -> None:
    """Ask the language model and the encoder for one small piece of work each.

    Examples:

        amem model test
    """
    from amem_cli.services.model_test import test_models

    session = session_of(context)
    with session.workspace(sync=False) as workspace:
        report = test_models(workspace.encoder, workspace.model)
    lines = [
        f"encoder         {report.encoder}  {report.dimension} dimensions,"
        f" first text after {report.encoder_seconds:.1f} s"
    ]
    if report.model:
        verdict = "answers as asked" if report.valid else f"unfit: {report.problem}"
        lines.append(
            f"language model  {report.model}  {verdict}; {report.first_seconds:.1f} s, then"
            f" {report.model_seconds:.1f} s a note, {report.tokens} tokens"
        )
        lines.append(f"                it wrote: {report.sample}")
    else:
        lines.append("language model  none: amem's own analyzer does the work")
    from dataclasses import asdict

    session.output.result(asdict(report), lambda _: session.output.plain("\n".join(lines)))
    if report.model and not report.valid:
        raise typer.Exit(1)
