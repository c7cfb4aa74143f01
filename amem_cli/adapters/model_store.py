"""The language models that the user of this machine fetched, in the user's data folder."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from amem_cli import config
from amem_cli.adapters.file_download import SPARE_BYTES, Patience, Wanted, download
from amem_cli.adapters.gguf_file import MAGIC, NotGguf, read_header, sha256_of
from amem_cli.adapters.part_file import forget
from amem_cli.core.errors import ModelError, NotFoundError, SettingsError, UsageError
from amem_cli.core.model_source import GGUF_ENDING, kept_name

Progress = Callable[[str, int, int], None]

FOLDER = "models"
PART_ENDING = ".part"
COPY_BYTES = 2**20


@dataclass(frozen=True, slots=True)
class PulledModel:
    """A model in the store.

    Attributes:
        name: by which it is chosen: the file's name without its ending.
        sha256: hexadecimal; empty where its record is lost.
        source: where it came from.
    """

    name: str
    path: Path
    size: int
    sha256: str
    source: str


class ModelStore:
    """A folder of GGUF files, each with a small record beside it."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        """Name the folder; it is made with the first model."""
        self._folder = config.user_data_folder(environment) / FOLDER

    def models(self) -> list[PulledModel]:
        """All of them, by name."""
        try:
            paths = sorted(self._folder.glob(f"*{GGUF_ENDING}"))
        except OSError:
            return []
        return [_pulled(path) for path in paths if path.is_file()]

    def find(self, name: str) -> PulledModel | None:
        """The model of a name, with or without its ending."""
        wanted = name.lower().removesuffix(GGUF_ENDING)
        return next((one for one in self.models() if one.name.lower() == wanted), None)

    def holding(self, path: Path) -> PulledModel | None:
        """The model that a path leads to."""
        return next((one for one in self.models() if one.path.resolve() == path.resolve()), None)

    def fetch(
        self,
        wanted: Wanted,
        name: str,
        *,
        source: str,
        sha256: str = "",
        progress: Progress | None = None,
        patience: Patience | None = None,
    ) -> PulledModel:
        """Fetch a model over HTTP; one that is here already is not fetched again.

        Args:
            name: file name to keep it under.
            sha256: digest that it must have; empty: any.

        Raises:
            ModelError: it could not be had, or is no GGUF model; a wrong digest.
            NotFoundError, SettingsError: as `file_download.download`.
            UsageError: another model has this name.
        """
        with self._being_added(name) as part:
            here = self._same(name, source, sha256)
            if here is not None:
                return here
            told = _labelled(progress, "fetching")
            download(wanted, part, progress=told, patience=patience)
            return self._accept(part, name, source, sha256, progress)

    def copy(
        self, path: Path, name: str, *, sha256: str = "", progress: Progress | None = None
    ) -> PulledModel:
        """Copy a model's file into the store.

        Raises:
            ModelError: it is no GGUF model, or has another digest.
            SettingsError: it cannot be copied.
            UsageError: another model has this name.
        """
        source = str(path.resolve())
        with self._being_added(name) as part:
            here = self._same(name, source, sha256)
            if here is not None:
                return here
            _check_gguf(path, path.name)
            try:
                _copy(path, part, _labelled(progress, "copying"))
            except OSError as error:
                raise SettingsError(
                    f"{path.name} cannot be copied: {error.strerror}",
                    hint="Is there room, and may the file be read?",
                ) from None
            finally:
                # Nothing can be gone on with that is quickly copied again.
                if not _is_whole(part, path):
                    _remove(part)
            return self._accept(part, name, source, sha256, progress)

    def remove(self, name: str) -> PulledModel:
        """Delete a model and what is left of fetching it.

        Raises:
            NotFoundError: there is none of that name.
            SettingsError: it cannot be deleted.
        """
        model = self.find(name)
        if model is None:
            raise NotFoundError(
                f"no fetched model {name}", hint="amem model list shows what was fetched."
            )
        try:
            model.path.unlink()
        except OSError as error:
            raise SettingsError(f"{model.path} cannot be deleted: {error.strerror}") from None
        _remove(_record(model.path))
        forget(self._part(model.path.name))
        return model

    def _part(self, name: str) -> Path:
        return self._folder / (name + PART_ENDING)

    @contextlib.contextmanager
    def _being_added(self, name: str) -> Iterator[Path]:
        from filelock import FileLock, Timeout

        if name != kept_name(name):
            raise UsageError(f"{name!r} is no file name for a model")
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self._folder / f".{name}.lock", timeout=0)
            with lock:
                yield self._part(name)
        except Timeout:
            raise SettingsError(
                f"another amem is fetching {name}", hint="Wait for it to finish."
            ) from None
        except OSError as error:
            raise SettingsError(
                f"{self._folder} cannot be written: {error.strerror}",
                hint="Is the disk full? AMEM_DATA_DIR names another folder.",
            ) from None

    def _same(self, name: str, source: str, sha256: str) -> PulledModel | None:
        here = self.find(name)
        if here is None:
            return None
        if (here.sha256 == sha256) if sha256 else (here.source == source):
            return here
        raise UsageError(
            f"a model named {here.name} is here already, from {here.source or 'elsewhere'}",
            hint="Give this one another name (--name), or delete that one: amem model rm.",
        )

    def _accept(
        self, part: Path, name: str, source: str, sha256: str, progress: Progress | None
    ) -> PulledModel:
        """Check what has come, and give it its name."""
        try:
            _check_gguf(part, name)
            found = sha256_of(part, _labelled(progress, "checking"))
            if sha256 and found != sha256:
                raise ModelError(
                    f"{name} is not the model with the expected digest: it has {found}",
                    hint="It was not kept. Was the digest copied whole, and for this very file?",
                )
        except ModelError:
            forget(part)
            raise
        path = self._folder / name
        record = {"source": source, "sha256": found, "size": part.stat().st_size}
        # The record first: a model never stands there without the digest that it is checked by.
        new = _record(path).with_suffix(".new")
        new.write_text(json.dumps(record, indent=1), encoding="utf-8")
        new.replace(_record(path))
        part.replace(path)
        forget(part)
        return _pulled(path)


def _pulled(path: Path) -> PulledModel:
    try:
        record = json.loads(_record(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        record = {}
    record = record if isinstance(record, dict) else {}
    return PulledModel(
        path.stem,
        path,
        path.stat().st_size,
        str(record.get("sha256", "")),
        str(record.get("source", "")),
    )


def _record(path: Path) -> Path:
    return path.with_name(path.name + ".json")


def _check_gguf(path: Path, name: str) -> None:
    try:
        read_header(path)
    except NotGguf as error:
        raise ModelError(
            f"{name} is no GGUF model: {error}", hint="Is the source whole, and the right one?"
        ) from None
    except OSError as error:
        raise ModelError(f"{name} cannot be read: {error.strerror}") from None


def _copy(path: Path, part: Path, progress: Callable[[int, int], None] | None) -> None:
    size, done = path.stat().st_size, 0
    free = shutil.disk_usage(part.parent).free
    if size + SPARE_BYTES > free:
        raise SettingsError(
            f"the model needs {size / 1e9:.1f} GB of disk, and {free / 1e9:.1f} GB are free",
            hint="Use it where it lies: amem model use FILE",
        )
    with path.open("rb") as source, part.open("wb") as target:
        # Checked again here, for the header that was looked at may be of another file by now.
        if source.read(len(MAGIC)) != MAGIC:
            raise ModelError(f"{path.name} is no GGUF model")
        source.seek(0)
        while block := source.read(COPY_BYTES):
            target.write(block)
            done += len(block)
            if progress is not None:
                progress(done, size)
        target.flush()
        os.fsync(target.fileno())


def _is_whole(part: Path, path: Path) -> bool:
    try:
        return part.stat().st_size == path.stat().st_size
    except OSError:
        return False


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()


def _labelled(progress: Progress | None, label: str) -> Callable[[int, int], None] | None:
    if progress is None:
        return None
    return lambda done, total: progress(label, done, total)
