"""What every command shares: the named vault, the voice, and opening both."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amem_cli.core.errors import UsageError
from amem_cli.rendering.output import Output

TOLD_AFTER_SECONDS = 10.0

if TYPE_CHECKING:
    from datetime import datetime

    import typer

    from amem_cli.core.index_port import Progress
    from amem_cli.core.ports import Encoder
    from amem_cli.wiring import Workspace


@dataclass
class Session:
    """The global options of one command line."""

    vault: Path | None = None
    output: Output = field(default_factory=Output)

    @contextlib.contextmanager
    def workspace(self, *, sync: bool = True, **overrides: Any) -> Iterator[Workspace]:
        """The vault, open and in step with its folder.

        Args:
            sync: False leaves the index as it is.
            overrides: settings given as options, by field name; None is no override.
        """
        from amem_cli.vault_location import find_vault
        from amem_cli.wiring import Workspace

        given = {name: value for name, value in overrides.items() if value is not None}
        workspace = Workspace(find_vault(self.vault), overrides=given, notify=self.output.notice)
        try:
            if sync:
                self.synchronise(workspace)
            yield workspace
        finally:
            # What was changed before a failure is changed, and is committed as well.
            try:
                self.commit(workspace)
            finally:
                workspace.close()

    def commit(self, workspace: Workspace) -> None:
        """Commit what the machine changed so far, where the settings say so."""
        for notice in workspace.commit_changes():
            self.output.notice(notice)

    def synchronise(self, workspace: Workspace) -> None:
        """Read what changed in the folder, with a progress bar where it is much."""
        from amem_cli.services.sync import synchronise

        # Most commands meet no change, and load nothing of rich for it.
        with self.output.progress("reading notes", once_told=True) as progress:
            report = synchronise(workspace.ports, progress=progress)
        if report.out_of_reach:
            count = len(report.out_of_reach)
            self.output.notice(
                f"! {count} note{'s lie' if count != 1 else ' lies'} in folders that cannot be"
                f" read, {report.out_of_reach[0]} first; shown as last seen"
            )
        if self.output.verbose:
            self.output.problems(report.problems)

    def embed(self, workspace: Workspace, *, go_over: bool = False) -> int:
        """Give new passages their vectors, and say so where it takes long.

        Args:
            go_over: to the encoder of the settings, also where that is to embed all notes anew.
        """
        from amem_cli.services.sync import embed_missing

        encoder = workspace.chosen_encoder if go_over else workspace.encoder
        with self.output.progress("embedding", once_told=True) as progress:
            told = self._estimate(progress)
            return embed_missing(workspace.ports, encoder, progress=told)

    def embedded(self, workspace: Workspace) -> Encoder:
        """The encoder, with every passage embedded.

        Raises:
            EncoderError, SettingsError: it cannot be had.
        """
        self.embed(workspace)
        return workspace.encoder

    def _estimate(self, progress: Progress | None) -> Progress:
        started, first, said = time.monotonic(), 0, False

        def told(done: int, total: int) -> None:
            nonlocal first, said
            if progress is not None:
                progress(done, total)
            # The first portion holds the time to load the encoder.
            elapsed = time.monotonic() - started
            if not said and first and elapsed > TOLD_AFTER_SECONDS:
                said = True
                left = elapsed * (total - done) / done
                self.output.notice(
                    f"embedding {total} passages takes about {_span(left)} more; what is done is"
                    " kept when you stop, and search --mode keyword needs no vectors"
                )
            first = first or done

        return told


def session_of(context: typer.Context) -> Session:
    """The session that the main callback made."""
    session = context.find_object(Session)
    assert session is not None
    return session


def moment(text: str | None, option: str) -> datetime | None:
    """A date given as an option.

    Raises:
        UsageError: it is no date.
    """
    if text is None:
        return None
    from amem_cli.core.identity import parse_moment

    try:
        return parse_moment(text)
    except ValueError:
        raise UsageError(
            f"{option} {text!r} is no date", hint="Write it as 2026-03-02 or 2026-03-02T15:00."
        ) from None


def _span(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
