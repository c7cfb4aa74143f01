"""What a note's writer says, sentence by sentence, and where in each the note's links stand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from amem_cli.language.words import fold, sentences, words
from amem_cli.markdown.links import WikiLink, rewrite_links, without_references
from amem_cli.markdown.plain_text import prose, without_quotes
from amem_cli.notes.note import Note

# In letters: what is called a sentence may be a whole note.
_LONGEST_SENTENCE = 1_000
_MOST_SENTENCES = 200
_MOST_LINKS = 5_000
# Stand for the links of a text while it is cut into sentences, one letter for each.
_FIRST_MARK = 0xF0000
_MARKS = re.compile(rf"([{chr(_FIRST_MARK)}-{chr(_FIRST_MARK + _MOST_LINKS)}])\1*")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_UPWARDS = re.compile(r"^(?:\.{0,2}/)+")
_SPEECH = re.compile(r"\"[^\"\n]{0,600}\"|“[^”\n]{0,600}”|„[^“”\n]{0,600}[“”]|«[^»\n]{0,600}»")
_WORDS_OF_SPEECH = 5


class Link(NamedTuple):
    """A link in a folded sentence: the folded name by which it leads to a note, and its place."""

    name: str
    start: int
    end: int


class OwnSentence(NamedTuple):
    """A sentence without markup.

    Attributes:
        folded: its first 1,000 letters as they are compared, with straight apostrophes.
        following: the next sentence of its paragraph, or empty.
    """

    text: str
    folded: str
    links: tuple[Link, ...]
    following: str


def own_sentences(note: Note) -> Iterator[OwnSentence]:
    """The title and the sentences of a note, at most 200, without quotations; longer speech of
    others becomes “…”."""
    names: list[tuple[str, str]] = []

    def marked(link: WikiLink, _: str) -> str | None:
        if not link.target or len(names) > _MOST_LINKS:
            return None
        name = _UPWARDS.sub("", link.target).removesuffix(".md")
        shown = " ".join((link.display or name.rsplit("/", 1)[-1]).split()) or name
        names.append((fold(name), shown))
        return chr(_FIRST_MARK + len(names) - 1) * len(shown)

    body = without_references(_MARKS.sub("", without_quotes(note.body)))
    text = rewrite_links(body, marked)
    title = _MARKS.sub("", note.title)
    found, paragraphs = [title], [0]
    blocks = _BLANK_LINE.split(prose(_SPEECH.sub(_shortened_speech, text)))
    for number, block in enumerate(filter(str.strip, blocks)):
        if len(found) > _MOST_SENTENCES:
            break
        # A heading that repeats the title says nothing more.
        found += [each for each in sentences(block) if each != title]
        paragraphs += [number] * (len(found) - len(paragraphs))
    shown = [_MARKS.sub(lambda mark: names[ord(mark[1]) - _FIRST_MARK][1], each) for each in found]
    for at, each in enumerate(found[: _MOST_SENTENCES + 1]):
        has_next = at + 1 < len(found) and paragraphs[at + 1] == paragraphs[at]
        folded, links = _folded(each, names)
        yield OwnSentence(shown[at], folded, links, shown[at + 1] if has_next else "")


def _folded(marked: str, names: Sequence[tuple[str, str]]) -> tuple[str, tuple[Link, ...]]:
    folded, links, position = "", [], 0
    for mark in _MARKS.finditer(marked):
        folded += straight(marked[position : mark.start()])
        if len(folded) >= _LONGEST_SENTENCE:
            break
        name, shown = names[ord(mark[1]) - _FIRST_MARK]
        start, folded = len(folded), folded + straight(shown)
        links.append(Link(name, start, len(folded)))
        position = mark.end()
    rest = marked[position : position + _LONGEST_SENTENCE]
    return f"{folded}{straight(rest)}"[:_LONGEST_SENTENCE], tuple(links)


def straight(text: str) -> str:
    """The text folded, with straight apostrophes."""
    return fold(text).replace("’", "'")


def _shortened_speech(speech: re.Match[str]) -> str:
    return speech[0] if len(words(speech[0])) < _WORDS_OF_SPEECH else "“…”"
