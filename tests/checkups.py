"""A vault looked over and mended as `amem doctor` does, without a language model."""

from __future__ import annotations

import os
from pathlib import Path

from amem_cli.doctor.checkup import check_up
from amem_cli.doctor.finding import Finding
from amem_cli.index.draft import NoteDraft, new_event
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.sync import refresh
from amem_cli.journal.events import LinkRecord


def look(root: Path, check: str = "", **variables: str) -> list[Finding]:
    """What is found, or what one check finds."""
    return _found(root, check, variables, mending=False)


def fix(root: Path, check: str = "", **variables: str) -> list[Finding]:
    """What is found, after everything that may be was mended."""
    return _found(root, check, variables, mending=True)


def _found(root: Path, check: str, variables: dict[str, str], *, mending: bool) -> list[Finding]:
    environment = {**os.environ, "AMEM_LLM_BACKEND": "none", **variables}
    return [each for each in check_up(root, environment, fix=mending) if check in ("", each.check)]


def places(findings: list[Finding]) -> list[tuple[str, int]]:
    """Path and line of each."""
    return [(each.path, each.line) for each in findings]


def whole_tree(root: Path) -> dict[str, tuple[int, bytes]]:
    """Mode and content of everything below a folder, the program's own files too."""
    return {
        str(path.relative_to(root)): (
            path.lstat().st_mode,
            path.read_bytes() if path.is_file() else b"",
        )
        for path in sorted(root.rglob("*"))
    }


def machine_writes(ports: VaultPorts, path: str, target: str = "", **fields: list[str]) -> None:
    """The machine changes a note, and says whom its links mean."""
    draft = NoteDraft(ports, ports.vault.read(path))
    texts = fields.get("links", [])
    records = tuple(
        LinkRecord(target, f"notes/{text[2:-2]}.md", text, "related", 0.5, "alike")
        for text in texts
    )
    draft.change(fields, new_event(ports, "evolve", links=records))
    ports.changes.apply(draft.write(), draft.events)
    refresh(ports, [path])
