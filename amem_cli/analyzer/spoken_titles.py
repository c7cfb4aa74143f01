"""How a sentence may call a note by its title."""

from __future__ import annotations

import re
from typing import NamedTuple

from amem_cli.analyzer.cue_patterns import document
from amem_cli.analyzer.own_words import straight
from amem_cli.language.words import TOKEN, is_stopword, is_unspaced, subject_stems


class SpokenTitle(NamedTuple):
    """A title as sentences may call it.

    Attributes:
        pattern: finds it in a folded sentence: whole, or its beginning of three words or more; one
            of one word only within quotation marks. None if it has too few telling words.
        is_unmistakable: it names something that is written: a plan, a list, a date.
        stems: of its telling words.
    """

    pattern: re.Pattern[str] | None
    is_unspaced: bool
    is_unmistakable: bool
    stems: frozenset[str]

    @classmethod
    def of(cls, title: str) -> SpokenTitle:
        folded, stems = straight(title), subject_stems(title)
        tokens = TOKEN.findall(folded)
        is_note = document().search(folded) is not None
        if any(map(is_unspaced, tokens)):
            whole = re.compile(re.escape(folded)) if len(folded) >= 3 else None
            return cls(whole, True, is_note, stems)
        telling = [not is_stopword(token) for token in tokens]
        if len(tokens) == 1 and sum(telling):
            quoted = re.compile(rf"(?<=[\"“„«]){re.escape(tokens[0])}(?=[\"”“»])")
            return cls(quoted, False, is_note, stems)
        if sum(telling) < 2:
            return cls(None, False, is_note, stems)
        forms = [tokens]
        if len(tokens) > 3 and sum(telling[:-1]) >= 2:
            forms.append(tokens[:-1])
        texts = (r"\W{1,3}".join(map(re.escape, form)) for form in forms)
        return cls(re.compile(rf"(?<!\w)(?:{'|'.join(texts)})(?!\w)"), False, is_note, stems)
