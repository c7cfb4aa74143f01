"""The memory process with an agent in place of the model: questions go out, answers come in.

An agent cannot be asked: it calls. So the process runs up to the question for a model and stops
there, and runs again with the agent's answer; checks, plan and journal are those of every model. A
ticket ties an answer to its question, so nothing needs to be kept between the two calls.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Literal

from amem_cli.analyzer.earlier_notes import Place, place_in_time, waiting_notes
from amem_cli.errors import AmemError, ModelClosed, NoteInUse, WriteConflict
from amem_cli.index.sync import embed_missing, synchronise
from amem_cli.memory.outcome import ANALYZER, JUDGE, NoteAnalysis, Outcome
from amem_cli.memory.relink import is_taken_back, unjudged_run
from amem_cli.models.ports import AnswerRejected, ModelAnswer, UnavailableModel
from amem_cli.models.reply_schema import read_answer

if TYPE_CHECKING:
    from amem_cli.index.memory_index import MemoryIndex
    from amem_cli.journal.events import Event
    from amem_cli.memory.process import MemoryProcess
    from amem_cli.models.ports import ModelRequest
    from amem_cli.vault.file_state import FileContent

CHANGED = "the question is another one by now, as the note or the older notes shown with it changed"
NOTHING_TO_ASK = "there is nothing to ask about it"
# What becomes of an agent's answers: they are written; nothing is, as a part was refused; nothing
# is, as there is a question to answer first; nothing can be.
State = Literal["organised", "refused", "question", "failed"]


@dataclass(frozen=True, slots=True)
class Question:
    """A question about one note; its ticket comes back with the answer."""

    path: str
    ticket: str
    request: ModelRequest


@dataclass(frozen=True, slots=True)
class NoQuestion:
    """A note without a question: why it cannot be processed, or nothing if no answer is needed."""

    path: str
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Organised:
    """What became of the answers about one note.

    Attributes:
        refused: what was not kept of the answers, or why none was, one line each.
        question: the one to answer, if the state is `question`.
        event: id of the journal's event, for undo; empty if nothing was written.
    """

    path: str
    state: State
    outcome: Outcome | None = None
    refused: tuple[str, ...] = ()
    question: Question | None = None
    event: str = ""


def _ticket(state: str, request: ModelRequest) -> str:
    # Without the text: contexts and tags in it change as the other answers of a batch are written.
    asked = json.dumps([state, request.instructions, request.shows, request.schema])
    return blake2b(asked.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def notes_to_organise(index: MemoryIndex, *, everything: bool = False) -> list[str]:
    """Paths of the notes that an agent may organise: those that wait, oldest first.

    Args:
        everything: behind them also those that nobody described (notes of an adopted folder) and
            those that the analyzer described alone, unless a person took that back.
    """
    paths = [note.path for note in index.queue.pending()]
    if everything:
        undone = index.events.paths_with_undo()
        further = [*index.queue.unprocessed(), *index.queue.made_by(ANALYZER)]
        paths += [
            path for path in further if path not in undone or not _was_taken_back(index, path)
        ]
    return [*dict.fromkeys(paths)]


def next_questions(
    process: MemoryProcess, paths: Sequence[str], name: str, *, asked: bool = False
) -> Iterator[Question | NoQuestion]:
    """The questions about these notes, one by one; writes nothing.

    Args:
        asked: somebody named the notes; else those are left out that a person took something back
            of.
    """
    for path in paths:
        if not asked and _was_taken_back(process.ports.index, path):
            continue
        try:
            state, own = _with_agent(process, path, name)
            found = own.steps(path)
            if isinstance(found, Outcome):
                yield NoQuestion(path, found.problems)
                continue
            request = next(found[1], None)
        except AmemError as error:
            yield NoQuestion(path, (error.message, *filter(None, [error.hint])))
        else:
            if request is None:
                yield NoQuestion(path)
            else:
                yield Question(path, _ticket(state, request), request)


def organise(
    process: MemoryProcess,
    answers: Mapping[str, Mapping[str, str]],
    name: str,
    *,
    final: bool = False,
    begin: Callable[[str], None] = lambda path: None,
) -> list[Organised]:
    """Organise notes by an agent's answers, as the process does by a model's.

    If a part of the answers about a note is refused, nothing is written of that note, so that the
    agent can mend it.

    Args:
        answers: by path and ticket, as JSON.
        name: of the agent, for the journal.
        final: keep what is good of an answer that is refused in part; the analyzer does the rest.
        begin: called before a note's turn with its path; may raise to end the run.

    Returns:
        What became of each note, in the order of the answers.
    """
    with process.ports.changes.working(process.settings.deadline):
        # All are analysed before one is written: it would change what the others' questions show.
        analysed = {}
        for path, given in answers.items():
            begin(path)
            analysed[path] = _analysed(process, path, name, given, final=final)
        results = {}
        # A newer note may change an older one, whose own answers are written before that.
        for path in sorted(analysed, key=partial(_place, process)):
            begin(path)
            found = analysed[path]
            results[path] = found if isinstance(found, Organised) else _recorded(*found, name)
        return [results[path] for path in answers]


def _analysed(
    process: MemoryProcess, path: str, name: str, given: Mapping[str, str], *, final: bool
) -> Organised | tuple[MemoryProcess, FileContent, NoteAnalysis]:
    """What the answers about one note come to, or why nothing is written of it."""
    was_asked = False
    try:
        state, own = _with_agent(process, path, name)
        found = own.steps(path)
        if isinstance(found, Outcome):
            return _failed(path, *found.problems)
        content, steps = found
        request = next(steps)
        while (ticket := _ticket(state, request)) in given:
            read_answer(given[ticket], request.schema)
            was_asked = True
            request = steps.send(
                ModelAnswer(given[ticket], True, prompt_tokens=0, answer_tokens=0, seconds=0.0)
            )
    except StopIteration as done:
        refused = done.value.refused
        if not was_asked:
            return _failed(path, NOTHING_TO_ASK)
        if refused and not final:
            return Organised(path, "refused", refused=refused)
        return own, content, done.value
    except AnswerRejected as rejected:
        return Organised(path, "refused", refused=(str(rejected),))
    except AmemError as error:
        return _failed(path, error.message, error.hint)
    last = _last_run(process.ports.index, path)
    if own.again and last and last.model != ANALYZER:
        why = f"it was organised before, by {last.model}"
        return _failed(path, why, "Ask for this note alone to do it anew.")
    question = Question(path, ticket, request)
    return Organised(path, "question", refused=(CHANGED,), question=question)


def _recorded(
    process: MemoryProcess, content: FileContent, analysis: NoteAnalysis, name: str
) -> Organised:
    """Write what comes of the answers about a note, or ask anew if it is another one by now."""
    path, ports = content.state.path, process.ports
    try:
        outcome = process.record(content, analysis)
    except AmemError as error:
        if not isinstance(error, WriteConflict) or isinstance(error, NoteInUse):
            return _failed(path, error.message, error.hint)
        synchronise(ports)
        embed_missing(ports, process.encoder)
        found = _analysed(process, path, name, {}, final=False)
        assert isinstance(found, Organised), "nothing is written without answers"
        return found
    last = _last_run(ports.index, path)
    refused = (*analysis.refused, *_not_made(analysis, outcome))
    return Organised(path, "organised", outcome, refused=refused, event=last.id if last else "")


def _failed(path: str, *why: str) -> Organised:
    return Organised(path, "failed", refused=tuple(filter(None, why)))


def _with_agent(process: MemoryProcess, path: str, name: str) -> tuple[str, MemoryProcess]:
    """The process of a note as an agent's answers drive it, the same for every call with the same
    note, so that it comes to the same question; and what tickets stand for besides the questions.
    """
    index = process.ports.index
    summary, last = index.notes.summary(path), _last_run(index, path)
    state = f"{summary.text_hash if summary else ''} {last.id if last else ''}"
    # What an agent reads goes to whoever runs its model, so private notes are never shown to it.
    model = UnavailableModel(ModelClosed("the agent has to answer first"), name, is_remote=True)
    settings = replace(process.settings, trusted=True, attempts=1)
    # What the machine made of this text before is made anew.
    again = summary is not None and (
        process.is_finished(path)
        or unjudged_run(_events(index, path), summary.text_hash) is not None
    )
    waiting = None
    if last is None and path not in {each.path for each in index.queue.pending()}:
        # Of an adopted folder the later notes count as not written yet, as when all are processed.
        waiting = waiting_notes(index, process.ports.clock.now(), index.queue.unprocessed())
    return state, replace(process, model=model, settings=settings, again=again, waiting=waiting)


def _place(process: MemoryProcess, path: str) -> Place:
    """Where a note stands in the order of time; one that is gone comes first."""
    summary = process.ports.index.notes.summary(path)
    return place_in_time(summary, process.ports.clock.now()) if summary else ("", "", path)


def _events(index: MemoryIndex, path: str) -> list[Event]:
    summary = index.notes.summary(path)
    return index.events.read(summary.key) if summary is not None else []


def _last_run(index: MemoryIndex, path: str) -> Event | None:
    """The last time that a note was processed."""
    runs = [event for event in _events(index, path) if event.kind == "process"]
    return runs[-1] if runs else None


def _was_taken_back(index: MemoryIndex, path: str) -> bool:
    """Whether a person took back something of what was made of a note's text as it is now."""
    summary, last = index.notes.summary(path), _last_run(index, path)
    if summary is None or last is None or last.text_hash != summary.text_hash:
        return False
    return last.waits_for in ("", JUDGE) and is_taken_back(last, _events(index, path))


def _not_made(analysis: NoteAnalysis, outcome: Outcome) -> Iterator[str]:
    """What the checks let pass and the plan did not make, one line each."""
    made: Collection[str] = {link.path for link in outcome.links}
    for link in analysis.linking.links:
        if link.target not in made:
            yield f"links: {link.target} is linked already"
    changed = {note.path for note in outcome.evolved} | {each.path for each in outcome.proposed}
    for change in analysis.linking.evolutions:
        if change.path not in changed:
            yield (
                f"changes: {change.path} stays as it is: its values are the user's, it is being"
                " edited, this was turned down, or waits already"
            )
