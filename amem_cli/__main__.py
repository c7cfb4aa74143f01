"""Starts the program: what `amem` and `python -m amem_cli` run."""

import os
import sys

COMPLETING = ("complete_bash", "complete_zsh", "complete_fish")


def main() -> None:
    """Run the program; an interrupt while it is still being loaded ends it quietly too."""
    try:
        from amem_cli.cli.main import run

        if any(word.endswith("-completion") for word in sys.argv):
            from amem_cli.cli.completion import use_own_scripts

            use_own_scripts()
        instruction = os.environ.get("_AMEM_COMPLETE", "")
        if instruction in COMPLETING:
            from amem_cli.cli.completion import complete

            run(instead=lambda: complete(instruction))
        run()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
