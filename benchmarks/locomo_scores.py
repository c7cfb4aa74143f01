"""The scores of A-MEM's harness of one answer against the right one, 0 to 1.

They are made by the libraries that the harness uses, so that their quirks are the same: F1 counts
distinct words, ROUGE knows no letters but a to z. Without WordNet, which needs a download, METEOR
matches words and stems but no synonyms.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from amem_cli.models.ports import Encoder

METRICS = ("f1", "bleu1", "rougeL", "meteor")
_BLANKED = str.maketrans(dict.fromkeys(".,!?", " "))


class NoSynonyms:
    """Stands in for WordNet, which needs a download."""

    def synsets(self, word: str) -> list[Any]:
        """None of any word."""
        return []


def text_scores(said: str, wanted: str) -> dict[str, float]:
    """The scores by name; all 0 if either text is empty."""
    if not said.strip() or not wanted.strip():
        return dict.fromkeys(METRICS, 0.0)
    scores = distinct_f1(said, wanted), bleu_1(said, wanted), rouge_l(said, wanted)
    return dict(zip(METRICS, (*scores, meteor(said, wanted)), strict=True))


def distinct_f1(said: str, wanted: str) -> float:
    """F1 of the distinct words in lower case, with `.,!?` taken for blanks."""
    own, gold = (set(text.lower().translate(_BLANKED).split()) for text in (said, wanted))
    return 2 * len(own & gold) / max(1, len(own) + len(gold))


def bleu_1(said: str, wanted: str) -> float:
    """BLEU with single words, its brevity penalty, and NLTK's smoothing of method 1."""
    from nltk.tokenize import NLTKWordTokenizer
    from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

    own, gold = (NLTKWordTokenizer().tokenize(text.lower()) for text in (said, wanted))
    smooth = SmoothingFunction().method1
    return float(sentence_bleu([gold], own, weights=(1, 0, 0, 0), smoothing_function=smooth))


def rouge_l(said: str, wanted: str) -> float:
    """F-measure of ROUGE-L with stems."""
    return float(_scorer().score(wanted, said)["rougeL"].fmeasure)


@cache
def _scorer() -> Any:
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer(["rougeL"], use_stemmer=True)


def meteor(said: str, wanted: str) -> float:
    """METEOR of the words as blanks part them: equal words, then equal stems."""
    from nltk.translate.meteor_score import meteor_score

    return float(meteor_score([wanted.split()], said.split(), wordnet=NoSynonyms()))


def similarities(pairs: Sequence[tuple[str, str]], encoder: Encoder) -> list[float]:
    """Cosine of the embeddings of each pair, -1 to 1; 0 where either text is empty."""
    texts = sorted({text for pair in pairs if all(pair) for text in pair})
    vectors = dict(zip(texts, encoder.encode(texts), strict=True)) if texts else {}
    return [float(vectors[one] @ vectors[two]) if one and two else 0.0 for one, two in pairs]
