"""Makes completions/*, what a shell reads to complete amem's commands, options and names."""

from __future__ import annotations

from pathlib import Path

from typer._completion_shared import get_completion_script

FOLDER = Path(__file__).parents[1] / "completions"

# The names under which each shell looks for them.
_FILES = {"bash": "amem", "zsh": "_amem", "fish": "amem.fish"}
_AT_ONCE = "compdef _amem_completion amem"
# zsh loads the file at the first completion, which has to be answered as well.
_OR_LATER = f"""\
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _amem_completion "$@"
else
  {_AT_ONCE}
fi"""


def completion_files() -> dict[str, str]:
    """The text of each file by its place in the folder, such as `zsh/_amem`."""
    texts = {
        f"{shell}/{name}": get_completion_script(
            prog_name="amem", complete_var="_AMEM_COMPLETE", shell=shell
        )
        for shell, name in _FILES.items()
    }
    assert _AT_ONCE in texts["zsh/_amem"]
    texts["zsh/_amem"] = texts["zsh/_amem"].replace(_AT_ONCE, _OR_LATER)
    return {place: f"{text.rstrip()}\n" for place, text in texts.items()}


if __name__ == "__main__":
    for place, text in completion_files().items():
        path = FOLDER / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
