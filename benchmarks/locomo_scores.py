"""The scores of A-MEM's harness and LoCoMo's own, of one answer against the right one; 0 to 1.

They are made by the libraries that the harness uses, so that their quirks are the same: F1 counts
distinct words, ROUGE knows no letters but a to z, METEOR gives a right single word no more than
half. Two things differ, as their data cannot be had without a download: METEOR matches words and
stems but no synonyms, and sentences are told apart for BLEU by a rule in place of Punkt.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from amem_cli.models.ports import Encoder

METRICS = ("f1", "locomo_f1", "bleu1", "rouge1", "rouge2", "rougeL", "meteor", "sbert")
TITLES = {
    "f1": "F1",
    "locomo_f1": "F1 (LoCoMo)",
    "bleu1": "BLEU-1",
    "rouge1": "ROUGE-1",
    "rouge2": "ROUGE-2",
    "rougeL": "ROUGE-L",
    "meteor": "METEOR",
    "sbert": "SBERT",
}
_BLANKED = str.maketrans(dict.fromkeys(".,!?", " "))
_SENTENCE_END = re.compile(r"(\S+[.!?])\s+")
# A period behind these ends no sentence; so does none behind a single letter or an inner period.
_ABBREVIATIONS = frozenset(
    ("dr", "mr", "mrs", "ms", "st", "vs", "etc", "jr", "sr", "prof", "inc", "no", "co")
)
_ARTICLES = re.compile(r"\b(?:a|an|the|and)\b")
_REFUSALS = ("not mentioned", "no information available")


class NoSynonyms:
    """Stands in for WordNet, which needs a download."""

    def synsets(self, word: str) -> list[Any]:
        """None of any word."""
        return []


def text_scores(said: str, wanted: str, category: str = "") -> dict[str, float]:
    """Every score but the similarity of embeddings; all 0 where either text is empty.

    Args:
        category: as LoCoMo numbers it; its own F1 depends on it.
    """
    said, wanted = said.strip(), wanted.strip()
    if not said or not wanted:
        return dict.fromkeys((name for name in METRICS if name != "sbert"), 0.0)
    return {
        "f1": distinct_f1(said, wanted),
        "locomo_f1": locomo_f1(said, wanted, category),
        "bleu1": bleu_1(said, wanted),
        **rouge(said, wanted),
        "meteor": meteor(said, wanted),
    }


def distinct_f1(said: str, wanted: str) -> float:
    """F1 of the distinct words in lower case, with `.,!?` taken for blanks."""
    own, gold = (set(text.lower().translate(_BLANKED).split()) for text in (said, wanted))
    return _f1(len(own & gold), len(own), len(gold))


def _f1(shared: int, said: int, wanted: int) -> float:
    return 2 * shared / (said + wanted) if shared else 0.0


def bleu_1(said: str, wanted: str) -> float:
    """BLEU with single words, its brevity penalty, and NLTK's smoothing of method 1."""
    from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

    own, gold = word_tokens(said), word_tokens(wanted)
    if not own or not gold:
        return 0.0
    smooth = SmoothingFunction().method1
    return float(sentence_bleu([gold], own, weights=(1, 0, 0, 0), smoothing_function=smooth))


def word_tokens(text: str) -> list[str]:
    """The tokens of NLTK's `word_tokenize`, in lower case."""
    from nltk.tokenize import NLTKWordTokenizer

    tokenizer = NLTKWordTokenizer()
    return [token for each in _sentences(text.lower()) for token in tokenizer.tokenize(each)]


def _sentences(text: str) -> list[str]:
    found, start = [], 0
    for match in _SENTENCE_END.finditer(text):
        last = match.group(1)
        inner = last[:-1]
        if last.endswith(".") and (len(inner) < 2 or "." in inner or inner in _ABBREVIATIONS):
            continue
        found.append(text[start : match.end(1)])
        start = match.end()
    return [*found, text[start:]]


def rouge(said: str, wanted: str) -> dict[str, float]:
    """F-measures of ROUGE-1, -2 and -L with stems."""
    scored = _scorer().score(wanted, said)
    return {name: float(scored[name].fmeasure) for name in ("rouge1", "rouge2", "rougeL")}


@cache
def _scorer() -> Any:
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=True)


def meteor(said: str, wanted: str) -> float:
    """METEOR of the words as blanks part them: equal words, then equal stems."""
    from nltk.translate.meteor_score import meteor_score

    return float(meteor_score([wanted.split()], said.split(), wordnet=NoSynonyms()))


def locomo_f1(said: str, wanted: str, category: str) -> float:
    """LoCoMo's own F1: of stems, counted, without articles and punctuation.

    Category 1 has several answers with commas between them, each of which may be met by any part
    of what was said; of category 3 what stands behind a semicolon is a remark.
    """
    if category == "1":
        parts = [part.strip() for part in said.split(",")]
        gold = [part.strip() for part in wanted.split(",")]
        return sum(max(_stem_f1(part, one) for part in parts) for one in gold) / len(gold)
    if category == "3":
        wanted = wanted.split(";")[0].strip()
    return _stem_f1(said, wanted)


def _stem_f1(said: str, wanted: str) -> float:
    own, gold = Counter(_stems(said)), Counter(_stems(wanted))
    return _f1(sum((own & gold).values()), sum(own.values()), sum(gold.values()))


def _stems(text: str) -> list[str]:
    bare = "".join(sign for sign in text.lower() if sign not in string.punctuation)
    return [_stemmer().stem(word) for word in _ARTICLES.sub(" ", bare).split()]


@cache
def _stemmer() -> Any:
    from nltk.stem import PorterStemmer

    return PorterStemmer()


def refuses(said: str) -> bool:
    """Whether an answer is none, as LoCoMo's own evaluation tells it, or an empty one."""
    text = said.lower()
    return not text.strip() or any(phrase in text for phrase in _REFUSALS)


def similarities(pairs: Sequence[tuple[str, str]], encoder: Encoder) -> list[float]:
    """Cosine of the embeddings of each pair, -1 to 1; 0 where either text is empty."""
    texts = sorted({text for pair in pairs if all(pair) for text in pair})
    if not texts:
        return [0.0] * len(pairs)
    place = {text: at for at, text in enumerate(texts)}
    vectors = encoder.encode(texts)
    return [
        float(vectors[place[said]] @ vectors[place[wanted]]) if said and wanted else 0.0
        for said, wanted in pairs
    ]
