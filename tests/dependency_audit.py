"""`make audit`: fail where an installed package has a known vulnerability that is not answered.

pip-audit asks the advisory service of PyPI. It calls an environment clean also where not one
package could be looked up, so its report is read here and not its exit status.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# By advisory: the package, and why the program is not open to it.
ANSWERED: Mapping[str, tuple[str, str]] = {
    "CVE-2025-69872": (
        "diskcache",
        "unpickles its cache folder, and there is no fixed version. llama-cpp-python depends on it"
        " for LlamaDiskCache, which the program never uses; it never imports diskcache either"
        " (banned in pyproject.toml).",
    ),
}

_SECONDS = 300
_UNREACHABLE = re.compile(
    r"ConnectionError|NameResolutionError|MaxRetryError|NewConnectionError|ProxyError"
    r"|(?:Connect|Read)Timeout|Temporary failure in name resolution"
)


@dataclass(frozen=True)
class Verdict:
    """What an audit comes to.

    Attributes:
        passed: False where there is something to do.
        lines: what to tell.
    """

    passed: bool
    lines: tuple[str, ...]


def verdict(
    report: str, errors: str, answered: Mapping[str, tuple[str, str]] = ANSWERED
) -> Verdict:
    """Judge what pip-audit wrote.

    Args:
        report: its JSON from standard output; empty where it came to none.
        errors: its standard error.
    """
    try:
        packages: list[dict[str, Any]] = json.loads(report)["dependencies"]
    except (ValueError, KeyError, TypeError):
        if _UNREACHABLE.search(errors):
            return Verdict(True, ("skipped: no network, the advisory service was not reached",))
        return Verdict(False, ("pip-audit failed:", *errors.strip().splitlines()[-5:]))
    looked_up = [package for package in packages if "vulns" in package]
    if not looked_up:
        return Verdict(True, ("skipped: no network, the advisory service knew no package",))
    open_ones, told = [], []
    for package in looked_up:
        for found in package["vulns"]:
            name = f"{package['name']} {package['version']}: {found['id']}"
            answer = _answer(package["name"], found, answered)
            if answer:
                told.append(f"answered: {name}: {answer}")
            else:
                fixed = ", ".join(found.get("fix_versions") or ()) or "no version"
                open_ones.append(f"vulnerable: {name}, fixed in {fixed}")
    left_out = sorted(package["name"] for package in packages if "vulns" not in package)
    told += [f"not looked up: {', '.join(left_out)}"] if left_out else []
    told.append(f"{len(looked_up)} packages looked up, {len(open_ones)} open vulnerabilities")
    return Verdict(not open_ones, (*open_ones, *told))


def _answer(
    package: str, found: Mapping[str, Any], answered: Mapping[str, tuple[str, str]]
) -> str | None:
    for advisory in (found["id"], *(found.get("aliases") or ())):
        name, reason = answered.get(advisory, ("", ""))
        if name == package.lower():
            return reason
    return None


def main() -> int:
    """Audit the packages that this interpreter sees."""
    command = [sys.executable, "-m", "pip_audit", "--format", "json", "--progress-spinner", "off"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
        found = verdict(done.stdout, done.stderr)
    except subprocess.TimeoutExpired:
        found = Verdict(True, ("skipped: no network, the advisory service did not answer",))
    print("\n".join(found.lines))
    return 0 if found.passed else 1


if __name__ == "__main__":
    sys.exit(main())
