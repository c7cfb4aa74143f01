"""The models at hand: those that the user pulled, for all vaults, and those that lie elsewhere."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from amem_cli.errors import ModelError, NotFoundError, SettingsError, UsageError
from amem_cli.models.download import DownloadRequest, check_room, download, forget
from amem_cli.models.gguf import is_gguf, sha256_of
from amem_cli.models.sources import GGUF_ENDING, kept_name
from amem_cli.settings import read_state, user_data_folder
from amem_cli.system.files import move_over

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class PulledModel:
    """A model in the store: the name has no ending; digest and source are as recorded."""

    name: str
    path: Path
    size: int
    sha256: str
    source: str


class ModelStore:
    """A folder of GGUF files, each with a JSON record beside it; made with the first model.

    `fetch` and `copy` return a model that is in the store already as it is. They raise:
        ModelError: the file cannot be had, is no GGUF model, or has another digest.
        NotFoundError, SettingsError: see `download`; the folder cannot be written.
        UsageError: another model has this name.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._folder = user_data_folder(environment) / "models"

    def models(self) -> list[PulledModel]:
        try:
            paths = sorted(self._folder.glob(f"*{GGUF_ENDING}"))
        except OSError:
            return []
        return [_pulled(path) for path in paths if path.is_file()]

    def find(self, name: str) -> PulledModel | None:
        """The model of a name, with or without its ending."""
        stem = name.lower().removesuffix(GGUF_ENDING)
        return next((model for model in self.models() if model.name.lower() == stem), None)

    def fetch(
        self, request: DownloadRequest, name: str, progress: Progress, *, source: str, sha256: str
    ) -> PulledModel:
        """Fetch a model over HTTP into the store, under a file name; empty `sha256`: any digest."""

        def bring(part: Path) -> None:
            download(request, part, partial(progress, "fetching"))

        return self._add(name, source, sha256, bring, progress)

    def copy(self, path: Path, name: str, progress: Progress, *, sha256: str) -> PulledModel:
        """Copy a model's file into the store, under a file name; empty `sha256`: any digest."""

        def bring(part: Path) -> None:
            _check_gguf(path, path.name)
            check_room(part.parent, path.stat().st_size)
            try:
                shutil.copyfile(path, part)
            except OSError:
                # A copy is begun anew, not resumed.
                forget(part)
                raise

        return self._add(name, str(path.resolve()), sha256, bring, progress)

    def remove(self, name: str) -> PulledModel:
        """Delete a model and what is left of fetching it, or raise `NotFoundError`."""
        model = self.find(name)
        if model is None:
            raise NotFoundError(
                f"no fetched model {name}", hint="amem model list shows what was fetched."
            )
        try:
            model.path.unlink()
            _record(model.path).unlink(missing_ok=True)
        except OSError as error:
            raise SettingsError(f"{model.path} cannot be deleted: {error.strerror}") from None
        forget(self._part(model.path.name))
        return model

    def _part(self, name: str) -> Path:
        return self._folder / f"{name}.part"

    @contextlib.contextmanager
    def _locked(self, name: str) -> Iterator[None]:
        from filelock import FileLock, Timeout

        if name != kept_name(name):
            raise UsageError(f"{name!r} is no file name for a model")
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with FileLock(self._folder / f".{name}.lock", timeout=0):
                yield
        except Timeout:
            raise SettingsError(
                f"another amem is fetching {name}", hint="Wait for it to finish."
            ) from None
        except OSError as error:
            raise SettingsError(
                f"{self._folder} cannot be written: {error.strerror}",
                hint="Is the disk full? AMEM_DATA_DIR names another folder.",
            ) from None

    def _add(
        self,
        name: str,
        source: str,
        sha256: str,
        bring: Callable[[Path], None],
        progress: Progress,
    ) -> PulledModel:
        with self._locked(name):
            here = self.find(name)
            if here is not None:
                if (here.sha256 == sha256) if sha256 else (here.source == source):
                    return here
                raise UsageError(
                    f"a model named {here.name} is here already, from {here.source or 'elsewhere'}",
                    hint="Give this one another name (--name), or delete that one: amem model rm.",
                )
            path, part = self._folder / name, self._part(name)
            bring(part)
            try:
                _check_gguf(part, name)
                digest = sha256_of(part, partial(progress, "checking"))
                if sha256 and digest != sha256:
                    raise ModelError(
                        f"{name} is not the model with the expected digest: it has {digest}",
                        hint="It was not kept. Was the digest copied whole, and for this file?",
                    )
            except ModelError:
                forget(part)
                raise
            record = {"source": source, "sha256": digest, "size": part.stat().st_size}
            # The record first: a model is never there without the digest to check it by.
            new = _record(path).with_suffix(".new")
            new.write_text(json.dumps(record, indent=1), encoding="utf-8")
            new.replace(_record(path))
            move_over(part, path)
            forget(part)
            return _pulled(path)


def _pulled(path: Path) -> PulledModel:
    record = read_state(_record(path))
    facts = record if isinstance(record, dict) else {}
    sha256, source = (str(facts.get(key, "")) for key in ("sha256", "source"))
    return PulledModel(path.stem, path, path.stat().st_size, sha256, source)


def _record(path: Path) -> Path:
    return path.with_name(path.name + ".json")


def _check_gguf(path: Path, name: str) -> None:
    try:
        if is_gguf(path):
            return
    except OSError as error:
        raise ModelError(f"{name} cannot be read: {error.strerror}") from None
    raise ModelError(f"{name} is no GGUF model", hint="Is it the right source?")
