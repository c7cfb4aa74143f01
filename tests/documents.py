"""What the pages of documentation consist of: blocks, code, links, headings."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

TOP = Path(__file__).parents[1]
_FENCE = re.compile(
    r"^(?P<mark>[ ]*<!-- not run: [^\n]+ -->\n)?(?P<indent>[ ]*)(?P<fence>`{3,})(?P<language>\w*)\n"
    r"(?P<text>.*?)^(?P=indent)(?P=fence)[ ]*$",
    re.MULTILINE | re.DOTALL,
)
_INDENTED = re.compile(r"(?:^[ ]{4,}\S.*\n)+", re.MULTILINE)
_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_LINK = re.compile(r"\]\(\s*([^)\s]{1,300})\s*\)")
_SOURCE = re.compile(r"\b(?:src|srcset|href)=\"([^\"]{1,300})\"")
_HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block of code; `run` is false where a comment before it says why it is not run."""

    language: str
    text: str
    run: bool


@dataclass(frozen=True, slots=True)
class Page:
    """One page of documentation."""

    path: Path

    @property
    def name(self) -> str:
        """Its path from the top of the repository."""
        return self.path.relative_to(TOP).as_posix()

    @property
    def text(self) -> str:
        """All of it."""
        return self.path.read_text(encoding="utf-8")

    @property
    def prose(self) -> str:
        """The page without its fenced blocks."""
        return _FENCE.sub("", self.text)

    @property
    def blocks(self) -> list[Block]:
        """The fenced blocks in order."""
        return [
            Block(found["language"], textwrap.dedent(found["text"]), found["mark"] is None)
            for found in _FENCE.finditer(self.text)
        ]

    @property
    def code(self) -> list[str]:
        """Everything that is set as code: spans, and the lines of blocks other than `text`."""
        shown = [block.text for block in self.blocks if block.language != "text"]
        lines = [line for text in shown for line in _whole_lines(text)]
        for block in _INDENTED.findall(self.prose):
            lines += _whole_lines(textwrap.dedent(block))
        return lines + [" ".join(text.split()) for _, text in _SPAN.findall(self.prose)]

    @property
    def targets(self) -> list[str]:
        """Where links and pictures of the page lead."""
        prose = _SPAN.sub("", self.prose)
        return _LINK.findall(prose) + _SOURCE.findall(prose)

    @property
    def anchors(self) -> set[str]:
        """The names that links to headings have on GitHub."""
        made: set[str] = set()
        for heading in _HEADING.findall(self.prose):
            plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
            slug = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
            number = 1
            while slug in made:
                slug, number = f"{slug.removesuffix(f'-{number - 1}')}-{number}", number + 1
            made.add(slug)
        return made


def pages() -> list[Page]:
    """README and everything below docs/."""
    return [Page(TOP / "README.md"), *(Page(path) for path in sorted((TOP / "docs").rglob("*.md")))]


def _whole_lines(text: str) -> list[str]:
    return text.replace("\\\n", " ").splitlines()


def editor_configuration(editor: str) -> str:
    """The lines that docs/editors.md gives for an editor."""
    page = (TOP / "docs/editors.md").read_text(encoding="utf-8")
    _, _, rest = page.partition(f"**{editor}**")
    return rest.split("```")[1].partition("\n")[2]
