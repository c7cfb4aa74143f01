"""What every command shares: the named vault, the voice, and opening both."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
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

        given = {name: value for name, value in overrides.items() if value is not None}
        workspace = self.opened(find_vault(self.vault), given)
        try:
            if sync:
                self.synchronise(workspace)
            yield workspace
        finally:
            # What was changed before a failure is changed, and is committed as well.
            try:
                workspace.commit()
            finally:
                workspace.close()

    def opened(self, root: Path, overrides: Mapping[str, Any]) -> Workspace:
        """A vault whose notices and progress this command line shows."""
        from amem_cli.caller import Caller
        from amem_cli.wiring import Workspace

        caller = Caller(progress=self._progress)
        return Workspace(root, overrides=overrides, notify=self.output.notice, caller=caller)

    def synchronise(self, workspace: Workspace) -> None:
        """Read what changed in the folder, and tell of what cannot be read."""
        report = workspace.synchronise()
        if report.out_of_reach:
            count = len(report.out_of_reach)
            self.output.notice(
                f"! {count} note{'s lie' if count != 1 else ' lies'} in folders that cannot be"
                f" read, {report.out_of_reach[0]} first; shown as last seen"
            )
        if self.output.verbose:
            self.output.problems(report.problems)

    @contextlib.contextmanager
    def _progress(self, label: str, at_once: bool) -> Iterator[Progress | None]:
        # Most commands count nothing, and load nothing of rich for it.
        with self.output.progress(label, once_told=not at_once) as progress:
            yield self._estimate(progress) if label.startswith("embedding") else progress

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
