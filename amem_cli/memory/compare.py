"""What two models would make of the same notes, each as if it were added at its place in time.

Nothing is written. What amem wrote in a note before is left out, and so are the notes made after
it; the older notes are as they are now.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from amem_cli.analyzer.earlier_notes import Place, place_in_time
from amem_cli.errors import BudgetSpent, HeaderRefused, ModelError, NotFoundError, UnsafePath
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.records import NoteSummary, Progress
from amem_cli.memory.outcome import ModelUse, Outcome, ProcessSettings
from amem_cli.memory.process import MemoryProcess
from amem_cli.models.ports import Encoder, Judge, LanguageModel
from amem_cli.notes.note import Metadata

USUAL_NOTES = 10
SPENT_HINT = "Compare again tomorrow, or raise llm.daily_tokens."
# A note may be renamed or deleted, or its folder replaced by a link, while the models are asked.
_UNREADABLE = (NotFoundError, UnsafePath, HeaderRefused)


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two models that are compared.

    Attributes:
        name: as the user wrote it.
        model: None for the analyzer alone.
        settings: how far the model is trusted among them.
    """

    name: str
    model: LanguageModel | None
    settings: ProcessSettings


@dataclass(slots=True)
class Comparison:
    """One run over some notes: the first side with all of them, then the second.

    In this order, only one model need be in memory at a time.

    Attributes:
        results: of each side, in the order of the notes, as far as the run came. Of a result that
            `failed` the first problem says why.
        stopped: why not all was asked, as a line and a hint; empty if nothing stopped the run.
    """

    ports: VaultPorts
    encoder: Encoder
    sides: tuple[Side, Side]
    notes: Sequence[NoteSummary]
    results: tuple[list[Outcome], list[Outcome]] = field(default_factory=lambda: ([], []))
    stopped: tuple[str, str] | None = None
    judge: Judge | None = None

    def run(self, progress: Progress = lambda done, total: None) -> None:
        """Ask both models; what was answered until an exception stays in the results.

        Args:
            progress: called after each answer with the number of answers.

        Raises:
            EncoderError: the encoder cannot be run.
        """
        index, now = self.ports.index, self.ports.clock.now()
        # All count as waiting, so that for each note the later ones are absent.
        places = {each.path: place_in_time(each, now) for each in index.notes.outlines()}
        for at, side in enumerate(self.sides):
            results = self.results[at]
            try:
                for number, note in enumerate(self.notes):
                    results.append(self._result(side, note, places))
                    progress(len(self.notes) * at + number + 1, 2 * len(self.notes))
            except BudgetSpent as error:
                # The error's own hint is about notes that wait, and none waits here.
                self.stopped = (error.message, SPENT_HINT)
                return
            finally:
                if side.model is not None:
                    side.model.close()

    @property
    def links_by_both(self) -> int:
        """Links that both sides would make, whatever they say of them."""
        pairs = zip(*self.results, strict=False)
        return sum(
            len({each.path for each in one.links} & {each.path for each in other.links})
            for one, other in pairs
        )

    @property
    def gave_up(self) -> bool:
        """Whether one of the models failed to the end, so that it was not asked any more."""
        # A note that cannot be read is no failure of the model.
        last = [results[-1] for results in self.results if results]
        return any(each.failed and bool(each.model) for each in last)

    def _result(self, side: Side, note: NoteSummary, places: Mapping[str, Place]) -> Outcome:
        """What one side would make of a note, without what its owner wrote."""
        process = MemoryProcess(
            self.ports, self.encoder, side.model, side.settings, waiting=places, judge=self.judge
        )
        failed = Outcome(note.path, note.id, note.title, failed=True)
        try:
            outcome = process.as_if_new(note.path)
        except BudgetSpent:
            raise
        except ModelError as error:
            assert side.model is not None
            return replace(failed, problems=(error.message,), model=side.model.name)
        except _UNREADABLE as error:
            return replace(failed, problems=(error.message,))
        own = {name: getattr(outcome.metadata, name) for name in outcome.written}
        return replace(outcome, metadata=Metadata(**own), failed=not outcome.model)


def totals(results: Sequence[Outcome]) -> dict[str, float]:
    """What the results of one side add up to; seconds are of the model, without loading it.

    `changes` are of older notes and of links between them, proposed ones included.
    """
    done = [each for each in results if not each.failed]
    count = max(1, len(done))
    use = sum((each.use for each in done), ModelUse())
    return {
        "described": sum(bool(each.written) for each in done),
        "contexts": sum(bool(each.metadata.context) for each in done),
        "links": sum(len(each.links) for each in done),
        "changes": sum(
            len(each.evolved) + len(each.proposed) + len(each.changed_links) for each in done
        ),
        "refused": sum(len(each.problems) for each in done),
        "failed": len(results) - len(done),
        "seconds_per_note": use.seconds / count,
        "tokens_per_note": (use.prompt_tokens + use.answer_tokens) / count,
    }


def notes_to_compare(ports: VaultPorts, count: int, *, private: bool) -> list[NoteSummary]:
    """So many notes of the newer half of a vault, spread evenly, oldest first.

    These have older notes to be linked with, and the same ones are taken every time.
    """
    now = ports.clock.now()
    fit = [
        each
        for each in ports.index.notes.summaries()
        if not each.refused and (private or not each.private)
    ]
    fit.sort(key=lambda each: place_in_time(each, now))
    newer = fit[-max(count, len(fit) // 2) :]
    if len(newer) <= count:
        return newer
    last = len(newer) - 1
    # The newest is among them, if there is room for only one as well.
    return [newer[last - round(at * last / max(1, count - 1))] for at in reversed(range(count))]
