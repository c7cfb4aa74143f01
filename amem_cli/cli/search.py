"""Commands that find notes: `search`, `list` and `ask`."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from typer import Argument, Option

from amem_cli.cli.main import ending_at_once
from amem_cli.cli.session import (
    LIMIT,
    AsOfOption,
    CreatedOption,
    LlmOption,
    PathOption,
    SinceOption,
    TagOption,
    UntilOption,
    filters,
    report_unknown_tags,
    session_of,
)
from amem_cli.errors import EXIT_NOT_FOUND, EncoderError, SettingsError, UsageError
from amem_cli.terminal.output import titled

if TYPE_CHECKING:
    from amem_cli.workspace.workspace import SearchResult, Workspace

_SIGNAL_SECONDS = 0.1


def search(
    context: typer.Context,
    words: Annotated[
        list[str] | None,
        Argument(help="What to look for.", metavar="[QUERY]...", show_default=False),
    ] = None,
    limit: Annotated[int, Option(*LIMIT, min=1, help="Number of direct hits, at most 1,000.")] = 5,
    mode: Annotated[
        Literal["hybrid", "semantic", "keyword"],
        Option(help="By meaning, by words, or both (hybrid)."),
    ] = "hybrid",
    neighbors: Annotated[
        bool | None,
        Option(
            "--neighbors/--no-neighbors",
            help="Show all notes linked to the hits, or none. By default, three.",
            show_default=False,
        ),
    ] = None,
    min_score: Annotated[
        float | None,
        Option(
            min=0,
            max=1,
            help="Leave out hits with a lower score; 0 shows all. By default, the search says if"
            " nothing is close.",
            show_default=False,
        ),
    ] = None,
    tag: TagOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    created: CreatedOption = None,
    as_of: AsOfOption = None,
    path: PathOption = "",
    queries: Annotated[
        Path | None,
        Option(
            help="Run many queries: a file with one a line, as text or JSON. Prints one JSON"
            " result a line."
        ),
    ] = None,
    paths_only: Annotated[
        bool, Option("--paths", "-l", help="Print only the paths of the direct hits, one a line.")
    ] = False,
) -> None:
    """Find notes by meaning and by words, with the notes linked to them.

    A score says how likely the note is wanted, from 0 to 1, the same in every search. If nothing is
    close, amem says so, shows the nearest notes, and exits with 1. Words found exactly are close.
    Hits that are not close stand below the others, on a line each.

    If the encoder is not available, notes are found by words alone.

    Examples:

        amem search "why is the table growing"
        amem search "rent of the shop" -k 2 --min-score 0.3
        amem search vacuum --mode keyword --tag databases -k 10
        amem search harbour --since "last month" --until yesterday
        amem search --queries questions.txt > answers.jsonl
        amem search "loose ends" -l
    """
    from amem_cli.terminal.notes import show_hits
    from amem_cli.workspace.documents import search_document

    query = " ".join(words or ())
    if query and queries is not None:
        raise UsageError("give a query or --queries, not both")
    if paths_only and (queries is not None or session_of(context).output.as_json):
        raise UsageError("--paths goes neither with --queries nor with --json")
    if not query.strip() and queries is None:
        raise UsageError("the query is empty", hint='Say what to look for: amem search "…".')
    # Read whole: a wrong line must be reported before the first answer is printed.
    batch = [] if queries is None else list(_queries(queries))
    selection = filters(tag, since, until, path, created, as_of)
    session = session_of(context)

    def answer(text: str) -> SearchResult:
        return workspace.search(
            text,
            mode=mode,
            limit=limit,
            neighbors=neighbors is not False,
            filters=selection,
            min_score=min_score,
        )

    # Synchronised below, while the encoder is loading.
    with session.workspace(sync=False) as workspace:
        if mode == "keyword":
            session.synchronise(workspace)
        else:
            # One query multiplies nothing large: starting OpenBLAS threads would cost more.
            os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
            with ending_at_once(session.output.notice), _loading_encoder(workspace):
                session.synchronise(workspace)
        report_unknown_tags(session, workspace, tag)
        if queries is None:
            result = answer(query)
            if paths_only:
                for hit in result.hits:
                    session.output.plain(hit.note.path)
                raise typer.Exit(EXIT_NOT_FOUND if result.problem else 0)
            session.output.result(
                lambda: search_document(result),
                lambda console: show_hits(console, result, all_linked=neighbors is True),
            )
            if result.problem:
                raise typer.Exit(EXIT_NOT_FOUND)
            return
        for text, extra in batch:
            result = answer(text)
            # After the first failure of the encoder, stay with words: it is reported once.
            mode = result.mode
            session.output.json_line({**extra, **search_document(result)})


@contextlib.contextmanager
def _loading_encoder(workspace: Workspace) -> Iterator[None]:
    """Load the encoder beside the work inside, and have it loaded behind it."""
    from amem_cli.models.prepared import PreparedEncoder

    loading = None
    with contextlib.suppress(EncoderError, SettingsError):
        chosen = workspace.models.encoder
        loading = chosen.load_ahead() if isinstance(chosen, PreparedEncoder) else None
    try:
        yield
    finally:
        # A signal that comes in the instant before a wait is heard only after it.
        while loading is not None and loading.is_alive():
            loading.join(_SIGNAL_SECONDS)


def _queries(path: Path) -> Iterator[tuple[str, dict[str, object]]]:
    """Queries of a file with the other fields of their line, which the answer repeats."""
    from amem_cli.cli.files import read_input

    try:
        # A byte order mark would become part of the first query.
        text = read_input(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SettingsError(f"{path} is not UTF-8", hint="Save it as UTF-8.") from None
    # Not splitlines(): JSON may contain the other characters at which that splits.
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        if not line.lstrip().startswith("{"):
            yield line.strip(), {}
            continue
        try:
            record = json.loads(line)
            query = record.pop("query")
            # Python reads NaN, which is not JSON, and would write it into the answer.
            json.dumps(record, allow_nan=False)
        except (ValueError, KeyError, RecursionError):
            query = None
        if not isinstance(query, str) or not query.strip():
            raise UsageError(
                f"{path}:{number} is not a JSON object with a non-empty “query”",
                hint='A line is a query, or {"query": "…"} with fields that the answer repeats.',
            )
        yield query, record


def list_(
    context: typer.Context,
    tag: TagOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    created: CreatedOption = None,
    as_of: AsOfOption = None,
    path: PathOption = "",
    orphans: Annotated[bool, Option("--orphans", help="Only notes without links.")] = False,
    pending: Annotated[
        bool, Option("--pending", help="Only notes that amem has yet to process.")
    ] = False,
    sort: Annotated[
        Literal["created", "modified", "read", "title", "path"], Option(help="Sort by.")
    ] = "created",
    reverse: Annotated[bool, Option("--reverse", help="Reverse the order.")] = False,
    limit: Annotated[int | None, Option(*LIMIT, min=1, help="Maximum number of notes.")] = None,
) -> None:
    """List notes, newest first.

    Given several conditions, a note must meet all of them.

    Examples:

        amem list --tag zettelkasten -k 20
        amem list --orphans --sort title
        amem list --sort read --reverse
        amem list --created yesterday
        amem list --since "last week" --path 'daily/2026-*'
    """
    from amem_cli.search.search import day_of

    selection = filters(tag, since, until, path, created, as_of)
    session = session_of(context)
    with session.workspace() as workspace:
        notes = workspace.list_notes(
            filters=selection,
            orphans=orphans,
            pending=pending,
            sort=sort,
            reverse=reverse,
            limit=limit,
        )
        report_unknown_tags(session, workspace, tag)
    if session.output.as_json:
        from amem_cli.workspace.documents import listed_document

        rows = [listed_document(note) for note in notes]
        session.output.json_line(rows, indent=2)
        return
    console = session.output.console()
    for each in notes:
        note = each.note
        tags = "".join(f"  #{tag}" for tag in note.tags[:4])
        said = each.supersession
        mark = "  (superseded)" if said.superseded_by else ""
        # A title may hold a line break, but a script reads one note a line.
        console.print(f"{note.id or '-':<16}  {day_of(note)}  ", titled(note, ""), f"{mark}{tags}")


def ask(
    context: typer.Context,
    words: Annotated[
        list[str], Argument(help="What to answer.", metavar="QUESTION...", show_default=False)
    ],
    limit: Annotated[int, Option(*LIMIT, min=1, help="Number of direct hits.")] = 6,
    tag: TagOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    created: CreatedOption = None,
    as_of: AsOfOption = None,
    path: PathOption = "",
    llm: LlmOption = True,
) -> None:
    """Answer a question from your notes, with citations.

    The answer comes from the notes that a search finds and those linked to them. The model's
    answer is shown only if the notes it cites support it; otherwise, and with --no-llm, the nearest
    sentences are quoted. The exit code is 1 if the notes do not, or may not, hold the answer.

    Examples:

        amem ask "Why did the webhooks come late on Mondays?"
        amem ask "What did we agree on the rent?" --since 2026-01 --tag cafe
        amem ask "Who has the spare key?" --as-of 2025-12-31
    """
    from amem_cli.terminal.notes import show_answer
    from amem_cli.workspace.documents import answer_document

    question = " ".join(words)
    if not question.strip():
        raise UsageError("the question is empty", hint='Ask something: amem ask "…".')
    selection = filters(tag, since, until, path, created, as_of)
    session = session_of(context)
    with session.workspace(llm=llm) as workspace:
        answer = workspace.ask(question, limit=limit, filters=selection)
    session.output.result(answer_document(answer), lambda console: show_answer(console, answer))
    if not session.output.as_json:
        for problem in answer.problems:
            session.output.notice(f"! {problem}")
    if not answer.held:
        raise typer.Exit(EXIT_NOT_FOUND)
