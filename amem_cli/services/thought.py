"""What the machine has to say about one version of a note, and who said it at what cost."""

from __future__ import annotations

from dataclasses import dataclass, field

from amem_cli.core.linking import Evolution
from amem_cli.core.note import MemoryLink, Metadata
from amem_cli.core.reweighing import LinkChange
from amem_cli.services.outcome import ModelUse

ANALYZER = "amem analyzer"


@dataclass(frozen=True, slots=True)
class Step:
    """Who did one step of the process, and at what cost."""

    model: str = ANALYZER
    prompt: str = ""
    use: ModelUse = field(default_factory=ModelUse)


@dataclass(frozen=True, slots=True)
class Construction:
    """Metadata for the note."""

    metadata: Metadata = field(default_factory=Metadata)
    step: Step = field(default_factory=Step)
    reason: str = ""
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Linking:
    """Links from the note, and changes of the older notes that they lead to.

    Attributes:
        link_changes: changes of links that the machine made earlier, from this note or from one
            that it is linked with.
    """

    links: tuple[MemoryLink, ...] = ()
    evolutions: tuple[Evolution, ...] = ()
    step: Step = field(default_factory=Step)
    problems: tuple[str, ...] = ()
    link_changes: tuple[LinkChange, ...] = ()


@dataclass(frozen=True, slots=True)
class Thought:
    """All that the machine has to say about one version of a note.

    Attributes:
        rejudged: changes of the note's own links that its new text calls for, by the analyzer.
    """

    construction: Construction
    linking: Linking
    model: str
    rejudged: tuple[LinkChange, ...] = ()

    @property
    def use(self) -> ModelUse:
        """Cost of all steps."""
        return self.construction.step.use + self.linking.step.use

    @property
    def problems(self) -> tuple[str, ...]:
        """What went wrong or was replaced, one line each."""
        return self.construction.problems + self.linking.problems
