"""Failures as exceptions with advice, bad content as values with a place."""

from __future__ import annotations

from dataclasses import dataclass

EXIT_NOT_FOUND = 1
EXIT_USAGE = 2
EXIT_FIXABLE = 3
EXIT_BUG = 70
EXIT_INTERRUPTED = 130


def extra_hint(extra: str) -> str:
    """The command that installs one of the optional parts, as a hint."""
    return f'pip install "amem-cli[{extra}]"'


class AmemError(Exception):
    """A failure that the user can understand: one line of what and why, then a hint.

    Attributes:
        message: what failed and why, one line.
        hint: what the user can do about it, one line, or empty.
        exit_code: the process's exit status.
    """

    exit_code = EXIT_FIXABLE

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class NotFoundError(AmemError):
    """The note, event or model that was named does not exist, or the name is ambiguous."""

    exit_code = EXIT_NOT_FOUND


class UsageError(AmemError):
    """The command was called with arguments that do not make sense."""

    exit_code = EXIT_USAGE


class SettingsError(AmemError):
    """A setting, model, permission or disk that the user can put right."""


class NoVault(SettingsError):
    """No vault was named, and there is none around this folder."""


class HeaderRefused(AmemError):
    """A note's front matter cannot be edited without risk, so nothing was written.

    Attributes:
        line: 1-based line of the note where the trouble is.
    """

    def __init__(self, message: str, *, line: int, hint: str) -> None:
        super().__init__(message, hint=hint)
        self.line = line


class WriteConflict(AmemError):
    """A note changed between reading and writing; nothing was written."""


class NoteInUse(WriteConflict):
    """Another program has the note open to write in it; its text is the one that was read."""


class UnsafePath(AmemError):
    """A path leads out of the vault, through a link, or into a dot folder."""


class EncoderError(AmemError):
    """The encoder cannot be loaded or run."""


class ModelError(AmemError):
    """The language model did not answer: missing, crashed, timed out or refused."""


class ModelClosed(ModelError):
    """The model was closed in the middle of an answer; nothing is wrong with it."""


class BudgetSpent(ModelError):
    """The day's tokens are spent, so that the model was not asked; nothing is wrong with it."""


class IndexFault(AmemError):
    """The index cannot be opened or is not of this vault."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong in one note, reported and never fatal.

    Attributes:
        path: vault-relative path of the note.
        line: 1-based line, 0 if it concerns the whole file.
        message: what is wrong.
        hint: what to do about it.
    """

    path: str
    line: int
    message: str
    hint: str = ""


def reason_of(error: Exception) -> str:
    """Why something failed, in one line."""
    return error.message if isinstance(error, AmemError) else f"{type(error).__name__}: {error}"
