"""`amem model`: choose, fetch and test the models of a vault."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer import Argument, Option

from amem_cli.cli.config import AFTER_ENCODER
from amem_cli.cli.session import Session, session_of
from amem_cli.errors import EXIT_NOT_FOUND, AmemError, ModelError, UsageError
from amem_cli.settings import Settings, setting_keys
from amem_cli.terminal.output import size

TEST_SECONDS = 60.0

model = typer.Typer(
    name="model",
    help="Manage the language model and the encoder of a vault.",
    no_args_is_help=True,
)


@model.command("list")
def list_models(context: typer.Context) -> None:
    """List this vault's models, others on this machine, and some to download.

    amem briefly looks at this machine only, as `amem setup` does.

    Examples:

        amem model list
    """
    from amem_cli.models.judge import installed_judge
    from amem_cli.models.llama_cpp import check_library_loads
    from amem_cli.models.sources import recommended_models
    from amem_cli.terminal.models import show_models
    from amem_cli.terminal.setup import survey_document
    from amem_cli.workspace.model_choice import is_gone
    from amem_cli.workspace.setup import survey

    session = session_of(context)
    with session.workspace(sync=False) as workspace:
        settings = workspace.settings
        found = survey(os.environ, workspace)
    fault, judge, judge_fault = None, None, None
    try:
        check_library_loads()
    except ModelError as error:
        fault = judge_fault = error
    try:
        judge = installed_judge(settings, os.environ).name
    except ModelError as error:
        judge_fault = error
    here = survey_document(found)
    document = {
        "language_model": {
            "backend": settings.llm_backend,
            "model": settings.llm_model or None,
            "base_url": _address(settings),
            "verdict": _verdict_line(settings) or None,
            "gone": is_gone(settings, os.environ),
        },
        "judge": {
            "name": judge,
            "on": settings.llm_judge == "on",
            "problem": judge_fault and judge_fault.message,
        },
        "encoder": settings.encoder_model,
        **{name: here[name] for name in ("servers", "files", "programs", "choices")},
        "gguf": {
            "usable": fault is None,
            "problem": fault and fault.message,
            "hint": fault and fault.hint,
        },
        "recommended": [
            {**asdict(each), "bytes": each.size, "memory": each.memory}
            for each in recommended_models()
        ],
    }
    session.output.result(document, lambda console: show_models(console, document, found.choices))


def _address(settings: Settings) -> str | None:
    from amem_cli.models.open import server_url

    by_server = settings.llm_backend in ("openai", "ollama")
    return (server_url(settings, os.environ) if by_server else settings.llm_base_url) or None


def _verdict_line(settings: Settings) -> str:
    """What `amem model test` found out about the model of these settings; empty if nothing."""
    from amem_cli.workspace.verdicts import model_subject, stored_verdict

    stored = stored_verdict(model_subject(settings, os.environ), os.environ)
    return f"{stored.line} ({stored.day})" if stored is not None else ""


@model.command()
def use(
    context: typer.Context,
    name: Annotated[
        str,
        Argument(
            metavar="MODEL",
            help="A downloaded model, a GGUF file, a model of a server, a command line in quotes,"
            " 'bundled' or 'none'.",
        ),
    ],
    backend: Annotated[
        Literal["llama.cpp", "openai", "ollama", "command", "none"] | None,
        Option(help="What runs the model. By default, amem finds out."),
    ] = None,
    base_url: Annotated[str, Option(help="Address of an OpenAI-compatible server.")] = "",
    encoder: Annotated[bool, Option("--encoder", help="Choose the encoder instead.")] = False,
) -> None:
    """Choose the language model (or encoder) of this vault.

    A server on another machine receives the texts of your notes. Choosing it allows that, for this
    vault on this machine. amem stores a file's digest and checks it before every use.

    With --backend command, amem runs a program for each question, without a shell: the prompt on
    its standard input, JSON on its standard output. Choosing it allows exactly this command line.
    Private notes are kept from it.

    Examples:

        amem model use Qwen_Qwen3-4B-Q4_K_M
        amem model use ~/models/qwen3-4b-q4.gguf
        amem model use qwen3:4b --backend ollama
        amem model use "llm -m gpt-5-mini --no-log" --backend command
        amem model use none
        amem model use bundled
        amem model use intfloat/multilingual-e5-small --encoder
    """
    session = session_of(context)
    if encoder:
        from amem_cli.workspace.model_choice import choose

        with session.workspace(sync=False) as workspace:
            choose(workspace, {"encoder.model": name})
        session.output.notice(AFTER_ENCODER)
        document: dict[str, Any] = {"encoder.model": name, "next": []}
        session.output.result(document, f"encoder.model = {name!r}")
        return
    document = use_language_model(session, name, backend, base_url)
    if session.output.as_json:
        session.output.json_line(document, indent=2)


def use_language_model(
    session: Session,
    name: str,
    backend: str | None,
    base_url: str,
    *,
    allow: Callable[[Settings], bool] = lambda chosen: True,
) -> dict[str, Any]:
    """Choose a language model, and say what follows; the settings, and that, for a document.

    Empty if it is not allowed.
    """
    from amem_cli.models.named import settings_of_model
    from amem_cli.terminal.progress import transfer_progress
    from amem_cli.workspace.model_choice import choose

    with session.workspace(sync=False) as workspace:
        with transfer_progress(session.output) as progress:
            changes = settings_of_model(name, backend, base_url, os.environ, progress)
        names = setting_keys()
        values: dict[str, Any] = {names[key]: value for key, value in changes.items()}
        chosen = Settings(**values)
        if not allow(chosen):
            return {}
        follows = _what_follows(chosen, workspace.settings)
        choose(workspace, changes)
    lines = [*(f"{key} = {value!r}" for key, value in changes.items()), *follows]
    if not session.output.as_json:
        session.output.plain("\n".join(lines))
    return {**changes, "next": follows}


@model.command()
def pull(
    context: typer.Context,
    source: Annotated[
        str,
        Argument(
            help="A recommended model, a repository OWNER/NAME[:FILE or :QUANTIZATION] on the hub,"
            " an https address, or a file."
        ),
    ],
    sha256: Annotated[
        str, Option("--sha256", help="The file's expected digest, in hexadecimal.")
    ] = "",
    name: Annotated[str, Option("--name", help="Store it under this name.")] = "",
) -> None:
    """Download a language model as a GGUF file, for all vaults on this machine.

    Run the command again to continue an interrupted download. amem checks the file before storing
    it, and its digest before every use.

    Examples:

        amem model pull qwen3-4b
        amem model pull bartowski/Qwen_Qwen3-4B-GGUF:Q4_K_M
        amem model pull https://example.org/model.gguf --sha256 0123…
        amem model pull ~/Downloads/model.gguf
    """
    from amem_cli.models import named
    from amem_cli.models.store import ModelStore
    from amem_cli.terminal.progress import transfer_progress

    session = session_of(context)
    with transfer_progress(session.output) as progress:
        pulled, known = named.pull(ModelStore(os.environ), source, sha256, name, progress)
    document = {
        "name": pulled.name,
        "path": str(pulled.path),
        "bytes": pulled.size,
        "sha256": pulled.sha256,
        "source": pulled.source,
        "checked_against": known,
    }
    how = f"checked against {known}" if known else "no digest to check against"
    lines = [
        f"{pulled.name}  {size(pulled.size)}  {pulled.path}",
        f"sha256 {pulled.sha256} ({how})",
        f"next: amem model use {pulled.name}",
    ]
    session.output.result(document, "\n".join(lines))


@model.command()
def rm(
    context: typer.Context,
    name: Annotated[str, Argument(help="A model downloaded with `model pull`.")],
) -> None:
    """Delete a downloaded language model.

    Notes of a vault that uses it stay pending until you choose another model.

    Examples:

        amem model rm Qwen_Qwen3-4B-Q4_K_M
    """
    from amem_cli.models.store import ModelStore

    session = session_of(context)
    store = ModelStore(os.environ)
    found, used = store.find(name), ""
    # Downloaded models belong to no vault, so there need not be one here.
    with contextlib.suppress(AmemError), session.workspace(sync=False) as workspace:
        used = workspace.settings.llm_model
    if found is not None and used and Path(used).expanduser() == found.path:
        raise UsageError(
            f"this vault uses {found.name}", hint="First choose another: amem model use bundled"
        )
    removed = store.remove(name)
    document = {"name": removed.name, "bytes": removed.size}
    session.output.result(document, f"deleted {removed.name}, {size(removed.size)}")


@model.command()
def test(
    context: typer.Context,
    seconds: Annotated[
        float,
        Option(min=5, max=3600, help="Time limit for the language model, including loading it."),
    ] = TEST_SECONDS,
) -> None:
    """Test the models: find out in a minute what the language model is good for.

    The model writes metadata, links and changes for a few sample notes, as it would for yours, and
    must pass the same checks. amem stores the verdict, which decides what it asks the model for
    from then on: everything, only the context, or nothing. Exits with 1 if the model is unfit, or
    if there is no verdict because the time was over or the model could not be asked; a former
    verdict stays then.

    Examples:

        amem model test
        amem model test --seconds 300
    """
    from amem_cli.terminal.models import report_document, show_report
    from amem_cli.workspace.model_choice import report_on_models

    session = session_of(context)
    with (
        session.workspace() as workspace,
        session.output.progress("testing the models", at_once=False) as progress,
    ):
        report = report_on_models(workspace, seconds, progress)
    session.output.result(
        lambda: report_document(report), lambda console: show_report(console, report)
    )
    if report.model and (report.verdict is None or report.verdict.kind == "unfit"):
        raise typer.Exit(EXIT_NOT_FOUND)


def _what_follows(chosen: Settings, limits: Settings) -> list[str]:
    """What to know after choosing a model that the vault's `limits` hold for, one line each."""
    if chosen.llm_backend == "none":
        return ["amem works without a language model."]
    lines = [] if chosen.llm_backend == "llama.cpp" else [_privacy(chosen)]
    if chosen.llm_backend == "llama.cpp" and chosen.llm_model:
        import psutil

        from amem_cli.models.gguf import memory_needed

        needed = memory_needed(Path(chosen.llm_model).stat().st_size)
        free = psutil.virtual_memory().available
        lines = [f"It needs about {size(needed)} of memory; {size(free)} are free."]
        if needed > limits.llm_memory_mb * 2**20:
            # The estimate is rough, so suggest a quarter more.
            lines.append(
                f"llm.memory_mb only allows {limits.llm_memory_mb} MB: amem config set"
                f" llm.memory_mb {-(-needed * 5 // 4 // 2**20)}"
            )
    verdict = _verdict_line(chosen)
    if verdict:
        lines.append(f"tested before: {verdict}")
    elif chosen.llm_model:
        lines.append(
            "next: amem model test, to see within a minute whether it is fit for this work"
        )
    return lines


def _privacy(chosen: Settings) -> str:
    from amem_cli.models.http import host_of, is_loopback
    from amem_cli.workspace.model_choice import leaves_machine

    if not leaves_machine(chosen, os.environ):
        return f"It runs at {_address(chosen)}; the texts of your notes stay on this machine."
    host = host_of(_address(chosen) or "")
    where = "it" if chosen.llm_backend == "command" else host
    return (
        f"The texts of your notes go to {'another machine' if is_loopback(host) else where}, except"
        " those with private: true. To limit what you spend: amem config set llm.daily_tokens N"
    )
