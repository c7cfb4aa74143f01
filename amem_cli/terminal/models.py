"""Models, and the report of a model test, as text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from amem_cli.models.sources import BUNDLED_BENCHMARK, NOT_MEASURED, recommended_models
from amem_cli.terminal.output import size

if TYPE_CHECKING:
    from amem_cli.memory.trial import ModelReport
    from amem_cli.memory.trust import Share
    from amem_cli.models.openai_server import LocalServer
    from amem_cli.models.store import AvailableModel

MODELS_SHOWN = 8


def models_document(
    language_model: dict[str, Any],
    encoder: str,
    shelf: Sequence[AvailableModel],
    servers: Sequence[LocalServer],
) -> dict[str, Any]:
    """What `model list` prints."""
    return {
        "language_model": language_model,
        "encoder": encoder,
        "available": [
            {
                **_part(each, "role", "name", "origin", "in_use"),
                "bytes": each.size,
                "memory": each.memory or None,
                "sha256": each.sha256 or None,
                "benchmark": _benchmark_of(each),
            }
            for each in shelf
        ],
        "servers": [
            {
                **_part(each, "kind", "backend"),
                "base_url": each.url,
                "models": list(each.models),
                "in_use": language_model["base_url"] == each.url,
            }
            for each in servers
        ],
        "recommended": [
            {
                **_part(each, "name", "repository", "file", "memory", "note"),
                "bytes": each.size,
                "benchmark": NOT_MEASURED,
            }
            for each in recommended_models()
        ],
    }


def _part(whole: object, *names: str) -> dict[str, Any]:
    return {name: getattr(whole, name) for name in names}


def _benchmark_of(model: AvailableModel) -> str | None:
    if model.role != "language model":
        return None
    return BUNDLED_BENCHMARK if model.origin == "bundled" else NOT_MEASURED


def models_text(document: dict[str, Any]) -> str:
    """The same for a person."""
    model = document["language_model"]
    bundled = "(bundled)" if model["backend"] == "llama.cpp" else ""
    lines = [f"language model: {model['backend']} {model['model'] or bundled}"]
    if model["base_url"]:
        lines.append(f"                at {model['base_url']}")
    if model["verdict"]:
        lines.append(f"                {model['verdict']}")
    if model["local"] is not None:
        where = "sends nothing away, as you say" if model["local"] else "gets no private notes"
        lines.append(f"                {where}")
    if model["gone"]:
        what = "file" if model["local"] is None else "program"
        lines.append(f"                the {what} is gone: amem model use FILE, or bundled")
    lines += [f"encoder:        {document['encoder']}", "", "on this machine"]
    for each in document["available"]:
        mark = "*" if each["in_use"] else " "
        memory = f", needs about {size(each['memory'], 1)} of memory" if each["memory"] else ""
        benchmark = f"; {each['benchmark']}" if each["benchmark"] else ""
        facts = f"{each['origin']}, {size(each['bytes'], 1)}{memory}{benchmark}"
        lines.append(f"{mark} {each['role']:<15} {each['name']}  ({facts})")
    if document["servers"]:
        lines += ["", "servers on this machine"]
        for each in document["servers"]:
            shown = each["models"][:MODELS_SHOWN]
            more = len(each["models"]) - len(shown)
            names = ", ".join(shown) + (f" and {more} more" if more else "")
            mark = "*" if each["in_use"] else " "
            lines.append(f"{mark} {each['kind']:<15} {each['base_url']}  {names or '(no model)'}")
    lines += ["", "to download with amem model pull NAME"]
    for each in document["recommended"]:
        sizes = f"{size(each['bytes'], 1)}, {size(each['memory'], 1)} of memory"
        lines.append(f"  {each['name']:<15} about {sizes}; {each['note']}; {each['benchmark']}")
        lines.append(f"  {'':<15} {each['repository']}:{each['file']}")
    return "\n".join(lines)


def report_document(report: ModelReport) -> dict[str, Any]:
    """The report of `model test`."""
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
        return "\n".join([*lines, "language model  none: amem works without one"])
    asked = f"{len(report.results)} of {report.cases} questions"
    lines.append(f"language model  {report.model}  {asked}")
    rows: tuple[tuple[str, Share], ...] = (
        ("answers in the right form", figures.valid),
        ("contexts about the note", figures.about),
        ("contexts accepted", figures.contexts),
        ("keywords about the text", figures.keywords),
        ("related notes linked", figures.found),
        ("look-alikes left alone", figures.refused),
        ("changes found", figures.changes_found),
        ("nothing changed when nothing was new", figures.kept),
    )
    # What was never asked has no share: 0 of 0 would read as a failure.
    lines += [f"  {name:<38} {share}" for name, share in rows if share.asked]
    if figures.found.asked:
        lines.append(f"  {'its links are right in':<38} {100 * figures.reliability:.0f} %")
    if figures.valid.hits:
        lines.append(
            f"  {figures.tokens_per_second:.0f} tokens/s, {figures.seconds_per_note:.1f} s and"
            f" {figures.tokens_per_note:.0f} tokens a note"
        )
    return "\n".join([*lines, verdict.line, verdict.advice])
