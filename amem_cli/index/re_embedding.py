"""Which encoder searches use while the notes are embedded again with another one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from amem_cli.errors import AmemError, EncoderError, SettingsError

if TYPE_CHECKING:
    from amem_cli.index.memory_index import MemoryIndex
    from amem_cli.models.ports import Encoder

# Up to so many passages are embedded before a search, in seconds; more are left to `amem index`.
EMBEDDED_AT_ONCE = 200


class EncoderChoice:
    """Chooses between the encoder of the settings and that of the vectors in the index.

    Args:
        chosen: opens the encoder of the settings.
        name: what the settings call it.
        cache: folder of prepared encoders.
        notify: receives one line if the former encoder is used.
    """

    def __init__(
        self,
        index: MemoryIndex,
        chosen: Callable[[], Encoder],
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

        The former one, if it still runs on this machine, while many passages have no vector of the
        chosen one; also if the chosen one is not available.

        Raises:
            EncoderError, SettingsError: neither is available.
        """
        known = self._index.vectors.encoder()
        try:
            chosen = self._chosen()
            if known is None or known == chosen.model_id:
                return chosen
            waiting = self._index.vectors.count_to_embed(chosen.model_id)
            few = waiting <= EMBEDDED_AT_ONCE
            if few or self._index.vectors.count_to_embed(known) > EMBEDDED_AT_ONCE:
                # Only loading it shows whether it is available.
                _ = chosen.dimension
                return chosen
        except (EncoderError, SettingsError) as error:
            return self._instead(known, error)
        former = self._made_with(known)
        if former is None:
            return chosen
        self._tell(known, waiting)
        return former

    def preferred(self) -> Encoder:
        """The encoder of the settings; the former one only if that is not available.

        Raises:
            EncoderError, SettingsError: neither is available.
        """
        known = self._index.vectors.encoder()
        try:
            chosen = self._chosen()
            if known is not None and known != chosen.model_id:
                _ = chosen.dimension
        except (EncoderError, SettingsError) as error:
            return self._instead(known, error)
        return chosen

    def _instead(self, known: str | None, error: AmemError) -> Encoder:
        former = self._made_with(known)
        if former is None:
            raise error
        self._tell(known, error)
        return former

    def _made_with(self, known: str | None) -> Encoder | None:
        """The encoder that made the vectors in the index, if it still runs."""
        from amem_cli.models.prepared import prepared_encoder

        if known and (self._former is None or self._former.model_id != known):
            self._former = prepared_encoder(known, self._cache)
        return self._former if known else None

    def _tell(self, known: str | None, why: int | AmemError) -> None:
        if self._notify is None or self._told:
            return
        self._told = True
        former = (known or "").partition("@")[0]
        if isinstance(why, AmemError):
            self._notify(f"! {former} still answers: {why.message}")
            return
        self._notify(
            f"! {former} still answers: {why} passages have no vectors of {self._name} yet;"
            " amem index makes them"
        )
