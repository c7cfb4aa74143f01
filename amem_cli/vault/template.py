"""Makes a vault: copies the template, or adds the program's own folder to notes that are there."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from amem_cli.errors import SettingsError
from amem_cli.settings import STATE_FOLDER

CONFIG = f"{STATE_FOLDER}/config.toml"
IGNORED = (".amem/index.db*", ".amem/*.lock", ".amem/intents/")
# What a write holds or saved of a note for a while, and deleted notes; left to the user if the
# lines above are in the file already.
_ALSO_IGNORED = (".amem-*.tmp", ".trash/")
ATTRIBUTES = (".amem/journal/*.jsonl merge=union text eol=lf",)


def template_folder() -> Path:
    """The template that comes with the program.

    Raises:
        SettingsError: the installation is incomplete.
    """
    package = Path(__file__).resolve().parent.parent
    # In a source tree the template lies beside the package, in an installed one inside it.
    for place in (package / "vault_template", package.parent / "vault_template"):
        if (place / CONFIG).is_file():
            return place
    raise SettingsError("the vault template is missing", hint="Install amem again.")


def create_vault(folder: Path) -> list[str]:
    """Copy the template into a new or empty folder.

    Returns:
        The paths of the files written, relative to the folder.

    Raises:
        SettingsError: the folder holds something already, or cannot be written.
    """
    if folder.is_file():
        raise SettingsError(f"{folder} is a file", hint="Name a folder for the vault.")
    if (folder / STATE_FOLDER).exists():
        raise SettingsError(
            f"{folder} is a vault already", hint="Use it, or choose another folder."
        )
    present = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    if set(present) - {".git"}:
        raise SettingsError(
            f"{folder} is not empty", hint="amem init --adopt turns notes you have into a vault."
        )
    template = template_folder()
    written = []
    try:
        for source in _files(template):
            relative = source.relative_to(template)
            target = folder / relative
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
            written.append(relative.as_posix())
    except OSError as error:
        raise SettingsError(
            f"cannot make the vault in {folder}: {error.strerror}",
            hint="Name a folder that you may write to.",
        ) from None
    return written


def adopt_vault(folder: Path) -> list[str]:
    """Add the program's own folder to a folder of notes; no note is opened.

    Lines that git needs are appended to `.gitignore` and `.gitattributes` if they are missing.

    Returns:
        The paths of the files written or extended, relative to the folder.

    Raises:
        SettingsError: there is no such folder, or it cannot be written.
    """
    if not folder.is_dir():
        raise SettingsError(f"{folder} is not a folder", hint="amem init makes a new vault.")
    state = folder / STATE_FOLDER
    if state.is_symlink():
        raise SettingsError(f"{state} is a link", hint="Remove it; a vault keeps its own folder.")
    written = []
    try:
        state.mkdir(exist_ok=True)
        if not (folder / CONFIG).exists():
            shutil.copyfile(template_folder() / CONFIG, folder / CONFIG)
            written.append(CONFIG)
        if extend_lines(folder / ".gitignore", IGNORED):
            extend_lines(folder / ".gitignore", _ALSO_IGNORED)
            written.append(".gitignore")
        if extend_lines(folder / ".gitattributes", ATTRIBUTES):
            written.append(".gitattributes")
    except OSError as error:
        raise SettingsError(f"cannot make {folder} a vault: {error}") from None
    return written


def _files(template: Path) -> Iterator[Path]:
    for path in sorted(template.rglob("*")):
        inside = path.relative_to(template)
        # A vault makes more for itself while somebody works in the template.
        is_own = inside.parts[0] != STATE_FOLDER or inside.as_posix() == CONFIG
        if path.is_file() and is_own:
            yield path


def extend_lines(path: Path, lines: tuple[str, ...]) -> bool:
    """Append the lines that a file does not have yet; False if it has them all.

    Git reads none of these files through a link, and a link may lead out of the vault, so it is
    left as it is.
    """
    if path.is_symlink():
        return False
    raw = path.read_bytes() if path.exists() else b""
    present = {line.strip() for line in raw.decode("utf-8", "replace").splitlines()}
    missing = [line for line in lines if line not in present]
    if not missing:
        return False
    eol = b"\r\n" if b"\r\n" in raw else b"\n"
    # A file may lack its last line break, and its last line must not grow.
    start = b"" if not raw or raw.endswith(b"\n") else eol
    with path.open("ab") as stream:
        stream.write(start + b"".join(line.encode() + eol for line in missing))
    return True
