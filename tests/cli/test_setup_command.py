"""`amem setup` and the offer of `init`: what is found, recommended, asked and written."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from amem_cli.data import table
from amem_cli.models.discovery import (
    USUAL_SERVERS,
    LocalServer,
    billions_named,
    look_around,
    running_servers,
)
from tests.conftest import Program
from tests.documents import TOP
from tests.fakes.chat_server import ChatServer
from tests.fakes.good_model import good_answer_to
from tests.fakes.tiny_gguf import write_tiny_gguf
from tests.terminal import at_terminal, plain

QUESTION = "q changes nothing"
CLOSED = "127.0.0.1:9"
# Variables by which other programs name the folders of their models.
FOLDERS = ("XDG_CACHE_HOME", "LLAMA_CACHE", "HF_HOME", "HF_HUB_CACHE", "OLLAMA_MODELS")
GERMAN = (
    "Der Keller ist nach dem Regen wieder feucht, weil das Fallrohr voller Laub ist und das Wasser"
    " nicht mehr ablaufen kann."
)


@pytest.fixture
def here(amem: Program) -> Program:
    """A vault on a machine without anything that could answer, as far as the test can say."""
    if running_servers(USUAL_SERVERS[1:]):
        pytest.skip("a model server of this machine answers")
    for name in ("home", "bin"):
        (amem.folder / name).mkdir()
    del amem.environment["AMEM_LLM_BACKEND"]
    amem.environment |= dict.fromkeys(FOLDERS, "") | {
        "HOME": str(amem.folder / "home"),
        "PATH": str(amem.folder / "bin"),
        "OLLAMA_HOST": CLOSED,
    }
    amem.vault()
    return amem


@pytest.fixture
def ollama(here: Program) -> Iterator[ChatServer]:
    with ChatServer() as server:
        server.is_ollama, server.models = True, ["qwen3:4b", "smollm2:135m", "nomic-embed-text"]
        here.environment["OLLAMA_HOST"] = f"127.0.0.1:{server.port}"
        yield server


def config(here: Program) -> str:
    return (here.folder / "v" / ".amem" / "config.toml").read_text(encoding="utf-8")


def consents(here: Program) -> str:
    path = Path(os.environ["AMEM_STATE_DIR"]) / "remote-models.json"
    return path.read_text(encoding="utf-8") if path.exists() else ""


def put_program(here: Program, name: str) -> Path:
    """A program on PATH; the file that says that it was run."""
    marker, path = here.folder / f"{name}-ran", here.folder / "bin" / name
    path.write_text(
        f"#!{sys.executable}\nimport sys\nsys.stdin.read()\n"
        f"open({str(marker)!r}, 'a').write(' '.join(sys.argv[1:]))\nprint('{{}}')\n"
    )
    path.chmod(0o755)
    return marker


def in_cache(here: Program, place: str, name: str = "Good-4B-Q4_K_M.gguf") -> Path:
    folder = here.folder / "home" / place
    folder.mkdir(parents=True)
    return write_tiny_gguf(folder / name)


def keys(here: Program, line: list[str], *pressed: tuple[str, str]) -> tuple[int, str]:
    code, shown = at_terminal(here.folder, line, pressed, **here.environment)
    return code, " ".join(plain(shown).split())


def test_a_pipe_is_told_what_there_is_and_changes_nothing(here: Program) -> None:
    before = config(here)
    shown = here("setup")
    assert shown.code == 0, shown.err
    assert "With a capable model, amem finds" in " ".join(shown.out.split())
    assert "No capable model was found on this machine" in shown.out
    for line in ("ollama pull", "amem model pull", "--backend openai", "--backend command"):
        assert sum(line in row for row in shown.out.splitlines()) == 1
    assert "amem mcp" in shown.out
    assert "nothing was changed" in shown.err and QUESTION not in shown.err
    found = here("setup", "--json").json
    assert (found["current"]["name"], found["recommended"]["name"]) == ("none", "none")
    assert (found["servers"], found["files"], found["programs"]) == ([], [], [])
    assert found["languages"] == {"en": 1.0}
    assert found["encoder"] == {
        "name": "all-MiniLM-L6-v2",
        "proposed": None,
        "reason": None,
        "install": None,
    }
    assert found["memory"] > 0 and found["cores"] > 0
    assert config(here) == before


def test_everything_that_is_here_is_listed_and_one_is_recommended(
    here: Program, ollama: ChatServer
) -> None:
    ran = [put_program(here, name) for name in ("claude", "codex", "gemini", "llm", "ollama")]
    in_cache(here, ".lmstudio/models/maker/repository")
    in_cache(here, ".cache/llama.cpp", "Other-8B-Q4_K_M.gguf")
    in_cache(here, ".cache/elsewhere", "Unknown-4B.gguf")
    (here.folder / "home/.cache/llama.cpp/mmproj-vision.gguf").write_bytes(b"GGUF")
    (here.folder / "home/.cache/llama.cpp/Text-4B.gguf").write_bytes(b"no model")
    found = here("setup", "--json").json
    assert [server["models"] for server in found["servers"]] == [ollama.models]
    owners = {each["name"]: each["owner"] for each in found["files"]}
    assert owners == {"Good-4B-Q4_K_M": "LM Studio", "Other-8B-Q4_K_M": "llama.cpp"}
    names = [program["name"] for program in found["programs"]]
    assert names == ["claude", "codex", "gemini", "llm", "ollama"]
    choices = {each["name"]: each for each in found["choices"]}
    assert found["choices"][0] == found["recommended"]
    assert found["recommended"]["name"] == "qwen3:4b"
    assert found["recommended"]["leaves_machine"] is False
    assert "too small" in choices["smollm2:135m"]["problem"]
    # One writes no text, and the program ollama is asked by its server.
    assert not {"nomic-embed-text", "ollama"} & set(choices)
    assert all(choices[name]["leaves_machine"] for name in ("claude", "codex", "gemini", "llm"))
    assert {"bundled", "none"} <= set(choices)
    shown = here("setup")
    assert "qwen3:4b" in shown.out and "(recommended)" in shown.out
    assert not [marker for marker in ran if marker.exists()]
    assert ollama.requests == []


def test_yes_takes_the_recommended_model_and_keeps_it_the_next_time(
    here: Program, ollama: ChatServer
) -> None:
    put_program(here, "claude")
    taken = here("setup", "--yes")
    assert taken.code == 0, taken.err
    assert "llm.model = 'qwen3:4b'" in taken.out and "stay on this machine" in taken.out
    chosen = config(here)
    again = here("setup", "--yes")
    assert "qwen3:4b, as before\n" in again.out
    assert (config(here), ollama.requests) == (chosen, [])
    listed = here("setup", "--json").json
    assert listed["current"] == listed["recommended"]
    assert (listed["current"]["name"], listed["current"]["in_use"]) == ("qwen3:4b", True)
    none = here("setup", "--none", "--json").json
    assert (none["settings"]["llm.backend"], none["kept"]) == ("none", False)
    assert here("setup", "--none", "--json").json["kept"] is True


def test_yes_alone_sends_nothing_away(here: Program) -> None:
    ran, before = put_program(here, "claude"), config(here)
    assert "no language model, as before\n" in here("setup", "--yes").out
    assert (config(here), consents(here), ran.exists()) == (before, "", False)


def test_what_leaves_the_machine_needs_a_yes(here: Program) -> None:
    ran, before = put_program(here, "claude"), config(here)
    refused = here("setup", "--model", "claude")
    assert (refused.code, "--yes" in refused.err) == (2, True)
    assert (config(here), consents(here), ran.exists()) == (before, "", False)
    taken = here("setup", "--model", "claude", "--yes", "--json").json
    line = "claude -p --output-format json --max-turns 1"
    assert (taken["settings"]["llm.backend"], taken["settings"]["llm.model"]) == ("command", line)
    # That is the consent of `model use`: the program may be run now, and so it is.
    assert f"command {line}" in consents(here)
    assert here("add", GERMAN).code == 0
    assert ran.read_text() != ""


def test_a_model_that_an_ollama_asks_elsewhere_is_not_recommended(
    here: Program, ollama: ChatServer
) -> None:
    ollama.models = ["gpt-oss:120b-cloud"]
    assert here("setup", "--json").json["recommended"]["name"] == "none"
    assert here("setup", "--model", "gpt-oss:120b-cloud").code == 2
    assert here("setup", "--model", "gpt-oss:120b-cloud", "--yes").code == 0


def test_what_model_use_takes_is_taken_too(here: Program, ollama: ChatServer) -> None:
    elsewhere = "gpt@https://api.example.org/v1"
    refused = here("setup", "--model", elsewhere)
    assert (refused.code, "api.example.org" in refused.err) == (2, True)
    assert here("setup", "--model", elsewhere, "--yes").code == 0
    unknown = here("setup", "--model", "unknown")
    assert (unknown.code, "unknown" in unknown.err) == (2, True)
    assert here("setup", "--model", "qwen3:4b", "--none").code == 2
    # It answers nowhere near here, so nothing is known of it, and it stays.
    kept = here("setup", "--json").json["recommended"]
    assert (kept["name"], kept["kind"], kept["in_use"]) == ("gpt", "other", True)


@pytest.mark.parametrize(
    ("backend", "model", "address"),
    [
        ("openai", "big", "https://models.example.org/v1"),
        ("command", "claude -p --output-format json --max-turns 1", ""),
    ],
)
def test_what_only_a_vault_from_elsewhere_names_is_not_in_use_until_it_is_chosen(
    here: Program, backend: str, model: str, address: str
) -> None:
    put_program(here, "claude")
    file = here.folder / "v" / ".amem" / "config.toml"
    file.write_text(f'[llm]\nbackend = "{backend}"\nmodel = "{model}"\nbase_url = "{address}"\n')
    seen = here("setup", "--json").json
    assert "this vault's settings would" in seen["current"]["problem"]
    assert seen["recommended"]["name"] == "none"
    name = seen["current"]["name"]
    before = config(here)
    assert here("setup", "--model", name).code == 2
    assert (config(here), consents(here)) == (before, "")
    taken = here("setup", "--model", name, "--yes", "--json").json
    assert (taken["name"], taken["kept"]) == (name, False)
    assert (address or model) in consents(here)
    assert here("setup", "--json").json["current"]["problem"] is None


def test_the_verdict_on_a_model_counts(here: Program, ollama: ChatServer) -> None:
    def good(body: dict[str, Any]) -> str:
        return good_answer_to(body["messages"][-1]["content"], body["format"])

    ollama.content = good
    assert here("setup", "--yes").code == 0
    assert here("model", "test").code == 0
    assert "fit: amem will ask it" in here("setup").out
    # It is known to be fit, so it goes before a larger one.
    ollama.models = ["unknown", "qwen3:4b"]
    assert here("setup", "--none").code == 0
    assert here("setup", "--json").json["recommended"]["verdict"]["kind"] == "fit"
    ollama.content = "no JSON"
    assert here("setup", "--model", "qwen3:4b").code == 0
    assert here("model", "test").code == 1
    unfit = here("setup", "--json").json
    assert unfit["recommended"]["name"] == "unknown"
    assert unfit["current"]["problem"].startswith("unfit")


def test_a_server_that_sleeps_keeps_its_model_and_a_file_that_is_gone_does_not(
    here: Program, ollama: ChatServer
) -> None:
    assert here("setup", "--yes").code == 0
    chosen = config(here)
    ollama.listing_fault = "hang_up"
    kept = here("setup", "--yes", "--json").json
    assert (kept["name"], kept["kept"], config(here)) == ("qwen3:4b", True, chosen)
    assert "does not answer" in here("setup").out

    file = in_cache(here, ".cache/llama.cpp")
    assert here("setup", "--model", "Good-4B-Q4_K_M").code == 0
    file.unlink()
    gone = here("setup", "--json").json
    assert gone["current"]["problem"] == "it is no longer there"
    assert gone["recommended"]["name"] == "none"


def test_a_server_at_another_port_is_looked_for_once_it_is_in_use(here: Program) -> None:
    with ChatServer() as server:
        server.models = ["mine-8b"]
        assert here("model", "use", "mine-8b", "--base-url", server.url).code == 0
        current = here("setup", "--json").json["current"]
    assert (current["kind"], current["problem"]) == ("server", None)


def test_a_file_of_a_cache_that_links_to_it_can_be_chosen(here: Program) -> None:
    hub = ".cache/huggingface/hub/models--maker--good"
    blob = in_cache(here, f"{hub}/blobs", "0123abcd")
    for snapshot in ("one", "two"):
        folder = here.folder / "home" / hub / "snapshots" / snapshot
        folder.mkdir(parents=True)
        (folder / "Good-4B-Q4_K_M.gguf").symlink_to(blob)
    found = here("setup", "--json").json
    assert [each["owner"] for each in found["files"]] == ["Hugging Face"]
    assert found["recommended"]["name"] == "Good-4B-Q4_K_M"
    taken = here("setup", "--yes", "--json").json
    assert Path(taken["settings"]["llm.model"]).name == "Good-4B-Q4_K_M.gguf"
    assert here("setup", "--json").json["current"]["name"] == "Good-4B-Q4_K_M"
    added = here("add", GERMAN, "--json").json
    assert (added["pending"], "gguf" in " ".join(added["problems"])) == (False, False)


def test_a_downloaded_model_is_chosen_with_its_digest(here: Program) -> None:
    source = in_cache(here, "downloads")
    pulled = here("model", "pull", str(source), "--json").json
    assert here("model", "pull", str(source), "--name", "none").code == 0
    found = here("setup", "--json").json
    assert [each["owner"] for each in found["files"]] == ["amem", "amem"]
    taken = here("setup", "--yes", "--json").json["settings"]
    assert (taken["llm.model"], taken["llm.sha256"]) == (pulled["path"], pulled["sha256"])
    assert here("setup", "--none", "--json").json["settings"]["llm.backend"] == "none"


def test_an_ollama_that_does_not_answer_is_told(here: Program) -> None:
    put_program(here, "ollama")
    assert "ollama serve" in here("setup").out


def test_without_a_vault_it_only_shows(here: Program, ollama: ChatServer) -> None:
    del here.environment["AMEM_VAULT"]
    shown = here("setup")
    assert (shown.code, "amem init DIR" in shown.err) == (0, True)
    found = here("setup", "--json").json
    assert (found["vault"], found["recommended"]["name"]) == (None, "qwen3:4b")
    assert here("setup", "--yes").code == 3
    assert here("--vault", "nowhere", "setup").code == 3


@pytest.mark.slow
@pytest.mark.parametrize(("key", "model"), [("\r", "qwen3:4b"), ("2", "llama3:8b"), ("q", "")])
def test_one_key_chooses(here: Program, ollama: ChatServer, key: str, model: str) -> None:
    # The first is tested before, which counts.
    ollama.models = ["qwen3:4b", "llama3:8b", "nothing:1b"]
    ollama.sizes = {
        "qwen3:4b": {"size": 2_600_000_000, "details": {"parameter_size": "3.9B"}},
        "llama3:8b": {"size": 2**80, "details": ["odd"]},
    }
    before = config(here)
    code, shown = keys(here, ["setup"], (QUESTION, key))
    assert (code, ollama.requests) == (0, [])
    if model:
        assert f'model = "{model}"' in config(here)
    else:
        assert "nothing was changed" in shown and config(here) == before


@pytest.mark.slow
def test_on_a_terminal_the_choice_is_kept_with_enter(here: Program, ollama: ChatServer) -> None:
    assert here("setup", "--yes").code == 0
    before = config(here)
    code, shown = keys(here, ["setup"], ("Enter keeps what is in use", "\r"))
    assert (code, "as before" in shown, config(here)) == (0, True, before)


@pytest.mark.parametrize(
    "answer", ["\r", *(pytest.param(key, marks=pytest.mark.slow) for key in "ny")]
)
def test_a_terminal_asks_before_texts_leave(here: Program, answer: str) -> None:
    ran, before = put_program(here, "claude"), config(here)
    code, shown = keys(here, ["setup"], (QUESTION, "1"), ("Allow it? [y/N]", answer))
    assert (code, ran.exists()) == (0, False)
    if answer == "y":
        assert "command claude" in consents(here) and "claude -p" in config(here)
    else:
        assert (config(here), consents(here)) == (before, "")
        assert "nothing was changed" in shown


@pytest.mark.slow
@pytest.mark.parametrize("line", [["init", "new"], ["init", "old", "--adopt"]])
def test_init_offers_it_once_on_a_terminal(
    here: Program, ollama: ChatServer, line: list[str]
) -> None:
    old = here.folder / "old"
    old.mkdir()
    (old / "note.md").write_text("A note.", encoding="utf-8")
    code, shown = keys(here, line, (QUESTION, "\r"))
    assert code == 0
    written = (here.folder / line[1] / ".amem" / "config.toml").read_text(encoding="utf-8")
    assert 'model = "qwen3:4b"' in written
    assert shown.index("created" if line[1] == "new" else "adopted") < shown.index(QUESTION)
    assert shown.index(QUESTION) < shown.index("next: cd")
    ollama.looked_at.clear()
    code, shown = keys(here, ["init", line[1], "--adopt"])
    assert (code, QUESTION in shown, ollama.looked_at) == (0, False, [])


@pytest.mark.slow
def test_init_asks_nothing_where_there_is_nothing_to_choose(here: Program) -> None:
    code, shown = keys(here, ["init", "new"])
    assert (code, QUESTION in shown) == (0, False)
    assert "no language model was found; `amem setup` tells" in shown


@pytest.mark.parametrize("option", [[], ["--json"], ["--quiet"]])
def test_init_in_a_pipe_neither_asks_nor_looks(
    here: Program, ollama: ChatServer, option: list[str]
) -> None:
    made = here("init", "new", *option)
    assert (made.code, ollama.looked_at) == (0, [])
    assert QUESTION not in made.out + made.err


@pytest.mark.parametrize("fault", ["silence", "drip", "huge", "deep"])
def test_a_server_that_hangs_floods_or_talks_nonsense_is_harmless(
    here: Program, ollama: ChatServer, fault: str
) -> None:
    ollama.listing_fault = fault
    found = here("setup", "--json")
    assert found.code == 0, found.err
    assert (found.json["servers"], found.json["recommended"]["name"]) == ([], "none")


def test_a_server_that_lies_is_harmless(here: Program, ollama: ChatServer) -> None:
    put_program(here, "claude")
    ollama.models = ["none", "bundled", "claude", "x\x1b[2J", "good-4b", "good-4b", "a" * 500]
    ollama.sizes = {
        "good-4b": {"size": -1, "details": {"parameter_size": "1e999B" * 1000}},
        "never listed": {"size": 1},
    }
    found = here("setup", "--json").json
    served = [each["name"] for each in found["choices"] if each["kind"] == "server"]
    assert sorted(served) == ["claude", "good-4b"]
    # Two things have this name, and neither is taken for the other.
    before = config(here)
    assert here("setup", "--model", "claude", "--yes").code == 2
    assert config(here) == before
    assert "\x1b" not in here("setup").out


def test_looking_around_does_not_wait_for_what_does_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    studio = tmp_path / ".lmstudio/models/a/b"
    studio.mkdir(parents=True)
    os.mkfifo(studio / "pipe-4B.gguf")
    write_tiny_gguf(studio / "real-4B.gguf")
    environment = {"HOME": str(tmp_path), "PATH": "", "AMEM_DATA_DIR": str(tmp_path)}
    with ChatServer() as silent, ChatServer() as ollama:
        silent.listing_fault = "silence"
        ollama.is_ollama = True
        expected = [LocalServer("LM Studio", silent.port), LocalServer("vLLM", ollama.port)]
        started = time.monotonic()
        machine = look_around(environment, expected)
        assert time.monotonic() - started < 5
    assert [server.kind for server in machine.servers] == ["Ollama"]
    assert [file.name for file in machine.files] == ["real-4B"]


def test_no_proxy_is_asked_about_this_machine(here: Program, ollama: ChatServer) -> None:
    with ChatServer() as proxy:
        variables = dict.fromkeys(("http_proxy", "HTTP_PROXY", "ALL_PROXY"), proxy.url)
        assert here("setup", "--json", **variables).json["servers"] != []
        assert proxy.looked_at == []
    assert set(ollama.looked_at) == {"/v1/models", "/api/tags"}


@pytest.mark.parametrize(
    ("name", "billions"),
    [
        ("qwen3:4b", 4),
        ("Qwen3-1.7B-Q5_K_M", 1.7),
        ("qwen3:30b-a3b", 30),
        ("mixtral:8x7b", 56),
        ("gemma3n:e4b", 4),
        ("SmolLM2-135M-Instruct", 0.135),
        ("llama3.1:latest", 0),
        ("bge-m3", 0),
        ("phi-3.5-mini-128k", 0),
    ],
)
def test_a_name_tells_how_large_a_model_is(name: str, billions: float) -> None:
    assert billions_named(name) == pytest.approx(billions)


def test_the_programs_are_asked_as_the_document_says() -> None:
    page = (TOP / "docs" / "models.md").read_text(encoding="utf-8")
    for program in table("model_places.toml")["programs"]:
        assert program["line"] in page
