"""The service that watches a vault after login says exactly what to run, and can be undone."""

from __future__ import annotations

import os
import plistlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from amem_cli.errors import SettingsError
from amem_cli.watch.service import LoginService, login_service

ODD_NAMES = [
    "notes",
    "two words",
    "it's",
    "semi;colon & more",
    "Zettelkasten für Übung 笔记 🦭",
    "#comment=b",
]


class Person:
    """Somebody's home folder.

    Attributes:
        environment: what a command of theirs is started with.
    """

    def __init__(self, home: Path) -> None:
        self.home = home
        self.environment = {"HOME": str(home)}

    def service(self, root: Path, system: str = "linux", python: str = "") -> LoginService:
        return login_service(root, self.environment, system=system, python=python)


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(tmp_path / "home")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "My Vault").mkdir()
    return tmp_path / "My Vault"


def settings(unit: str) -> dict[str, list[str]]:
    """The values of a unit by name, in their order."""
    found: dict[str, list[str]] = {}
    for line in unit.splitlines():
        assert not line.endswith("\\"), "it would go on in the next line"
        name, sign, value = line.partition("=")
        if sign and not line.startswith(("#", ";")):
            found.setdefault(name, []).append(value)
    return found


@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_unit_starts_the_program_with_the_very_path(
    person: Person, tmp_path: Path, name: str
) -> None:
    root = tmp_path / "vaults" / name
    root.mkdir(parents=True)
    person.environment["AMEM_STATE_DIR"] = str(tmp_path / name)
    unit = person.service(root).content
    found = settings(unit)

    command = [sys.executable, "-m", "amem_cli", "--vault", str(root.resolve()), "watch"]
    assert found["ExecStart"] == [" ".join(f'"{word}"' for word in command)]
    assert found["Environment"] == [f'"AMEM_STATE_DIR={tmp_path / name}"']
    assert (found["Nice"], found["Restart"]) == (["10"], ["on-failure"])
    assert found["WantedBy"] == ["default.target"]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_itself_finds_nothing_wrong(person: Person, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir(mode=0o700)
    person.environment |= {"AMEM_CONFIG_DIR": "/a b/h", "XDG_STATE_HOME": "/x"}
    files = []
    for name in ODD_NAMES:
        root = tmp_path / "vaults" / name
        root.mkdir(parents=True)
        service = person.service(root)
        service.file.parent.mkdir(parents=True, exist_ok=True)
        service.file.write_text(service.content)
        files.append(str(service.file))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--user", "--man=no", *files],
        env={**os.environ, "HOME": str(person.home), "XDG_RUNTIME_DIR": str(tmp_path / "run")},
        capture_output=True,
        text=True,
    )

    assert len(set(files)) == len(ODD_NAMES)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    "name", ["line\nbreak", "100%", "$HOME", '"', "a\\b", os.fsdecode(b"\xe4")]
)
@pytest.mark.parametrize("system", ["linux", "darwin"])
def test_a_path_that_fits_in_no_file_is_refused(
    person: Person, tmp_path: Path, name: str, system: str
) -> None:
    (tmp_path / name).mkdir()
    with pytest.raises(SettingsError, match="cannot be given the path"):
        person.service(tmp_path / name, system)


def test_only_where_settings_lie_is_handed_on(person: Person, root: Path) -> None:
    person.environment |= {
        "AMEM_CONFIG_DIR": "/c",
        "AMEM_CACHE_DIR": "relative",
        "AMEM_API_KEY": "sk-secret",
        "AMEM_VAULT": "/elsewhere",
        "XDG_STATE_HOME": "/s",
        "SECRET": "x",
    }
    found = settings(person.service(root).content)

    assert found["Environment"] == ['"AMEM_CONFIG_DIR=/c"', '"XDG_STATE_HOME=/s"']


def test_it_is_said_where_the_unit_goes_and_what_to_type(person: Person, root: Path) -> None:
    service = person.service(root)
    name = service.file.name
    assert re.fullmatch(r"amem-watch-my-vault-[0-9a-f]{8}\.service", name)
    assert service.file == person.home / ".config/systemd/user" / name
    enable = ("systemctl --user daemon-reload", f"systemctl --user enable --now {name}")
    assert service.enable == enable
    assert service.disable == (f"systemctl --user disable --now {name}", f"rm {service.file}")
    assert service.log == f"journalctl --user --unit {name}"
    assert not person.home.exists()


def test_two_vaults_of_one_name_have_a_service_each(person: Person, tmp_path: Path) -> None:
    for place in ("a", "b"):
        (tmp_path / place / "notes").mkdir(parents=True)

    assert person.service(tmp_path / "a/notes").file != person.service(tmp_path / "b/notes").file


def test_elsewhere_a_scheduler_is_named(person: Person, tmp_path: Path) -> None:
    root = tmp_path / "100% mine"
    root.mkdir()
    with pytest.raises(SettingsError) as refused:
        person.service(root, "freebsd14")

    assert f"'{tmp_path}/100\\% mine' watch --once" in refused.value.hint


def test_on_windows_the_task_scheduler_is_named(person: Person, tmp_path: Path) -> None:
    root = tmp_path / "my vault"
    root.mkdir()
    with pytest.raises(SettingsError) as refused:
        person.service(root, "win32")

    assert f'--vault \\"{root}\\" watch"' in refused.value.hint
    assert "schtasks /create /tn amem-watch-my-vault-" in refused.value.hint


def test_the_program_that_runs_is_named_by_its_whole_path(
    person: Person, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python").symlink_to(sys.executable)
    found = settings(person.service(root, python="bin/python").content)

    # A link is left as it is: a virtual environment is known by where its Python lies.
    assert found["ExecStart"][0].startswith(f'"{tmp_path}/bin/python" ')


def test_an_agent_of_macos_starts_the_program_with_the_very_path(
    person: Person, tmp_path: Path
) -> None:
    root = tmp_path / "vaults" / "it's <mine>"
    root.mkdir(parents=True)
    person.environment["AMEM_CONFIG_DIR"] = str(tmp_path)
    service = person.service(root, "darwin")
    file, agent = service.file, plistlib.loads(service.content.encode())

    assert file.parent == person.home / "Library/LaunchAgents"
    assert agent["Label"] == file.stem
    command = [sys.executable, "-m", "amem_cli", "--vault", str(root.resolve()), "watch"]
    assert agent["ProgramArguments"] == command
    assert agent["EnvironmentVariables"] == {"AMEM_CONFIG_DIR": str(tmp_path)}
    assert agent["RunAtLoad"] is True and agent["KeepAlive"] == {"SuccessfulExit": False}
    log = str(person.home / "Library/Logs" / f"{file.stem}.log")
    assert agent["StandardOutPath"] == agent["StandardErrorPath"] == log
    domain = f"gui/{os.getuid()}"
    assert service.enable[1] == f"launchctl bootstrap {domain} {file}"
    assert service.disable == (f"launchctl bootout {domain}/{file.stem}", f"rm {file}")
