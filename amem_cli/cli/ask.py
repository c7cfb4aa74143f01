"""`amem ask`."""

from __future__ import annotations

from typing import Annotated

import typer

from amem_cli.cli.session import (
    PathOption,
    SinceOption,
    UntilOption,
    first_day,
    last_day,
    session_of,
)
from amem_cli.errors import EXIT_NOT_FOUND, UsageError


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("ask")(ask)


def ask(
    context: typer.Context,
    question: Annotated[str, typer.Argument(help="What to answer.", show_default=False)],
    limit: Annotated[int, typer.Option("-k", "--limit", min=1, help="How many direct hits.")] = 6,
    budget: Annotated[
        int | None,
        typer.Option(
            min=100,
            help="Tokens of notes to answer from; half the model's window by default.",
            show_default=False,
        ),
    ] = None,
    tag: Annotated[list[str] | None, typer.Option(help="Only notes with this tag.")] = None,
    since: SinceOption = None,
    until: UntilOption = None,
    path: PathOption = "",
    llm: Annotated[
        bool, typer.Option("--llm/--no-llm", help="Let the model answer, or only quote.")
    ] = True,
) -> None:
    """Answer a question from the notes, citing them.

    The answer comes from the notes that a search finds and those linked to them. What the model
    says is shown only where the notes it cites bear it out; else the nearest sentences are quoted.
    The exit code is 1 where the notes do not hold the answer.

    Examples:

        amem ask "Why did the webhooks come late on Mondays?"

        amem ask "What did we agree on the rent?" --since 2026-01 --tag cafe

        amem ask "Who has the spare key?" --no-llm --json
    """
    from amem_cli.search.search import Filters
    from amem_cli.terminal.notes import answer_document, show_answer

    if not question.strip():
        raise UsageError("the question is empty", hint='Ask something: amem ask "…".')
    days = first_day(since, "--since"), last_day(until, "--until")
    filters = Filters(tuple(tag or ()), *days, path)
    session = session_of(context)
    with session.workspace(llm_backend=None if llm else "none") as workspace:
        answer = workspace.ask(question, limit=limit, budget=budget, filters=filters)
    session.output.result(answer_document(answer), lambda console: show_answer(console, answer))
    if not session.output.as_json:
        for problem in answer.problems:
            session.output.notice(f"! {problem}")
    if not answer.held:
        raise typer.Exit(EXIT_NOT_FOUND)
