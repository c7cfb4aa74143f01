"""Makes completions/*, what a shell reads to complete amem's commands, options and names."""

from __future__ import annotations

from pathlib import Path

from amem_cli.data import text

FOLDER = Path(__file__).parents[1] / "completions"

# The names under which each shell looks for them.
_FILES = {"bash": "amem", "zsh": "_amem", "fish": "amem.fish"}


def completion_files() -> dict[str, str]:
    """The text of each file by its place in the folder, such as `zsh/_amem`."""
    return {f"{shell}/{name}": text(f"completion.{shell}") for shell, name in _FILES.items()}


if __name__ == "__main__":
    for place, content in completion_files().items():
        path = FOLDER / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
