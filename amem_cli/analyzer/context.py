"""One sentence that says what a note is about, taken from the note itself.

The sentence nearest to the centre of the text (centroid summarisation, Radev et al., 2004; LexRank,
Erkan and Radev, 2004), with a preference for early sentences and for the words of the title.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from amem_cli.language.words import TOKEN, fold, is_stopword, is_unspaced, sentences, stem, words
from amem_cli.markdown.plain_text import prose

if TYPE_CHECKING:
    from amem_cli.models.ports import Vectors

LONGEST_CONTEXT = 160
_MAX_TEXT = 20_000
_MAX_SENTENCES = 24
_UNWANTED = re.compile(r"\[\[|\]\]|\{\{|\}\}|-{3,}|[\x00-\x1f\x7f\u2028\u2029\ufeff]")
_CLAUSE_END = re.compile(r"[;:,–—](?=\s)|[，；：、]|\s[(–-](?=\s|\w)")
_EARLY_BONUS = 0.12
_TITLE_BONUS = 0.10


def context_sentence(title: str, text: str, encode: Callable[[Sequence[str]], Vectors]) -> str:
    """What the note is about in one line of at most 160 characters.

    Args:
        encode: texts to unit vectors; called once, with at most 25 texts, and not at all for
            a single sentence.

    Returns:
        A sentence of the note without markup, led by the title if it lacks the title's words, and
        cut at a clause if it is too long. Never empty unless title and text are blank;
        never with `[[`, `{{`, `---` or a line break.
    """
    choices = _choices(text)
    best = choices[0] if choices else ""
    if len(choices) > 1:
        vectors = encode([f"{title}\n{prose(text[:_MAX_TEXT])}".strip(), *choices])
        best = choices[_most_central(title, choices, vectors)]
    return _shortened(_with_title(_cleaned(title), _cleaned(best))) or _any_text(title, text)


def _choices(text: str) -> list[str]:
    found = sentences(prose(text[:_MAX_TEXT]))
    telling = [sentence for sentence in found if _content_words(sentence) >= 4]
    return (telling or found)[:_MAX_SENTENCES]


def _content_words(sentence: str) -> float:
    total = 0.0
    for match in TOKEN.finditer(sentence):
        token = match.group()
        if is_unspaced(token):
            total += len(token) / 2
        elif any(character.isalpha() for character in token):
            total += 0.3 if is_stopword(fold(token)) else 1.0
    return total


def _most_central(title: str, choices: Sequence[str], vectors: Vectors) -> int:
    centre = vectors[0] + vectors[1:].mean(axis=0)
    near = vectors[1:] @ centre
    title_stems = {stem(word) for word in words(title) if not is_stopword(word)}
    scores = []
    for i, sentence in enumerate(choices):
        shared = title_stems & {stem(word) for word in words(sentence)}
        score = float(near[i]) + _EARLY_BONUS / (1 + i) + _TITLE_BONUS * bool(shared)
        is_question = sentence.rstrip("\"'”’»*_ ").endswith(("?", "？"))
        scores.append(score - 0.1 * is_question - 0.1 * (_content_words(sentence) < 5))
    return max(range(len(choices)), key=lambda i: (scores[i], -i))


def _with_title(title: str, sentence: str) -> str:
    title = title.rstrip(" .:")
    stems = set(map(stem, words(sentence)))
    if not sentence or not title or all(stem(word) in stems for word in words(title)):
        return sentence or title
    return sentence if len(title) > LONGEST_CONTEXT // 2 else f"{title}: {sentence}"


def _cleaned(text: str) -> str:
    # Removing one mark can join the halves of another.
    while _UNWANTED.search(text):
        text = _UNWANTED.sub(" ", text)
    return " ".join(text.split()).strip(" -–—:;,·•→|>*#")


def _shortened(sentence: str) -> str:
    if len(sentence) <= LONGEST_CONTEXT:
        return sentence
    window = sentence[: LONGEST_CONTEXT - 1]
    ends = [match.start() for match in _CLAUSE_END.finditer(window)]
    if ends and ends[-1] >= LONGEST_CONTEXT // 2:
        return window[: ends[-1]].rstrip(" ,;:–—-(") + "."
    blank = window.rfind(" ")
    return (window[:blank] if blank > LONGEST_CONTEXT // 2 else window).rstrip(" ,;:–—-(") + "…"


def _any_text(title: str, text: str) -> str:
    for source in (text[:_MAX_TEXT], text, title):
        cleaned = _cleaned(source)
        if cleaned:
            return _shortened(cleaned[: 2 * LONGEST_CONTEXT])
    return " ".join(f"{title} {text}".split())[:1] and "…"
