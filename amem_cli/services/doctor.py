"""Makes all checks, mends what may be mended, and lets no check stop another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from amem_cli.core.errors import AmemError
from amem_cli.core.finding import Check, Finding
from amem_cli.core.index_port import Progress


def examine(checks: Sequence[Check], *, progress: Progress | None = None) -> list[Finding]:
    """Everything that the checks find, in their order; a check that fails is a finding itself."""
    findings: list[Finding] = []
    for done, check in enumerate(checks, 1):
        try:
            findings.extend(check.run())
        except Exception as error:
            findings.append(_not_made(check.name, error))
        if progress is not None:
            progress(done, len(checks))
    return findings


def mend(findings: Sequence[Finding]) -> list[Finding]:
    """Put right what can be, one after the other; the hint then says what was done, or why not."""
    return [finding if finding.mend is None else _mended(finding) for finding in findings]


def is_healthy(findings: Sequence[Finding]) -> bool:
    """True where nothing is left but notices and what was mended."""
    return all(finding.fixed or finding.severity == "notice" for finding in findings)


def _mended(finding: Finding) -> Finding:
    assert finding.mend is not None
    try:
        done = finding.mend()
    except AmemError as error:
        hint = f"Not mended: {error.message}. {error.hint}".strip()
        return replace(finding, hint=hint)
    except Exception as error:
        return replace(finding, hint=f"Not mended: {_told(error)}.")
    return replace(finding, hint=done, fixed=True)


def _not_made(name: str, error: Exception) -> Finding:
    if isinstance(error, AmemError):
        return Finding(name, "", f"the check could not be made: {error.message}", error.hint)
    hint = "Mend what the other findings tell first, then run `amem doctor` again."
    return Finding(name, "", f"the check could not be made: {_told(error)}", hint)


def _told(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return f"{type(error).__name__}: {error}"
