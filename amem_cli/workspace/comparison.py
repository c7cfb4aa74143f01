"""Two models at work on the same notes of a vault, opened as they would be if they were chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from amem_cli.memory.compare import USUAL_NOTES, Comparison, Side, notes_to_compare
from amem_cli.settings import setting_keys
from amem_cli.workspace.connection import open_budgeted
from amem_cli.workspace.open_vault import process_settings
from amem_cli.workspace.verdicts import trust_in

if TYPE_CHECKING:
    from amem_cli.index.records import NoteSummary
    from amem_cli.models.ports import LanguageModel
    from amem_cli.workspace.workspace import Workspace

CURRENT = "current"


def compare(
    workspace: Workspace,
    names: Sequence[str],
    notes: Sequence[NoteSummary] = (),
    *,
    count: int = USUAL_NOTES,
    transferred: Callable[[str, int, int], None] = lambda label, done, total: None,
) -> Comparison:
    """Prepare a comparison of two models; nothing is asked before it runs, nothing ever written.

    Args:
        names: of two models as `models.named.settings_of_model` takes them, or `current`.
        notes: those to compare with; if there are none, `count` of the vault's. Private ones only
            if both models are on this machine.
        transferred: called while the digest of a model's file is computed.

    Raises:
        UsageError: there is no such model.
        SettingsError: a model would send notes to another machine without the user's consent.
        ModelError, EncoderError: a model cannot be had.
    """
    workspace.embed_missing()
    first, second = (_side(workspace, name, transferred) for name in names)
    is_remote = any(side.model is not None and side.model.is_remote for side in (first, second))
    chosen = notes or notes_to_compare(workspace.ports, count, private=not is_remote)
    return Comparison(
        workspace.ports,
        workspace.encoder,
        (first, second),
        chosen,
        judge=workspace.models.judge,
    )


def _side(workspace: Workspace, name: str, transferred: Callable[[str, int, int], None]) -> Side:
    settings, origin = workspace.settings, workspace.models.origin
    if name != CURRENT:
        from amem_cli.models.named import settings_of_model

        changes = settings_of_model(name, None, "", workspace.environment, transferred)
        keys = setting_keys()
        values: dict[str, Any] = {keys[key]: value for key, value in changes.items()}
        settings = replace(settings, **values)
        # A file may be run because somebody names it here. A server gets notes only if it was
        # chosen for this vault: naming it in a comparison is no consent.
        place = "option" if settings.llm_backend == "llama.cpp" else "vault"
        origin = {**origin, **dict.fromkeys(changes, place)}
    trust = trust_in(settings, workspace.environment)
    model: LanguageModel | None = None
    if settings.llm_backend != "none" and trust.asked_for != "nothing":
        model = open_budgeted(
            settings, workspace.root, origin, workspace.environment, workspace.notify
        )
    return Side(name, model, process_settings(settings, trust))
