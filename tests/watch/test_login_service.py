"""The service that watches a vault after login says exactly what to run, and can be undone."""

from __future__ import annotations

import os
import plistlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amem_cli.errors import SettingsError
from amem_cli.watch.service import MARK, Installed, install, uninstall

ODD_NAMES = [
    "notes",
    "two words",
    "100% mine",
    "%h",
    '"quoted"',
    "it's",
    "$HOME and ${HOME}",
    "back\\slash\\",
    "semi;colon & more",
    "Zettelkasten für Übung 笔记 🦭",
    "-leading",
    "#comment",
    "a=b",
]


class Person:
    """Somebody's home folder and the programs that they have.

    Attributes:
        environment: what a command of theirs is started with.
    """

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.home.mkdir()
        self.programs = folder / "programs"
        self.programs.mkdir()
        self.calls = folder / "calls"
        self.environment = {"HOME": str(self.home), "PATH": str(self.programs)}

    def have(self, program: str, script: str = "") -> None:
        """Have a program that takes down how it is called."""
        path = self.programs / program
        path.write_text(f"#!/bin/sh\necho {program} \"$@\" >> '{self.calls}'\n{script}\n")
        path.chmod(0o755)

    def called(self) -> list[str]:
        """How programs were called since the last time."""
        lines = self.calls.read_text().splitlines() if self.calls.exists() else []
        self.calls.unlink(missing_ok=True)
        return lines

    def install(self, root: Path, system: str = "linux", python: str = "") -> Installed:
        return install(root, self.environment, system=system, python=python)

    def uninstall(self, root: Path, system: str = "linux") -> Installed:
        return uninstall(root, self.environment, system=system)


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(tmp_path)


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


def words(value: str, *, variables: bool) -> list[str]:
    """The words of a value as systemd.service(5) and systemd.syntax(7) have them."""
    found: list[str] = []
    rest = value
    while rest:
        match = re.match(r'"((?:[^"\\]|\\["\\])*)"(?: |$)', rest)
        assert match, rest
        word = re.sub(r"\\(.)", r"\1", match[1])
        assert not re.search(r"%(?!%)", word.replace("%%", "")), "a specifier"
        word = word.replace("%%", "%")
        if variables and found:
            assert "$" not in word.replace("$$", ""), "a variable"
            word = word.replace("$$", "$")
        found.append(word)
        rest = rest[match.end() :]
    return found


@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_unit_starts_the_program_with_the_very_path(
    person: Person, tmp_path: Path, name: str
) -> None:
    root = tmp_path / "vaults" / name
    root.mkdir(parents=True)
    person.environment["AMEM_STATE_DIR"] = str(tmp_path / name)
    unit = person.install(root).file.read_text(encoding="utf-8")
    found = settings(unit)

    command = [sys.executable, "-m", "amem_cli", "--vault", str(root.resolve()), "watch"]
    assert words(found["ExecStart"][0], variables=True) == command
    (state,) = found["Environment"]
    assert words(state, variables=False) == [f"AMEM_STATE_DIR={tmp_path / name}"]
    assert unit.startswith(f"# {MARK}\n")
    assert (found["Nice"], found["Restart"]) == (["10"], ["on-failure"])
    assert found["WantedBy"] == ["default.target"]


@given(st.text(st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1, max_size=40))
def test_whatever_the_vault_is_called_the_unit_names_it_or_there_is_none(name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = (Path(folder) / name).resolve()
        try:
            unit = install(root, {"HOME": folder, "PATH": ""}, system="linux").file
        except SettingsError:
            assert list(Path(folder).iterdir()) == []
            assert any(unicodedata.category(letter) in ("Cc", "Zl", "Zp") for letter in name)
            return
        found = settings(unit.read_text(encoding="utf-8"))
        assert words(found["ExecStart"][0], variables=True)[-2:] == [str(root), "watch"]
        assert uninstall(root, {"HOME": folder, "PATH": ""}, system="linux").changed
        assert list(unit.parent.iterdir()) == []


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_itself_finds_nothing_wrong(person: Person, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir(mode=0o700)
    person.environment |= {"AMEM_CONFIG_DIR": "/a b/%h", "XDG_STATE_HOME": '/x "y"'}
    files = []
    for name in ODD_NAMES:
        root = tmp_path / "vaults" / name
        root.mkdir(parents=True)
        files.append(str(person.install(root).file))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--user", "--man=no", *files],
        env={**os.environ, "HOME": str(person.home), "XDG_RUNTIME_DIR": str(tmp_path / "run")},
        capture_output=True,
        text=True,
    )

    assert len(set(files)) == len(ODD_NAMES)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("name", ["line\nbreak", "escape\x1b", "tab\t", "next\x85line", "\u2028"])
@pytest.mark.parametrize("system", ["linux", "darwin"])
def test_a_path_that_fits_in_no_file_is_refused(
    person: Person, tmp_path: Path, name: str, system: str
) -> None:
    (tmp_path / name).mkdir()
    with pytest.raises(SettingsError, match="cannot be given the path"):
        person.install(tmp_path / name, system)

    assert list(person.home.rglob("*")) == []


@pytest.mark.skipif(sys.platform != "linux", reason="names are bytes on Linux alone")
def test_a_path_that_is_no_utf8_is_refused(person: Person, tmp_path: Path) -> None:
    root = tmp_path / os.fsdecode(b"latin-\xe4")
    root.mkdir()
    with pytest.raises(SettingsError, match="cannot be given the path"):
        person.install(root)


def test_only_where_settings_lie_is_handed_on(person: Person, root: Path) -> None:
    person.environment |= {
        "AMEM_CONFIG_DIR": "/c",
        "AMEM_CACHE_DIR": "relative",
        "AMEM_API_KEY": "sk-secret",
        "AMEM_VAULT": "/elsewhere",
        "XDG_STATE_HOME": "/s",
        "SECRET": "x",
    }
    found = settings(person.install(root).file.read_text())

    assert found["Environment"] == ['"AMEM_CONFIG_DIR=/c"', '"XDG_STATE_HOME=/s"']


def test_a_first_install_starts_the_service_and_a_second_changes_nothing(
    person: Person, root: Path
) -> None:
    person.have("systemctl")
    first = person.install(root)
    name = first.file.name
    file = person.home / ".config/systemd/user" / name
    log = f"journalctl --user --unit {name}"
    assert first == Installed(file, True, f"wrote {file}", log=log)
    told = f"what it does: amem watch --status; its log: {log}"
    assert first.notes == (f"wrote {file}", told)
    assert re.fullmatch(r"amem-watch-my-vault-[0-9a-f]{8}\.service", name)
    start = ["systemctl --user daemon-reload", f"systemctl --user enable --now {name}"]
    assert person.called() == start
    before = first.file.read_bytes()

    assert person.install(root) == Installed(file, False, f"{file} is there already", log=log)
    assert person.called() == start
    assert first.file.read_bytes() == before
    assert list(first.file.parent.iterdir()) == [first.file]


def test_an_install_that_changes_the_service_restarts_it(person: Person, root: Path) -> None:
    person.have("systemctl")
    name = person.install(root).file.name
    person.called()
    person.environment["AMEM_STATE_DIR"] = "/other"

    assert person.install(root).changed
    assert person.called()[-1] == f"systemctl --user restart {name}"


def test_the_folder_for_settings_may_be_another(person: Person, root: Path, tmp_path: Path) -> None:
    person.environment["XDG_CONFIG_HOME"] = str(tmp_path / "xdg")

    assert person.install(root).file.parent == tmp_path / "xdg/systemd/user"


def test_two_vaults_of_one_name_have_a_service_each(person: Person, tmp_path: Path) -> None:
    for place in ("a", "b"):
        (tmp_path / place / "notes").mkdir(parents=True)

    assert person.install(tmp_path / "a/notes").file != person.install(tmp_path / "b/notes").file


def test_without_systemctl_it_is_said_what_to_type(person: Person, root: Path) -> None:
    done = person.install(root)

    assert done.changed and done.file.exists()
    assert done.notes[:-1] == (
        f"wrote {done.file}",
        "systemctl is not on this machine; what is left to type:",
        "systemctl --user daemon-reload",
        f"systemctl --user enable --now {done.file.name}",
    )


def test_a_systemctl_that_fails_is_told_with_what_is_left_to_type(
    person: Person, root: Path
) -> None:
    fails = 'echo "Failed to connect to bus: No medium found" >&2; exit 1'
    person.have("systemctl", f'case "$*" in *enable*) {fails};; esac')
    done = person.install(root)

    assert done.reason == "systemctl: Failed to connect to bus: No medium found"
    assert done.to_type == (f"systemctl --user enable --now {done.file.name}",)


def test_an_uninstall_leaves_nothing(person: Person, root: Path) -> None:
    person.have("systemctl")
    file = person.install(root).file
    wanted = file.parent / "default.target.wants"
    wanted.mkdir()
    (wanted / file.name).symlink_to(file)
    person.called()

    assert person.uninstall(root) == Installed(file, True, f"removed {file}")
    assert person.called() == [
        f"systemctl --user disable --now {file.name}",
        "systemctl --user daemon-reload",
    ]
    assert list(file.parent.iterdir()) == [wanted]
    assert list(wanted.iterdir()) == []


def test_an_uninstall_of_nothing_says_so(person: Person, root: Path) -> None:
    person.have("systemctl")

    done = person.uninstall(root)
    assert not done.changed
    assert done.notes == (f"there is no {done.file}",)
    assert person.called() == []


def test_an_uninstall_where_systemctl_fails_removes_the_file_all_the_same(
    person: Person, root: Path
) -> None:
    file = person.install(root).file
    done = person.uninstall(root)

    assert done.changed and not file.exists()
    assert done.reason == "systemctl is not on this machine"
    assert done.to_type == (
        f"systemctl --user disable --now {file.name}",
        "systemctl --user daemon-reload",
    )


def foreign(file: Path, elsewhere: Path) -> Iterator[Path]:
    """What may stand in the place of the service's file, one after the other."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("[Service]\nExecStart=/bin/true\n")
    yield file
    file.unlink()
    elsewhere.write_text(f"# {MARK}\n")
    file.symlink_to(elsewhere)
    yield elsewhere
    file.unlink()
    file.write_bytes(b"x" * 10**6)
    yield file


@pytest.mark.parametrize("system", ["linux", "darwin"])
def test_a_file_of_somebody_else_is_neither_replaced_nor_removed(
    person: Person, root: Path, tmp_path: Path, system: str
) -> None:
    file = person.install(root, system).file
    person.uninstall(root, system)
    person.have("systemctl")
    person.have("launchctl")
    for kept in foreign(file, tmp_path / "elsewhere"):
        before = kept.read_bytes()
        with pytest.raises(SettingsError, match="was not written by amem"):
            person.install(root, system)
        with pytest.raises(SettingsError, match="was not written by amem"):
            person.uninstall(root, system)
        assert kept.read_bytes() == before
    assert person.called() == []


@pytest.mark.parametrize("name", ODD_NAMES)
def test_an_agent_of_macos_starts_the_program_with_the_very_path(
    person: Person, tmp_path: Path, name: str
) -> None:
    root = tmp_path / "vaults" / name
    root.mkdir(parents=True)
    person.environment["AMEM_CONFIG_DIR"] = str(tmp_path / name)
    file = person.install(root, "darwin").file
    agent = plistlib.loads(file.read_bytes())

    assert file.parent == person.home / "Library/LaunchAgents"
    assert agent["Label"] == file.stem
    command = [sys.executable, "-m", "amem_cli", "--vault", str(root.resolve()), "watch"]
    assert agent["ProgramArguments"] == command
    assert agent["EnvironmentVariables"] == {"AMEM_CONFIG_DIR": str(tmp_path / name)}
    assert agent["RunAtLoad"] is True and agent["KeepAlive"] == {"SuccessfulExit": False}
    assert agent["Nice"] == 10
    log = str(person.home / "Library/Logs" / f"{file.stem}.log")
    assert agent["StandardOutPath"] == agent["StandardErrorPath"] == log
    assert person.install(root, "darwin").log == shlex.join(["tail", "-f", log])


LAUNCHD = """
case $1 in
    print) test -e '{0}' ;;
    bootstrap) test ! -e '{0}' && touch '{0}' ;;
    bootout) rm '{0}' ;;
esac
"""


def test_an_agent_of_macos_is_loaded_reloaded_and_unloaded(
    person: Person, root: Path, tmp_path: Path
) -> None:
    person.environment["PATH"] += os.pathsep + os.defpath
    person.have("launchctl", LAUNCHD.format(tmp_path / "loaded"))

    def did() -> list[str]:
        return [call for call in person.called() if " print " not in call]

    file = person.install(root, "darwin").file
    domain = f"gui/{os.getuid()}"
    load = f"launchctl bootstrap {domain} {file}"
    unload = f"launchctl bootout {domain}/{file.stem}"
    assert did() == [load]

    assert person.install(root, "darwin").done == f"{file} is there already"
    assert did() == []
    person.environment["AMEM_STATE_DIR"] = "/other"
    assert person.install(root, "darwin").done == f"wrote {file}"
    assert did() == [unload, load]
    (tmp_path / "loaded").unlink()
    person.environment["AMEM_STATE_DIR"] = "/another"
    assert person.install(root, "darwin").done == f"wrote {file}"
    assert did() == [load]

    assert person.uninstall(root, "darwin").notes == (f"removed {file}",)
    assert did() == [unload]
    assert not file.exists()
    person.install(root, "darwin")
    (tmp_path / "loaded").unlink()
    did()
    assert person.uninstall(root, "darwin").notes == (f"removed {file}",)
    assert did() == []


def test_elsewhere_a_scheduler_is_named(person: Person, tmp_path: Path) -> None:
    root = tmp_path / "100% mine"
    root.mkdir()
    with pytest.raises(SettingsError) as refused:
        person.install(root, "freebsd14")

    assert f"'{tmp_path}/100\\% mine' watch --once" in refused.value.hint


def test_on_windows_the_task_scheduler_is_named(person: Person, tmp_path: Path) -> None:
    root = tmp_path / "my vault"
    root.mkdir()
    with pytest.raises(SettingsError) as refused:
        person.install(root, "win32")

    assert f'--vault \\"{root}\\" watch"' in refused.value.hint
    assert "schtasks /create /tn amem-watch-my-vault-" in refused.value.hint


def test_the_program_that_runs_is_named_by_its_whole_path(
    person: Person, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python").symlink_to(sys.executable)
    found = settings(person.install(root, python="bin/python").file.read_text())

    # A link is left as it is: a virtual environment is known by where its Python lies.
    assert words(found["ExecStart"][0], variables=True)[0] == str(tmp_path / "bin/python")


def test_a_folder_that_cannot_be_written_is_an_error(person: Person, root: Path) -> None:
    (person.home / ".config").write_text("a file")
    with pytest.raises(SettingsError):
        person.install(root)
