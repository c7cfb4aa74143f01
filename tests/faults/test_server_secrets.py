"""What a server or a vault may not learn or tell: keys, and notes sent without consent."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from amem_cli.cli.main import keep_traceback, traceback_of
from amem_cli.errors import SettingsError
from amem_cli.language.safe_text import holds_secret, redacted
from amem_cli.models.open import api_key_for, consent_subject, give_consent, open_model
from amem_cli.models.openai_server import OpenAIServerModel
from amem_cli.settings import Settings
from tests.conftest import Answer, Program
from tests.fakes.chat_server import ChatServer
from tests.faults.conftest import KEY, TEXT

pytestmark = pytest.mark.slow

TOOL = {"id": "1", "type": "function", "function": {"name": "run", "arguments": '{"line": "ls"}'}}


@pytest.mark.parametrize(
    ("reason", "message"),
    [
        ("tool_calls", {"content": None, "tool_calls": [TOOL]}),
        ("tool_calls", {"content": "{}", "tool_calls": [TOOL]}),
        ("function_call", {"content": None, "function_call": TOOL["function"]}),
        ("content_filter", {"content": None}),
        ("content_filter", {"content": f"blocked because of {KEY}"}),
    ],
)
def test_a_filter_or_the_call_of_a_tool_is_no_answer_and_leaks_nothing(
    amem: Program, vault: Path, server: ChatServer, reason: str, message: dict[str, Any]
) -> None:
    server.finish_reason, server.message = reason, message
    added = amem("--verbose", "add", TEXT, "--json")
    assert added.code == 0
    assert added.json["path"]
    assert TEXT in (vault / added.json["path"]).read_text()
    assert_untold(vault, added)
    assert {request.path for request in server.requests} == {"/v1/chat/completions"}


def assert_untold(folder: Path, answer: Answer, secret: str = "SECRET") -> None:
    """No part of the key is in the output or in any file that the program wrote."""
    assert secret not in answer.out + answer.err
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            assert secret.encode() not in path.read_bytes(), path


@pytest.mark.parametrize("fault", ["401", "400", "hang_up", "drip"])
def test_the_key_is_told_nowhere_whatever_the_server_says(
    amem: Program, vault: Path, server: ChatServer, fault: str
) -> None:
    server.faults, server.complaint = [fault], "wrong key {key} at https://u:SECRET@example.org/"
    server.redirect_to = f"http://localhost:{server.port}/elsewhere"
    if fault == "drip":
        amem.environment["AMEM_LLM_DEADLINE_SECONDS"] = "1"
    added = amem("--verbose", "add", TEXT, "--title", "Torn")
    evolved = amem("--verbose", "evolve", "--json")
    assert (added.code, evolved.code) == (0, 1)
    assert evolved.json["pending"] == 1
    assert TEXT in (vault / "notes/Torn.md").read_text()
    assert server.requests[0].authorization == f"Bearer {KEY}"
    for answer in (added, evolved, amem("history", "--json")):
        assert_untold(amem.folder, answer)


def test_the_key_is_not_told_by_a_test_of_the_model(
    amem: Program, vault: Path, server: ChatServer
) -> None:
    server.faults, server.complaint = ["400"], "wrong key {key}"
    tested = amem("--verbose", "model", "test", "--json")
    assert (tested.code, tested.json["valid"]) == (1, False)
    assert "wrong key Bearer ***" in tested.json["problem"]
    assert_untold(amem.folder, tested)


@pytest.mark.parametrize("key", [f"{KEY}\nx", f"{KEY} x", f"{KEY}ü", f'"{KEY}"\t'])
def test_a_key_that_no_header_can_carry_is_an_error_that_does_not_show_it(
    amem: Program, vault: Path, server: ChatServer, key: str
) -> None:
    added = amem("--verbose", "add", TEXT, "--title", "Torn", AMEM_API_KEY=key)
    tested = amem("--verbose", "model", "test", AMEM_API_KEY=key)
    assert (added.code, tested.code) == (0, 3)
    assert "characters that no key has" in tested.err
    assert server.requests == []
    for answer in (added, tested):
        assert_untold(amem.folder, answer)


def test_proxies_of_the_environment_see_nothing_that_is_for_this_machine(
    amem: Program, vault: Path, server: ChatServer
) -> None:
    names = ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "all_proxy")
    variables = dict.fromkeys(names, "http://127.0.0.1:9")
    assert amem("add", TEXT, "--json", **variables).json["pending"] is False
    assert server.requests


def test_a_crash_log_and_a_verbose_traceback_hold_no_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AMEM_API_KEY", "a-key-of-no-known-kind")
    try:
        raise RuntimeError(f"Bearer {KEY} a-key-of-no-known-kind https://me:SECRET@example.org/v1")
    except RuntimeError as error:
        place = keep_traceback(error)
        shown = traceback_of(error)
    assert isinstance(place, Path)
    for text in (place.read_text(), shown):
        assert "SECRET" not in text and "no-known-kind" not in text
        assert "RuntimeError: Bearer ***" in text
    assert place.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "secret",
    [
        KEY,
        "sk-ant-api03-abcdefgh12345678",
        "sk-proj-abcd_efgh-ijkl1234",
        "gsk_abcdefghijklmnop1234",
        "hf_abcdefghijklmnop1234",
        "ghp_abcdefghijklmnop1234567890",
        "AIzaSyA1234567890abcdefghij",
        "https://me:hunter2hunter2@example.org/v1",
        "Authorization: Bearer abcdefgh12345678",
    ],
)
def test_keys_and_passwords_are_known_by_their_looks(secret: str) -> None:
    assert holds_secret(f"x {secret} y")
    shown = redacted(f"x {secret} y", {})
    assert "***" in shown
    assert not [part for part in secret.split("/") if "1234" in part and part in shown]
    assert "hunter2" not in shown


def test_keys_and_passwords_are_never_kept_in_settings(amem: Program) -> None:
    assert amem("init", "v").code == 0
    for key, secret in (("llm.model", KEY), ("llm.base_url", "https://me:hunter2@example.org/v1")):
        answer = amem("--vault", "v", "config", "set", key, secret)
        assert answer.code == 3
        assert "AMEM_API_KEY" in answer.err
        assert_untold(amem.folder / "v", answer, secret)


@pytest.mark.parametrize(
    "text", ["gpt-5-mini", "qwen3:4b", "https://api.openai.com/v1", "sk-learn", "/m/sk-8b.gguf"]
)
def test_plain_names_are_not_taken_for_keys(text: str) -> None:
    assert not holds_secret(text)
    assert redacted(text, {"AMEM_API_KEY": "", "X_TOKEN": "gpt"}) == text


KEYRING = """
import os
def get_password(service, user):
    with open(os.environ["ASKED"], "a") as file:
        file.write(f"{service} {user}\\n")
    return {returned}
"""


@pytest.fixture
def keyring(tmp_path: Path, amem: Program) -> Path:
    """A keyring in place of the library, that answers with a key."""
    folder = tmp_path / "library"
    folder.mkdir()
    amem.environment["PYTHONPATH"] += os.pathsep + str(folder)
    amem.environment["ASKED"] = str(tmp_path / "asked")
    (folder / "keyring.py").write_text(KEYRING.replace("{returned}", f"'{KEY}'"))
    return folder / "keyring.py"


def test_a_key_is_found_in_the_keyring_under_the_servers_host(
    amem: Program, vault: Path, server: ChatServer, keyring: Path
) -> None:
    assert amem("add", TEXT, "--json", AMEM_API_KEY="").json["pending"] is False
    assert server.requests[0].authorization == f"Bearer {KEY}"
    assert (amem.folder / "asked").read_text() == "amem 127.0.0.1\n"


def test_a_key_of_the_environment_goes_before_the_keyring(
    amem: Program, vault: Path, server: ChatServer, keyring: Path
) -> None:
    assert amem("add", TEXT, AMEM_API_KEY="sk-of-the-environment").code == 0
    assert server.requests[0].authorization == "Bearer sk-of-the-environment"
    assert not (amem.folder / "asked").exists()


@pytest.mark.parametrize("body", ["None", "1/0", "int('SECRET')"])
def test_a_keyring_that_is_empty_or_fails_means_no_key(
    amem: Program, vault: Path, server: ChatServer, keyring: Path, body: str
) -> None:
    keyring.write_text(KEYRING.replace("{returned}", body))
    added = amem("--verbose", "add", TEXT, "--json", AMEM_API_KEY="")
    assert added.json["pending"] is False
    assert server.requests[0].authorization == ""
    assert "SECRET" not in added.err


def test_an_empty_variable_is_no_key() -> None:
    assert api_key_for("127.0.0.1", {"AMEM_API_KEY": "", "OPENAI_API_KEY": "k"}) == "k"


REMOTE = "https://api.example.org/v1"


OTHER = "https://evil.example/v1"


VAULTS = dict.fromkeys(("llm.backend", "llm.model", "llm.base_url"), "vault")


USERS = dict.fromkeys(VAULTS, "user")


def open_from(
    root: Path, origin: dict[str, str], url: str = REMOTE, model: str = "m", **changes: Any
) -> OpenAIServerModel:
    settings = Settings(llm_backend="openai", llm_model=model, llm_base_url=url, **changes)
    environment = {"AMEM_STATE_DIR": str(root / "state"), "AMEM_API_KEY": KEY}
    made = open_model(settings, root, origin, environment)
    assert isinstance(made, OpenAIServerModel)
    return made


@pytest.mark.parametrize(
    "origin",
    [
        VAULTS,
        {**USERS, "llm.base_url": "vault"},
        {**USERS, "llm.model": "vault"},
        {**USERS, "llm.backend": "vault"},
        {**VAULTS, "llm.backend": "environment"},
    ],
)
def test_no_setting_of_a_vault_sends_notes_away_without_consent_on_this_machine(
    tmp_path: Path, origin: dict[str, str]
) -> None:
    with pytest.raises(SettingsError, match="would send notes"):
        open_from(tmp_path, origin)
    with pytest.raises(SettingsError, match="would send notes"):
        # An empty address in the vault would lead from the user's own server to the usual one.
        open_from(tmp_path, origin, url="")


@pytest.mark.parametrize("layer", ["user", "environment", "option"])
def test_the_users_own_settings_are_a_choice(tmp_path: Path, layer: str) -> None:
    assert open_from(tmp_path, dict.fromkeys(USERS, layer)).is_remote
    built_in = {**dict.fromkeys(USERS, layer), "llm.base_url": "built-in"}
    assert open_from(tmp_path, built_in, url="").name == "m at api.openai.com"


@pytest.mark.parametrize("layer", ["environment", "option"])
def test_the_empty_address_of_a_new_vault_stands_in_nobodys_way(tmp_path: Path, layer: str) -> None:
    origin = {**dict.fromkeys(USERS, layer), "llm.base_url": "vault"}
    assert open_from(tmp_path, origin, url="").name == "m at api.openai.com"
    with pytest.raises(SettingsError):
        open_from(tmp_path, origin)


def test_consent_is_for_one_server_and_one_vault(tmp_path: Path) -> None:
    environment = {"AMEM_STATE_DIR": str(tmp_path / "state")}
    give_consent(tmp_path, consent_subject(REMOTE, "m"), environment)
    assert open_from(tmp_path, VAULTS).is_remote
    with pytest.raises(SettingsError):
        open_from(tmp_path, VAULTS, url=OTHER)
    elsewhere = tmp_path / "other"
    with pytest.raises(SettingsError):
        open_model(
            Settings(llm_backend="openai", llm_model="m", llm_base_url=REMOTE),
            elsewhere,
            VAULTS,
            environment,
        )


@pytest.mark.parametrize("model", ["gpt-oss:120b-cloud", "glm:CLOUD", "kimi-k2:1t-cloud"])
def test_a_local_server_that_passes_texts_on_needs_consent_too(tmp_path: Path, model: str) -> None:
    local = "http://127.0.0.1:11434/v1"
    environment = {"AMEM_STATE_DIR": str(tmp_path / "state")}
    give_consent(tmp_path, consent_subject(local, "qwen3:4b"), environment)
    assert not open_from(tmp_path, VAULTS, url=local, model="qwen3:4b").is_remote
    with pytest.raises(SettingsError, match="would send notes"):
        open_from(tmp_path, VAULTS, url=local, model=model)
    give_consent(tmp_path, consent_subject(local, model), environment)
    assert open_from(tmp_path, VAULTS, url=local, model=model).is_remote


@pytest.mark.parametrize("content", ["", "null", "{}", "[1, [2]]", "[[", "\x00"])
def test_a_damaged_list_of_consents_is_no_consent(tmp_path: Path, content: str) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state/remote-models.json").write_text(content)
    with pytest.raises(SettingsError):
        open_from(tmp_path, VAULTS)


def test_a_key_is_kept_from_a_server_that_only_the_vault_names(
    amem: Program, vault: Path, server: ChatServer
) -> None:
    for name in ("BACKEND", "MODEL", "BASE_URL"):
        amem.environment.pop(f"AMEM_LLM_{name}")
    (vault / ".amem/config.toml").write_text(
        f'[llm]\nbackend = "openai"\nmodel = "m"\nbase_url = "{server.url}"\n'
    )
    assert amem("add", TEXT).code == 0
    assert server.requests[0].authorization == ""
    assert amem("model", "use", "m", "--base-url", server.url).code == 0
    assert amem("add", f"{TEXT} Again.").code == 0
    assert server.requests[-1].authorization == f"Bearer {KEY}"


def test_a_vault_changed_by_others_after_consent_sends_nothing_to_their_server(
    amem: Program, vault: Path, server: ChatServer
) -> None:
    for name in ("BACKEND", "MODEL", "BASE_URL"):
        amem.environment.pop(f"AMEM_LLM_{name}")
    assert amem("model", "use", "m", "--base-url", REMOTE).code == 0
    settings = vault / ".amem/config.toml"
    settings.write_text(settings.read_text().replace(REMOTE, OTHER))
    added = amem("add", TEXT, "--json")
    assert added.json["pending"] is True
    assert "would send notes to m at evil.example" in " ".join(added.json["problems"])
    assert amem("evolve").code == 3
