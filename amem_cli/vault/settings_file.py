"""Changes one value in a settings file and keeps the rest of it."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from pathlib import Path
from typing import Any

from amem_cli.errors import SettingsError
from amem_cli.language.safe_text import holds_secret
from amem_cli.vault.safe_write import create_file, replace_file, sha256

Value = str | int | float | tuple[str, ...]


def write_values(path: Path, values: Mapping[str, Value | None]) -> None:
    """Set values by dotted key in a TOML file, all at once, keeping the rest of it to the byte.

    None removes a value.

    Raises:
        SettingsError: the file cannot be written, or a value looks like a key or a password; the
            file is as it was.
    """
    import tomlkit

    for key, value in values.items():
        if holds_secret(" ".join(value) if isinstance(value, tuple) else str(value)):
            raise SettingsError(
                f"the value for {key} looks like a key, and keys do not belong into settings",
                hint="Put it into the environment (AMEM_API_KEY) or the keyring: "
                "keyring set amem HOST",
            )
    raw = path.read_bytes() if path.exists() else b""
    try:
        document = tomlkit.parse(raw.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"cannot read {path.name}: {error}", hint=f"Fix {path}.") from None
    for key, value in values.items():
        section, _, name = key.rpartition(".")
        if value is None and section not in ("", *document):
            continue
        table: Any = document.setdefault(section, tomlkit.table()) if section else document
        if not isinstance(table, MutableMapping):
            raise SettingsError(f"{section} in {path.name} is not a table", hint=f"Fix {path}.")
        if value is None:
            table.pop(name, None)
        else:
            table[name] = list(value) if isinstance(value, tuple) else value
    content = tomlkit.dumps(document).encode()
    if content == raw:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(
            f"cannot make {path.parent}: {error.strerror}", hint="Check its permissions."
        ) from None
    if path.exists():
        replace_file(path, content, expected=sha256(raw))
    else:
        create_file(path, content)
