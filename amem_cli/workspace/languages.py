"""Which languages a vault's notes are in, and the encoder to propose if its own does not know them.

Nothing is sent anywhere, and nothing is kept.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from amem_cli.errors import AmemError, EncoderError, extra_hint
from amem_cli.language.detect import language_shares, named_shares
from amem_cli.markdown.plain_text import prose
from amem_cli.models.encoder_files import (
    DEFAULT_ENCODER,
    MULTILINGUAL,
    find_encoder,
    short_name,
)
from amem_cli.notes.front_matter import body_start, find_fences
from amem_cli.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from amem_cli.vault.folder import VaultFolder

# From this share of text that is not English on, another encoder is proposed.
OTHER_LANGUAGES = 0.2
# Of a share of one half, so many notes tell all but 6 in 100, whatever the size of the vault.
NOTES_SAMPLED = 300
# Of a note's text: more than is looked at, as code and links go.
_BYTES_READ = 8000


@dataclass(frozen=True, slots=True)
class EncoderProposal:
    """Another encoder for a vault whose languages its own does not know.

    Attributes:
        install: the command that installs it; empty if it is here.
    """

    name: str
    message: str
    install: str

    @property
    def hint(self) -> str:
        """The exact commands that go over to it."""
        use = f"amem model use {self.name} --encoder"
        return f"{self.install}, then {use}" if self.install else use


def vault_languages(vault: VaultFolder, paths: Sequence[str]) -> dict[str, float]:
    """The share of each language in the notes' own words, as `language_shares` gives it.

    Front matter, code and links do not count. Of a large vault, notes at even distances are read,
    always the same ones.
    """
    # Rounded up, so that the sample reaches the last of them.
    step = max(-(-len(paths) // NOTES_SAMPLED), 1)
    return language_shares(_prose_of(vault, sorted(paths)[::step]))


def _prose_of(vault: VaultFolder, paths: Sequence[str]) -> Iterator[str]:
    for path in paths:
        # A note that is gone or cannot be read tells nothing; others report it.
        with contextlib.suppress(AmemError):
            raw = vault.read(path).raw
            # The last character may be cut.
            body = raw[body_start(raw, find_fences(raw)) :][:_BYTES_READ]
            yield prose(body.decode("utf-8", "replace"))


def encoder_proposal(languages: Mapping[str, float], settings: Settings) -> EncoderProposal | None:
    """The encoder that knows these languages; None if the vault's own one does, or may."""
    other = sum(languages.values()) - languages.get("en", 0.0)
    # Only of the bundled encoder is it known that it was made from English alone.
    if short_name(settings.encoder_model) != DEFAULT_ENCODER or other < OTHER_LANGUAGES:
        return None
    message = (
        f"{100 * other:.0f} % of the text is not English ({named_shares(languages)}), and the"
        " encoder knows English only, so that searches by meaning and links miss notes"
    )
    install = ""
    try:
        find_encoder(MULTILINGUAL)
    except EncoderError:
        install = extra_hint("multilingual")
    return EncoderProposal(MULTILINGUAL, message, install)
