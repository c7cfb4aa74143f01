"""How far models are trusted: the verdicts of `amem model test`, in the user's state folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from amem_cli.memory.outcome import ModelTrust
from amem_cli.memory.trust import asked_for, least_plausible
from amem_cli.models.open import server_url
from amem_cli.settings import Settings, read_state, user_state_folder, write_state

VERDICTS_FILE = "model-verdicts.json"
# A model file that changes is a new subject; without a bound the old ones would pile up.
MOST_KEPT = 200
KINDS = ("fit", "usable", "unfit")


@dataclass(frozen=True, slots=True)
class StoredVerdict:
    """A verdict that still holds.

    Attributes:
        day: when the test was made.
        reliability: how often its yes to a link is right, 0..1 (see `memory.trust`).
        keywords: whether a fit model is asked for keywords, too.
    """

    kind: str
    line: str
    day: str
    reliability: float
    keywords: bool


def model_subject(settings: Settings, environment: Mapping[str, str]) -> str:
    """What a verdict is about: a file by its digest (or size and time), a server's model, or a
    command line."""
    if settings.llm_backend == "none":
        return ""
    if settings.llm_backend == "command":
        return f"command {settings.llm_model}"
    if settings.llm_backend != "llama.cpp":
        return f"server {server_url(settings, environment)} {settings.llm_model}"
    if not settings.llm_model:
        return "bundled"
    if settings.llm_sha256:
        return f"sha256 {settings.llm_sha256.lower()}"
    path = Path(settings.llm_model).expanduser()
    try:
        status = path.stat()
    except OSError:
        return ""
    return f"file {path.resolve()} {status.st_size} {status.st_mtime_ns}"


def stored_verdict(subject: str, environment: Mapping[str, str]) -> StoredVerdict | None:
    """The verdict on a model, or None if it was not tested, or with other prompts."""
    if not subject:
        return None
    stored = _verdicts(environment).get(subject)
    if not isinstance(stored, dict) or stored.get("asked_with") != _asked_with():
        return None
    # The file may be damaged or edited; such an entry must not make a model trusted.
    kind, line, day = (str(stored.get(name, "")) for name in ("kind", "line", "day"))
    reliability = stored.get("reliability")
    if kind not in KINDS or not isinstance(reliability, float) or not 0 <= reliability <= 1:
        return None
    return StoredVerdict(kind, line, day, reliability, stored.get("keywords") is True)


def store_verdict(subject: str, verdict: StoredVerdict, environment: Mapping[str, str]) -> None:
    if not subject:
        return
    verdicts = {key: each for key, each in _verdicts(environment).items() if key != subject}
    # A verdict that is renewed goes last, so that the bound drops the oldest.
    newest = dict(list(verdicts.items())[-(MOST_KEPT - 1) :])
    # JSON would keep a whole number as one, which is not accepted when it is read.
    reliability = float(verdict.reliability)
    newest[subject] = {**asdict(verdict), "reliability": reliability, "asked_with": _asked_with()}
    write_state(user_state_folder(environment) / VERDICTS_FILE, newest)


def trust_in(settings: Settings, environment: Mapping[str, str]) -> ModelTrust:
    """What the language model of the settings is asked for.

    If it was tested, the test decides; otherwise a server's model or a program, which a person
    named, is asked for all, and a file for the context alone: most that run at home can do no more.
    The bundled one is never asked for more.
    """
    verdict = stored_verdict(model_subject(settings, environment), environment)
    named = bool(settings.llm_model)
    if verdict is None:
        return ModelTrust("context" if settings.llm_backend == "llama.cpp" else "all")

    asked = asked_for(verdict.kind)
    if asked == "all" and not named:
        return ModelTrust("context")
    return ModelTrust(asked, least_plausible(verdict.reliability), verdict.keywords)


def _asked_with() -> str:
    """The cases and prompts of the test; with others the model may do better or worse."""
    # Not loaded if no model is asked.
    from amem_cli.memory.describe import METADATA_PROMPT, SUMMARY_PROMPT
    from amem_cli.memory.link import JOINT_PROMPT, LINKING_PROMPT
    from amem_cli.memory.trial import TRIAL

    return f"{TRIAL} {JOINT_PROMPT} {METADATA_PROMPT} {LINKING_PROMPT} {SUMMARY_PROMPT}"


def _verdicts(environment: Mapping[str, str]) -> dict[str, object]:
    verdicts = read_state(user_state_folder(environment) / VERDICTS_FILE)
    return verdicts if isinstance(verdicts, dict) else {}
