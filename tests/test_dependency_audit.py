"""The audit fails on what is not answered, and never calls clean what it could not look up."""

from __future__ import annotations

import json
from typing import Any

from tests.dependency_audit import ANSWERED, verdict

CLEAN = {"name": "rich", "version": "14.0", "vulns": []}
NOT_FOUND = {"name": "torch", "skip_reason": "Dependency not found on PyPI"}


def vulnerable(name: str, advisory: str, *aliases: str) -> dict[str, Any]:
    found = {"id": advisory, "aliases": list(aliases), "fix_versions": ["2.0"]}
    return {"name": name, "version": "1.0", "vulns": [found]}


def report(*packages: dict[str, Any]) -> str:
    return json.dumps({"dependencies": packages, "fixes": []})


def test_an_environment_without_known_vulnerabilities_passes() -> None:
    found = verdict(report(CLEAN, NOT_FOUND), "")

    assert found.passed
    assert found.lines == (
        "not looked up: torch",
        "1 packages looked up, 0 open vulnerabilities",
    )


def test_a_known_vulnerability_fails_and_names_the_fixed_version() -> None:
    found = verdict(report(CLEAN, vulnerable("httpx", "GHSA-1", "CVE-1")), "")

    assert not found.passed
    assert found.lines[0] == "vulnerable: httpx 1.0: GHSA-1, fixed in 2.0"


def test_an_answered_one_passes_under_any_of_its_names_with_its_reason() -> None:
    for package in (
        vulnerable("diskcache", "CVE-2025-69872"),
        vulnerable("diskcache", "GHSA-w8v5", "CVE-2025-69872"),
    ):
        found = verdict(report(package), "")
        assert found.passed
        assert ANSWERED["CVE-2025-69872"][1] in found.lines[0]


def test_an_answer_holds_for_its_own_package_only() -> None:
    assert not verdict(report(vulnerable("httpx", "CVE-2025-69872")), "").passed


def test_a_service_that_cannot_be_reached_skips_and_says_so() -> None:
    for found in (
        verdict("", "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='pypi.org')"),
        verdict(report(NOT_FOUND), ""),
        verdict(report(), ""),
    ):
        assert found.passed
        assert found.lines[0].startswith("skipped: no network")


def test_an_audit_that_fails_for_another_reason_fails() -> None:
    found = verdict("", "Traceback\nNo module named pip_audit")

    assert not found.passed
    assert found.lines[-1] == "No module named pip_audit"
