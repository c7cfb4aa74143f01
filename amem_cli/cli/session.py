"""What every command starts with: the global options, the output, and the vault to open."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amem_cli.terminal.output import Output, plural

if TYPE_CHECKING:
    import typer

    from amem_cli.index.records import Progress
    from amem_cli.workspace.workspace import Workspace

SECONDS_BEFORE_ESTIMATE = 10.0


@dataclass
class Session:
    """The global options of one command line."""

    vault: Path | None = None
    output: Output = field(default_factory=Output)

    @property
    def root(self) -> Path:
        """The vault's folder.

        Raises:
            NotFoundError: there is no vault.
        """
        from amem_cli.settings import find_vault

        return find_vault(self.vault)

    @contextlib.contextmanager
    def workspace(
        self, *, sync: bool = True, llm: bool = True, **overrides: Any
    ) -> Iterator[Workspace]:
        """Open the vault and bring its index up to date.

        Args:
            sync: False leaves the index as it is.
            llm: False works without the language model.
            overrides: settings given as options, by field name; None overrides nothing.
        """
        given = {name: value for name, value in overrides.items() if value is not None}
        if not llm:
            given["llm_backend"] = "none"
        workspace = self.open(self.root, given)
        try:
            if sync:
                self.synchronise(workspace)
            yield workspace
        finally:
            # What changed before a failure has changed, and is committed as well.
            try:
                workspace.commit()
            finally:
                workspace.close()

    def open(self, root: Path, overrides: Mapping[str, Any]) -> Workspace:
        """Open a vault whose notices and progress this command line shows."""
        from amem_cli.workspace.caller import Caller
        from amem_cli.workspace.workspace import Workspace

        caller = Caller(progress=self._progress)
        return Workspace(root, overrides=overrides, notify=self.output.notice, caller=caller)

    def synchronise(self, workspace: Workspace) -> None:
        """Read what changed in the folder, and report what cannot be read."""
        report = workspace.synchronise()
        if report.out_of_reach:
            count = len(report.out_of_reach)
            self.output.notice(
                f"! {plural(count, 'note')} {'is' if count == 1 else 'are'} in folders that cannot"
                f" be read, such as {report.out_of_reach[0]}; shown as last seen"
            )
        if self.output.verbose:
            self.output.problems(report.problems)

    @contextlib.contextmanager
    def _progress(self, label: str, at_once: bool) -> Iterator[Progress | None]:
        # Most commands count nothing, so they do not load rich for a bar either.
        with self.output.progress(label, on_first_call=not at_once) as progress:
            yield self._with_estimate(progress) if label.startswith("embedding") else progress

    def _with_estimate(self, progress: Progress | None) -> Progress:
        """Also print, once, how long embedding will take."""
        from amem_cli.terminal.output import duration

        started, first_batch, printed = time.monotonic(), 0, False

        def report(done: int, total: int) -> None:
            nonlocal first_batch, printed
            if progress is not None:
                progress(done, total)
            # The first batch includes the time to load the encoder.
            elapsed = time.monotonic() - started
            if not printed and first_batch and elapsed > SECONDS_BEFORE_ESTIMATE:
                printed = True
                self.output.notice(
                    f"embedding {total} passages takes about"
                    f" {duration(elapsed * (total - done) / done)} more; you can stop and continue"
                    " later, and `amem search --mode keyword` works without it"
                )
            first_batch = first_batch or done

        return report


def session_of(context: typer.Context) -> Session:
    """The session that the main callback made."""
    session = context.find_object(Session)
    assert session is not None
    return session
