"""Models and what a trial of them showed, as text and as documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Protocol

from amem_cli.models.sources import BUNDLED_BENCHMARK, NOT_MEASURED, RECOMMENDED

if TYPE_CHECKING:
    from amem_cli.memory.trial import ModelReport
    from amem_cli.memory.trust import Share

MODELS_SHOWN = 8


class _Shelved(Protocol):
    @property
    def role(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def origin(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def in_use(self) -> bool: ...
    @property
    def memory(self) -> int: ...
    @property
    def sha256(self) -> str: ...


class _Server(Protocol):
    @property
    def kind(self) -> str: ...
    @property
    def backend(self) -> str: ...
    @property
    def url(self) -> str: ...
    @property
    def models(self) -> tuple[str, ...]: ...


def models_document(
    language_model: dict[str, Any],
    encoder: str,
    shelf: Sequence[_Shelved],
    servers: Sequence[_Server],
) -> dict[str, Any]:
    """All that `model list` tells."""
    return {
        "language_model": language_model,
        "encoder": encoder,
        "available": [
            {
                "role": each.role,
                "name": each.name,
                "origin": each.origin,
                "bytes": each.size,
                "memory": each.memory or None,
                "sha256": each.sha256 or None,
                "in_use": each.in_use,
                "benchmark": _benchmark_of(each),
            }
            for each in shelf
        ],
        "servers": [
            {
                "kind": each.kind,
                "backend": each.backend,
                "base_url": each.url,
                "models": list(each.models),
                "in_use": language_model["base_url"] == each.url,
            }
            for each in servers
        ],
        "recommended": [
            {
                "name": each.name,
                "repository": each.repository,
                "file": each.file,
                "bytes": each.size,
                "memory": each.memory,
                "note": each.note,
                "benchmark": each.benchmark,
            }
            for each in RECOMMENDED
        ],
    }


def _benchmark_of(each: _Shelved) -> str | None:
    """What `benchmarks/memory.py` said of a language model."""
    if each.role != "language model":
        return None
    return BUNDLED_BENCHMARK if each.origin == "bundled" else NOT_MEASURED


def models_text(document: dict[str, Any]) -> str:
    """The same for a person."""
    model = document["language_model"]
    lines = [f"language model: {model['backend']} {model['model'] or _unnamed(model['backend'])}"]
    if model["base_url"]:
        lines.append(f"                at {model['base_url']}")
    if model["verdict"]:
        lines.append(f"                {model['verdict']}")
    if model["gone"]:
        lines.append("                the file is gone: amem model use FILE, or bundled")
    lines += [f"encoder:        {document['encoder']}", "", "at hand"]
    for each in document["available"]:
        mark = "*" if each["in_use"] else " "
        memory = f", takes about {_size(each['memory'])} of memory" if each["memory"] else ""
        benchmark = f"; {each['benchmark']}" if each["benchmark"] else ""
        facts = f"{each['origin']}, {_size(each['bytes'])}{memory}{benchmark}"
        lines.append(f"{mark} {each['role']:<15} {each['name']}  ({facts})")
    if document["servers"]:
        lines += ["", "servers on this machine"]
        for each in document["servers"]:
            shown = each["models"][:MODELS_SHOWN]
            more = len(each["models"]) - len(shown)
            names = ", ".join(shown) + (f" and {more} more" if more else "")
            mark = "*" if each["in_use"] else " "
            lines.append(f"{mark} {each['kind']:<15} {each['base_url']}  {names or '(no model)'}")
    lines += ["", "to fetch with amem model pull NAME"]
    for each in document["recommended"]:
        lines.append(
            f"  {each['name']:<15} about {_size(each['bytes'])}, {_size(each['memory'])} of memory;"
            f" {each['note']}; {each['benchmark']}"
        )
        lines.append(f"  {'':<15} {each['repository']}:{each['file']}")
    return "\n".join(lines)


def _unnamed(backend: str) -> str:
    return "(bundled)" if backend == "llama.cpp" else ""


def _size(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


def report_document(report: ModelReport) -> dict[str, Any]:
    """All that `model test` found."""
    document = asdict(report)
    verdict = document.pop("verdict")
    return {
        **document,
        "valid": report.verdict is not None and report.verdict.kind != "unfit",
        "problem": next((each.fault for each in report.results if each.fault), ""),
        "verdict": verdict and verdict["kind"],
        "asked_for": report.verdict and report.verdict.asked_for,
        "decided": verdict and verdict["decided"],
        "line": verdict["line"] if verdict else "",
        "advice": verdict["advice"] if verdict else "",
    }


def report_text(report: ModelReport) -> str:
    """The same for a person."""
    lines = [
        f"encoder         {report.encoder}  {report.dimension} dimensions,"
        f" first text after {report.encoder_seconds:.1f} s"
    ]
    figures, verdict = report.figures, report.verdict
    if figures is None or verdict is None:
        return "\n".join([*lines, "language model  none: amem's own analyzer does the work"])
    asked = f"{len(report.results)} of {report.cases} questions"
    lines.append(f"language model  {report.model}  {asked}")
    rows: tuple[tuple[str, Share], ...] = (
        ("answers of the asked form", figures.valid),
        ("contexts about the note", figures.about),
        ("contexts believed", figures.contexts),
        ("keywords about the text", figures.keywords),
        ("related notes linked", figures.found),
        ("look-alikes left alone", figures.refused),
        ("changes found", figures.changes_found),
        ("nothing changed where nothing was new", figures.kept),
    )
    lines += [f"  {name:<38} {share}" for name, share in rows if share.asked]
    if figures.found.asked:
        lines.append(f"  {'its yes to a link is right in':<38} {100 * figures.reliability:.0f} %")
    if figures.valid.hits:
        lines.append(
            f"  {figures.tokens_per_second:.0f} tokens/s, {figures.seconds_per_note:.1f} s and"
            f" {figures.tokens_per_note:.0f} tokens a note"
        )
    return "\n".join([*lines, verdict.line, verdict.advice])
