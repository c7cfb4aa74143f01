"""Which language models could be chosen for a vault on this machine, and which one is recommended.

Nothing is written, nothing is downloaded, and only this machine is asked. `model_choice.choose`
makes the choice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from amem_cli.errors import AmemError, SettingsError, UsageError, extra_hint
from amem_cli.models.discovery import (
    LocalServer,
    Machine,
    ModelSize,
    billions_named,
    expected_servers,
    look_around,
)
from amem_cli.models.gguf import memory_needed
from amem_cli.models.open import consented, local_command_subject, open_model, server_url
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
_UNKNOWN_SIZE = ModelSize()

Kind = Literal["server", "file", "program", "bundled", "none", "other"]


@dataclass(frozen=True, slots=True)
class Choice:
    """One answer to which model the vault is to use.

    Attributes:
        name: as a person names it; not always unique.
        kind: `other` is the vault's model if it was not found among the rest.
        place: where it is or what keeps it, in words.
        model, backend, base_url: as `amem model use` takes them.
        leaves: texts go to another machine, as far as amem knows.
        verdict: of `amem model test`, if it was tested.
        is_current: the vault uses it.
        is_gone: its file or program is no longer there.
        is_refused: the vault names it, but the user did not agree to it on this machine.
        problem: why it is not recommended, in words; empty if nothing speaks against it.
    """

    name: str
    kind: Kind
    place: str = ""
    model: str = ""
    backend: str = ""
    base_url: str = ""
    size: ModelSize = _UNKNOWN_SIZE
    leaves: bool = False
    verdict: StoredVerdict | None = None
    is_current: bool = False
    is_gone: bool = False
    is_refused: bool = False
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
        choices: the recommended one first.
    """

    machine: Machine
    root: Path | None
    notes: int
    languages: Mapping[str, float]
    encoder: str
    proposed: EncoderProposal | None
    choices: tuple[Choice, ...]

    @property
    def recommended(self) -> Choice:
        """The one choice that amem recommends; its texts stay here, or it is in use already."""
        return self.choices[0]

    @property
    def current(self) -> Choice:
        """What the vault's settings name now."""
        return next(choice for choice in self.choices if choice.is_current)

    @property
    def is_capable_model_here(self) -> bool:
        """Whether a model of this machine may be capable, or one is in use."""
        return self.recommended.kind not in _OWN_NAMES

    @property
    def models(self) -> tuple[Choice, ...]:
        """The choices beside those that come with amem."""
        return tuple(choice for choice in self.choices if choice.kind not in _OWN_NAMES)

    def named(self, name: str) -> Choice | None:
        """The choice of a name; None if there is none.

        Raises:
            UsageError: there is more than one.
        """
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
    root = None if workspace is None else workspace.root
    choices = _Choices(machine, settings, root, environment).all()
    refusal = "" if workspace is None else _refusal(workspace)
    if refusal:
        choices = [
            replace(choice, is_refused=True, problem=refusal) if choice.is_current else choice
            for choice in choices
        ]
    languages = {} if workspace is None else languages_of(workspace)
    return Survey(
        machine,
        root=root,
        notes=0 if workspace is None else workspace.index.notes.count(),
        languages=languages,
        encoder=settings.encoder_model,
        proposed=encoder_proposal(languages, settings),
        choices=tuple(_in_order(choices, machine)),
    )


def _refusal(workspace: Workspace) -> str:
    """Why the vault's model is not asked, if the user of this machine did not agree to it."""
    settings = workspace.settings
    if settings.llm_backend not in ("openai", "ollama", "command"):
        return ""
    try:
        open_model(settings, workspace.root, workspace.models.origin, workspace.environment)
    except SettingsError as error:
        return str(error)
    return ""


def languages_of(workspace: Workspace) -> dict[str, float]:
    """The share of each language in the text of a vault's notes, most first."""
    paths = [note.path for note in workspace.index.notes.outlines()]
    return vault_languages(workspace.vault, paths)


def _server_in_use(settings: Settings, environment: Mapping[str, str]) -> LocalServer | None:
    """The server of the settings, if it is one of this machine."""
    if settings.llm_backend not in ("openai", "ollama"):
        return None
    from amem_cli.models.http import is_loopback

    try:
        parts = urlsplit(server_url(settings, environment))
        port = parts.port or 80
    except (SettingsError, ValueError):
        return None
    if parts.scheme != "http" or not is_loopback(parts.hostname or ""):
        return None
    return LocalServer("server", port, path=parts.path.rstrip("/"))


class _Choices:
    """Makes the choices from what was found."""

    def __init__(
        self,
        machine: Machine,
        settings: Settings,
        root: Path | None,
        environment: Mapping[str, str],
    ) -> None:
        self._machine = machine
        self._settings = settings
        self._root = root
        self._environment = environment

    def all(self) -> list[Choice]:
        """All choices; exactly one is in use."""
        found = [*self._served(), *self._files(), *self._programs(), *self._bundled(), self._none()]
        if not any(choice.is_current for choice in found):
            found.append(self._other())
        return found

    def _served(self) -> Iterator[Choice]:
        own = _server_in_use(self._settings, self._environment)
        for server in self._machine.servers:
            is_own = own is not None and (own.port, own.path) == (server.port, server.path)
            for name in dict.fromkeys(server.models):
                if not _may_be_chosen(name):
                    continue
                size = self._machine.sizes.get((server.url, name), _UNKNOWN_SIZE)
                choice = Choice(
                    name,
                    "server",
                    place=f"{server.kind} at 127.0.0.1:{server.port}",
                    model=name,
                    backend=server.backend,
                    base_url=server.url,
                    size=_completed(size, name),
                    is_current=is_own and name == self._settings.llm_model,
                )
                yield self._judged(choice, limit=self._machine.memory)

    def _files(self) -> Iterator[Choice]:
        used = Path(self._settings.llm_model).expanduser() if self._settings.llm_model else None
        limit = min(self._machine.memory // 2, self._settings.llm_memory_mb * 2**20)
        for file in self._machine.files:
            if not _may_be_chosen(file.name):
                continue
            in_use = self._settings.llm_backend == "llama.cpp" and used in (
                file.path,
                file.path.resolve(),
            )
            choice = Choice(
                file.name,
                "file",
                place="downloaded file" if file.owner == "amem" else f"file of {file.owner}",
                # By its name, the digest is the one that was checked when it was downloaded.
                model=file.name if file.owner == "amem" else str(file.path),
                backend="llama.cpp",
                size=_completed(ModelSize(file.size), file.name),
                is_current=in_use,
            )
            yield self._judged(choice, limit=limit, sha256=file.sha256)

    def _programs(self) -> Iterator[Choice]:
        for program in self._machine.programs:
            if program.line:
                choice = Choice(
                    program.name,
                    "program",
                    place="program",
                    model=program.line,
                    backend="command",
                    is_current=(self._settings.llm_backend, self._settings.llm_model)
                    == ("command", program.line),
                )
                yield self._judged(choice)

    def _bundled(self) -> Iterator[Choice]:
        from amem_cli.models.llama_cpp import bundled_model

        try:
            file = bundled_model()
            size = _completed(ModelSize(file.stat().st_size), file.name)
        except (AmemError, OSError):
            return
        if self._machine.runs_files:
            yield Choice(
                "bundled",
                "bundled",
                place="comes with amem",
                model="bundled",
                size=size,
                is_current=self._settings.llm_backend == "llama.cpp"
                and not self._settings.llm_model,
            )

    def _none(self) -> Choice:
        return Choice("none", "none", model="none", is_current=self._settings.llm_backend == "none")

    def _other(self) -> Choice:
        """What the vault uses, which is not among the rest."""
        settings = self._settings
        places = {"llama.cpp": "file", "command": "program"}
        place = places.get(settings.llm_backend) or server_url(settings, self._environment)
        choice = Choice(
            settings.llm_model or "bundled",
            "other",
            place=place,
            model=settings.llm_model or "bundled",
            backend=settings.llm_backend,
            base_url=settings.llm_base_url,
            is_current=True,
        )
        judged = self._judged(choice)
        if is_gone(settings, self._environment):
            return replace(judged, is_gone=True, problem="it is no longer there")
        if _server_in_use(settings, self._environment) is not None:
            return replace(judged, problem="its server does not answer, or no longer has it")
        return judged

    def _judged(self, choice: Choice, *, limit: int = 0, sha256: str = "") -> Choice:
        """With what is known of a model, and what speaks against it.

        Args:
            limit: bytes that it may take; 0: any number.
        """
        as_chosen = Settings(
            llm_backend=choice.backend,
            llm_model=choice.model,
            llm_base_url=choice.base_url,
            llm_sha256=sha256,
        )
        subject = model_subject(
            self._settings if choice.is_current else as_chosen, self._environment
        )
        verdict = stored_verdict(subject, self._environment)
        leaves = leaves_machine(as_chosen, self._environment) and not self._is_said_to_be_local(
            choice
        )
        judged = replace(choice, verdict=verdict, leaves=leaves)
        return replace(judged, problem=self._problem(judged, limit))

    def _is_said_to_be_local(self, choice: Choice) -> bool:
        if choice.backend != "command" or self._root is None:
            return False
        return consented(self._root, local_command_subject(choice.model), self._environment)

    def _problem(self, choice: Choice, limit: int) -> str:
        """Why a model is not recommended; empty if nothing speaks against it."""
        if choice.verdict is not None and choice.verdict.kind != "fit":
            return choice.verdict.line
        if choice.kind == "file" and not self._machine.runs_files:
            return f"needs {extra_hint('local')}"
        size = choice.size
        if 0 < size.billions < LEAST_BILLIONS and choice.verdict is None:
            return f"probably too small, with {size.billions:.2g} billion parameters"
        needed = memory_needed(size.bytes or int(size.billions * BYTES_A_BILLION))
        if limit and needed > limit:
            return "takes too much of this machine's memory"
        return ""


def _may_be_chosen(name: str) -> bool:
    # By one of amem's own names, `model use` would take another thing.
    lowered = name.lower()
    return name not in _OWN_NAMES and not any(part in lowered for part in NOT_FOR_TEXT)


def _completed(size: ModelSize, name: str) -> ModelSize:
    billions = size.billions or billions_named(name) or size.bytes / BYTES_A_BILLION
    return replace(size, billions=round(billions, 3))


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
    if choice.is_current:
        # The user decided for it. A server that does not answer may do so tomorrow.
        is_unfit = choice.verdict is not None and choice.verdict.kind == "unfit"
        return not (is_unfit or choice.is_gone or choice.is_refused)
    return choice.kind != "program" and not choice.problem and not choice.leaves


def _rank(choice: Choice, largest: float) -> tuple[object, ...]:
    """Orders choices: what may be recommended first, and of that the likeliest to be of use.

    Args:
        largest: billions of parameters that this machine is likely to run in good time.
    """
    if _may_be_recommended(choice):
        group = 0
    elif choice.kind in _OWN_NAMES:
        group = 3 + (choice.kind == "none")
    else:
        group = 2 if choice.problem else 1
    billions = choice.size.billions
    if LEAST_BILLIONS <= billions <= largest:
        size = (0, -billions)
    else:
        # One whose size is not known may be anything.
        size = (2, billions) if billions else (1, 0.0)
    is_untested = choice.verdict is None
    is_server = choice.kind == "server"
    return group, not choice.is_current, is_untested, size, not is_server, choice.name, choice.place
