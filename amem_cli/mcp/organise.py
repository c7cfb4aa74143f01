"""Organising notes: by the vault's own model or analyzer, or by the agent that calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from amem_cli.data import table
from amem_cli.errors import NotFoundError, UsageError
from amem_cli.mcp.tool import Arguments, compact
from amem_cli.workspace import documents as json
from amem_cli.workspace.documents import (
    COUNT,
    COUNT_OR_NULL,
    NAME,
    NAME_OR_NULL,
    NAMES,
    TEXTS,
)
from amem_cli.workspace.workspace import without

if TYPE_CHECKING:
    from amem_cli.memory.agent import Organised, Question
    from amem_cli.memory.process import MemoryProcess
    from amem_cli.workspace.workspace import Workspace

# How much of questions an agent gets at once: about 10,000 tokens, at four characters a token.
_QUESTION_CHARACTERS = 40_000
_LISTED = 20
_ANSWER_CHARACTERS = 20_000
FORM_RULES: str = table("tools.toml")["form"]["rules"]


def review_sentence(count: int) -> str | None:
    """What happens to so many proposals, for an agent to pass on; None if there are none."""
    if not count:
        return None
    what = "1 change of an older note is" if count == 1 else f"{count} changes of older notes are"
    return (
        f"{what} proposed and not made: the user's settings let them wait until the user decides,"
        " with `amem review` in a terminal."
    )


OUTCOME = {
    **json.without(json.OUTCOME, "changed_links", "model"),
    "review": NAME_OR_NULL.of(lambda outcome: review_sentence(len(outcome.proposed))),
}
EVOLVED = {
    "notes": json.listed(OUTCOME),
    "review": NAME_OR_NULL,
    "left": COUNT,
    "stopped": NAME_OR_NULL,
}


def evolve(workspace: Workspace, given: Arguments) -> Mapping[str, Any]:
    """The memory process for one note, or for the next ones that wait."""
    # Private notes are not counted either: `left` would reveal them.
    hidden = workspace.hidden()

    def waiting() -> list[str]:
        return [note.path for note in workspace.index.queue.pending() if note.path not in hidden]

    paths = [workspace.note(given["note"]).path] if given["note"] else waiting()[: given["limit"]]
    with workspace.evolving(paths, asked=bool(given["note"])) as batch:
        outcomes = [without(each, workspace.hidden()) for each in batch.outcomes()]
    return {
        "notes": outcomes,
        "review": review_sentence(sum(len(outcome.proposed) for outcome in outcomes)),
        # Counted anew: others add and finish notes meanwhile.
        "left": len(waiting()),
        "stopped": " ".join(batch.stopped),
    }


_QUESTION = {
    "id": NAME_OR_NULL,
    "path": NAME,
    "ticket": NAME,
    "instructions": COUNT,
    "form": COUNT,
    "text": NAME,
}
_ASKED = {
    "instructions": NAMES,
    "forms": NAMES,
    "questions": json.listed(_QUESTION),
}
QUESTIONS = {
    **_ASKED,
    "left": COUNT,
    "more": COUNT,
    "unasked": NAMES,
    "problems": TEXTS,
}


class _Questions:
    """Questions for an agent up to a size; what several have in common is there once."""

    def __init__(self, workspace: Workspace) -> None:
        self._notes = workspace.index.notes
        self._size = 0
        self.instructions: list[str] = []
        self.forms: list[Mapping[str, Any]] = []
        self.questions: list[dict[str, Any]] = []

    @property
    def document(self) -> dict[str, Any]:
        """The fields of `_ASKED`."""
        return {name: getattr(self, name) for name in _ASKED}

    def add(self, question: Question) -> bool:
        """Add a question; False if there is no room for it."""
        request, summary = question.request, self._notes.summary(question.path)
        instructions, form = f"{request.instructions}\n{FORM_RULES}", request.schema
        size = len(request.text)
        size += len(instructions) if instructions not in self.instructions else 0
        size += len(compact(form)) if form not in self.forms else 0
        if self.questions and self._size + size > _QUESTION_CHARACTERS:
            return False
        self._size += size
        self.questions.append(
            {
                "id": summary.id if summary else None,
                "path": question.path,
                "ticket": question.ticket,
                "instructions": _place(instructions, self.instructions),
                "form": _place(form, self.forms),
                "text": request.text,
            }
        )
        return True


def _place(value: Any, among: list[Any]) -> int:
    """Where a value is in a list, to whose end it comes if it is not there yet."""
    if value not in among:
        among.append(value)
    return among.index(value)


def _waiting(workspace: Workspace, *, everything: bool = False) -> list[str]:
    """Paths of the notes that an agent may organise; see `memory.agent.notes_to_organise`.

    Private notes are never among them, whatever the caller sees.
    """
    from amem_cli.memory.agent import notes_to_organise

    private = workspace.index.notes.private_paths()
    paths = notes_to_organise(workspace.index, everything=everything)
    return [path for path in paths if path not in private]


def _process(workspace: Workspace) -> MemoryProcess:
    from amem_cli.memory.outcome import ModelTrust

    workspace.embed_missing()
    return workspace.process_with(None, ModelTrust("all"))


def _agent_name(workspace: Workspace) -> str:
    """The agent as the journal names it where it names a model."""
    return f"{workspace.caller_now.client or 'an agent'} over MCP"


def _named(workspace: Workspace, name: str) -> str:
    """The path of the note of this name; a `UsageError` if it is private."""
    note = workspace.note(name)
    if note.private:
        raise UsageError(f"{note.title!r} is private", hint="No agent organises private notes.")
    return note.path


def next_to_organise(workspace: Workspace, given: Arguments) -> Mapping[str, Any]:
    """Questions about the next notes for the agent to answer, or about one that it names."""
    from amem_cli.memory.agent import Question, next_questions

    name, everything = given["note"], given["all"]
    waiting, known = _waiting(workspace), _waiting(workspace, everything=True)
    paths = [_named(workspace, name)] if name else known if everything else waiting
    found, passed = _Questions(workspace), 0
    unasked: list[str] = []
    problems: list[str] = []
    agent = _agent_name(workspace)
    questions = next_questions(_process(workspace), paths, agent, asked=bool(name)) if paths else ()
    for each in questions:
        workspace.caller_now.step(each.path)
        if isinstance(each, Question):
            if not found.add(each):
                break
        elif each.problems:
            problems.append(f"{each.path}: {' '.join(each.problems)}")
        elif each.path in waiting:
            unasked.append(each.path)
        passed = paths.index(each.path) + 1
        if len(found.questions) == given["limit"]:
            break
    else:
        passed = len(paths)
    return {
        **found.document,
        "left": len(paths) - passed,
        "more": 0 if everything or name else len(known) - len(waiting),
        "unasked": unasked[:_LISTED],
        "problems": problems[:_LISTED],
    }


_WRITTEN = json.pick(
    json.OUTCOME,
    ("keywords", "tags", "context", "links", "changed_links", "evolved", "proposed"),
)
ORGANISED = {
    "notes": json.listed(
        {
            "id": NAME_OR_NULL,
            "path": NAME,
            "state": NAME,
            "refused": TEXTS,
            "question": COUNT_OR_NULL,
            "written": NAME,
            "event": NAME_OR_NULL,
        }
    ),
    **_ASKED,
    "review": NAME_OR_NULL,
    "left": COUNT,
}


def organise(workspace: Workspace, given: Arguments) -> Mapping[str, Any]:
    """Write what comes of the agent's answers."""
    from amem_cli.memory.agent import organise as organised_by

    answers: dict[str, dict[str, str]] = {}
    unknown: list[Mapping[str, Any]] = []
    for each in given["answers"]:
        try:
            path = _named(workspace, each["note"])
        except (NotFoundError, UsageError) as error:
            why = f"{error.message} {error.hint}".strip()
            unknown.append(_result(each["note"], "failed", [why]))
        else:
            answers.setdefault(path, {})[each["ticket"]] = _answer_text(each["answer"])
    workspace.follow_renames(unless_done=True)
    process, agent, step = _process(workspace), _agent_name(workspace), workspace.caller_now.step
    with workspace.model_at_work():
        done = organised_by(process, answers, agent, final=given["final"], begin=step)
    results = [
        replace(each, outcome=each.outcome and without(each.outcome, workspace.hidden()))
        for each in done
    ]
    found = _Questions(workspace)
    notes = [*unknown, *(_organised(workspace, each, found) for each in results)]
    proposed = sum(len(each.outcome.proposed) for each in results if each.outcome)
    return {
        "notes": notes,
        **found.document,
        "review": review_sentence(proposed),
        "left": len(_waiting(workspace)),
    }


def _answer_text(answer: Mapping[str, Any]) -> str:
    text = compact(answer)
    if len(text) > _ANSWER_CHARACTERS:
        raise UsageError(f"an answer may have {_ANSWER_CHARACTERS:,} characters")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UsageError("an answer holds characters that no text has") from None
    return text


def _organised(workspace: Workspace, each: Organised, found: _Questions) -> Mapping[str, Any]:
    summary = workspace.index.notes.summary(each.path)
    refused, question = [*each.refused], None
    if each.question is not None:
        if found.add(each.question):
            question = len(found.questions) - 1
        else:
            refused.append("There was no room for its question: send fewer answers at once.")
    return _result(
        each.path,
        each.state,
        refused,
        id=summary.id if summary else None,
        question=question,
        written=each.outcome and json.document(_WRITTEN, each.outcome, bounded=True),
        event=each.event,
    )


def _result(path: str, state: str, refused: Sequence[str], **more: Any) -> dict[str, Any]:
    nothing = {"id": None, "question": None, "written": None, "event": ""}
    return {"path": path, "state": state, "refused": list(refused), **nothing, **more}
