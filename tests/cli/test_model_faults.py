"""`amem model` with odd addresses, lost files and full disks."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.conftest import Program
from tests.fakes.chat_server import ChatServer
from tests.fakes.good_model import good_answer_to
from tests.fakes.hub_server import a_hub
from tests.fakes.tiny_gguf import write_tiny_gguf


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_gguf(tmp_path_factory.mktemp("model") / "tiny.gguf")


@pytest.fixture
def vault(amem: Program) -> Program:
    amem.vault()
    return amem


def settings_of(vault: Program) -> bytes:
    return (vault.folder / "v" / ".amem" / "config.toml").read_bytes()


@pytest.mark.parametrize(
    ("address", "code", "says"),
    [
        ("https://[::1/a.gguf", 2, "cannot be read"),
        ("https://exa mple.org/a.gguf", 2, "cannot be read"),
        ("https://example.org/\x1b[2J.gguf", 2, "cannot be read"),
        ("HTTP://example.org/a.gguf", 2, "without encryption"),
        ("file:///etc/passwd", 2, "not a file, address"),
        ("http://127.0.0.1:9/a.gguf", 3, "Is the address right"),
    ],
)
def test_an_odd_address_is_told_of_in_a_line_and_a_hint(
    amem: Program, address: str, code: int, says: str
) -> None:
    done = amem("model", "pull", address)
    assert (done.code, says in done.err) == (code, True), done.err
    assert len(done.err.strip().splitlines()) <= 2
    assert "\x1b" not in done.err


def test_a_file_of_another_digest_is_not_kept_and_stays_where_it_was(
    amem: Program, tiny: Path
) -> None:
    done = amem("model", "pull", str(tiny), "--sha256", "0" * 64)
    assert done.code == 3 and "expected digest" in done.err
    assert "deleted" not in done.err
    assert tiny.is_file()
    assert not list((Path(os.environ["AMEM_DATA_DIR"]) / "models").glob("tiny*"))


def test_a_data_folder_that_is_none_is_told_of(amem: Program, tiny: Path) -> None:
    (amem.folder / "file").write_text("x", encoding="utf-8")
    done = amem("model", "pull", str(tiny), AMEM_DATA_DIR=str(amem.folder / "file"))
    assert done.code == 3 and "AMEM_DATA_DIR" in done.err


@pytest.mark.skipif(sys.platform != "linux", reason="bounds the size of files as a full disk does")
def test_a_disk_that_is_full_in_the_middle_leaves_no_model_and_says_so(
    amem: Program, tiny: Path
) -> None:
    bounded = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        " resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000));"
        " from amem_cli.__main__ import main; sys.exit(main())"
    )
    with a_hub("owner/tiny-GGUF", {"tiny.gguf": tiny.read_bytes()}) as hub:
        sources = (str(tiny), f"{hub.url}/owner/tiny-GGUF/resolve/main/tiny.gguf")
        for source in sources:
            done = amem.beside(sys.executable, "-c", bounded, "model", "pull", source)
            assert done.code == 3, done.err
            assert len(done.err.strip().splitlines()) == 2
    assert not list((Path(os.environ["AMEM_DATA_DIR"]) / "models").glob("*.gguf"))


@pytest.mark.parametrize(
    "address", ["http://[::1", "not an address", "ftp://127.0.0.1", "http://u:p@127.0.0.1:1/v1"]
)
def test_an_address_that_no_server_can_have_is_refused_and_changes_nothing(
    vault: Program, address: str
) -> None:
    before = settings_of(vault)
    done = vault("model", "use", "some", "--base-url", address)
    assert done.code in (2, 3) and len(done.err.strip().splitlines()) == 2, done.err
    assert settings_of(vault) == before


def test_a_server_without_a_models_name_is_refused(vault: Program) -> None:
    before = settings_of(vault)
    assert vault("model", "use", "", "--base-url", "http://127.0.0.1:9/v1").code == 2
    assert settings_of(vault) == before


def test_a_model_that_is_gone_is_told_of_by_the_list(vault: Program, tiny: Path) -> None:
    own = vault.folder / "own.gguf"
    own.write_bytes(tiny.read_bytes())
    assert vault("model", "use", str(own)).code == 0
    del vault.environment["AMEM_LLM_BACKEND"]
    assert "is gone" not in vault("model", "list").out
    own.unlink()
    listed = vault("model", "list")
    assert listed.code == 0 and "is gone" in listed.out
    tested = vault("model", "test", "--seconds", "10")
    assert tested.code == 1 and "no verdict" in tested.out
    again = vault("model", "use", str(own))
    assert again.code == 2


def test_a_state_folder_that_cannot_be_written_is_told_of_after_a_test(vault: Program) -> None:
    def good(body: dict[str, object]) -> str:
        messages, asked = body["messages"], body["response_format"]
        assert isinstance(messages, list) and isinstance(asked, dict)
        return good_answer_to(messages[1]["content"], asked["json_schema"]["schema"])

    with ChatServer() as server:
        server.content = good
        del vault.environment["AMEM_LLM_BACKEND"]
        assert vault("model", "use", "test-model", "--base-url", server.url).code == 0
        state = Path(os.environ["AMEM_STATE_DIR"])
        (state / "model-verdicts.json").mkdir()
        tested = vault("model", "test")
    assert tested.code == 0, tested.err
    assert tested.out.startswith("fit: ")
    assert "was not stored" in tested.err


def test_a_fetched_model_is_meant_by_its_name_also_where_a_file_of_that_name_lies(
    vault: Program, tiny: Path
) -> None:
    assert vault("model", "pull", str(tiny), "--name", "good").code == 0
    (vault.folder / "good").write_bytes(tiny.read_bytes() + b"of somebody else")
    used = vault("model", "use", "good", "--json").json
    store = Path(os.environ["AMEM_DATA_DIR"]) / "models"
    assert used["llm.model"] == str(store / "good.gguf")
    # A lost record is no reason to run whatever lies there.
    digest = used["llm.sha256"]
    (store / "good.gguf.json").unlink()
    assert vault("model", "use", "good", "--json").json["llm.sha256"] == digest
    (store / "good.gguf").write_bytes(b"something else")
    refused = vault("model", "use", "good")
    assert refused.code == 3 and "GGUF" in refused.err
