"""Records docs/images/session.svg: real commands, typed on a real terminal in a fresh vault."""

from __future__ import annotations

import re
import shlex
import sys
import tempfile
from pathlib import Path
from xml.sax.saxutils import escape

from tests.terminal import at_terminal, plain

WIDTH = 106
# What is typed; the vault's folder follows `cd`. EVENT is the newest event of the history.
TYPED = (
    "amem init notes",
    "cd notes",
    'amem add --title "Weekly review on Friday" \\\n'
    '  "I look through new notes on Friday. This replaces the Sunday evening review."',
    'amem add --title "Monthly review" \\\n'
    '  "An hour a month replaces the weekly review on Friday."',
    'amem search "when do I read new notes again" -k 1 --no-neighbors',
    'amem history "Weekly review on Friday" -n 1',
    "amem undo EVENT",
)

_CURSOR = re.compile(r"\x1b\[(?:\?25[lh]|\d*[A-GJK])")
_EVENT = re.compile(r"\b[0-9a-f]{21}\b")

# One drawing for both: the colours follow the reader's own setting, by the numbers of ANSI.
_COLORS = {
    "light": {
        "": "#24292f",
        "frame": "#d0d7de",
        "paper": "#ffffff",
        "red": "#b31d28",
        "green": "#116329",
        "yellow": "#854d00",
        "blue": "#0950be",
        "magenta": "#6f42c1",
        "cyan": "#0a606b",
    },
    "dark": {
        "": "#c9d1d9",
        "frame": "#30363d",
        "paper": "#0d1117",
        "red": "#ff7b72",
        "green": "#56d364",
        "yellow": "#e3b341",
        "blue": "#79c0ff",
        "magenta": "#d2a8ff",
        "cyan": "#56d4dd",
    },
}
_ANSI = ("", "red", "green", "yellow", "blue", "magenta", "cyan", "")
_CHARACTER, _LINE, _MARGIN = 8.43, 19, 16


def record() -> list[str]:
    """The lines on the screen, with the escape sequences of their colours."""
    with tempfile.TemporaryDirectory(prefix="amem-session-") as name:
        top = Path(name).resolve()
        own = {f"AMEM_{kind}_DIR": str(top / kind.lower()) for kind in ("CONFIG", "STATE", "DATA")}
        home = folder = top / "home"
        home.mkdir()
        # Nothing of this machine that could answer as a language model.
        own |= {"HOME": str(home), "PATH": str(top), "OLLAMA_HOST": "127.0.0.1:9"}
        shown: list[str] = []
        event = ""
        for typed in TYPED:
            line = typed.replace("EVENT", event[:13])
            words = shlex.split(line.replace("\\\n", ""))
            shown += f"\x1b[1;32m$\x1b[0m {line}".split("\n")
            if words[0] == "cd":
                folder /= words[1]
                continue
            code, text = at_terminal(folder, words[1:], (), COLUMNS=str(WIDTH), **own)
            if code != 0:
                raise SystemExit(f"{line}: exit code {code}\n{text}")
            # A progress bar erases itself; what is left follows the last erasure.
            text = _CURSOR.sub("", text.rsplit("\x1b[2K", 1)[-1]).replace("\r\n", "\n")
            text = text.replace(str(home), "~")
            event = (_EVENT.findall(plain(text)) or [event])[-1]
            shown += [*text.rstrip("\n").split("\n"), ""]
        return shown[:-1]


def drawing(lines: list[str]) -> str:
    """The lines as an SVG picture."""
    rows = "\n".join(
        f'<text y="{_MARGIN + _LINE * number}">{_row(line)}</text>'
        for number, line in enumerate(lines, 1)
    )
    width, height = WIDTH * _CHARACTER + 2 * _MARGIN, len(lines) * _LINE + 2 * _MARGIN + 6
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" role="img">
<title>A terminal session with amem</title>
<style>
text {{ font: 14px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
  white-space: pre; }}
.bold {{ font-weight: bold; }}
.italic {{ font-style: italic; }}
.dim {{ opacity: 0.68; }}
{_rules(_COLORS["light"])}
@media (prefers-color-scheme: dark) {{
{_rules(_COLORS["dark"])}
}}
</style>
<rect class="frame" x="1" y="1" width="{width - 2:.0f}" height="{height - 2}" rx="8"/>
<g transform="translate({_MARGIN} 0)">
{rows}
</g>
</svg>
"""


def _rules(colors: dict[str, str]) -> str:
    named = [f".{name} {{ fill: {colors[name]}; }}" for name in colors if name not in ("", "paper")]
    frame = f".frame {{ fill: {colors['paper']}; stroke: {colors['frame']}; }}"
    return "\n".join([f"text {{ fill: {colors['']}; }}", *named[1:], frame])


def _row(line: str) -> str:
    from rich.console import Console
    from rich.text import Text

    parts = []
    for text, style, _ in Console(width=1000, color_system="truecolor").render(
        Text.from_ansi(line)
    ):
        if text == "\n" or not text:
            continue
        names = [
            name for name in ("bold", "italic", "dim") if style is not None and getattr(style, name)
        ]
        if style is not None and style.color is not None:
            names.append(_ANSI[style.color.number or 0])
        content = escape(text)
        kinds = " ".join(names)
        parts.append(f'<tspan class="{kinds}">{content}</tspan>' if kinds else content)
    return "".join(parts)


if __name__ == "__main__":
    sys.stdout.write(drawing(record()))
