"""What a run over notes will take, with the prices and the limit that the settings name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from amem_cli.memory.forecast import Forecast, estimate
from amem_cli.models.open import TokenLedger
from amem_cli.models.ports import UnavailableModel
from amem_cli.models.price import price_in

if TYPE_CHECKING:
    from amem_cli.workspace.queries import Queries


def forecast(workspace: Queries, paths: Sequence[str]) -> Forecast | None:
    """See `Queries.forecast`."""
    process = workspace.process
    model, settings = process.model, workspace.settings
    if model is None or isinstance(model, UnavailableModel) or not paths:
        return None
    found = estimate(workspace.index, paths, model, trusted=process.settings.trusted)
    cost = price_in(settings).of(found.model, found.prompt_tokens, found.answer_tokens)
    left, limit = None, settings.llm_daily_tokens
    if limit:
        left = max(0, limit - TokenLedger(workspace.root, workspace.environment).used())
    return replace(found, cost=cost, left_today=left)
