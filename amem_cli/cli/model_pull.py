"""`amem model pull` and `amem model rm`: language models on this machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from amem_cli.cli.session import Session, session_of
from amem_cli.terminal.output import size
from amem_cli.terminal.progress import transfer_progress

if TYPE_CHECKING:
    from amem_cli.models.sources import HubModel
    from amem_cli.models.store import ModelStore, PulledModel
    from amem_cli.terminal.progress import Transferred


def pull(
    context: typer.Context,
    source: Annotated[
        str,
        typer.Argument(
            help="A recommended model, a repository OWNER/NAME[:FILE or :QUANTIZATION] on the hub,"
            " an https address, or a file."
        ),
    ],
    sha256: Annotated[
        str, typer.Option("--sha256", help="The file's expected digest, in hexadecimal.")
    ] = "",
    name: Annotated[str, typer.Option("--name", help="Store it under this name.")] = "",
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
    from amem_cli.models.store import ModelStore

    session = session_of(context)
    store = ModelStore(os.environ)
    with transfer_progress(session.output) as progress:
        model, known = _pulled(store, source, sha256, name, progress)
    document = {
        "name": model.name,
        "path": str(model.path),
        "bytes": model.size,
        "sha256": model.sha256,
        "source": model.source,
        "checked_against": known,
    }
    how = f"checked against {known}" if known else "no digest to check against"
    lines = [
        f"{model.name}  {size(model.size)}  {model.path}",
        f"sha256 {model.sha256} ({how})",
        f"next: amem model use {model.name}",
    ]
    session.output.result(document, "\n".join(lines))


def rm(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="A model downloaded with `model pull`.")],
) -> None:
    """Delete a downloaded language model.

    Notes of a vault that uses it stay pending until you choose another model.

    Examples:

        amem model rm Qwen_Qwen3-4B-Q4_K_M
    """
    from amem_cli.models.store import ModelStore

    session = session_of(context)
    store = ModelStore(os.environ)
    _refuse_model_in_use(session, store, name)
    model = store.remove(name)
    document = {"name": model.name, "bytes": model.size}
    session.output.result(document, f"deleted {model.name}, {size(model.size)}")


def _refuse_model_in_use(session: Session, store: ModelStore, name: str) -> None:
    from amem_cli.errors import AmemError, UsageError

    model = store.find(name)
    try:
        with session.workspace(sync=False) as workspace:
            used = workspace.settings.llm_model
    except AmemError:
        # Downloaded models belong to no vault, so there need not be one here.
        return
    if model is not None and used and Path(used).expanduser() == model.path:
        raise UsageError(
            f"this vault uses {model.name}", hint="First choose another: amem model use bundled"
        )


def _pulled(
    store: ModelStore, text: str, sha256: str, name: str, progress: Transferred
) -> tuple[PulledModel, str]:
    """Download or copy a model.

    Returns:
        The model, and what its digest was checked against: `--sha256`, `the hub` or an empty
        text.
    """
    from amem_cli.errors import UsageError
    from amem_cli.models.download import DownloadRequest
    from amem_cli.models.sources import (
        GGUF_ENDING,
        HubModel,
        checked_sha256,
        file_name_of,
        kept_name,
        recommended,
        refuse_format,
        source_of,
    )

    given = checked_sha256(sha256)
    wanted_name = kept_name(name.removesuffix(GGUF_ENDING) + GGUF_ENDING) if name else ""
    path = Path(text).expanduser()
    if path.is_file() and path.suffix:
        refuse_format(path.name)
        kept = wanted_name or kept_name(path.name)
        model = store.copy(path, kept, sha256=given, progress=progress)
        return model, "--sha256" if given else ""
    choice = recommended(text)
    meant: str | HubModel | None = (
        HubModel(choice.repository, choice.file) if choice else source_of(text)
    )
    if meant is None:
        raise UsageError(
            f"{text!r} is not a file, address, repository or recommended model",
            hint="amem model list shows the recommended ones; a repository is OWNER/NAME.",
        )
    if isinstance(meant, HubModel):
        return _from_hub(store, meant, given, wanted_name, progress)
    model = store.fetch(
        DownloadRequest(meant),
        wanted_name or file_name_of(meant),
        source=meant.partition("?")[0],
        sha256=given,
        progress=progress,
    )
    return model, "--sha256" if given else ""


def _from_hub(
    store: ModelStore,
    meant: HubModel,
    given: str,
    name: str,
    progress: Transferred,
) -> tuple[PulledModel, str]:
    from amem_cli.errors import ModelError
    from amem_cli.models.sources import chosen_file, hub_download, hub_files, kept_name

    file = chosen_file(meant.repository, meant.pattern, hub_files(meant.repository))
    # Compare now, before downloading gigabytes for nothing.
    if given and file.sha256 and given != file.sha256:
        raise ModelError(
            f"the hub's {file.name} has another digest than expected: {file.sha256}",
            hint="The repository changed, or the digest belongs to another file.",
        )
    model = store.fetch(
        hub_download(meant.repository, file),
        name or kept_name(file.name),
        source=f"{meant.repository}:{file.name}",
        sha256=given or file.sha256,
        progress=progress,
    )
    return model, "--sha256" if given else "the hub" if file.sha256 else ""
