"""Models, and the report of a model test, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amem_cli.language.safe_text import on_one_line
from amem_cli.terminal.output import plural, size
from amem_cli.terminal.progress import span
from amem_cli.terminal.setup import choice_facts

if TYPE_CHECKING:
    from amem_cli.memory.trial import ModelReport
    from amem_cli.memory.trust import Figures, Share
    from amem_cli.terminal.output import Console
    from amem_cli.workspace.setup import Choice


def show_models(console: Console, document: Mapping[str, Any], choices: Sequence[Choice]) -> None:
    """The models of a vault, those on this machine, and some to download."""
    for label, text in _own_models(document):
        console.print((f"{label:<16}", "cyan"), text)
    console.print("\nlanguage models on this machine; amem setup recommends one")
    for each in choices:
        mark = "*" if each.in_use else " "
        # Its folder is named above.
        is_own_file = each.in_use and each.backend == "llama.cpp"
        name = on_one_line(Path(each.name).name if is_own_file else each.name)
        console.print(f"{mark} {name}  ({choice_facts(each)})")
    if not document["gguf"]["usable"]:
        console.print(f"\n! {document['gguf']['problem']}\n  {document['gguf']['hint']}")
    console.print("\nto download with amem model pull NAME")
    for each in document["recommended"]:
        sizes = f"{size(each['bytes'], 1)}, {size(each['memory'], 1)} of memory"
        console.print((f"  {each['name']:<16}", "cyan"), f"about {sizes}; {each['note']}")
        console.print(" " * 18, f"{each['repository']} {each['file']}")


def _own_models(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    model, judge = document["language_model"], document["judge"]
    is_file = model["backend"] == "llama.cpp"
    file = Path(model["model"] or "(bundled)")
    name = file.name if is_file else model["model"] or ""
    yield "language model", f"{model['backend']} {name}".rstrip()
    if is_file and model["model"]:
        # A narrow terminal would cut the whole path somewhere in the middle.
        yield "", f"in {file.parent}"
    if model["base_url"]:
        yield "", f"at {model['base_url']}"
    if model["verdict"]:
        yield "", model["verdict"]
    if model["gone"]:
        what = "program" if model["backend"] == "command" else "file"
        yield "", f"the {what} is gone: amem model use FILE, or bundled"
    off = "" if judge["on"] else " (off)"
    yield "judge of links", f"{judge['problem'] or judge['name']}{off}"
    yield "encoder", document["encoder"]


def report_document(report: ModelReport) -> dict[str, Any]:
    """The report of `model test`; `verdict` is null if there is none, `reason` says why."""
    document = asdict(report)
    verdict, figures = report.verdict, report.figures
    reason, advice = (*report.undecided, "", "")[:2]
    if figures is not None:
        document["figures"] |= {
            "tokens_per_note": figures.tokens_per_note,
            "grades": figures.grades,
        }
    del document["undecided"]
    seconds = _seconds_for_all(report)
    return {
        **document,
        "valid": verdict is not None and verdict.kind != "unfit",
        "problem": next((each.fault for each in report.results if each.fault), ""),
        "verdict": verdict and verdict.kind,
        "asked_for": verdict and verdict.asked_for,
        "line": verdict.line if verdict else "",
        "advice": verdict.advice if verdict else advice,
        "reason": reason,
        "seconds_for_all": seconds and round(seconds),
    }


# What a model did, as a person asks for it, and the name of its share.
_ROWS = (
    ("contexts", "contexts"),
    ("keywords", "keywords"),
    ("links", "found"),
    ("leaves look-alikes alone", "refused"),
    ("notices changes", "changes_found"),
    ("leaves others alone", "kept"),
    ("follows the form", "valid"),
)
_GRADE_STYLES = {"good": "green", "fair": "yellow", "poor": "red"}
_VERDICT_STYLES = {"fit": "bold green", "usable": "bold yellow", "unfit": "bold red"}


def show_report(console: Console, report: ModelReport) -> None:
    """The verdict in words, how the model did, and what it takes for a note and for all."""
    verdict = report.verdict
    if not report.model:
        console.print("language model  none: amem works without one")
    elif verdict is not None:
        console.print((verdict.line, _VERDICT_STYLES[verdict.kind]))
        console.print(verdict.advice)
    else:
        reason, advice = report.undecided
        console.print((f"no verdict: {reason}", "bold yellow"))
        console.print(advice)
    if report.figures is not None:
        console.print()
        _show_figures(console, report, report.figures)
    encoder = f"{report.encoder}, {report.dimension} dimensions"
    seconds = f"first text after {report.encoder_seconds:.1f} s"
    console.print(("encoder         ", "cyan"), f"{encoder}, {seconds}")


def _show_figures(console: Console, report: ModelReport, figures: Figures) -> None:
    asked = f"{report.model}, {len(report.results)} of {report.cases} notes asked"
    console.print(("language model  ", "cyan"), asked)
    width = max(len(label) for label, _ in _ROWS)
    for label, name in _ROWS:
        grade = figures.grades.get(name)
        # What was never asked has no share: 0 of 0 would read as a failure.
        if grade is not None and figures.valid.hits:
            share: Share = getattr(figures, name)
            console.print(f"  {label:<{width}}  {share!s:<10}", (grade, _GRADE_STYLES[grade]))
    if not figures.valid.hits:
        return
    tokens = f"{figures.tokens_per_note:,.0f} tokens"
    console.print(f"  {'a note takes':<{width}}  {figures.seconds_per_note:.1f} s, {tokens}")
    seconds = _seconds_for_all(report)
    if seconds is not None:
        console.print(f"  {plural(report.notes, 'note')} would take about {span(seconds)}")


def _seconds_for_all(report: ModelReport) -> float | None:
    """About how long the model takes for all notes of the vault; None if it would not be asked."""
    verdict, figures = report.verdict, report.figures
    if figures is None or verdict is None or verdict.kind == "unfit" or not report.notes:
        return None
    return report.notes * figures.seconds_per_note
