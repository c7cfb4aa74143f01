"""Which language models could be chosen for a vault on this machine, and which one is recommended.

Nothing is written, nothing is downloaded, and only this machine is asked. `model_choice.choose`
makes the choice.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from amem_cli.errors import AmemError, SettingsError, UsageError, extra_hint
from amem_cli.models.discovery import (
    LocalServer,
    Machine,
    billions_named,
    expected_servers,
    local_server,
    look_around,
)
from amem_cli.models.gguf import memory_needed
from amem_cli.models.judge import open_judge
from amem_cli.models.open import open_model, server_url
from amem_cli.settings import Settings, load_settings, user_settings_file
from amem_cli.workspace.languages import EncoderProposal, encoder_proposal, vault_languages
from amem_cli.workspace.model_choice import is_gone, leaves_machine
from amem_cli.workspace.verdicts import StoredVerdict, model_subject, stored_verdict

if TYPE_CHECKING:
    from amem_cli.workspace.workspace import Workspace

# Guesses, as no model was measured by name: of what a smaller model says little passes the checks,
# and a larger one takes minutes for a note, unless there are more cores or a graphics card.
LEAST_BILLIONS = 3.0
QUICK_BILLIONS = 4.0
MOST_BILLIONS = 15.0
# Of a quantization in four bits, the usual one.
BYTES_A_BILLION = 0.65e9
# Parts of the names of models that write no text.
NOT_FOR_TEXT = ("embed", "bge-", "minilm", "rerank", "whisper", "gte-", "-e5-", "clip")
_OWN_NAMES = ("none", "bundled")

Kind = Literal["server", "file", "program", "bundled", "none", "other"]


@dataclass(frozen=True, slots=True)
class Choice:
    """One answer to which model the vault is to use.

    Attributes:
        name: as a person names it; not always unique.
        kind: `other` is the vault's model if it was not found among the rest.
        place: where it is or what keeps it, in words.
        model, backend, base_url: as `amem model use` takes them.
        sha256: the digest that was checked when it was downloaded.
        bytes, billions: of its weights and of parameters; 0 where that is not known.
        verdict: of `amem model test`, if it was tested.
        is_lost: its file or program is gone, or the user of this machine did not agree to it.
        problem: why it is not recommended, in words; empty if nothing speaks against it.
    """

    name: str
    kind: Kind
    place: str = ""
    model: str = ""
    backend: str = ""
    base_url: str = ""
    sha256: str = ""
    bytes: int = 0
    billions: float = 0.0
    leaves_machine: bool = False
    verdict: StoredVerdict | None = None
    in_use: bool = False
    is_lost: bool = False
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Survey:
    """What is here, and what can be chosen.

    Attributes:
        root: the vault; None if there is none.
        notes: how many it has, as its index knows.
        languages: the share of each in the notes' text by its code, most first.
        encoder: what the vault's settings call it.
        proposed: another encoder that fits the languages better, if there is one.
        judges: whether a judge of links runs here, beside any choice.
        choices: the recommended one first.
    """

    machine: Machine
    root: Path | None
    notes: int
    languages: Mapping[str, float]
    encoder: str
    proposed: EncoderProposal | None
    judges: bool
    choices: tuple[Choice, ...]

    @property
    def recommended(self) -> Choice:
        """The one choice that amem recommends; its texts stay here, or it is in use already."""
        return self.choices[0]

    @property
    def current(self) -> Choice:
        """What the vault's settings name now."""
        return next(choice for choice in self.choices if choice.in_use)

    @property
    def models(self) -> tuple[Choice, ...]:
        """The choices beside those that come with amem."""
        return tuple(choice for choice in self.choices if choice.kind not in _OWN_NAMES)

    def named(self, name: str) -> Choice | None:
        found = [choice for choice in self.choices if choice.name == name]
        if len(found) > 1:
            places = ", ".join(choice.place for choice in found)
            raise UsageError(
                f"{name} is here more than once: {places}",
                hint="amem model use takes a file, or a name with --base-url or --backend.",
            )
        return found[0] if found else None


def survey(environment: Mapping[str, str], workspace: Workspace | None = None) -> Survey:
    """Look at this machine, and at the vault if there is one; about a second at most.

    Raises:
        SettingsError: the settings cannot be read.
    """
    if workspace is None:
        settings, _ = load_settings(None, user_settings_file(environment), environment)
    else:
        settings = workspace.settings
    own = _server_in_use(settings, environment)
    expected = expected_servers(environment)
    if own is not None and all(own.port != each.port for each in expected):
        expected = (*expected, own)
    machine = look_around(environment, expected)
    found = [*_served(machine, settings, own), *_files(machine, settings)]
    found += [*_programs(machine, settings), *_own(machine, settings)]
    if not any(choice.in_use for choice in found):
        found.append(_other(settings, environment))
    known = [_with_doubts(each, machine, settings, environment, workspace) for each in found]
    languages = {} if workspace is None else languages_of(workspace)
    return Survey(
        machine,
        root=None if workspace is None else workspace.root,
        notes=0 if workspace is None else workspace.index.notes.count(),
        languages=languages,
        encoder=settings.encoder_model,
        proposed=encoder_proposal(languages, settings),
        judges=machine.runs_files and open_judge(settings, environment) is not None,
        choices=tuple(_in_order(known, machine)),
    )


def languages_of(workspace: Workspace) -> dict[str, float]:
    """The share of each language in the text of a vault's notes, most first."""
    paths = [note.path for note in workspace.index.notes.outlines()]
    return vault_languages(workspace.vault, paths)


def _server_in_use(settings: Settings, environment: Mapping[str, str]) -> LocalServer | None:
    """The server of the settings, if it is one of this machine."""
    if settings.llm_backend in ("openai", "ollama"):
        with contextlib.suppress(SettingsError, ValueError):
            return local_server("server", server_url(settings, environment))
    return None


def _served(machine: Machine, settings: Settings, own: LocalServer | None) -> Iterator[Choice]:
    for server in machine.servers:
        is_own = own is not None and (own.port, own.path) == (server.port, server.path)
        for name in filter(_may_be_chosen, dict.fromkeys(server.models)):
            size, billions = server.sizes.get(name, (0, 0.0))
            yield Choice(
                name,
                "server",
                place=f"{server.kind} at 127.0.0.1:{server.port}",
                model=name,
                backend=server.backend,
                base_url=server.url,
                bytes=size,
                billions=_billions(name, size, billions),
                in_use=is_own and name == settings.llm_model,
            )


def _files(machine: Machine, settings: Settings) -> Iterator[Choice]:
    used = Path(settings.llm_model).expanduser() if settings.llm_backend == "llama.cpp" else None
    for file in machine.files:
        if _may_be_chosen(file.name):
            yield Choice(
                file.name,
                "file",
                place="downloaded file" if file.owner == "amem" else f"file of {file.owner}",
                # By its name, the digest is the one that was checked when it was downloaded.
                model=file.name if file.owner == "amem" else str(file.path),
                backend="llama.cpp",
                sha256=file.sha256,
                bytes=file.size,
                billions=_billions(file.name, file.size),
                in_use=used in (file.path, file.path.resolve()),
            )


def _programs(machine: Machine, settings: Settings) -> Iterator[Choice]:
    for program in machine.programs:
        if program.line:
            used = (settings.llm_backend, settings.llm_model) == ("command", program.line)
            yield Choice(
                program.name,
                "program",
                place="program",
                model=program.line,
                backend="command",
                in_use=used,
            )


def _own(machine: Machine, settings: Settings) -> Iterator[Choice]:
    from amem_cli.models.llama_cpp import bundled_model

    with contextlib.suppress(AmemError, OSError):
        size = bundled_model().stat().st_size
        used = settings.llm_backend == "llama.cpp" and not settings.llm_model
        if machine.runs_files:
            yield Choice(
                "bundled", "bundled", "comes with amem", "bundled", bytes=size, in_use=used
            )
    yield Choice("none", "none", model="none", in_use=settings.llm_backend == "none")


def _other(settings: Settings, environment: Mapping[str, str]) -> Choice:
    """What the vault uses, which is not among the rest."""
    places = {"llama.cpp": "file", "command": "program"}
    return Choice(
        settings.llm_model or "bundled",
        "other",
        place=places.get(settings.llm_backend) or server_url(settings, environment),
        model=settings.llm_model or "bundled",
        backend=settings.llm_backend,
        base_url=settings.llm_base_url,
        in_use=True,
    )


def _with_doubts(
    choice: Choice,
    machine: Machine,
    settings: Settings,
    environment: Mapping[str, str],
    workspace: Workspace | None,
) -> Choice:
    """A choice with what is known of it, and what speaks against it."""
    if choice.kind in _OWN_NAMES:
        return choice
    as_chosen = Settings(
        llm_backend=choice.backend,
        llm_model=choice.model,
        llm_base_url=choice.base_url,
        llm_sha256=choice.sha256,
    )
    subject = model_subject(settings if choice.in_use else as_chosen, environment)
    choice = replace(
        choice,
        verdict=stored_verdict(subject, environment),
        leaves_machine=leaves_machine(as_chosen, environment),
    )
    if choice.in_use and (reason := _loss(settings, environment, workspace)):
        return replace(choice, is_lost=True, problem=reason)
    if choice.kind == "other" and _server_in_use(settings, environment) is not None:
        return replace(choice, problem="its server does not answer, or no longer has it")
    return replace(choice, problem=_problem(choice, machine, settings))


def _loss(settings: Settings, environment: Mapping[str, str], workspace: Workspace | None) -> str:
    """Why the vault's model cannot be asked; empty if it can, as far as that is known."""
    if is_gone(settings, environment):
        return "it is no longer there"
    if workspace is None or settings.llm_backend not in ("openai", "ollama", "command"):
        return ""
    try:
        open_model(settings, workspace.root, workspace.models.origin, workspace.environment)
    except SettingsError as error:
        return str(error)
    return ""


def _problem(choice: Choice, machine: Machine, settings: Settings) -> str:
    """Why a model is not recommended; empty if nothing speaks against it."""
    if choice.verdict is not None and choice.verdict.kind != "fit":
        return choice.verdict.line
    if choice.kind == "file" and not machine.runs_files:
        return f"needs {extra_hint('local')}"
    if 0 < choice.billions < LEAST_BILLIONS and choice.verdict is None:
        return f"probably too small, with {choice.billions:.2g} billion parameters"
    needed = memory_needed(choice.bytes or int(choice.billions * BYTES_A_BILLION))
    here = min(machine.memory // 2, settings.llm_memory_mb * 2**20)
    limit = {"server": machine.memory, "file": here}.get(choice.kind, needed)
    return "takes too much of this machine's memory" if needed > limit else ""


def _may_be_chosen(name: str) -> bool:
    # By one of amem's own names, `model use` would take another thing.
    lowered = name.lower()
    return name not in _OWN_NAMES and not any(part in lowered for part in NOT_FOR_TEXT)


def _billions(name: str, size: int, told: float = 0.0) -> float:
    return round(told or billions_named(name) or size / BYTES_A_BILLION, 3)


def _in_order(choices: Sequence[Choice], machine: Machine) -> list[Choice]:
    """The recommended choice first, then the likeliest to be of use, `none` last."""
    largest = min(max(QUICK_BILLIONS, machine.cores), MOST_BILLIONS)
    ordered = sorted(choices, key=lambda choice: _rank(choice, largest))
    # If nothing better is here, no model is the best.
    at = 0 if _may_be_recommended(ordered[0]) else len(ordered) - 1
    return [ordered[at], *ordered[:at], *ordered[at + 1 :]]


def _may_be_recommended(choice: Choice) -> bool:
    if choice.kind in _OWN_NAMES:
        return False
    if choice.in_use:
        # The user decided for it. A server that does not answer may do so tomorrow.
        is_unfit = choice.verdict is not None and choice.verdict.kind == "unfit"
        return not (is_unfit or choice.is_lost)
    return choice.kind != "program" and not choice.problem and not choice.leaves_machine


def _rank(choice: Choice, largest: float) -> tuple[object, ...]:
    """Orders choices: what may be recommended first, and of that the likeliest to be of use."""
    if _may_be_recommended(choice):
        group = 0
    elif choice.kind in _OWN_NAMES:
        group = 3 + (choice.kind == "none")
    else:
        group = 2 if choice.problem else 1
    billions = choice.billions
    if LEAST_BILLIONS <= billions <= largest:
        size = (0, -billions)
    else:
        # One whose size is not known may be anything.
        size = (2, billions) if billions else (1, 0.0)
    is_untested = choice.verdict is None
    is_server = choice.kind == "server"
    return group, not choice.in_use, is_untested, size, not is_server, choice.name, choice.place
