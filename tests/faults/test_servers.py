"""Servers that fail, flood, lie and pry, met by the memory process and by the program itself."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from amem_cli.cli.main import keep_traceback, traceback_of
from amem_cli.editing.add import NewNote, add
from amem_cli.errors import ModelError, SettingsError
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.sync import embed_missing, synchronise
from amem_cli.language.safe_text import holds_secret, redacted
from amem_cli.memory.batch import EvolveBatch
from amem_cli.memory.outcome import ProcessSettings
from amem_cli.memory.process import MemoryProcess
from amem_cli.models.open import api_key_for, consent_subject, give_consent, open_model
from amem_cli.models.openai_server import OpenAIServerModel
from amem_cli.settings import Settings
from tests.conftest import Answer, Program
from tests.contracts.language_model_contract import assert_answers, request_about
from tests.fakes.chat_server import ChatServer
from tests.fakes.encoder import FakeEncoder
from tests.fakes.language_model import random_value
from tests.vaults import open_vault, tree_hashes

pytestmark = pytest.mark.slow

TOP = Path(__file__).parents[2]
KEY = "sk-SECRET0123456789abcdef"
TEXT = "The croissant dough tore in lamination: the butter came from the fridge."


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as running:
        yield running


@pytest.fixture
def model(server: ChatServer) -> Iterator[OpenAIServerModel]:
    made = OpenAIServerModel(server.url, "m", api_key=KEY, retry_delay=0.0)
    yield made
    made.close()


def batch(root: Path, count: int = 6) -> tuple[VaultPorts, list[str]]:
    ports = open_vault(root)
    paths = [add(ports, NewNote(f"{TEXT} Day {n}.", title=f"Day {n}")) for n in range(count)]
    synchronise(ports)
    return ports, paths


def process_of(ports: VaultPorts, model: OpenAIServerModel, deadline: float) -> MemoryProcess:
    encoder = FakeEncoder()
    embed_missing(ports, encoder)
    return MemoryProcess(ports, encoder, model, ProcessSettings(trusted=True, deadline=deadline))


GIVING_UP = ["html", "empty_choices", "error_body", "redirect", "cut", "packed", "deep"]
BUSY = ["429", "500", "503", "hang_up", "no_http"]
ENDLESS = ["drip", "drip_headers", "hints", "silence", "huge"]


@pytest.mark.parametrize("fault", GIVING_UP + BUSY + ENDLESS)
def test_a_fault_leaves_its_note_as_it_was_and_the_batch_goes_on(
    tmp_path: Path, server: ChatServer, model: OpenAIServerModel, fault: str
) -> None:
    ports, paths = batch(tmp_path, 3)
    before = tree_hashes(tmp_path)
    server.faults = [fault] * (3 if fault in BUSY else 1) + [""]
    server.redirect_to = f"http://localhost:{server.port}/elsewhere"
    outcomes = EvolveBatch(process_of(ports, model, 0.6), paths, asked=True).all_outcomes()
    assert [outcome.pending for outcome in outcomes] == [True, False, False]
    assert tree_hashes(tmp_path)[paths[0]] == before[paths[0]]
    assert outcomes[0].problems
    assert not any(request.path == "/elsewhere" for request in server.requests)


@pytest.mark.parametrize("fault", [*GIVING_UP, *BUSY, "drip"])
def test_a_server_that_always_fails_stops_the_batch_and_is_tried_again_later(
    tmp_path: Path, server: ChatServer, fault: str
) -> None:
    ports, paths = batch(tmp_path)
    before = tree_hashes(tmp_path)
    server.faults = [fault]
    dead = OpenAIServerModel(server.url, "m", retry_delay=0.0)
    outcomes = EvolveBatch(process_of(ports, dead, 0.3), paths, asked=True).all_outcomes()
    assert all(outcome.pending for outcome in outcomes)
    assert len(server.requests) <= 9
    assert tree_hashes(tmp_path) == before
    dead.close()
    server.faults = [""]
    back = OpenAIServerModel(server.url, "m", retry_delay=0.0)
    outcomes = EvolveBatch(process_of(ports, back, 20.0), paths, asked=True).all_outcomes()
    assert not any(outcome.pending for outcome in outcomes)
    back.close()


def test_a_server_that_comes_and_goes_is_bridged_by_retries(
    tmp_path: Path, server: ChatServer, model: OpenAIServerModel
) -> None:
    ports, paths = batch(tmp_path)
    server.faults = ["503", "", "hang_up", "503", "", "", "429", "", ""]
    outcomes = EvolveBatch(process_of(ports, model, 20.0), paths, asked=True).all_outcomes()
    assert not any(outcome.pending for outcome in outcomes)


def test_a_pause_of_an_hour_is_not_waited_for(
    tmp_path: Path, server: ChatServer, model: OpenAIServerModel
) -> None:
    ports, paths = batch(tmp_path)
    server.faults, server.retry_after = ["429"], "3600"
    outcomes = EvolveBatch(process_of(ports, model, 90.0), paths, asked=True).all_outcomes()
    assert all(outcome.pending for outcome in outcomes)
    assert len(server.requests) == 3


def test_notes_that_the_model_declines_are_done_by_the_analyzer_and_block_nothing(
    tmp_path: Path, server: ChatServer, model: OpenAIServerModel
) -> None:
    ports, paths = batch(tmp_path)
    server.message = {"content": None, "refusal": "I cannot help with that."}
    outcomes = EvolveBatch(process_of(ports, model, 20.0), paths, asked=True).all_outcomes()
    assert not any(outcome.pending for outcome in outcomes)
    assert all("declined" in " ".join(outcome.problems) for outcome in outcomes)
    assert all(outcome.metadata.keywords for outcome in outcomes)


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


@pytest.mark.parametrize("count", [10**30, -5, "many", None, 1.5, True, [1]])
def test_a_made_up_count_of_tokens_reaches_neither_index_nor_journal(
    tmp_path: Path, server: ChatServer, model: OpenAIServerModel, count: object
) -> None:
    ports, paths = batch(tmp_path, 1)
    server.usage = {"prompt_tokens": count, "completion_tokens": count}
    outcome = process_of(ports, model, 20.0).run(paths[0], asked=True)
    assert not outcome.pending
    assert 0 <= ports.index.events.model_totals().prompt_tokens < 10**9


def test_a_server_that_never_stops_talking_is_left_without_a_connection(
    server: ChatServer, model: OpenAIServerModel
) -> None:
    for fault in ("drip_headers", "hints", "drip"):
        server.faults = [fault]
        model.reset()
        with pytest.raises(ModelError):
            model.answer(request_about("Rye bread.", deadline=0.3))
    until = time.monotonic() + 60
    while _listening() and time.monotonic() < until:
        time.sleep(0.02)
    assert _listening() == []
    server.faults = [""]
    model.reset()
    assert_answers(model, request_about("Rye bread."))


def _listening() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "amem-http"]


FLOODED = """
import resource, sys
from amem_cli.models.openai_server import OpenAIServerModel
from amem_cli.errors import ModelError
from amem_cli.models.ports import ModelRequest
schema = {"type": "object", "properties": {"w": {"type": "boolean"}}}
model = OpenAIServerModel(sys.argv[1], "m")
def ask(seconds):
    try:
        model.answer(ModelRequest("a", "b", schema, 9, seconds))
    except ModelError as error:
        return error.message
ask(5.0)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
told = ask(20.0)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024, told)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs resource")
def test_a_flood_of_300_mb_is_cut_after_a_few(server: ChatServer) -> None:
    server.faults = ["html", "huge"]
    done = subprocess.run(
        [sys.executable, "-c", FLOODED, server.url],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(TOP)},
        check=True,
    )
    grown, told = done.stdout.split(" ", 1)
    assert int(grown) < 40
    assert "more than 4 MiB" in told


def test_a_certificate_that_nobody_vouches_for_is_refused_before_anything_is_sent(
    tmp_path: Path,
) -> None:
    pem = tmp_path / "both.pem"
    made = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
         "/CN=127.0.0.1", "-keyout", str(tmp_path / "key.pem"), "-out", str(pem)],
        capture_output=True,
        check=False,
    )  # fmt: skip
    if made.returncode:
        pytest.skip("openssl makes no certificate here")
    pem.write_bytes(pem.read_bytes() + (tmp_path / "key.pem").read_bytes())
    with ChatServer(pem) as server:
        model = OpenAIServerModel(server.url, "m", api_key=KEY, retry_delay=0.0)
        with pytest.raises(ModelError, match="no trusted encrypted connection"):
            model.answer(request_about("Rye bread."))
        assert server.requests == []
        model.close()


def test_https_to_a_server_that_speaks_plain_http_is_an_error(server: ChatServer) -> None:
    model = OpenAIServerModel(server.url.replace("http:", "https:"), "m", retry_delay=0.0)
    with pytest.raises(ModelError, match="no trusted encrypted connection"):
        model.answer(request_about("Rye bread."))
    model.close()


@pytest.fixture
def vault(amem: Program, server: ChatServer) -> Path:
    """A vault that asks the server, as a person set it up."""
    amem.environment |= {
        "AMEM_LLM_BACKEND": "openai",
        "AMEM_LLM_MODEL": "m",
        "AMEM_LLM_BASE_URL": server.url,
        "AMEM_LLM_DEADLINE_SECONDS": "60",
        "AMEM_API_KEY": KEY,
        "AMEM_STATE_DIR": str(amem.folder / "state"),
        "AMEM_VAULT": str(amem.folder / "v"),
    }
    assert amem("init", "v").code == 0
    return amem.folder / "v"


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


def test_nobody_at_the_address_leaves_the_note_searchable_and_pending(
    amem: Program, vault: Path, server: ChatServer
) -> None:
    gone = {"AMEM_LLM_BASE_URL": "http://127.0.0.1:9/v1"}
    added = amem("add", TEXT, "--json", **gone)
    assert (added.code, added.json["pending"]) == (0, True)
    hits = amem("search", "croissant", "--json", **gone).json["hits"]
    assert hits[0]["id"] == added.json["id"]
    assert amem("evolve", **gone).code == 1
    assert amem("evolve").code == 0


def test_a_model_that_fails_is_told_of_in_a_short_line_and_a_hint(
    amem: Program, vault: Path, server: ChatServer
) -> None:
    gone = {"AMEM_LLM_BASE_URL": "http://127.0.0.1:9/v1"}
    lines = amem("add", TEXT, "--title", "Torn", **gone).out.splitlines()
    at = lines.index("  note     127.0.0.1: no connection; amem analyzer stands in")
    hint = "  pending  Is the server running, and online? `amem evolve` asks the model again"
    assert lines[at + 1 :] == [hint]


def test_the_analyzer_stands_in_until_the_model_answers(
    amem: Program, vault: Path, server: ChatServer
) -> None:
    gone = {"AMEM_LLM_BASE_URL": "http://127.0.0.1:9/v1"}
    added = amem("add", TEXT, "--title", "Torn", "--json", **gone).json
    assert added["pending"]
    assert added["keywords"]
    assert added["context"]
    assert "; amem analyzer stands in" in added["problems"][0]
    note, history = vault / added["path"], amem("history").out
    first = note.read_text()
    # A second try in vain changes and records nothing.
    assert amem("evolve", **gone).code == 1
    assert (note.read_text(), amem("history").out) == (first, history)
    # Neither does an index that is made anew forget that the note waits.
    assert amem("index", "--rebuild").code == 0
    assert amem("stats", "--json").json["pending"] == 1
    theirs = first.replace(added["keywords"][0], "torn by hand", 1)
    note.write_text(theirs)
    context = "The croissant dough tore in lamination, as the butter was too cold."

    def answer(body: dict[str, Any]) -> str:
        schema = body["response_format"]["json_schema"]["schema"]
        said = random_value(schema, random.Random(1))
        return json.dumps(said | ({"context": context} if "context" in said else {}))

    server.content = answer
    assert amem("evolve", "Torn").code == 0
    shown = amem("show", "Torn", "--json").json
    assert shown["context"] == context
    assert shown["keywords"] == ["torn by hand", *added["keywords"][1:]]
    assert amem("stats", "--json").json["pending"] == 0


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
