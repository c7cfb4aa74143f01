"""The settings, built-in to the command's own, and where vault, caches and state lie."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from fnmatch import fnmatchcase
from functools import cache, partial
from pathlib import Path
from typing import Any

from amem_cli.errors import AmemError, NotFoundError, NoVault, SettingsError
from amem_cli.system.files import move_over

CONFIG_NAME = "config.toml"
ENVIRONMENT_PREFIX = "AMEM_"
# Later ones go first.
_LAYERS = ("built-in", "user", "obsidian", "vault", "environment", "option")


def _one_of(usual: str, *others: str) -> Any:
    return field(default=usual, metadata={"choices": (usual, *others)})


def _within(low: float, high: float, *, usual: float) -> Any:
    return field(default=usual, metadata={"bounds": (low, high)})


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings; a dotted key in TOML is the field with `_` for the first dot.

    Attributes:
        default_vault: the vault if no other is named; only of use in the user's settings.
        notes_dir: folder of new notes; unless it is set, that of Obsidian's own settings.
        daily_notes: what the paths of daily notes look like, such as `[Journal]/DD-MM-YYYY`: by it
            a note without a date gets its day; unless it is set, that of Obsidian's own settings.
        encoder_model: a sentence-transformers name or folder.
        llm_backend: `none`, `llama.cpp`, `openai`, `ollama` or `command`. If only a model is named,
            it is a file, or one of the server that is named.
        llm_model: a GGUF file for `llama.cpp` (empty: the bundled one), a model name for a server,
            the whole command line for `command`, such as `llm -m MODEL`.
        llm_sha256: digest that the GGUF file must have, hexadecimal; empty: any.
        llm_base_url: an OpenAI-compatible server, such as `http://127.0.0.1:11434/v1`.
        llm_threads: threads of the in-process model.
        llm_context_tokens: context window that the model is loaded with.
        llm_memory_mb: memory limit of the model's process.
        llm_deadline_seconds: longest time for one answer.
        llm_daily_tokens: tokens, in and out, that this vault may spend a day; 0: any number.
        llm_judge: whether the judge of links, a small model that runs here, is asked about links;
            without llama-cpp-python it never is.
        evolution_mode: `auto`, `review` (changes of older notes wait for a person) or `off`.
        evolution_settle_seconds: a note edited by a person is left in peace for so long.
        evolution_links: how sure the analyzer must be of a link that it writes: `careful`, `usual`
            or `eager`. Weaker links are suggested.
        evolution_max_links: most links that the machine adds to one note.
        evolution_candidates: how many near notes the model is shown.
        evolution_device: which machine's watcher runs the memory process: `first` (the one that
            watched the vault first), `any`, or a machine's name.
        watch_on_battery: `pause` (the watcher leaves the models alone) or `work`.
        watch_idle_seconds: the language model is unloaded after so long without work.
        exclude_folders: folders whose notes are no memories, in whatever case; unless it is empty,
            those that Obsidian and Templater have for templates are added.
        git_commit: `off`, or `batch`: each batch of machine changes is one commit.
        properties_*: names of the properties in the front matter.
    """

    default_vault: str = ""
    notes_dir: str = "notes"
    daily_notes: str = ""
    encoder_model: str = "all-MiniLM-L6-v2"
    llm_backend: str = _one_of("none", "llama.cpp", "openai", "ollama", "command")
    llm_model: str = ""
    llm_sha256: str = ""
    llm_base_url: str = ""
    llm_threads: int = _within(1, 256, usual=2)
    llm_context_tokens: int = _within(512, 1_000_000, usual=4096)
    llm_memory_mb: int = _within(256, 1_000_000, usual=6144)
    llm_deadline_seconds: float = _within(1, 3600, usual=90.0)
    llm_daily_tokens: int = _within(0, 1_000_000_000, usual=0)
    llm_judge: str = _one_of("on", "off")
    evolution_mode: str = _one_of("auto", "review", "off")
    evolution_settle_seconds: float = _within(0, 86_400, usual=60.0)
    evolution_links: str = _one_of("usual", "careful", "eager")
    evolution_max_links: int = _within(0, 20, usual=5)
    evolution_candidates: int = _within(1, 30, usual=14)
    evolution_device: str = "first"
    watch_on_battery: str = _one_of("pause", "work")
    watch_idle_seconds: float = _within(1, 86_400, usual=300.0)
    exclude_folders: tuple[str, ...] = ("templates",)
    git_commit: str = _one_of("off", "batch")
    properties_id: str = "id"
    properties_created: str = "created"
    properties_keywords: str = "keywords"
    properties_tags: str = "tags"
    properties_context: str = "context"
    properties_links: str = "links"


def key_of(name: str) -> str:
    """The dotted key of a field: `llm_base_url` is `llm.base_url`."""
    return (
        name if name in ("default_vault", "notes_dir", "daily_notes") else name.replace("_", ".", 1)
    )


def explanations() -> dict[str, str]:
    """What each setting does, by dotted key, as `Settings` says it."""
    told: dict[str, str] = {}
    _, _, attributes = (Settings.__doc__ or "").partition("Attributes:\n")
    for entry in re.split(r"\n {8}(?=\S)", "\n" + attributes.rstrip())[1:]:
        names, _, text = entry.partition(": ")
        for name in names.split(", "):
            for key, attribute in setting_keys().items():
                if fnmatchcase(attribute, name):
                    told[key] = " ".join(text.split()).rstrip(".")
    return told


@cache
def _settings() -> dict[str, Field[Any]]:
    """Default and checks of each setting, by dotted key."""
    return {key_of(item.name): item for item in fields(Settings)}


def setting_keys() -> dict[str, str]:
    """Field names by dotted key, in order."""
    return {key: item.name for key, item in _settings().items()}


def parse_setting(key: str, text: str) -> Any:
    """A setting's value from the text of a command or an environment variable.

    Raises:
        NotFoundError: there is no such setting.
        SettingsError: the value does not fit.
    """
    kind = type(setting(key).default)
    try:
        value: Any = kind(text) if kind in (int, float, str) else _names(text)
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
    item = setting(key)
    kind = type(item.default)
    where = f" in {place}" if place else ""
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if isinstance(value, list):
        value = tuple(value)
    is_names = isinstance(value, tuple) and all(isinstance(name, str) for name in value)
    fits = is_names if kind not in (str, int, float) else type(value) is kind
    if not fits:
        raise SettingsError(f"{key}{where} has a value of the wrong kind: {value!r}")
    choices = item.metadata.get("choices", (value,))
    if value not in choices:
        hint = f"One of: {', '.join(choices)}."
        raise SettingsError(f"{key}{where} cannot be {value!r}", hint=hint)
    low, high = item.metadata.get("bounds", (float("-inf"), float("inf")))
    if isinstance(value, (int, float)) and not low <= value <= high:
        raise SettingsError(f"{key}{where} must lie between {low} and {high}, not {value}")
    if key == "notes_dir" and (
        value.startswith(("/", "\\", "~")) or any(part[:1] == "." for part in value.split("/"))
    ):
        raise SettingsError(f"{key}{where} must be a plain folder in the vault, not {value!r}")
    return value


def choices(key: str) -> tuple[str, ...]:
    """The values that a setting can have; empty for any, and for a key that is no setting."""
    item = _settings().get(key)
    return item.metadata.get("choices", ()) if item else ()


def setting(key: str) -> Field[Any]:
    """Name, default and checks of a setting.

    Raises:
        NotFoundError: there is no such setting; the hint names the nearest one.
    """
    if key not in _settings():
        from difflib import get_close_matches

        near = get_close_matches(key, _settings(), n=1)
        hint = f"Did you mean {near[0]}?" if near else "`amem config list` shows all of them."
        raise NotFoundError(f"no setting {key!r}", hint=hint)
    return _settings()[key]


def load_settings(
    vault_file: Path | None,
    user_file: Path,
    environment: Mapping[str, str],
    options: Mapping[str, Any] | None = None,
    report: Callable[[str, str, AmemError], None] | None = None,
) -> tuple[Settings, dict[str, str]]:
    """The settings in force and, by dotted key, the layer that each comes from.

    Args:
        options: of a command, by field name; they go before all layers.
        report: told of layer, key and what is wrong (no key: with the file; no layer: with all
            together), unknown keys too; what is wrong is left out then. Without it, it is raised.

    Raises:
        SettingsError: a file is not TOML, or holds values that do not fit or contradict each other.
    """
    settings = Settings()
    origin = dict.fromkeys(setting_keys(), "built-in")
    names = setting_keys()

    def tried(layer: str, key: str, value_of: Callable[[], Any]) -> Any:
        try:
            return value_of()
        except AmemError as error:
            if report is None:
                raise
            report(layer, key, error)
            return None

    obsidian = ObsidianSettings()
    if vault_file is not None:
        obsidian = obsidian_settings(vault_file.parent.parent)
    own = {} if obsidian.notes_dir is None else {"notes_dir": obsidian.notes_dir}
    own |= {"daily_notes": obsidian.daily_notes} if obsidian.daily_notes else {}
    layers: dict[str, Mapping[str, Any]] = {"user": {}, "obsidian": own}
    for layer, file in (("user", user_file), ("vault", vault_file)):
        layers[layer] = {}
        if file is not None:
            layers[layer] = tried(layer, "", partial(read_settings_file, file)) or {}
    variables = {key: ENVIRONMENT_PREFIX + name.upper() for key, name in names.items()}
    layers["environment"] = {
        key: environment[name] for key, name in variables.items() if environment.get(name)
    }
    for layer, values in layers.items():
        known = {}
        for key, given in values.items():
            if key not in names and report is None:
                continue
            value_of = partial(checked_value, key, given, place=layer if report is None else "")
            if layer == "environment":
                value_of = partial(parse_setting, key, given)
            value = tried(layer, key, value_of)
            if value is not None:
                known[key] = value
        settings = replace(settings, **{names[key]: value for key, value in known.items()})
        origin.update(dict.fromkeys(known, layer))
    options = options or {}
    settings = replace(settings, **options)
    origin.update({key_of(name): "option" for name in options})
    settings = _with_backend_of_named_model(settings, origin)
    is_left_out = any(_holds(each, settings.notes_dir) for each in settings.exclude_folders)
    if origin["notes_dir"] == "obsidian" and is_left_out:
        settings, origin["notes_dir"] = (
            replace(settings, notes_dir=Settings().notes_dir),
            "built-in",
        )
    if settings.exclude_folders:
        settings = replace(settings, exclude_folders=_with_templates(settings, obsidian.templates))
    tried("", "", partial(_refuse_contradictions, settings))
    return settings, origin


def _with_templates(settings: Settings, templates: Iterable[str]) -> tuple[str, ...]:
    """The folders left out, and those of templates, but none in which new notes are."""
    left_out = list(settings.exclude_folders)
    for path in templates:
        is_home = _holds(path, settings.notes_dir)
        if not is_home and not any(_holds(folder, path) for folder in left_out):
            left_out.append(path)
    return tuple(left_out)


def _holds(folder: str, path: str) -> bool:
    """Whether a path is a folder or lies in it, in whatever case."""
    return f"{path.strip('/')}/".casefold().startswith(f"{folder.strip('/')}/".casefold())


@dataclass(frozen=True, slots=True)
class ObsidianSettings:
    """What Obsidian's own settings say of folders of a vault.

    Attributes:
        notes_dir: where new notes go, empty for the vault's top; None if that is not said.
        daily_notes: folder and form of daily notes, empty if their form is the usual one.
        templates: folders and files that are templates, for Obsidian, Templater and daily notes.
    """

    notes_dir: str | None = None
    daily_notes: str = ""
    templates: tuple[str, ...] = ()


_OBSIDIAN = (
    "app.json",
    "templates.json",
    "plugins/templater-obsidian/data.json",
    "daily-notes.json",
)
_LARGEST_OBSIDIAN_FILE = 1_000_000


def obsidian_files(root: Path) -> list[Path]:
    """The files of Obsidian's settings that amem reads, whether they are there or not."""
    return [root / ".obsidian" / name for name in _OBSIDIAN]


def obsidian_settings(root: Path) -> ObsidianSettings:
    """What Obsidian's settings in a vault say; what cannot be read, or leads out of it, is not."""
    app, core, templater, daily = map(_obsidian_document, obsidian_files(root))
    place, notes_dir = app.get("newFileLocation"), None
    if place == "root":
        notes_dir = ""
    elif place == "folder":
        notes_dir = _plain_path(app.get("newFileFolderPath"))
    file = _plain_path(daily.get("template"))
    found = (
        _plain_path(core.get("folder")),
        _plain_path(templater.get("templates_folder")),
        file and f"{file.removesuffix('.md')}.md",
    )
    form, folder = _plain_path(daily.get("format")), _plain_path(daily.get("folder"))
    is_usual = form in (None, "YYYY-MM-DD")
    daily_notes = "" if is_usual else "/".join(filter(None, (folder and f"[{folder}]", form)))
    return ObsidianSettings(notes_dir, daily_notes, tuple(filter(None, found)))


def _obsidian_document(path: Path) -> dict[str, Any]:
    try:
        is_plain = path.is_file() and path.stat().st_size <= _LARGEST_OBSIDIAN_FILE
    except OSError:
        return {}
    document = read_state(path) if is_plain else None
    return document if isinstance(document, dict) else {}


def _plain_path(text: object) -> str | None:
    """A path in the vault as Obsidian writes it; None for the vault itself and what leads out."""
    path = text.strip().strip("/") if isinstance(text, str) else ""
    is_plain = path and "\\" not in path and "\0" not in path and ":" not in path
    return path if is_plain and not any(e[:1] == "." for e in path.split("/")) else None


def _refuse_contradictions(settings: Settings) -> None:
    own = [
        getattr(settings, name)
        for name in setting_keys().values()
        if name.startswith("properties_")
    ]
    if len(set(own)) < len(own):
        raise SettingsError(
            "two of the properties have the same name", hint="Give each its own under [properties]."
        )
    if any(_holds(folder, settings.notes_dir) for folder in settings.exclude_folders):
        raise SettingsError(
            f"new notes would go into {settings.notes_dir}/ which exclude.folders leaves out",
            hint="Change notes_dir or exclude.folders.",
        )


def _with_backend_of_named_model(settings: Settings, origin: dict[str, str]) -> Settings:
    """Not `none` if a layer above the one that says so names a model or a server."""
    said = _LAYERS.index(origin["llm.backend"])
    named = {"llm.model": settings.llm_model, "llm.base_url": settings.llm_base_url}
    above = [key for key, value in named.items() if value and _LAYERS.index(origin[key]) > said]
    if settings.llm_backend != "none" or not above:
        return settings
    origin["llm.backend"] = origin[above[0]]
    return replace(settings, llm_backend="openai" if settings.llm_base_url else "llama.cpp")


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


STATE_FOLDER = ".amem"


def find_vault(
    option: Path | None, *, environment: Mapping[str, str] | None = None, start: Path | None = None
) -> Path:
    """The vault that a command works on.

    In this order: the option, `AMEM_VAULT`, the nearest parent folder with `.amem/`, the default
    vault of the user's settings.

    Raises:
        NoVault: none is named, and there is none here.
        SettingsError: what is named is not a vault.
    """
    variables = os.environ if environment is None else environment
    named = option or (Path(variables["AMEM_VAULT"]) if variables.get("AMEM_VAULT") else None)
    if named is not None:
        if not (named.expanduser() / STATE_FOLDER).is_dir():
            raise SettingsError(
                f"{named} is not a vault", hint=f"Make it one: amem init {named} (--adopt)."
            )
        return named.expanduser().resolve()
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (folder / STATE_FOLDER).is_dir():
            return folder
    default = load_settings(None, user_settings_file(variables), {})[0].default_vault
    if default:
        return find_vault(Path(default), environment={}, start=start)
    raise NoVault(
        "no vault here", hint="Go into one, name it with --vault, or make one: amem init DIR."
    )


def user_settings_file(environment: Mapping[str, str]) -> Path:
    """The settings of the user, which may be missing."""
    return user_config_folder(environment) / CONFIG_NAME


def machine_name(environment: Mapping[str, str]) -> str:
    """A short random name of this machine, made once; `local` if none can be kept."""
    path = user_state_folder(environment) / "machine"
    try:
        if not path.exists():
            import secrets

            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            # Another process may be faster.
            with contextlib.suppress(FileExistsError), path.open("x", encoding="ascii") as stream:
                stream.write(secrets.token_hex(4))
        return path.read_text(encoding="ascii").strip()[:16] or "local"
    except (OSError, UnicodeDecodeError):
        return "local"


def read_state(path: Path) -> Any:
    """What a JSON file of the program's own holds; None if it is missing or damaged."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None


def write_state(path: Path, document: object) -> None:
    """Put a document in place of the former one.

    Raises:
        SettingsError: it cannot be written.
    """
    # Two programs that write at once each have a file of their own until it is whole.
    temporary = path.with_suffix(f".{os.getpid()}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        temporary.write_text(json.dumps(document, indent=1), encoding="utf-8")
        move_over(temporary, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise SettingsError(
            f"{path} cannot be written: {error.strerror}",
            hint="Check the folder and the disk; AMEM_STATE_DIR names another folder.",
        ) from None


def _user_folder(kind: str, environment: Mapping[str, str] | None = None) -> Path:
    import platformdirs

    override = (os.environ if environment is None else environment).get(f"AMEM_{kind.upper()}_DIR")
    return Path(override or getattr(platformdirs, f"user_{kind}_dir")("amem", appauthor=False))


# Of the user's own settings; of what can be made again, such as exported encoders; of this
# machine's name and consents; of models that were fetched.
user_config_folder = partial(_user_folder, "config")
user_cache_folder = partial(_user_folder, "cache")
user_state_folder = partial(_user_folder, "state")
user_data_folder = partial(_user_folder, "data")
