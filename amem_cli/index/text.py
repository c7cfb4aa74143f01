"""The text of notes in the index: their passages, and their words for full-text search.

A full-text table that splits at spaces and punctuation knows no Chinese, no German and no `c++`. So
these are spelt out, in the text and in the query alike:

- Runs of Chinese, Japanese, Korean and Thai characters become overlapping pairs, and the last
  character; traditional characters become simplified ones.
- `c++`, `c#`, `.net`, emoji and initials such as `U.S.A.` become words.
- Letters such as `ł` and `æ` become `l` and `ae`; accents the table takes off by itself.
- Behind the text is what somebody may search for of a word: the version of `v2.14.3`, day and time
  of `2024-03-15T14:30`, number and unit of `16GB`, all digits of `555-0199`, the words of
  `getUserName`, the parts of a Persian word.
- The stems of words that are not English are at its end, each after a letter that folded text has
  not and the code of its language. Only notes in a language that counts in the vault have them.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from amem_cli.data import word_set
from amem_cli.language.detect import detect_language, function_words, languages_that_count
from amem_cli.language.lexicon import in_plain_letters
from amem_cli.language.words import (
    RUN_OF_LETTERS,
    SEPARATOR,
    TOKEN,
    UNSPACED_RUN,
    cjk_bigrams,
    fold,
    fold_scripts,
    is_stopword,
    is_unspaced,
    plain_word,
    stems,
)

if TYPE_CHECKING:
    from amem_cli.index.connection import Database
    from amem_cli.index.records import NoteRecord
    from amem_cli.index.vectors import IndexVectors

# Title, body, keywords, tags, context, date.
_COLUMN_WEIGHTS = "2.0, 1.0, 2.0, 1.0, 1.0, 1.0"
_MAX_TERMS = 64
# Words of the vocabulary that are compared with one misspelt word.
_MAX_SPELLINGS = 20_000
_AMONG = "IN (SELECT value FROM json_each(?))"

_EMOJI = "\u203c\u2049\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001f3fa\U0001f400-\U0001faff"
_SIGN = re.compile(rf"(?<![\w./])\.net(?!\w)|[{_EMOJI}]")
_INITIALS = re.compile(r"(?<![\w.])(?:[^\W\d_]\.){2,}(?!\w)")
_NAMED_ENDINGS = (("++", "plusplus"), ("#", "sharp"))
_QUOTES = {'"': '"', "“": "”“", "„": "“”", "«": "»", "»": "«", "「": "」", "『": "』"}
_HANGUL_SYLLABLE = re.compile("[\uac00-\ud7a3]")
_PARTICLES = frozenset("은는이가을를에의도만로와과")
_ADDRESS_PARTS = frozenset({"http", "https", "www"})

# Folded text has no sharp s, so a stem behind one is never taken for a word.
_STEM_MARK = "ß"
# Behind two of them is the language of a note that is not in English.
_LANGUAGE_MARK = 2 * _STEM_MARK
_RUN = re.compile(f"{UNSPACED_RUN.pattern}|{RUN_OF_LETTERS.pattern}")
_DIGIT = re.compile(r"\d")
# A version, a time or a measure, which letters may be joined to; also `20240315T1430`, `16gb`.
# Behind one or two letters a single number is no word of its own: `v10`, `mp3`, `3f2a`.
_NUMBER = re.compile(
    r"(?<!\d)\d+(?:[.,:_-]\d+)+|\d{8}(?=t\d{4})|(?<=\d{8}t)\d{4,6}|(?<=[^\W\d_]{3})\d+"
    r"|(?<![\w.,:-])\d+(?=[^\W\d_]{2,4}(?![\w-]))"
)
# Numbers in groups, such as those of telephones and books; also `1,000,000`.
_GROUPS = re.compile(r"\d+(?:-\d+)+|\d{1,3}(?:[.,]\d{3})+")
# `getUserName` and `HTTPServerError` are words joined, but `JavaScript` and `PDFs` are names.
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]{2})")
_IDENTIFIER = re.compile(r"(?<![^\W_])[A-Za-z][A-Za-z0-9]{3,31}(?![^\W_])")
_LONGEST_CUT, _MOST_PIECES = 32, 4
# Without width, this parts a Persian word as others part it by a blank.
_NON_JOINER = "\u200c"
_PARTED_WORD = re.compile(rf"(?<!\w)\w+(?:{_NON_JOINER}\w+)+")


class IndexText:
    """Passages, and the words of notes in FTS5."""

    def __init__(self, file: Database, vectors: IndexVectors) -> None:
        self._file = file
        self._vectors = vectors

    def store(self, number: int, record: NoteRecord) -> None:
        """Replace passages and words of a note; passages that stay the same keep their vectors."""
        self._store_passages(number, record)
        self._store_words(number)

    def forget(self, number: int) -> None:
        """Remove passages, vectors and words of a note."""
        self._file.rows("DELETE FROM words WHERE rowid = ?", (number,))
        self._forget_passages(number, keep=())

    def passages(self, path: str) -> list[str]:
        return self.passages_of([path]).get(path, [])

    def passages_of(self, paths: Iterable[str]) -> dict[str, list[str]]:
        """Passages of notes in order, by path."""
        sql = (
            "SELECT path, text FROM notes JOIN passages USING(note)"  # noqa: S608
            f" WHERE path {_AMONG} ORDER BY position"
        )
        found: dict[str, list[str]] = {}
        for path, text in self._file.rows(sql, (json.dumps(list(paths)),)):
            found.setdefault(path, []).append(text)
        return found

    def passage_counts(self, paths: Sequence[str]) -> dict[str, int]:
        sql = (
            "SELECT path, count(*) FROM notes JOIN passages USING(note)"  # noqa: S608
            f" WHERE path {_AMONG} GROUP BY note"
        )
        return dict(self._file.rows(sql, (json.dumps(list(paths)),)))

    def outlines(self, paths: Sequence[str]) -> dict[str, tuple[str, str, int]]:
        """The beginning and the end of notes' texts, by path, and the length of two passages."""
        sql = (
            "SELECT path, group_concat(substr(text, 1, 60)) FILTER (WHERE position = 0),"  # noqa: S608
            " sum(length(text)) FILTER (WHERE position < 2), substr(text, -9), max(position)"
            f" FROM notes JOIN passages USING(note) WHERE path {_AMONG} GROUP BY note"
        )
        rows = self._file.rows(sql, (json.dumps(list(paths)),))
        return {path: (begins, ends, length) for path, begins, length, ends, _ in rows}

    def keyword_scores(
        self, terms: Sequence[str], limit: int, among: Sequence[str] | None = None
    ) -> dict[str, float]:
        """BM25 by path, higher is better, best first; `among` restricts to these paths."""
        languages = self.languages()
        expressions = [match_expression(term, languages) for term in terms[:_MAX_TERMS]]
        query = " OR ".join(expression for expression in expressions if expression)
        if not query or limit < 1:
            return {}
        restriction = "" if among is None else f" AND n.path {_AMONG}"
        bindings = () if among is None else (json.dumps(list(among)),)
        sql = (
            f"SELECT n.path, -bm25(words, {_COLUMN_WEIGHTS}) AS score FROM words"  # noqa: S608
            " JOIN notes n ON n.note = words.rowid"
            f" WHERE words MATCH ?{restriction} ORDER BY score DESC, n.path LIMIT ?"
        )
        return dict(self._file.rows(sql, (query, *bindings, limit)))

    def term_matches(
        self, terms: Sequence[str], among: Sequence[str]
    ) -> list[tuple[int, frozenset[str]]]:
        """For each term in how many notes it occurs, and which of the paths `among` hold it."""
        sql = f"SELECT note, path FROM notes WHERE path {_AMONG}"  # noqa: S608
        paths = dict(self._file.rows(sql, (json.dumps(list(among)),)))
        sql = (
            f"SELECT count(*), json_group_array(rowid) FILTER (WHERE rowid {_AMONG})"  # noqa: S608
            " FROM words WHERE words MATCH ?"
        )
        matches = []
        languages = self.languages()
        for term in terms:
            count, holding = 0, "[]"
            expression = match_expression(term, languages)
            if expression:
                [(count, holding)] = self._file.rows(sql, (json.dumps(list(paths)), expression))
            matches.append((int(count), frozenset(paths[note] for note in json.loads(holding))))
        return matches

    def document_frequency(self, term: str, absent: Collection[int] = frozenset()) -> int:
        """In how many notes a word occurs, apart from the absent ones, by their numbers."""
        if not absent:
            return self.term_matches([term], ())[0][0]
        expression = match_expression(term, self.languages())
        # As one text: a row for each note would take much longer than the search.
        sql = "SELECT json_group_array(rowid) FROM words WHERE words MATCH ?"
        rows = self._file.rows(sql, (expression,)) if expression else []
        return sum(number not in absent for (found,) in rows for number in json.loads(found))

    def spellings(self, beginning: str, shortest: int, longest: int) -> list[tuple[str, int]]:
        """Indexed words (stems) that begin so, of these lengths, with how many notes hold each."""
        self._file.rows(
            "CREATE VIRTUAL TABLE IF NOT EXISTS temp.spelt USING fts5vocab(main, words, row)"
        )
        sql = (
            "SELECT term, doc FROM temp.spelt WHERE term >= ? AND term < ?"
            " AND length(term) BETWEEN ? AND ? LIMIT ?"
        )
        bounds = (beginning, beginning + "\U0010ffff", shortest, longest, _MAX_SPELLINGS)
        return [(term, int(count)) for term, count in self._file.rows(sql, bounds)]

    def settle_languages(self) -> None:
        """Decide by all notes which languages count; store words anew where that changes them."""
        rows = self._file.rows("SELECT language, is_clear, notes FROM languages")
        told = {(language, bool(is_clear)): count for language, is_clear, count in rows}
        counting, before = languages_that_count(told), self.languages()
        if counting == before:
            return
        self._file.set_meta("languages", " ".join(counting))
        for language in set(counting) ^ set(before):
            sql = "SELECT note FROM notes WHERE instr(possible, ?)"
            for (number,) in self._file.rows(sql, (language,)):
                self._store_words(number)

    def languages(self) -> tuple[str, ...]:
        """The languages of Latin letters that count, those of more notes first; see
        `languages_that_count`."""
        return tuple((self._file.meta("languages") or "en").split())

    def search_terms(self, query: str) -> list[str]:
        """`search_terms` of a query, read in the language that explains most of its words.

        A language explains its function words, and words that notes in it hold.
        """
        languages = self.languages()
        if len(languages) == 1:
            return search_terms(query, *languages)
        queried = list(_spaced_words(_folded(query)))

        def explained(language: str) -> int:
            known = function_words(language)
            return sum(word in known or self._holds(word, language, languages) for word in queried)

        return search_terms(query, max(languages, key=explained))

    def _holds(self, word: str, language: str, languages: Sequence[str]) -> bool:
        """Whether a note in this one of the languages that count holds a word."""
        if language == "en":
            marks = (f'"{_LANGUAGE_MARK}{other}"' for other in languages if other != "en")
            expression = f"{match_expression(word, ())} NOT ({' OR '.join(marks)})"
        else:
            expression = f'{match_expression(word, (language,))} AND "{_LANGUAGE_MARK}{language}"'
        return bool(
            self._file.rows("SELECT 1 FROM words WHERE words MATCH ? LIMIT 1", (expression,))
        )

    def _store_words(self, number: int) -> None:
        from amem_cli.language.dates import date_words, local_text

        sql = (
            "SELECT title, aliases, keywords, tags, context, created, language, possible FROM notes"
            " WHERE note = ?"
        )
        [(title, *lists, context, created, language, possible)] = self._file.rows(sql, (number,))
        aliases, keywords, tags = map(json.loads, lists)
        sql = "SELECT text FROM passages WHERE note = ? ORDER BY position"
        columns = (
            " ".join((title, *aliases)),
            "\n".join(text for (text,) in self._file.rows(sql, (number,))),
            " ".join(keywords),
            " ".join(tags),
            context,
            date_words(local_text(created)),
        )
        languages = set(possible.split()).intersection(self.languages())
        *texts, date = (indexable_text(column, languages) for column in columns)
        mark = f" {_LANGUAGE_MARK}{language}" if language in languages else ""
        self._file.rows("DELETE FROM words WHERE rowid = ?", (number,))
        self._file.rows(
            "INSERT INTO words(rowid, title, body, keywords, tags, context, date)"
            " VALUES(?, ?, ?, ?, ?, ?, ?)",
            (number, *texts, date + mark),
        )

    def _store_passages(self, number: int, record: NoteRecord) -> None:
        import hashlib

        note = record.note
        # The vector is made from the metadata too, so if they change a new one is needed.
        head = "\n".join((note.title, *note.keywords, *note.tags, note.context))
        wanted = {
            position: (hashlib.sha256(f"{head}\n\n{text}".encode()).digest()[:16], text)
            for position, text in enumerate(record.passages)
        }
        sql = "SELECT position, embed_key, passage FROM passages WHERE note = ?"
        kept = {
            position: passage
            for position, key, passage in self._file.rows(sql, (number,))
            if position in wanted and wanted[position][0] == key
        }
        self._forget_passages(number, keep=tuple(kept.values()))
        for position, (key, text) in wanted.items():
            if position not in kept:
                self._file.rows(
                    "INSERT INTO passages(note, position, text, embed_key) VALUES(?, ?, ?, ?)",
                    (number, position, text, key),
                )

    def _forget_passages(self, number: int, *, keep: Sequence[int]) -> None:
        sql = "SELECT passage FROM passages WHERE note = ?"
        gone = [passage for (passage,) in self._file.rows(sql, (number,)) if passage not in keep]
        self._vectors.forget(gone)
        for passage in gone:
            self._file.rows("DELETE FROM passages WHERE passage = ?", (passage,))


def indexable_text(text: str, languages: Collection[str] = ()) -> str:
    """The text for a full-text table, folded; `search_terms` of a query find what is in it."""
    folded = _folded(text)
    special = "#" in folded or "++" in folded or _RUN.search(folded)
    written = in_plain_letters(TOKEN.sub(_spelt_out, folded) if special else folded)
    further = [*_numbers_cut_off(folded), *_words_of_identifiers(text)]
    if _NON_JOINER in text:
        parted = (
            fold_scripts(fold(each.replace(_NON_JOINER, " ")))
            for each in _PARTED_WORD.findall(text)
        )
        further += parted
    if languages or not folded.isascii():
        further += [
            _STEM_MARK + stem
            for word in _spaced_words(folded)
            if not is_stopword(word)
            for stem in stems(word, languages)
        ]
    return f"{written}\n{' '.join(further)}" if further else written


def search_terms(query: str, language: str = "") -> list[str]:
    """The distinct terms to ask a full-text index of `indexable_text` for, in the query's order.

    Function words of its language are left out unless there is nothing else. A term of several
    words is meant as a phrase: what was in quotes, and what is joined, such as `dead-tuple` or
    `node.js`, which gives its parts as well. A term that ends in `*` is the beginning of a word.
    """
    empty = function_words(language or detect_language(query)) or function_words("en")
    terms = [
        term
        for text, quoted in _quotations(_folded(query))
        for term in (_phrase_terms(text) if quoted else _loose_terms(text))
    ]
    meaningful = [term for term in terms if not _is_empty_term(term, empty)]
    return list(dict.fromkeys(meaningful or terms))


def loosened(terms: Sequence[str]) -> list[str]:
    """What to ask for if no note has the terms: phrases in words, Korean without particles."""
    words: list[str] = []
    for word in (word for term in terms for word in term.split()):
        words.append(word)
        if len(word) == 2 and _HANGUL_SYLLABLE.match(word) and word[1] in _PARTICLES:
            words.append(word[0])
    return list(dict.fromkeys(words))


def match_expression(term: str, languages: Iterable[str] = ()) -> str:
    """The query in FTS5's language for one of the `search_terms`; empty if it asks for nothing.

    A word also finds its other inflections and spellings in these languages.
    """
    word = term.replace('"', " ").replace("\0", " ").strip()
    is_beginning = word.endswith("*")
    word = word.rstrip("*")
    if not word:
        return ""
    sign = " *" if is_beginning or (len(word) == 1 and is_unspaced(word)) else ""
    forms = [in_plain_letters(word)]
    if any(map(str.isdigit, word)):
        forms += _numbers_cut_off(word)
    elif not (sign or is_unspaced(word) or SEPARATOR.search(word) or " " in word):
        forms += (_STEM_MARK + stem for stem in stems(word, languages))
    return "({})".format(" OR ".join(f'"{form}"{sign}' for form in forms))


def _numbers_cut_off(folded: str) -> list[str]:
    """Each word in which letters are joined to a version, a time or a measure, in its pieces.

    A single letter, such as that of `v2.14.3`, is left out.
    """
    # Snippets ask about each word, most of which have no digit.
    if not _DIGIT.search(folded) or not (_GROUPS.search(folded) or _NUMBER.search(folded)):
        return []
    words = []
    for token in TOKEN.findall(folded):
        if _GROUPS.fullmatch(token):
            words.append("".join(filter(str.isdigit, token)))
        # Keys, hashes and pictures in base64 have no words in them.
        pieces = _NUMBER.sub(r" \g<0> ", token).split() if len(token) <= _LONGEST_CUT else []
        if 1 < len(pieces) <= _MOST_PIECES:
            words.append(" ".join(each for each in pieces if len(each) > 1 or each.isdigit()))
    return words


def _words_of_identifiers(text: str) -> Iterator[str]:
    """The words of each identifier in camel case; text with its capital letters."""
    if _HUMP.search(text):
        for word in _IDENTIFIER.findall(text):
            pieces = _HUMP.sub(" ", word).lower().split()
            # Keys and pictures in base64 have short ones.
            if len(pieces) > 1 + word[0].isupper() and min(map(len, pieces)) > 1:
                yield " ".join(pieces)


def _folded(text: str) -> str:
    joined = _INITIALS.sub(lambda match: match[0].replace(".", ""), fold_scripts(fold(text)))
    return _SIGN.sub(_named, joined)


def _named(match: re.Match[str]) -> str:
    sign = match.group()
    return " dotnet" if len(sign) > 1 else f" emoji{ord(sign):x} "


def _quotations(text: str) -> Iterator[tuple[str, bool]]:
    """The text in pieces, each with whether it was in quotes."""
    start = 0
    place = 0
    while place < len(text):
        # A mark right behind a letter or digit means inches and the like.
        opens = place == 0 or not text[place - 1].isalnum() or is_unspaced(text[place - 1])
        closing = _QUOTES.get(text[place], "") if opens else ""
        ends = [end for sign in closing if (end := text.find(sign, place + 1)) > place]
        if ends:
            yield text[start:place], False
            yield text[place + 1 : min(ends)], True
            place = start = min(ends)
            start += 1
        place += 1
    yield text[start:], False


def _spelt_out(match: re.Match[str]) -> str:
    piece = match.group()
    if run := _run(piece):
        last = f" {run[-1]}" if len(run) > 1 else ""
        return f" {' '.join(cjk_bigrams(run))}{last} "
    return _spelt(piece)


def _run(piece: str) -> str:
    """The letters of a token of a script without blanks; empty for any other token."""
    if is_unspaced(piece):
        return piece
    # Vowel signs and tones are marks, at which the full-text table cuts.
    is_run = RUN_OF_LETTERS.match(piece)
    return "".join(filter(str.isalpha, piece)) if is_run else ""


def _spelt(piece: str) -> str:
    for sign, name in _NAMED_ENDINGS:
        if piece.endswith(sign):
            return piece[: -len(sign)] + name
    return piece


def _spaced_words(folded: str) -> Iterator[str]:
    for token in TOKEN.findall(folded):
        if not _run(token):
            yield from (part for part in SEPARATOR.split(token) if _is_word(part))


def _is_word(part: str) -> bool:
    """Whether it is all letters, and the marks on them."""
    return all(letter.isalpha() or unicodedata.category(letter)[0] == "M" for letter in part)


def _phrase_terms(quoted: str) -> list[str]:
    pieces = TOKEN.findall(quoted)
    if len(pieces) < 2 and not any(map(_run, pieces)):
        return _loose_terms(quoted)
    return [_phrase(pieces)]


def _phrase(pieces: Sequence[str]) -> str:
    """Pieces as they follow one another in indexed text; the last may go on there."""
    words = [word for piece in pieces[:-1] for word in _words_of(piece)]
    last = _run(pieces[-1])
    if not last:
        return " ".join([*words, *_words_of(pieces[-1])])
    # In a note the run may go on, and then its last character is not indexed as a word.
    words += cjk_bigrams(last)
    return " ".join(words) + ("*" if len(last) == 1 else "")


def _words_of(piece: str) -> list[str]:
    if run := _run(piece):
        return [*cjk_bigrams(run), run[-1]] if len(run) > 1 else [run]
    return SEPARATOR.sub(" ", _spelt(plain_word(piece))).split()


def _loose_terms(text: str) -> list[str]:
    terms: list[str] = []
    for chunk in text.split():
        matches = list(TOKEN.finditer(chunk))
        pieces = [match.group() for match in matches]
        # Of the last word, and of every term that ends with it.
        star = "*" if matches and chunk.startswith("*", matches[-1].end()) else ""
        found: list[str] = []
        if len(pieces) > 1 and not any(map(_run, pieces)):
            found.append(_phrase(pieces))
            pieces = [piece for piece in pieces if len(piece) > 1 and piece not in _ADDRESS_PARTS]
        for piece in pieces:
            found += _terms_of(piece)
        if star:
            last = found[-1]
            found = [f"{term}*" if term.endswith(last) else term for term in found]
        terms += found
    return terms


def _terms_of(piece: str) -> list[str]:
    if run := _run(piece):
        return cjk_bigrams(run)
    word = _spelt(plain_word(piece))
    parts = [part for part in SEPARATOR.split(word) if part]
    if len(parts) < 2 or word[0].isdigit():
        return [word]
    # Of a version the numbers alone are in many texts.
    has_version = bool(_numbers_cut_off(word))
    return [word, *(p for p in parts if len(p) > 1 and not (has_version and p.isdigit()))]


def _is_empty_term(term: str, empty: Collection[str]) -> bool:
    if is_unspaced(term):
        return word_set("stopwords/zh.txt").issuperset(term)
    return term in empty
