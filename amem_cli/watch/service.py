"""Starts `amem watch` with the user's login: a systemd user unit, or a launchd agent on macOS."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import subprocess
import sys
import unicodedata
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from amem_cli.errors import SettingsError
from amem_cli.system.command_lines import find_program
from amem_cli.system.files import move_over
from amem_cli.system.processes import user_id
from amem_cli.vault.dir_handle import read_own_file
from amem_cli.watch.worker import NICENESS

# Without two dashes, as it is in a comment of XML too.
MARK = "amem watch wrote this file, and removes it when it is uninstalled."
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
_LARGEST_FILE = 256 * 1024
_COMMAND_SECONDS = 60

_Commands = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Installed:
    """What was done, if anything was to do (`changed`).

    `to_type` are commands that could not be run here, for this `reason`, and are left to the user;
    `log` is the command that shows the service's log, empty if it is gone.
    """

    file: Path
    changed: bool
    done: str
    to_type: tuple[str, ...] = ()
    reason: str = ""
    log: str = ""

    @property
    def notes(self) -> tuple[str, ...]:
        """All of it for a person, line by line."""
        left = (f"{self.reason}; what is left to type:", *self.to_type) if self.to_type else ()
        log = (f"what it does: amem watch --status; its log: {self.log}",) if self.log else ()
        return (self.done, *left, *log)


@dataclass(frozen=True, slots=True)
class _Service:
    """The service's file and commands on one system.

    `start` serves a new service or an unchanged file, `after` follows when the file is gone;
    `probe` succeeds if the service runs, so that `start` must not be repeated; `leftover` is a link
    to the file that may be left if `stop` could not be run.
    """

    file: Path
    content: bytes
    start: _Commands
    restart: _Commands
    stop: _Commands
    log: tuple[str, ...]
    after: _Commands = ()
    probe: tuple[str, ...] = ()
    leftover: Path | None = None


def install(
    root: Path, environment: Mapping[str, str], *, python: str = "", system: str = sys.platform
) -> Installed:
    """Have the vault watched from now on, and after each login.

    Raises:
        SettingsError: this system has no such service, a path cannot be written into its file, or
            a file of that name is not amem's.
    """
    service = _service(root.resolve(), environment, python or sys.executable, system)
    before = _content(service.file)
    changed = before != service.content
    if changed:
        temporary = service.file.with_name(f".{service.file.name}.new")
        try:
            service.file.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(service.content)
            move_over(temporary, service.file)
        except OSError as error:
            raise _cannot_write(service.file, error) from None
    runs = _runs(service, environment)
    commands: _Commands = () if runs else service.start
    if before is not None and changed and runs is not False:
        commands = service.restart
    failed, reason = _run(commands, environment)
    done = f"wrote {service.file}" if changed else f"{service.file} is there already"
    return Installed(service.file, changed, done, failed, reason, shlex.join(service.log))


def uninstall(
    root: Path, environment: Mapping[str, str], *, python: str = "", system: str = sys.platform
) -> Installed:
    """Have the vault watched no more; `changed` is False if it was not."""
    service = _service(root.resolve(), environment, python or sys.executable, system)
    if _content(service.file) is None:
        return Installed(service.file, False, f"there is no {service.file}")
    stops = _runs(service, environment) is not False
    failed, reason = _run(service.stop if stops else (), environment)
    try:
        service.file.unlink()
    except OSError as error:
        raise _cannot_write(service.file, error) from None
    if service.leftover is not None and service.leftover.is_symlink():
        with suppress(OSError):
            service.leftover.unlink()
    late, why = _run(service.after, environment)
    done = f"removed {service.file}"
    return Installed(service.file, True, done, (*failed, *late), reason or why)


def _runs(service: _Service, environment: Mapping[str, str]) -> bool | None:
    """Whether the service runs already; None if that makes no difference."""
    return not _failure(service.probe, environment) if service.probe else None


def _service(root: Path, environment: Mapping[str, str], python: str, system: str) -> _Service:
    command = (os.path.abspath(python), "-m", "amem_cli", "--vault", str(root), "watch")  # noqa: PTH100
    kept = {
        name: environment[name] for name in _KEPT if Path(environment.get(name, "")).is_absolute()
    }
    for text in (*command, *kept.values(), environment.get("HOME", "")):
        _check_writable(text)
    plain = unicodedata.normalize("NFKD", root.name).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:40].strip("-") or "vault"
    # Vaults in different folders may have one name.
    name = f"amem-watch-{slug}-{hashlib.sha256(os.fsencode(root)).hexdigest()[:8]}"
    home = Path(environment.get("HOME") or Path.home())
    if system.startswith("linux"):
        given = Path(environment.get("XDG_CONFIG_HOME", ""))
        folder = (given if given.is_absolute() else home / ".config") / "systemd/user"
        return _systemd(folder, f"{name}.service", root, command, kept)
    if system == "darwin":
        return _launchd(home / "Library", f"org.{name}", command, kept)
    if system == "win32":
        task = ("/tn", name, "/sc", "onlogon", "/tr", subprocess.list2cmdline(command))
        create = subprocess.list2cmdline(("schtasks", "/create", *task))
        raise SettingsError(
            "amem sets up no service on Windows", hint=f"Let the Task Scheduler do it: {create}"
        )
    once = shlex.join([*command, "--once"]).replace("%", r"\%")
    raise SettingsError(
        "this system has no service that amem knows how to set up",
        hint=f"Let a scheduler run it every few minutes, as cron: */5 * * * * {once}",
    )


def _systemd(
    folder: Path, name: str, root: Path, command: Sequence[str], kept: Mapping[str, str]
) -> _Service:
    program, *arguments = command
    # Only in arguments does systemd replace variables.
    words = [_quoted(program), *(_quoted(word).replace("$", "$$") for word in arguments)]
    variables = "".join(f"Environment={_quoted(f'{key}={value}')}\n" for key, value in kept.items())
    # WorkingDirectory: Python looks for modules where it is started; nobody can put any there.
    # KillMode: the watcher ends its model itself, after the answer at hand.
    content = f"""\
# {MARK}
[Unit]
Description=amem watch ({root.name.replace("%", "%%")})

[Service]
Type=exec
ExecStart={" ".join(words)}
{variables}WorkingDirectory=/
Nice={NICENESS}
Restart=on-failure
RestartSec={RETRY_SECONDS}
KillMode=mixed

[Install]
WantedBy=default.target
"""
    systemctl = ("systemctl", "--user")
    reload = (*systemctl, "daemon-reload")
    start = (reload, (*systemctl, "enable", "--now", name))
    return _Service(
        folder / name,
        content.encode(),
        start=start,
        restart=(*start, (*systemctl, "restart", name)),
        stop=((*systemctl, "disable", "--now", name),),
        log=("journalctl", "--user", "--unit", name),
        after=(reload,),
        leftover=folder / "default.target.wants" / name,
    )


def _quoted(text: str) -> str:
    """A word as systemd reads it in `ExecStart` and `Environment`."""
    plain = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{plain}"'


def _launchd(
    library: Path, label: str, command: Sequence[str], kept: Mapping[str, str]
) -> _Service:
    import plistlib

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
    start, rest = plistlib.dumps(agent, sort_keys=False).split(b"<plist", 1)
    file = library / "LaunchAgents" / f"{label}.plist"
    domain = f"gui/{user_id()}"
    load = ("launchctl", "bootstrap", domain, str(file))
    unload = ("launchctl", "bootout", f"{domain}/{label}")
    return _Service(
        file,
        start + f"<!-- {MARK} -->\n<plist".encode() + rest,
        start=(load,),
        restart=(unload, load),
        stop=(unload,),
        log=("tail", "-f", log),
        probe=("launchctl", "print", f"{domain}/{label}"),
    )


def _check_writable(text: str) -> None:
    try:
        text.encode("utf-8")
        if all(unicodedata.category(letter) not in ("Cc", "Zl", "Zp") for letter in text):
            return
    except UnicodeEncodeError:
        pass
    raise SettingsError(
        f"a service cannot be given the path {text.encode('unicode_escape').decode()}",
        hint="Rename the folder: it holds a line break, a control character or no UTF-8.",
    )


def _content(file: Path) -> bytes | None:
    """What the service's file holds; None if there is none, an error if it is not amem's."""
    try:
        content = read_own_file(file, _LARGEST_FILE)
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        content = b""
    if MARK.encode() not in content:
        raise SettingsError(f"{file} was not written by amem", hint="Move it away, then try again.")
    return content


def _cannot_write(file: Path, error: OSError) -> SettingsError:
    return SettingsError(f"cannot write {file}: {error.strerror}", hint="Check its permissions.")


def _run(commands: _Commands, environment: Mapping[str, str]) -> tuple[tuple[str, ...], str]:
    """Run commands up to the first that fails; those left to type, and why."""
    for place, command in enumerate(commands):
        reason = _failure(command, environment)
        if reason:
            return tuple(shlex.join(each) for each in commands[place:]), reason
    return (), ""


def _failure(command: tuple[str, ...], environment: Mapping[str, str]) -> str:
    program = find_program(command[0], environment.get("PATH"))
    if program is None:
        return f"{command[0]} is not on this machine"
    try:
        done = subprocess.run(
            [program, *command[1:]],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_COMMAND_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{command[0]}: {error}"
    if done.returncode == 0:
        return ""
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return f"{command[0]}: {lines[-1] if lines else f'exit status {done.returncode}'}"
