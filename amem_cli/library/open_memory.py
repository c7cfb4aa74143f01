"""A vault that a program holds open: opening and closing it, and the work behind each call."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from amem_cli.core.errors import AmemError, BudgetSpent, IndexFault, NotFoundError
from amem_cli.core.redaction import redacted
from amem_cli.library.notes import Memories, MemoryNote
from amem_cli.library.opened_vault import OpenedVault
from amem_cli.library.opening import log, open_workspace
from amem_cli.services.sync import embed_missing, synchronise

if TYPE_CHECKING:
    from typing_extensions import Self

    from amem_cli.services.outcome import Outcome
    from amem_cli.wiring import Workspace


class OpenMemory:
    """An open vault with its models; see `AgenticMemorySystem` for the arguments."""

    def __init__(
        self,
        model_name: str | None = "all-MiniLM-L6-v2",
        llm_backend: str | None = None,
        llm_model: str | None = None,
        evo_threshold: int = 100,
        api_key: str | None = None,
        *,
        vault: str | Path | None = None,
        base_url: str | None = None,
    ) -> None:
        workspace = open_workspace(
            vault,
            model_name=model_name,
            llm_backend=llm_backend,
            llm_model=llm_model,
            api_key=api_key,
            base_url=base_url,
        )
        self.model_name = model_name
        self.evo_threshold = evo_threshold
        self._root = workspace.root
        self._opened = OpenedVault(workspace)
        # Also where nobody closes it: at the end of the program, or when it is collected.
        self._finalizer = weakref.finalize(self, self._opened.close)
        self.memories: Mapping[str, MemoryNote] = Memories(self._vault)
        try:
            with self._vault():
                pass
        except BaseException:
            self._finalizer()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        closed = ", closed" if self._opened.is_closed else ""
        return f"<{type(self).__name__} vault={str(self._root)!r}{closed}>"

    def close(self) -> None:
        """Close the vault and end the model's process; a second time does nothing."""
        self._finalizer()

    @contextmanager
    def _vault(self, in_step: bool = True) -> Iterator[Workspace]:
        """The vault for one call; what was changed is committed where the settings say so."""
        with self._opened.lent() as workspace:
            try:
                if in_step:
                    synchronise(workspace.ports)
                yield workspace
            finally:
                for notice in self._opened.commit(workspace):
                    log.warning("%s", notice)

    def _remember(self, workspace: Workspace, path: str, *, new_text: bool) -> Outcome | None:
        """Run the memory process; the note is safe whatever happens to it."""
        try:
            embed_missing(workspace.ports, workspace.encoder)
            with self._opened.thinking:
                outcome = workspace.process.run(path, asked=True, only_pending=new_text)
        except NotFoundError:
            # Somebody deleted it meanwhile.
            return None
        except BudgetSpent as error:
            log.warning("%s is pending: %s", path, error.message)
            return None
        except AmemError as error:
            log.warning("%s is pending: %s", path, redacted(error.message, workspace.environment))
            with suppress(IndexFault), workspace.index.changing():
                workspace.index.queue.count_failure(path, error.message)
            return None
        if outcome.pending:
            told = redacted("; ".join(outcome.problems), workspace.environment)
            log.warning("%s is pending: %s", path, told)
        return outcome
