"""`amem search`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from amem_cli.cli.main import ending_at_once
from amem_cli.cli.session import (
    PathOption,
    SinceOption,
    UntilOption,
    first_day,
    last_day,
    session_of,
)
from amem_cli.errors import SettingsError, UsageError

if TYPE_CHECKING:
    from amem_cli.search.search import Mode


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("search")(search)


def search(
    context: typer.Context,
    query: Annotated[str, typer.Argument(help="What to look for.", show_default=False)] = "",
    limit: Annotated[
        int, typer.Option("-k", "--limit", min=1, help="How many direct hits; at most 1,000.")
    ] = 5,
    method: Annotated[str, typer.Option("--mode", help="hybrid, semantic or keyword.")] = "hybrid",
    neighbors: Annotated[bool, typer.Option(help="Linked notes beside the hits.")] = True,
    tag: Annotated[list[str] | None, typer.Option(help="Only notes with this tag.")] = None,
    since: SinceOption = None,
    until: UntilOption = None,
    path: PathOption = "",
    queries: Annotated[
        Path | None,
        typer.Option(help="A file of queries, one a line or JSONL; one JSON result a line."),
    ] = None,
) -> None:
    """Find notes by meaning and by words, and the notes linked to them.

    Where the encoder cannot be had, the notes are found by words alone.

    Examples:

        amem search "why is the table growing"

        amem search vacuum --mode keyword --tag databases -k 10

        amem search harbour --since "last month" --until yesterday

        amem search --queries questions.txt > answers.jsonl
    """
    from amem_cli.search.search import MODES, Filters
    from amem_cli.terminal.notes import show_hits
    from amem_cli.workspace.documents import search_document

    if method not in MODES:
        raise UsageError(f"no mode {method!r}", hint=f"One of: {', '.join(MODES)}.")
    mode: Mode = method
    if query and queries is not None:
        raise UsageError("give a query or --queries, not both")
    if not query.strip() and queries is None:
        raise UsageError("the query is empty", hint='Say what to look for: amem search "…".')
    asked = [] if queries is None else list(_queries(queries))
    days = first_day(since, "--since"), last_day(until, "--until")
    filters = Filters(tuple(tag or ()), *days, path)
    session = session_of(context)
    with session.workspace(sync=False) as workspace:
        if mode == "keyword":
            session.synchronise(workspace)
        else:
            # A search multiplies nothing large, and starting threads for that costs more.
            os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
            with ending_at_once(session.output.notice), workspace.loading_encoder():
                session.synchronise(workspace)
        if queries is None:
            found = workspace.search(
                query, mode=mode, limit=limit, neighbors=neighbors, filters=filters
            )
            document = search_document(found.query, found.mode, found.hits)
            session.output.result(document, lambda console: show_hits(console, found.hits, query))
            return
        for text, extra in asked:
            found = workspace.search(
                text, mode=mode, limit=limit, neighbors=neighbors, filters=filters
            )
            # An encoder that cannot be had is told of once.
            mode = found.mode
            session.output.json_line({**extra, **search_document(text, mode, found.hits)})


def _queries(path: Path) -> Iterator[tuple[str, dict[str, object]]]:
    """Queries of a file with the other fields of their line, which the answer repeats."""
    try:
        raw = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
        text = raw.decode("utf-8-sig")
    except OSError as error:
        raise SettingsError(
            f"cannot read {path}: {error.strerror}", hint="Name a file of queries, or - for stdin."
        ) from None
    except UnicodeDecodeError:
        raise SettingsError(f"{path} is not UTF-8", hint="Save it as UTF-8.") from None
    # Other characters that end a line elsewhere may stand inside of JSON.
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        if not line.lstrip().startswith("{"):
            yield line.strip(), {}
            continue
        try:
            record = json.loads(line)
            query = record.pop("query")
            # Python reads numbers that are none in JSON, and would write them into the answer.
            json.dumps(record, allow_nan=False)
        except (ValueError, KeyError, RecursionError):
            query = None
        if not isinstance(query, str) or not query.strip():
            raise UsageError(
                f"{path}:{number} is no JSON object with a “query” of some text",
                hint='A line is a query, or {"query": "…"} with fields that the answer repeats.',
            )
        yield query, record
