"""Which encoder answers while the notes are embedded anew by another one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from amem_cli.core.index_port import MemoryIndex
    from amem_cli.core.ports import Encoder

# So many passages are embedded anew before an answer, in seconds; more are left to `amem index`.
EMBEDDED_AT_ONCE = 200


class ServingEncoder:
    """Chooses between the encoder of the settings and that of the vectors in the index.

    Args:
        chosen: the encoder of the settings.
        name: what the settings call it.
        cache: folder of the encoders that were prepared.
        notify: told once where the other one answers.
    """

    def __init__(
        self,
        index: MemoryIndex,
        chosen: Encoder,
        name: str,
        *,
        cache: Path,
        notify: Callable[[str], None] | None = None,
    ) -> None:
        self._index = index
        self._chosen = chosen
        self._name = name
        self._cache = cache
        self._notify = notify
        self._former: Encoder | None = None
        self._told = False

    def current(self) -> Encoder:
        """The encoder to search and to add with.

        That of the vectors in the index, while many passages have none of the chosen one and the
        other can still be run on this machine.
        """
        from amem_cli.adapters.prepared_encoder import prepared_encoder

        chosen, known = self._chosen, self._index.encoder()
        if known is None or known == chosen.model_id:
            return chosen
        waiting = self._index.count_to_embed(chosen.model_id)
        if waiting <= EMBEDDED_AT_ONCE or self._index.count_to_embed(known) > EMBEDDED_AT_ONCE:
            return chosen
        if self._former is None or self._former.model_id != known:
            self._former = prepared_encoder(known, self._cache)
        if self._former is None:
            return chosen
        if self._notify is not None and not self._told:
            self._told = True
            self._notify(
                f"! {known.partition('@')[0]} still answers: {waiting} passages have no vectors of"
                f" {self._name} yet; amem index makes them"
            )
        return self._former
