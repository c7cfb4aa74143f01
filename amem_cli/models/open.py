"""Opens the models that the settings name, as far as the user of this machine allows.

A vault comes with settings of its own, which others may have written: they alone must neither send
notes to a server, nor download a model, nor run a program or a model that the vault brings. What
the user chose on this machine is kept outside of the vault. So is the count of the tokens that a
day may cost, and of failures in a row.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from datetime import date
from ipaddress import IPv6Address, ip_address
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from amem_cli.errors import BudgetSpent, ModelClosed, ModelError, SettingsError
from amem_cli.language.safe_text import on_one_line
from amem_cli.settings import Settings, read_state, user_state_folder, write_state

if TYPE_CHECKING:
    from amem_cli.models.ports import LanguageModel, ModelAnswer, ModelRequest

OLLAMA_PORT = 11434
OLLAMA_URL = f"http://127.0.0.1:{OLLAMA_PORT}/v1"
OPENAI_URL = "https://api.openai.com/v1"
# Settings files and options of the person at this machine, who alone may send notes elsewhere.
OWN_LAYERS = frozenset({"user", "environment", "option"})
# Where the user's other programs find a backend's server.
ADDRESS_VARIABLES = {"openai": "OPENAI_BASE_URL", "ollama": "OLLAMA_HOST"}
API_KEY_VARIABLES = ("AMEM_API_KEY", "OPENAI_API_KEY")
KEYRING_SERVICE = "amem"
CONSENTS_FILE = "remote-models.json"
BUDGET_FOLDER = "token-use"
LOCK_SECONDS = 5.0
FAILURES_IN_A_ROW = 3
REST_SECONDS = 60.0


def open_model(
    settings: Settings,
    root: Path,
    origin: Mapping[str, str],
    environment: Mapping[str, str],
    notify: Callable[[str], None] | None = None,
) -> LanguageModel | None:
    """The language model that the settings name.

    Args:
        notify: told where texts will go, unless the user was told when they chose the server.

    Raises:
        SettingsError: the settings are incomplete, would send notes to another machine without
            the user's own choice on this one, or would run a program, or a model of the vault's
            own, without it.
        ModelError: there is no such model.
    """
    if settings.llm_backend == "none":
        return None
    if settings.llm_backend == "llama.cpp":
        from amem_cli.models.llama_cpp import LlamaCppModel, bundled_model

        path = Path(settings.llm_model).expanduser() if settings.llm_model else bundled_model()
        if settings.llm_model and origin.get("llm.model") not in OWN_LAYERS:
            inside = path.absolute().is_relative_to(root) or path.resolve().is_relative_to(root)
            if inside or not path.is_absolute():
                raise SettingsError(
                    f"this vault's settings name a model of the vault's own: {settings.llm_model}",
                    hint="If you trust it, move it out of the vault, then: amem model use FILE.",
                )
        return LlamaCppModel(
            path,
            threads=settings.llm_threads,
            context_tokens=settings.llm_context_tokens,
            memory_limit_mb=settings.llm_memory_mb,
            sha256=settings.llm_sha256 or None,
        )
    if settings.llm_backend == "command":
        return _open_command(settings, root, origin, environment, notify)
    from amem_cli.models.http import host_of
    from amem_cli.models.openai_server import OpenAIServerModel

    url = server_url(settings, environment)
    if not settings.llm_model:
        raise SettingsError(
            f"no model named for {url}", hint="amem model use NAME --backend openai"
        )
    told = consented(root, consent_subject(url, settings.llm_model), environment)
    chosen = told or _server_chosen_here(settings, origin)
    # A key is for the servers that its owner chose, and for no other on this machine either.
    key = api_key_for(host_of(url), environment, settings.llm_backend) if chosen else None
    window = settings.llm_context_tokens if settings.llm_backend == "ollama" else 0
    model = OpenAIServerModel(
        url,
        settings.llm_model,
        api_key=key,
        ollama_window=window,
    )
    if model.is_remote and not chosen:
        raise SettingsError(
            f"this vault's settings would send notes to {model.name}",
            hint="If you want that on this machine: amem model use, naming the model again.",
        )
    from_variable = not settings.llm_base_url and url not in (OPENAI_URL, OLLAMA_URL)
    if notify is not None and not told and (model.is_remote or from_variable):
        by = f" ({ADDRESS_VARIABLES[settings.llm_backend]})" if from_variable else ""
        notify(f"texts go to {settings.llm_model} at {urlsplit(url).netloc}{by}")
    return model


def _open_command(
    settings: Settings,
    root: Path,
    origin: Mapping[str, str],
    environment: Mapping[str, str],
    notify: Callable[[str], None] | None,
) -> LanguageModel:
    from amem_cli.models.command import CommandModel

    line = settings.llm_model
    told = consented(root, command_subject(line), environment)
    own = all(origin.get(key) in OWN_LAYERS for key in ("llm.backend", "llm.model"))
    if line.strip() and not (told or own):
        raise SettingsError(
            f"this vault's settings would run a program: {on_one_line(line)[:200]}",
            hint='If you want that on this machine: amem model use "COMMAND" --backend command.',
        )
    model = CommandModel(line, root, environment)
    if notify is not None and not told:
        notify(f"texts go to the program {model.name}")
    return model


def server_url(settings: Settings, environment: Mapping[str, str]) -> str:
    """Address of the language model's server; meaningless if the model is a file.

    Raises:
        SettingsError: `OLLAMA_HOST` decides and cannot be read.
    """
    return settings.llm_base_url or usual_url(settings.llm_backend, environment)


def usual_url(backend: str, environment: Mapping[str, str]) -> str:
    """The server of a backend if the settings name none: that of its variable, else its own.

    Raises:
        SettingsError: `OLLAMA_HOST` cannot be read.
    """
    if backend == "ollama":
        return _ollama_url(environment.get(ADDRESS_VARIABLES[backend], ""))
    return environment.get(ADDRESS_VARIABLES["openai"], "").strip() or OPENAI_URL


def _ollama_url(host: str) -> str:
    """Address of the Ollama that `OLLAMA_HOST` names, read as Ollama's own programs read it."""
    address = host.strip().strip("\"'")
    try:
        alone = ip_address(address.strip("[]"))
    except ValueError:
        pass
    else:
        address = f"[{alone}]" if isinstance(alone, IPv6Address) else str(alone)
    try:
        parts = urlsplit(address if "://" in address else f"http://{address}")
        name, port = parts.hostname or "127.0.0.1", parts.port
    except ValueError:
        raise SettingsError(
            "OLLAMA_HOST is no address", hint="It is such as 127.0.0.1:11434 or https://HOST."
        ) from None
    if port is None and "://" not in address:
        port = OLLAMA_PORT
    # What listens everywhere is asked on this machine.
    name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(name, name)  # noqa: S104
    if ":" in name:
        name = f"[{name}]"
    # A name or password stays, so that it is refused like any other.
    user = parts.netloc.rpartition("@")[0]
    place = f"{user}@{name}" if user else name
    path = parts.path.rstrip("/").removesuffix("/v1")
    return f"{parts.scheme}://{place}{f':{port}' if port else ''}{path}/v1"


def _server_chosen_here(settings: Settings, origin: Mapping[str, str]) -> bool:
    """Whether no part of the choice comes from the vault, which others may have written."""
    backend, address = origin.get("llm.backend"), origin.get("llm.base_url")
    if backend not in OWN_LAYERS or origin.get("llm.model") not in OWN_LAYERS:
        return False
    # The empty address in a new vault's settings does not override what a command was given.
    unset = not settings.llm_base_url and backend != "user"
    return unset or address in OWN_LAYERS | {"built-in"}


def consent_subject(url: str, model: str) -> str:
    """What the user agrees to: a server, and the model too if that decides who reads along."""
    from amem_cli.models.openai_server import runs_elsewhere

    return f"{url} {model}" if runs_elsewhere(model) else url


def command_subject(line: str) -> str:
    """What the user agrees to for a program: the whole command line, to the letter."""
    return f"command {line}"


def encoder_subject(encoder: str) -> str:
    """What the user agrees to for the download of an encoder."""
    return f"encoder {encoder}"


def consented(root: Path, subject: str, environment: Mapping[str, str]) -> bool:
    """Whether the user of this machine agreed to this for this vault."""
    return [str(root), subject] in _consents(environment)


def give_consent(root: Path, subject: str, environment: Mapping[str, str]) -> None:
    """Remember that they agreed; raises `SettingsError` if that cannot be written."""
    consent = [str(root), subject]
    others = [other for other in _consents(environment) if other != consent]
    write_state(user_state_folder(environment) / CONSENTS_FILE, [*others, consent])


def _consents(environment: Mapping[str, str]) -> list[list[str]]:
    consents = read_state(user_state_folder(environment) / CONSENTS_FILE)
    return [item for item in consents if isinstance(item, list)] if type(consents) is list else []


def api_key_for(host: str, environment: Mapping[str, str], backend: str = "openai") -> str | None:
    """The key for a server's host: from the environment, else from the system's keyring.

    `OPENAI_API_KEY` is for the host of `OPENAI_BASE_URL` alone if that is set, and never for an
    Ollama. The keyring is asked only if the optional package `keyring` is installed; `keyring set
    amem HOST` puts a key there.
    """
    from amem_cli.models.http import host_of

    owner = environment.get(ADDRESS_VARIABLES["openai"], "").strip()
    is_openai = backend == "openai" and (not owner or host_of(owner) == host)
    for name in API_KEY_VARIABLES if is_openai else API_KEY_VARIABLES[:1]:
        if environment.get(name):
            return environment[name]
    try:
        import keyring

        password = keyring.get_password(KEYRING_SERVICE, host)
    # Backends raise errors of their own and of the system's; all mean that there is no key.
    except Exception:
        return None
    return str(password) if password else None


class TokenLedger:
    """The tokens of today, by vault, in the user's state folder.

    Every question counts: of the memory process, of `ask` and of `model test`. The count survives
    the program and is shared by all that work on the vault from this machine.
    """

    def __init__(
        self,
        root: Path,
        environment: Mapping[str, str],
        today: Callable[[], date] = date.today,
    ) -> None:
        name = hashlib.sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()[:16]
        self._path = user_state_folder(environment) / BUDGET_FOLDER / f"{name}.json"
        self._today = today

    def used(self) -> int:
        """Tokens since midnight, local time."""
        count = read_state(self._path)
        same_day = isinstance(count, dict) and count.get("day") == self._today().isoformat()
        tokens = count.get("tokens") if same_day else 0
        return tokens if type(tokens) is int and tokens >= 0 else 0

    def add(self, tokens: int) -> None:
        """Count tokens; raises `SettingsError` if the count cannot be kept."""
        from filelock import FileLock, Timeout

        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with FileLock(self._path.with_suffix(".lock"), timeout=LOCK_SECONDS):
                count = {"day": self._today().isoformat(), "tokens": self.used() + tokens}
                write_state(self._path, count)
        except (OSError, Timeout) as error:
            raise SettingsError(
                f"the day's tokens cannot be counted: {error}", hint=f"Look at {self._path.parent}."
            ) from None


class GuardedModel:
    """A language model that rests after failures, and ends the asking when the day's are spent.

    After three failures in a row nothing is asked for a minute; then one attempt is let through.
    What is asked at the same moment may exceed the day's tokens together.
    """

    def __init__(
        self,
        model: LanguageModel,
        ledger: TokenLedger | None = None,
        limit: int = 0,
        rest_seconds: float = REST_SECONDS,
    ) -> None:
        """Guard a model; without a ledger, tokens are not counted."""
        self._model = model
        self._ledger = ledger
        self._limit = limit
        self._rest_seconds = rest_seconds
        self._failures, self._last_failure = 0, 0.0
        self.name, self.is_remote, self.close = model.name, model.is_remote, model.close

    def answer(self, request: ModelRequest) -> ModelAnswer:
        """Ask the model once; raises `BudgetSpent` if no tokens are left."""
        if self._ledger is not None and self._ledger.used() >= self._limit:
            raise BudgetSpent(
                f"today's {self._limit} tokens for the language model are spent",
                hint="Notes wait until midnight. More: amem config set llm.daily_tokens N",
            )
        is_resting = time.monotonic() - self._last_failure < self._rest_seconds
        if self._failures >= FAILURES_IN_A_ROW and is_resting:
            raise ModelError(
                f"{self.name} failed {FAILURES_IN_A_ROW} times in a row and is not asked",
                hint="It is tried again in a minute. amem model test shows what is wrong.",
            )
        try:
            answer = self._model.answer(request)
        except ModelClosed:
            raise
        except ModelError:
            self._failures, self._last_failure = self._failures + 1, time.monotonic()
            raise
        self._failures = 0
        if self._ledger is not None:
            from amem_cli.models.prompt_text import estimated_tokens

            text = request.instructions + request.text + answer.text
            spent = answer.prompt_tokens + answer.answer_tokens
            self._ledger.add(spent or estimated_tokens(text))
        return answer
