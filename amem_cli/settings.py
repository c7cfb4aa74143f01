"""Settings: built-in, then the user's, the vault's, the environment's and the command's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from amem_cli.errors import NotFoundError, SettingsError

CONFIG_NAME = "config.toml"
ENVIRONMENT_PREFIX = "AMEM_"


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings; a dotted key in TOML is the field with `_` for the first dot.

    Attributes:
        default_vault: the vault if no other is named; only of use in the user's settings.
        notes_dir: folder of new notes.
        encoder_model: a sentence-transformers name or folder.
        search_reranker: a sentence-transformers CrossEncoder that reads the best hits again, by
            name or folder; empty: none.
        llm_backend: `llama.cpp`, `openai`, `ollama` or `none`.
        llm_model: a GGUF file for `llama.cpp` (empty: the bundled one), a model name for a server.
        llm_sha256: digest that the GGUF file must have, hexadecimal; empty: any.
        llm_base_url: an OpenAI-compatible server, such as `http://127.0.0.1:11434/v1`.
        llm_threads: threads of the in-process model.
        llm_context_tokens: context window that the model is loaded with.
        llm_memory_mb: memory limit of the model's process.
        llm_deadline_seconds: longest time for one answer.
        llm_daily_tokens: tokens, in and out, that this vault may spend a day; 0: any number.
        llm_price_input, llm_price_output: what a server's model costs for a million tokens in and
            out, in any currency; 0: costs are not shown.
        evolution_mode: `auto`, `review` (changes of older notes wait for a person) or `off`.
        evolution_settle_seconds: a note edited by a person is left in peace for so long.
        evolution_max_links: most links that the machine adds to one note.
        evolution_candidates: how many near notes the model is shown.
        evolution_feedback: `on` (links that you keep and remove decide how sure the machine must be
            of others) or `off`.
        evolution_device: which machine's watcher runs the memory process: `first` (the one that
            watched the vault first), `any`, or a machine's name.
        watch_on_battery: `pause` (the watcher leaves the models alone) or `work`.
        watch_idle_seconds: the language model is unloaded after so long without work.
        list_stale_days: a note that was neither edited nor read for so long is stale.
        exclude_folders: folders whose notes are no memories.
        git_commit: `off`, or `batch`: each batch of machine changes is one commit.
        properties_*: names of the properties in the front matter.
    """

    default_vault: str = ""
    notes_dir: str = "notes"
    encoder_model: str = "all-MiniLM-L6-v2"
    search_reranker: str = ""
    llm_backend: str = "llama.cpp"
    llm_model: str = ""
    llm_sha256: str = ""
    llm_base_url: str = ""
    llm_threads: int = 2
    llm_context_tokens: int = 4096
    llm_memory_mb: int = 6144
    llm_deadline_seconds: float = 90.0
    llm_daily_tokens: int = 0
    llm_price_input: float = 0.0
    llm_price_output: float = 0.0
    evolution_mode: str = "auto"
    evolution_settle_seconds: float = 60.0
    evolution_max_links: int = 5
    evolution_candidates: int = 8
    evolution_feedback: str = "on"
    evolution_device: str = "first"
    watch_on_battery: str = "pause"
    watch_idle_seconds: float = 300.0
    list_stale_days: int = 365
    exclude_folders: tuple[str, ...] = ("templates",)
    git_commit: str = "off"
    properties_id: str = "id"
    properties_created: str = "created"
    properties_keywords: str = "keywords"
    properties_tags: str = "tags"
    properties_context: str = "context"
    properties_links: str = "links"


_CHOICES = {
    "llm.backend": ("llama.cpp", "openai", "ollama", "none"),
    "evolution.mode": ("auto", "review", "off"),
    "evolution.feedback": ("on", "off"),
    "git.commit": ("off", "batch"),
    "watch.on_battery": ("pause", "work"),
}
_BOUNDS = {
    "llm.threads": (1, 256),
    "llm.context_tokens": (512, 1_000_000),
    "llm.memory_mb": (256, 1_000_000),
    "llm.deadline_seconds": (1, 3600),
    "llm.daily_tokens": (0, 1_000_000_000),
    "llm.price_input": (0, 1_000_000),
    "llm.price_output": (0, 1_000_000),
    "evolution.settle_seconds": (0, 86_400),
    "evolution.max_links": (0, 20),
    "evolution.candidates": (1, 30),
    "watch.idle_seconds": (1, 86_400),
    "list.stale_days": (1, 36_500),
}
_SECTIONS = (
    "encoder",
    "search",
    "llm",
    "evolution",
    "watch",
    "list",
    "exclude",
    "git",
    "properties",
)


def key_of(name: str) -> str:
    """The dotted key of a field: `llm_base_url` is `llm.base_url`."""
    section, _, rest = name.partition("_")
    return f"{section}.{rest}" if section in _SECTIONS and rest else name


def setting_keys() -> dict[str, str]:
    """Field names by dotted key, in order."""
    return {key_of(item.name): item.name for item in fields(Settings)}


def parse_setting(key: str, text: str) -> Any:
    """A setting's value from the text of a command or an environment variable.

    Raises:
        NotFoundError: there is no such setting.
        SettingsError: the value does not fit.
    """
    kind = _kind(key)
    try:
        if kind is int:
            value: Any = int(text)
        elif kind is float:
            value = float(text)
        elif kind is str:
            value = text
        else:
            value = _names(text)
    except ValueError:
        raise SettingsError(f"{key} must be a number, not {text!r}") from None
    return checked_value(key, value)


def _names(text: str) -> tuple[str, ...]:
    """A list as a person types it: `a, b`, or as TOML writes it: `["a", "b"]`."""
    inner = text.strip()
    if inner.startswith("[") and inner.endswith("]"):
        inner = inner[1:-1]
    return tuple(name for part in inner.split(",") if (name := part.strip(" \"'")))


def checked_value(key: str, value: Any, *, place: str = "") -> Any:
    """The value if it fits the setting.

    Raises:
        NotFoundError: there is no such setting.
        SettingsError: the value does not fit.
    """
    kind = _kind(key)
    where = f" in {place}" if place else ""
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if isinstance(value, list):
        value = tuple(value)
    is_names = isinstance(value, tuple) and all(isinstance(item, str) for item in value)
    fits = is_names if kind not in (str, int, float) else type(value) is kind
    if not fits:
        raise SettingsError(f"{key}{where} has a value of the wrong kind: {value!r}")
    if key in _CHOICES and value not in _CHOICES[key]:
        choices = ", ".join(_CHOICES[key])
        raise SettingsError(f"{key}{where} cannot be {value!r}", hint=f"One of: {choices}.")
    low, high = _BOUNDS.get(key, (float("-inf"), float("inf")))
    if isinstance(value, (int, float)) and not low <= value <= high:
        raise SettingsError(f"{key}{where} must lie between {low} and {high}, not {value}")
    outside = ("/", "\\", "~")
    parts = str(value).split("/")
    if key == "notes_dir" and (
        str(value).startswith(outside) or any(part.startswith(".") for part in parts)
    ):
        raise SettingsError(f"{key}{where} must be a plain folder in the vault, not {value!r}")
    return value


def field_of(key: str) -> str:
    """The field of `Settings` that a dotted key stands for.

    Raises:
        NotFoundError: there is no such setting; the hint names the nearest one.
    """
    from difflib import get_close_matches

    names = setting_keys()
    if key not in names:
        near = get_close_matches(key, names, n=1)
        hint = f"Did you mean {near[0]}?" if near else "`amem config list` shows all of them."
        raise NotFoundError(f"no setting {key!r}", hint=hint)
    return names[key]


def _kind(key: str) -> Any:
    return type(getattr(Settings(), field_of(key)))


def load_settings(
    vault_file: Path | None, user_file: Path, environment: Mapping[str, str]
) -> tuple[Settings, dict[str, str]]:
    """The settings in force and, by dotted key, the layer that each comes from.

    Raises:
        SettingsError: a file is not TOML, or holds values that do not fit or contradict each other.
    """
    settings = Settings()
    origin = dict.fromkeys(setting_keys(), "built-in")
    layers: list[tuple[str, dict[str, Any]]] = [("user", read_settings_file(user_file))]
    if vault_file is not None:
        layers.append(("vault", read_settings_file(vault_file)))
    layers.append(("environment", _from_environment(environment)))
    for layer, values in layers:
        known = {key: value for key, value in values.items() if key in origin}
        changes = {
            setting_keys()[key]: checked_value(key, value, place=layer)
            for key, value in known.items()
        }
        settings = replace(settings, **changes)
        origin.update(dict.fromkeys(known, layer))
    names = [
        getattr(settings, name)
        for name in setting_keys().values()
        if name.startswith("properties_")
    ]
    if len(set(names)) < len(names):
        raise SettingsError(
            "two of the properties have the same name", hint="Give each its own under [properties]."
        )
    home = settings.notes_dir.strip("/") + "/"
    if any(home.startswith(folder.strip("/") + "/") for folder in settings.exclude_folders):
        raise SettingsError(
            f"new notes would go into {home} which exclude.folders leaves out",
            hint="Change notes_dir or exclude.folders.",
        )
    return settings, origin


def read_settings_file(path: Path) -> dict[str, Any]:
    """The values of a TOML file by dotted key; empty if there is no file.

    Raises:
        SettingsError: the file is not readable TOML.
    """
    import sys

    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except OSError as error:
        reason = error.strerror or str(error)
        raise SettingsError(f"cannot read {path.name}: {reason}", hint=f"Look at {path}.") from None
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"cannot read {path.name}: {error}", hint=f"Fix {path}.") from None
    flat: dict[str, Any] = {}
    for name, value in data.items():
        if isinstance(value, dict):
            flat.update({f"{name}.{inner}": item for inner, item in value.items()})
        else:
            flat[name] = value
    return flat


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    found = {}
    for key, name in setting_keys().items():
        text = environment.get(ENVIRONMENT_PREFIX + name.upper())
        if text:
            found[key] = parse_setting(key, text)
    return found
