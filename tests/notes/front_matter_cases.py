"""Small notes whose headers trip up editors, and what must become of them."""

from __future__ import annotations

from typing import NamedTuple


class Refused(NamedTuple):
    """A note whose header must be left alone.

    Attributes:
        line: 1-based line of the note that the refusal names.
        reason: words of its message.
        body: what remains to be searched.
    """

    raw: bytes
    line: int
    reason: str
    body: str = "text\n"


def header(text: str, body: str = "text\n") -> bytes:
    """A note with this YAML between its fences."""
    return f"---\n{text}---\n{body}".encode()


EDITABLE: dict[str, bytes] = {
    "no header": b"Plain text.\n",
    "empty file": b"",
    "blank lines only": b"\n \n",
    "no header, Windows": b"One.\r\nTwo.\r\n",
    "no header, byte order mark": b"\xef\xbb\xbfText\n",
    "opens with a longer rule": b"-----\nkind: rule\n-----\n",
    "text behind the first dashes": b"--- not a fence\ntext\n",
    "empty header": header(""),
    "header of a comment": header("# only this\n"),
    "header of a blank line": header("\n"),
    "header and nothing else": b"---\nstatus: draft\n---",
    "no newline at the end": header("status: draft\n", "last line"),
    "Windows line endings": b"---\r\nstatus: draft\r\n---\r\ntext\r\n",
    "mixed line endings": b"---\r\nstatus: draft\nrank: 2\r\n---\ntext\r\n",
    "byte order mark": b"\xef\xbb\xbf---\nstatus: draft\n---\ntext\n",
    "blanks behind the fences": b"---  \nstatus: draft\n---\t\ntext\n",
    "rule below the header": header("status: draft\n", "---\ntext\n"),
    "names out of order": header("zone: 9\nalpha: 1\n"),
    "comments everywhere": header("# top\nstatus: draft # why\n\n# end\n"),
    "quoting": header("one: 'it''s'\ntwo: \"a: b\"\nthree: plain words\n"),
    "lists of all kinds": header("one: [b, a]\ntwo:\n- b\nthree:\n    - c\n"),
    "blocks of text": header("one: |\n  a\n\n  ---\ntwo: >-\n  b\n  c\n"),
    "block of text kept whole": header("one: |+\n  a\n\n"),
    "text over two lines": header('one: a\n  b\ntwo: "c\n  d"\n'),
    "numbers that change when dumped": header("at: 07:45\ncode: 0071\nrate: 2.50\nbig: 5e2\n"),
    "words that change when dumped": header("a: yes\nb: Off\nc: ~\nd:\ne: NULL\n"),
    "dates": header("a: 2023-02-03\nb: 2023-02-03T04:05:06Z\nc: 2023-02-30\n"),
    "names of Python": header("content: 1\nhandler: 2\nself: 3\nmetadata: 4\n"),
    "names that are no strings": header("1999: a\nno: b\n~: c\n"),
    "quoted and odd names": header("\"a b\": 1\n'c': 2\nd-e.f: 3\nklíč: 4\n"),
    "nested": header("a:\n  b:\n    - c: 1\n      d: 2\n"),
    "indented throughout": header("  status: draft\n  rank: 2\n"),
    "beyond the basic plane": header("mood: \U0001f600\nname: 名前\n"),
    "separators in quotes": '---\na: "x\u2028y\u0085z"\n---\nu\u2028v\n'.encode(),
    "NUL in the body": header("status: draft\n", "a\0b"),
    "body in another encoding": b"---\nstatus: draft\n---\ncaf\xe9\n",
    "code at the body's start": header("status: draft\n", "\n\n    code\n\n\n"),
    "braces within a quoted text": header('about: "Jinja writes {{ name }} so"\n'),
}

REFUSED: dict[str, Refused] = {
    "name twice": Refused(header("a: 1\nb: 2\na: 3\n"), 4, "`a` appears twice"),
    "name twice, quoted": Refused(header("a: 1\n'a': 3\n"), 3, "`a` appears twice"),
    "name twice, nested": Refused(header("m:\n  a: 1\n  a: 2\n"), 4, "`a` appears twice"),
    "conflict": Refused(
        header("<<<<<<< HEAD\na: 1\n=======\na: 2\n>>>>>>> b\n"), 2, "merge conflict"
    ),
    "conflict at the top": Refused(
        b"<<<<<<< HEAD\n---\na: 1\n---\n",
        1,
        "merge conflict",
        "<<<<<<< HEAD\n---\na: 1\n---\n",
    ),
    "anchor": Refused(header("a: &x 1\n"), 2, "anchor"),
    "alias": Refused(header("b: 1\na: *x\n"), 3, "anchor"),
    "merge": Refused(header("<<: {a: 1}\n"), 2, "merges"),
    "tag": Refused(header("a: 1\nb: !!binary aGk=\n"), 3, "tag"),
    "own tag": Refused(header("a: !thing b\n"), 2, "tag"),
    "question mark": Refused(header("? a\n: b\n"), 2, "begin its line"),
    "list as a name": Refused(header("[a, b]: c\n"), 2, "used as a name"),
    "value on the line above": Refused(header("a: 1\rb: 2\n"), 2, "begin its line"),
    "list": Refused(header("- a\n- b\n"), 2, "is text", "---\n- a\n- b\n---\ntext\n"),
    "one text": Refused(header("a text\n"), 2, "is text", "---\na text\n---\ntext\n"),
    "text between rules": Refused(
        header("\nOne: two: three\n\n"), 3, "not valid", "---\n\nOne: two: three\n\n---\ntext\n"
    ),
    "braces": Refused(header('{"a": 1}\n'), 2, "in braces"),
    "document end": Refused(header("a: 1\n...\n"), 3, "document marker"),
    "second document": Refused(header("a: 1\n--- b\n"), 3, "document marker"),
    "tab before a dash": Refused(header("a:\n\t- b\n"), 3, "tab"),
    "tab after a colon": Refused(header("b: 1\na:\t2\n"), 3, "tab"),
    "colon in a text": Refused(header("a: b: c\n"), 2, "not valid YAML"),
    "at sign": Refused(header("a: 1\nb: @c\n"), 3, "not valid YAML"),
    "open bracket": Refused(header("a: [b\n"), 3, "not valid YAML"),
    "placeholder": Refused(header("a: 1\ndate: {{date}}\n"), 3, "template"),
    "placeholder in quotes": Refused(header('a: 1\ndate: "{{date}}"\n'), 3, "template"),
    "placeholder in a text": Refused(header("a: Week {{week}}\n"), 2, "template"),
    "Templater": Refused(header("a: <% tp.date.now() %>\n"), 2, "template"),
    "Templater first": Refused(b"<%* x %>\n", 1, "template", "<%* x %>\n"),
    "JSON": Refused(b'{"a": 1}\ntext\n', 1, "JSON", '{"a": 1}\ntext\n'),
    "TOML": Refused(b"+++\na = 1\n+++\n", 1, "TOML", "+++\na = 1\n+++\n"),
    "not closed": Refused(b"---\na: 1\ntext\n", 1, "no closing", "---\na: 1\ntext\n"),
    "closed with dots": Refused(b"---\na: 1\n...\n", 1, "no closing", "---\na: 1\n...\n"),
    "below blank lines": Refused(
        b"\n\n---\na: 1\n---\ntext\n", 3, "blank lines", "\n\n---\na: 1\n---\ntext\n"
    ),
    "old Mac": Refused(b"---\ra: 1\r---\rtext", 1, "carriage return", "---\ra: 1\r---\rtext"),
    "Latin-1 header": Refused(b"---\nb: 1\na: \xe9\n---\ntext\n", 3, "not UTF-8"),
    "Latin-1 without header": Refused(b"text\ncaf\xe9", 2, "not UTF-8", "text\ncaf\ufffd"),
    "UTF-16": Refused("text\n".encode("utf-16"), 1, "not", "text\n"),
    "UTF-16 without mark": Refused(b"t\0e\0", 1, "not text", "t\0e\0"),
    "control character": Refused(header("b: 1\na: x\x07y\n"), 3, "control character"),
    "unseen line break": Refused(header("a: 1 # x\u2028b: 2\n"), 2, "begin its line"),
}

HOSTILE: dict[str, bytes] = {
    "brackets": b"---\na: " + b"[" * 100_000 + b"\n---\n",
    "brackets within the cap": b"---\na: " + b"[" * 60_000 + b"\n---\n",
    "braces within the cap": b"---\na: " + b"{b: " * 15_000 + b"\n---\n",
    "dashes": b"---\na:\n" + b"- " * 30_000 + b"\n---\n",
    "question marks": b"---\n" + b"? " * 30_000 + b"\n---\n",
    "merges of merges": b"---\nx0: &x0 {a: 1}\n"
    + b"".join(
        b"x%d: &x%d {<<: [%s]}\n" % (level, level, b", ".join([b"*x%d" % (level - 1)] * 9))
        for level in range(1, 40)
    )
    + b"---\n",
    "60,000 names": b"---\n"
    + b"".join(b"k%d: 1\n" % number for number in range(60_000))
    + b"---\n",
    "12,000 names within the cap": b"---\n" + b"a:\n" * 12_000 + b"---\n",
    "large header": b"---\na: " + b"x" * 5_000_000 + b"\n---\n",
    "no closing fence": b"---\n" + b"---x\n" * 200_000,
    "one long line": b"x" * 1_000_000,
    "long fence": b"---" + b" " * 1_000_000 + b"x",
    "blanks": b" " * 1_000_000 + b"\n" * 1_000_000,
    "tabs": b"---\na: 1\n" + b"\t" * 60_000 + b"\n---\n",
    "digits": b"---\nid: " + b"1" * 60_000 + b"\n---\n",
    "colons of a time": b"---\ntags: [1" + b":1" * 29_000 + b"x]\n---\n",
    "half links": b'---\nlinks: "' + b"[[" * 30_000 + b'"\n---\n',
    "private": b"{" + b"private: " * 7_000,
    "short items": b"---\ntags:\n" + b"- a\n" * 9_000 + b"---\n",
}
