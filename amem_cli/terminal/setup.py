"""What is on this machine and what each language model would be worth, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from amem_cli.errors import extra_hint
from amem_cli.language.detect import named_shares
from amem_cli.language.safe_text import on_one_line
from amem_cli.models.sources import recommended_models
from amem_cli.terminal.output import named, plural, size

if TYPE_CHECKING:
    from amem_cli.terminal.output import Console, Part
    from amem_cli.workspace.setup import Choice, Survey

# One key each; `none` has 0.
MOST_SHOWN = 9
MOST_MODELS = 4
_NAME_SHOWN = 40
_MODELS_SHOWN = 4
_LABEL = 15
# docs/memory.md has the figures.
_WORTH = (
    "With a capable model, amem finds several times as many links and notices what new notes"
    " change. Without one, its own analysis writes few links, most of them right, and suggests"
    " others."
)


def survey_document(survey: Survey) -> dict[str, Any]:
    machine, proposed = survey.machine, survey.proposed
    return {
        "vault": None if survey.root is None else str(survey.root),
        "notes": survey.notes,
        "languages": {code: round(share, 3) for code, share in survey.languages.items()},
        "encoder": {
            "name": survey.encoder,
            "proposed": proposed.name if proposed else None,
            "reason": proposed.message if proposed else None,
            "install": proposed.install or None if proposed else None,
        },
        "memory": machine.memory,
        "memory_free": machine.free_memory,
        "cores": machine.cores,
        "runs_files": machine.runs_files,
        "judges_links": survey.judges,
        "servers": [
            {"kind": each.kind, "base_url": each.url, "models": list(each.models)}
            for each in machine.servers
        ],
        "files": [
            {"name": each.name, "path": str(each.path), "owner": each.owner, "bytes": each.size}
            for each in machine.files
        ],
        "programs": [
            {"name": each.name, "path": each.path, "command": each.line or None}
            for each in machine.programs
        ],
        "current": _choice_document(survey.current),
        "recommended": _choice_document(survey.recommended),
        "choices": [_choice_document(each) for each in survey.choices],
    }


def _choice_document(choice: Choice) -> dict[str, Any]:
    facts = asdict(choice).items()
    return {key: value if value or value is False else None for key, value in facts}


def shown_choices(survey: Survey) -> dict[str, Choice]:
    """The choices by the keys that make them: digits, 0 for no model."""
    none = next(choice for choice in survey.choices if choice.kind == "none")
    models = [choice for choice in survey.choices if choice.kind in ("server", "file")]
    # Many models of one server must not hide everything else.
    hidden = {id(choice) for choice in models[MOST_MODELS:] if not choice.in_use}
    shown = [each for each in survey.choices if each is not none and id(each) not in hidden]
    return {str(key): choice for key, choice in enumerate(shown[:MOST_SHOWN], 1)} | {"0": none}


def show_survey(console: Console, survey: Survey) -> None:
    """What is here, what a model is worth, and what can be chosen."""
    for label, text in _facts(survey):
        console.print((f"{label:<{_LABEL}}", "cyan"), text)
    console.print()
    console.print((_WORTH, "dim"))
    console.print()
    _show_choices(console, survey)
    if survey.recommended.kind in ("none", "bundled"):
        console.print()
        _show_ways(console, survey)


def _facts(survey: Survey) -> Iterator[tuple[str, str]]:
    machine = survey.machine
    memory = f"{size(machine.memory, 1)} of memory, {size(machine.free_memory, 1)} free"
    yield "this machine", f"{plural(machine.cores, 'core')}, {memory}"
    for server in machine.servers:
        yield server.kind, f"{server.url}  {_listed(server.models) or '(no model)'}"
    runs_ollama = any(server.kind == "Ollama" for server in machine.servers)
    if not runs_ollama and any(program.name == "ollama" for program in machine.programs):
        yield "Ollama", "does not answer; start it with ollama serve"
    if machine.files:
        yield "GGUF files", _listed([file.name for file in machine.files])
    if machine.programs:
        yield "programs", ", ".join(program.name for program in machine.programs)
    if not (machine.servers or machine.files or machine.programs):
        yield "found", "no model server, GGUF file or program that could answer"
    if survey.notes:
        shares = named_shares(survey.languages)
        yield "notes", f"{survey.notes:,}: {shares}" if shares else f"{survey.notes:,}"
    if survey.judges:
        yield "links", "judged by a small trained model that llama.cpp runs here, with any choice"
    if survey.proposed is not None:
        yield "", f"{survey.proposed.message}. One that knows more: {survey.proposed.hint}"


def _listed(names: Sequence[str]) -> str:
    return named([*map(_short, names)], _MODELS_SHOWN)


def _short(name: str) -> str:
    name = on_one_line(name)
    return name if len(name) <= _NAME_SHOWN else f"{name[: _NAME_SHOWN - 1]}…"


def _show_choices(console: Console, survey: Survey) -> None:
    shown = shown_choices(survey)
    width = max(len(_short(choice.name)) for choice in shown.values())
    for key, choice in shown.items():
        marks: list[Part] = []
        if choice.in_use:
            marks.append((" (in use)", "green"))
        if choice is survey.recommended:
            marks.append((" (recommended)", "bold green"))
        name = "no model" if choice.kind == "none" else _short(choice.name)
        label = f"  {key}  {name:<{max(width, len('no model'))}}  "
        console.print((label, "cyan"), choice_facts(choice), *marks)
    left_out = len(survey.choices) - len(shown)
    if left_out:
        console.print(f"     and {left_out} more; amem setup --json lists all")


def choice_facts(choice: Choice) -> str:
    if choice.kind == "none":
        return "amem's own analysis alone; nothing leaves this machine"
    facts = [choice.place]
    if choice.bytes:
        facts.append(size(choice.bytes, 1))
    if choice.kind == "bundled":
        facts.append("adds nothing to no model")
    elif choice.leaves_machine:
        facts.append("may send your texts elsewhere")
    if choice.problem:
        facts.append(choice.problem)
    elif choice.verdict is not None:
        facts.append(choice.verdict.line)
    elif choice.kind != "bundled":
        facts.append("not tested")
    return ", ".join(on_one_line(fact) for fact in facts)


def _show_ways(console: Console, survey: Survey) -> None:
    fetched = recommended_models()[-1]
    needs = "" if survey.machine.runs_files else f"; {extra_hint('local')}"
    console.print("No capable model was found on this machine. It comes from:")
    for source, line, note in (
        ("Ollama", "ollama pull qwen3:4b", "ollama.com"),
        ("a file", f"amem model pull {fetched.name}", f"{size(fetched.size, 1)}{needs}"),
        ("an API", "amem model use NAME --backend openai", "gets your texts"),
        ("a program", 'amem model use "llm -m NAME" --backend command', "gets your texts"),
        ("your agent", "amem mcp", "docs/agents.md"),
    ):
        console.print((f"  {source:<{_LABEL - 2}}", "cyan"), f"{line}  ({note})")
    console.print("The first two keep your texts on this machine. Then: amem setup")
