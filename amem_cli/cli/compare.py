"""`amem compare`: two models on the same notes of the vault, side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from amem_cli.cli.session import LIMIT, Session, all_named, session_of
from amem_cli.errors import EXIT_FIXABLE, NotFoundError

if TYPE_CHECKING:
    from amem_cli.memory.compare import Comparison, SideTotals

_MODEL = (
    "A model as for `model use`, 'current', or [BACKEND:]NAME[@ADDRESS]: ollama:qwen3:4b,"
    " openai:NAME@https://HOST/v1."
)


def compare(
    context: typer.Context,
    first: Annotated[str, Argument(metavar="A", help=_MODEL)],
    second: Annotated[str, Argument(metavar="B", help="The other one.")],
    notes: Annotated[
        list[str] | None,
        Argument(help="These notes. By default, some of the newer half, spread evenly."),
    ] = None,
    limit: Annotated[
        int, Option("--notes", *LIMIT, min=1, max=1000, help="How many notes, without names.")
    ] = 10,
) -> None:
    """Compare two models on your own notes, side by side; nothing is written.

    For each note: the metadata, links and changes to older notes that each model would write if
    the note were added at its place in time, without what amem wrote in it before. Then what that
    adds up to, in seconds and tokens a note. A model is trusted as far as it would be if you chose
    it. A model on another machine gets notes only if you chose it before (`amem model use`), and
    never private ones.

    Examples:

        amem compare current none
        amem compare ollama:qwen3:4b Qwen_Qwen3-4B-Q4_K_M -n 20
        amem compare bundled none "Weekly review" --json
    """
    from amem_cli.terminal.progress import transfer_progress
    from amem_cli.workspace import comparison

    session = session_of(context)
    with session.workspace() as workspace:
        chosen = all_named(workspace, notes) if notes else []
        with transfer_progress(session.output) as transferred:
            compared = comparison.compare(
                workspace, (first, second), chosen, count=limit, transferred=transferred
            )
        if not compared.notes:
            raise NotFoundError("there is no note to compare with", hint="amem add adds one.")
        try:
            with session.output.progress("asking the models", at_once=False) as progress:
                compared.run(progress or (lambda done, total: None))
        finally:
            # What was answered until an interrupt is worth seeing, and was paid for.
            totals = comparison.totals_with_cost(compared, workspace.settings)
            _show(session, compared, totals, workspace.settings.llm_currency)
    if compared.stopped:
        reason, hint = compared.stopped
        session.output.notice(f"stopped: {reason}. {hint}")
    if compared.stopped or compared.gave_up:
        raise typer.Exit(EXIT_FIXABLE)


def _show(
    session: Session, compared: Comparison, totals: tuple[SideTotals, SideTotals], currency: str
) -> None:
    from amem_cli.terminal.compare import comparison_document, show_comparison

    if any(compared.results):
        session.output.result(
            lambda: comparison_document(compared, totals),
            lambda console: show_comparison(console, compared, totals, currency),
        )
