"""`amem watch` as a service that starts with the user's login: a systemd unit, a launchd agent."""

from __future__ import annotations

import hashlib
import os
import plistlib
import re
import shlex
import subprocess
import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from amem_cli.errors import SettingsError
from amem_cli.system.processes import user_id
from amem_cli.watch.worker import NICENESS

# A vault that is missing, as on a disk that is mounted later, is tried again so often.
RETRY_SECONDS = 60
# Where the user's settings, state and models are; nothing else of a shell's, and no keys.
_KEPT = (
    "AMEM_CONFIG_DIR",
    "AMEM_STATE_DIR",
    "AMEM_CACHE_DIR",
    "XDG_CONFIG_HOME",
    "XDG_STATE_HOME",
    "XDG_CACHE_HOME",
)
# What systemd would replace, or end a word at.
_SPECIAL = frozenset('"\\%$')


class LoginService(NamedTuple):
    """A service of the user's; `file` is where `content` belongs, the rest is to be typed.

    Attributes:
        enable: starts it, now and at every login.
        disable: ends it and removes it.
        log: shows what it says.
    """

    file: Path
    content: str
    enable: tuple[str, ...]
    disable: tuple[str, ...]
    log: str


def login_service(
    root: Path, environment: Mapping[str, str], *, python: str = "", system: str = sys.platform
) -> LoginService:
    """The service that watches a vault.

    Raises:
        SettingsError: this system has no such service, or a path cannot be written into its file.
    """
    root = root.resolve()
    # Not resolved: a virtual environment is known by where its Python lies.
    program = os.path.abspath(python or sys.executable)  # noqa: PTH100
    command = (program, "-m", "amem_cli", "--vault", str(root), "watch")
    kept = {
        name: environment[name] for name in _KEPT if Path(environment.get(name, "")).is_absolute()
    }
    if system.startswith("linux") or system == "darwin":
        _check_plain((*command, *kept.values(), environment.get("HOME", "")))
    plain = unicodedata.normalize("NFKD", root.name).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:40].strip("-") or "vault"
    # Vaults in different folders may have one name.
    name = f"amem-watch-{slug}-{hashlib.sha256(os.fsencode(root)).hexdigest()[:8]}"
    home = Path(environment.get("HOME") or Path.home())
    if system.startswith("linux"):
        given = Path(environment.get("XDG_CONFIG_HOME", ""))
        folder = (given if given.is_absolute() else home / ".config") / "systemd/user"
        return _systemd(folder / f"{name}.service", root, command, kept)
    if system == "darwin":
        return _launchd(home / "Library", f"org.{name}", command, kept)
    if system == "win32":
        task = ("/tn", name, "/sc", "onlogon", "/tr", subprocess.list2cmdline(command))
        create = subprocess.list2cmdline(("schtasks", "/create", *task))
        raise SettingsError(
            "amem has no service for Windows", hint=f"Let the Task Scheduler do it: {create}"
        )
    once = shlex.join([*command, "--once"]).replace("%", r"\%")
    raise SettingsError(
        "amem knows no service of this system",
        hint=f"Let a scheduler run it every few minutes, as cron: */5 * * * * {once}",
    )


def _systemd(
    file: Path, root: Path, command: Sequence[str], kept: Mapping[str, str]
) -> LoginService:
    words = " ".join(f'"{word}"' for word in command)
    variables = "".join(f'Environment="{key}={value}"\n' for key, value in kept.items())
    # WorkingDirectory: Python looks for modules where it is started; nobody can put any there.
    # KillMode: the watcher ends its model itself, after the answer at hand.
    content = f"""\
[Unit]
Description=amem watch ({root.name})

[Service]
Type=exec
ExecStart={words}
{variables}WorkingDirectory=/
Nice={NICENESS}
Restart=on-failure
RestartSec={RETRY_SECONDS}
KillMode=mixed

[Install]
WantedBy=default.target
"""
    return LoginService(
        file,
        content,
        enable=("systemctl --user daemon-reload", f"systemctl --user enable --now {file.name}"),
        disable=(f"systemctl --user disable --now {file.name}", shlex.join(("rm", str(file)))),
        log=f"journalctl --user --unit {file.name}",
    )


def _launchd(
    library: Path, label: str, command: Sequence[str], kept: Mapping[str, str]
) -> LoginService:
    log = str(library / "Logs" / f"{label}.log")
    agent = {
        "Label": label,
        "ProgramArguments": list(command),
        "EnvironmentVariables": dict(kept),
        "WorkingDirectory": "/",
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": RETRY_SECONDS,
        "Nice": NICENESS,
        "ProcessType": "Background",
        "StandardOutPath": log,
        "StandardErrorPath": log,
    }
    file = library / "LaunchAgents" / f"{label}.plist"
    domain = f"gui/{user_id()}"
    return LoginService(
        file,
        plistlib.dumps(agent, sort_keys=False).decode(),
        enable=(
            f"launchctl enable {domain}/{label}",
            shlex.join(("launchctl", "bootstrap", domain, str(file))),
        ),
        disable=(f"launchctl bootout {domain}/{label}", shlex.join(("rm", str(file)))),
        log=shlex.join(("tail", "-f", log)),
    )


def _check_plain(texts: Iterable[str]) -> None:
    for text in texts:
        if not text.isprintable() or not _SPECIAL.isdisjoint(text):
            raise SettingsError(
                f"a service cannot be given the path {text.encode('unicode_escape').decode()}",
                hint="Rename the folder: it holds a quote, \\, %, $ or a control character.",
            )
