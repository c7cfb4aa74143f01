"""How the scores of words and of vectors become one ranking."""

from __future__ import annotations

from collections.abc import Mapping

# Share of the cosine in the fused score; a convex fusion of normalised scores loses less than
# rank fusion where one of the two legs knows nothing (Bruch et al. 2023, arXiv 2210.11934).
COSINE_SHARE = 0.6


def normalised(scores: Mapping[str, float]) -> dict[str, float]:
    """Scores divided by the best one; what is not above zero is zero."""
    best = max(scores.values(), default=0.0)
    if best <= 0:
        return dict.fromkeys(scores, 0.0)
    return {key: max(0.0, score) / best for key, score in scores.items()}


def fused(cosines: Mapping[str, float], words: Mapping[str, float]) -> dict[str, float]:
    """Convex fusion over the union of both legs, best first.

    Both legs should know every candidate: a missing score counts as nothing.
    """
    near, said = normalised(cosines), normalised(words)
    share = COSINE_SHARE if said and near else float(bool(near))
    scores = {
        key: share * near.get(key, 0.0) + (1 - share) * said.get(key, 0.0) for key in {*near, *said}
    }
    return ranked(scores)


def ranked(scores: Mapping[str, float]) -> dict[str, float]:
    """Best first; ties by key, so that an answer never depends on chance."""
    return dict(sorted(scores.items(), key=lambda item: (-item[1], item[0])))
