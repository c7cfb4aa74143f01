"""Models are fetched whole or not at all, whatever the server does."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from amem_cli.errors import AmemError, ModelError, NotFoundError, SettingsError, UsageError
from amem_cli.models import download
from amem_cli.models.download import DownloadRequest
from amem_cli.models.store import ModelStore, PulledModel
from tests.fakes.hub_server import Hub, a_hub
from tests.fakes.tiny_gguf import write_tiny_gguf

NAME = "tiny.gguf"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "ATTEMPTS", 3)
    monkeypatch.setattr(download, "PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(download, "LONGEST_PAUSE_SECONDS", 0.5)
    monkeypatch.setattr(download, "SILENCE_SECONDS", 0.5)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return write_tiny_gguf(tmp_path_factory.mktemp("model") / NAME).read_bytes()


@pytest.fixture
def hub(model: bytes) -> Iterator[Hub]:
    with a_hub("owner/tiny-GGUF", {NAME: model}) as running:
        yield running


@pytest.fixture
def store() -> ModelStore:
    return ModelStore(os.environ)


def folder() -> Path:
    return Path(os.environ["AMEM_DATA_DIR"]) / "models"


def progress(label: str, done: int, total: int) -> None:
    assert 0 < done <= total


def fetched(store: ModelStore, hub: Hub, *, size: int = 0, sha256: str = "") -> PulledModel:
    url = f"{hub.url}/owner/tiny-GGUF/resolve/main/{NAME}"
    wanted = DownloadRequest(url, {"authorization": "Bearer secret"}, size=size)
    return store.fetch(wanted, NAME, progress, source=url, sha256=sha256)


def failed(store: ModelStore, hub: Hub, **changes: object) -> AmemError:
    with pytest.raises(AmemError) as caught:
        fetched(store, hub, **changes)  # type: ignore[arg-type]
    assert store.models() == []
    return caught.value


def test_a_model_is_kept_with_its_digest_and_not_fetched_again(
    store: ModelStore, hub: Hub, model: bytes
) -> None:
    digest = hashlib.sha256(model).hexdigest()
    made = fetched(store, hub, sha256=digest)
    assert (made.name, made.size, made.sha256) == ("tiny", len(model), digest)
    assert made.path.read_bytes() == model
    assert fetched(store, hub, sha256=digest) == made
    assert hub.given == [NAME]
    assert {path.name for path in folder().iterdir()} == {NAME, f"{NAME}.json", f".{NAME}.lock"}


def test_a_cut_connection_is_gone_on_with_in_the_same_run(
    store: ModelStore, hub: Hub, model: bytes
) -> None:
    hub.faults = ["cut", "cut", ""]
    assert fetched(store, hub).path.read_bytes() == model
    assert [asked.get("range") for asked in hub.asked] == [None, "bytes=1000-", "bytes=2000-"]


def test_an_interrupted_fetch_is_gone_on_with_by_the_next_run(
    store: ModelStore, hub: Hub, model: bytes
) -> None:
    hub.faults = ["cut", "hang_up"]
    assert "goes on from there" in failed(store, hub).hint
    hub.faults = [""]
    assert fetched(store, hub).path.read_bytes() == model
    assert hub.asked[-1]["range"] == "bytes=1000-"


def test_a_model_that_changed_on_the_server_is_fetched_anew(
    store: ModelStore, hub: Hub, model: bytes, tmp_path: Path
) -> None:
    hub.faults = ["cut", "hang_up"]
    failed(store, hub)
    other = write_tiny_gguf(tmp_path / "other.gguf", seed=8).read_bytes()
    assert other != model
    hub.files[NAME] = other
    hub.faults = [""]
    assert fetched(store, hub).path.read_bytes() == other


@pytest.mark.parametrize("fault", ["wrong_part", "416"])
def test_a_part_of_something_else_is_thrown_away(
    store: ModelStore, hub: Hub, model: bytes, fault: str
) -> None:
    hub.faults = ["cut", fault, ""]
    assert fetched(store, hub).path.read_bytes() == model
    assert "range" not in hub.asked[-1]


def test_a_server_that_knows_no_parts_sends_it_all_again(
    store: ModelStore, hub: Hub, model: bytes
) -> None:
    hub.ranges = False
    hub.faults = ["cut", ""]
    assert fetched(store, hub).path.read_bytes() == model


def test_a_wrong_digest_leaves_nothing_behind(store: ModelStore, hub: Hub) -> None:
    error = failed(store, hub, sha256="0" * 64)
    assert "expected digest" in error.message
    assert [path.name for path in folder().iterdir()] == [f".{NAME}.lock"]


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("announces_more", "cut"),
        ("page", "no GGUF model"),
        ("packed", "no GGUF model"),
        ("hang_up", "cut"),
        ("silence", "does not answer"),
        ("500", "busy"),
        ("418", "status 418"),
        ("elsewhere", "without end"),
    ],
)
def test_a_server_that_misbehaves_is_told_of_in_one_line(
    store: ModelStore, hub: Hub, fault: str, says: str
) -> None:
    hub.faults = [fault]
    error = failed(store, hub)
    assert isinstance(error, ModelError)
    assert says in error.message
    assert "\n" not in error.message
    assert "secret" not in error.message + error.hint


def test_a_stream_without_end_stops_at_the_listed_size(
    store: ModelStore, hub: Hub, model: bytes
) -> None:
    hub.faults = ["endless"]
    assert "more than it announced" in failed(store, hub, size=len(model)).message
    assert (folder() / f"{NAME}.part").stat().st_size <= len(model)


@pytest.mark.parametrize(
    ("status", "kind"), [("404", NotFoundError), ("401", SettingsError), ("403", SettingsError)]
)
def test_what_is_not_given_is_told_at_once(
    store: ModelStore, hub: Hub, status: str, kind: type[AmemError]
) -> None:
    hub.faults = [status]
    assert isinstance(failed(store, hub), kind)
    assert len(hub.given) == 1


def test_a_server_that_asks_to_wait_is_waited_for(
    store: ModelStore, hub: Hub, model: bytes
) -> None:
    hub.faults = ["429", ""]
    assert fetched(store, hub).path.read_bytes() == model
    store.remove("tiny")
    hub.faults, hub.retry_after = ["429"], "3600"
    assert "busy" in failed(store, hub).message
    assert len(hub.given) == 3


def test_a_size_other_than_the_listed_one_is_refused(
    store: ModelStore, hub: Hub, model: bytes
) -> None:
    assert "bytes of a file that has" in failed(store, hub, size=len(model) + 1).message


@pytest.mark.parametrize("place", ["http://example.org/x.gguf", "ftp://example.org/x.gguf"])
def test_no_redirect_leads_to_an_unencrypted_place(store: ModelStore, hub: Hub, place: str) -> None:
    hub.faults, hub.redirect_to = ["elsewhere"], place
    assert "leads elsewhere" in failed(store, hub).message


def test_a_key_is_not_sent_where_a_redirect_leads(
    store: ModelStore, hub: Hub, model: bytes
) -> None:
    with a_hub("owner/tiny-GGUF", {NAME: model}) as other:
        address = other.url.replace("127.0.0.1", "localhost")
        hub.redirect_to = f"{address}/owner/tiny-GGUF/resolve/main/{NAME}"
        hub.faults = ["elsewhere"]
        assert fetched(store, hub).path.read_bytes() == model
        assert hub.asked[0]["authorization"] == "Bearer secret"
        assert "authorization" not in other.asked[0]


def test_an_unencrypted_address_is_not_asked(store: ModelStore) -> None:
    with pytest.raises(UsageError, match="without encryption"):
        wanted = DownloadRequest("http://example.org/x.gguf")
        store.fetch(wanted, NAME, progress, source="x", sha256="")


def test_two_at_once_do_not_disturb_each_other(
    store: ModelStore, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.faults = ["silence", ""]
    monkeypatch.setattr(download, "SILENCE_SECONDS", 5.0)
    monkeypatch.setattr(download, "ATTEMPTS", 1)
    errors: list[AmemError] = []
    first = threading.Thread(target=lambda: errors.append(failed(store, hub)))
    first.start()
    while not hub.given:
        pass
    with pytest.raises(SettingsError, match="another amem"):
        fetched(store, hub)
    hub.stopped.set()
    first.join()
    assert len(errors) == 1


def test_a_file_is_copied_and_one_of_another_kind_is_not(
    store: ModelStore, model: bytes, tmp_path: Path
) -> None:
    path = tmp_path / NAME
    path.write_bytes(model)
    assert store.copy(path, NAME, progress, sha256="").path.read_bytes() == model
    page = tmp_path / "page.gguf"
    page.write_bytes(b"<html>")
    with pytest.raises(ModelError, match="no GGUF model"):
        store.copy(page, "page.gguf", progress, sha256="")
    other = tmp_path / "other.gguf"
    write_tiny_gguf(other, seed=9)
    with pytest.raises(UsageError, match="here already"):
        store.copy(other, NAME, progress, sha256="")
    assert [one.name for one in store.models()] == ["tiny"]
    store.remove("tiny")
    assert store.models() == []
    with pytest.raises(NotFoundError):
        store.remove("tiny")
