"""The figures of a run: scores by category, refusals, paired differences, and costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from locomo_data import CATEGORIES, Conversation, Question
from locomo_models import NOT_MENTIONED
from locomo_results import Reply, Results
from locomo_rows import Row
from locomo_scores import METRICS, TITLES, similarities, text_scores

from amem_cli.models.ports import Encoder

SAMPLES = 2000
BASE = "amem"
# amem was developed on these; figures of others are of conversations that it has never seen.
DEVELOPED_ON = (
    *("conv-26", "conv-41", "conv-43", "conv-47", "conv-49"),
    *("engineer", "cafe", "photographer"),
)

Figure = list[float]


class Figures:
    """Every figure of a run, from its replies.

    Args:
        paper_adversarial: score adversarial answers as A-MEM's harness does as well.
    """

    def __init__(
        self,
        questions: Sequence[Question],
        rows: Sequence[Row],
        replies: Mapping[tuple[str, str], Reply],
        encoder: Encoder,
        *,
        seed: int,
        paper_adversarial: bool,
    ) -> None:
        self.questions = questions
        self.rows = rows
        self.replies = replies
        self.seed = seed
        self.paper_adversarial = paper_adversarial
        self._scores = self._scored(encoder)

    def _scored(self, encoder: Encoder) -> dict[tuple[str, str], dict[str, float]]:
        keys, pairs = [], []
        scores: dict[tuple[str, str], dict[str, float]] = {}
        for question in self.questions:
            for row in self.rows:
                reply = self.replies[row.name, question.id]
                said = reply.said if reply.held else ""
                wanted = question.answer
                if not question.is_answerable:
                    said, wanted = reply.said or NOT_MENTIONED, question.trap
                keys.append((row.name, question.id))
                pairs.append((said, wanted))
                scores[keys[-1]] = text_scores(said, wanted, question.category)
                scores[keys[-1]] |= {"held": float(reply.held), "refused": float(reply.refused)}
        for key, cosine in zip(keys, similarities(pairs, encoder), strict=True):
            scores[key]["sbert"] = cosine
        return scores

    def values(self, row: Row, questions: Sequence[Question], metric: str) -> list[float]:
        """One figure a question, 0 to 1."""
        return [self._scores[row.name, question.id][metric] for question in questions]

    def slices(self) -> dict[str, list[Question]]:
        """Answerable questions: all, those of either split, and by category."""
        known = [each for each in self.questions if each.is_answerable]
        found = {"answerable": known}
        dev = [each for each in known if each.conversation in DEVELOPED_ON]
        if dev and len(dev) < len(known):
            found["answerable, development conversations"] = dev
            found["answerable, test conversations"] = [each for each in known if each not in dev]
        for category in dict.fromkeys(each.category for each in known):
            name = f"category {category}"
            name += f" ({CATEGORIES[category]})" if category in CATEGORIES else ""
            found[name] = [each for each in known if each.category == category]
        return {name: part for name, part in found.items() if part}

    def document(self) -> dict[str, Any]:
        """All figures, in percent, each with the bounds of its 95% interval."""
        refused = [each for each in self.questions if not each.is_answerable]
        return {
            "scores": {
                name: {
                    "questions": len(part),
                    "rows": {r.name: self._of(r, part) for r in self.rows},
                }
                for name, part in self.slices().items()
            },
            "unanswerable": {
                "questions": len(refused),
                "rows": {row.name: self._refusals(row, refused) for row in self.rows},
            }
            if refused
            else {},
            "differences": self._differences(),
            "cost": {row.name: self._cost(row) for row in self.rows},
        }

    def _of(self, row: Row, part: Sequence[Question]) -> dict[str, Figure]:
        names = ("held", *METRICS)
        return {name: self.interval(self.values(row, part, name)) for name in names}

    def _refusals(self, row: Row, part: Sequence[Question]) -> dict[str, Figure]:
        found = {"refused": self.interval(self.values(row, part, "refused"))}
        trapped = [each for each in part if each.trap]
        if self.paper_adversarial and trapped:
            for name in ("f1", "bleu1"):
                inverted = self.values(row, trapped, name)
                found[f"paper_inverted_{name}"] = self.interval(inverted)
        return found

    def _differences(self) -> dict[str, dict[str, Figure]]:
        """Of each row less `amem`, F1 and the share answered, over the same questions."""
        base = next((row for row in self.rows if row.name == BASE), None)
        known = [each for each in self.questions if each.is_answerable]
        found: dict[str, dict[str, Figure]] = {}
        for row in self.rows if base is not None and known else ():
            assert base is not None
            if row is base:
                continue
            found[row.name] = {}
            for metric in ("f1", "sbert", "held"):
                own, other = self.values(row, known, metric), self.values(base, known, metric)
                less = [one - two for one, two in zip(own, other, strict=True)]
                found[row.name][metric] = self.interval(less)
        return found

    def _cost(self, row: Row) -> dict[str, float]:
        """Means of a question."""
        own = [self.replies[row.name, question.id] for question in self.questions]
        count = max(1, len(own))
        found = {
            "calls": sum(each.calls for each in own) / count,
            "prompt_tokens": sum(each.prompt_tokens for each in own) / count,
            "answer_tokens": sum(each.answer_tokens for each in own) / count,
            "model_seconds": sum(each.seconds for each in own) / count,
            "seconds": sum(each.wall for each in own) / count,
            "notes_shown": sum(len(each.shown) for each in own) / count,
            "share_shown": 100 * sum(each.whole for each in own) / count,
            "in_its_words": 100 * sum(each.how == "model" for each in own) / count,
            "evidence_shown": self._evidence(row),
        }
        return {name: round(value, 2) for name, value in found.items()}

    def _evidence(self, row: Row) -> float:
        """Share of the evidence among the notes that were looked at, in percent."""
        shares = [
            len(set(each.evidence) & set(self.replies[row.name, each.id].shown))
            / len(each.evidence)
            for each in self.questions
            if each.is_answerable and each.evidence
        ]
        return 100 * sum(shares) / max(1, len(shares))

    def interval(self, values: Sequence[float]) -> Figure:
        """Mean and bounds of the percentile interval, in percent."""
        if not values:
            return []
        sample = np.array(values)
        drawn = np.random.default_rng(self.seed).choice(sample, (SAMPLES, len(sample)))
        bounds = np.percentile(drawn.mean(axis=1), (2.5, 97.5))
        # Nothing is -0.0.
        return [round(100 * float(each), 1) + 0.0 for each in (sample.mean(), *bounds)]


def writing_cost(
    results: Results, conversations: Sequence[Conversation], memories: Sequence[str]
) -> dict[str, dict[str, float]]:
    """Means of a note, by kind of memory."""
    found = {}
    for memory in memories:
        lines = [
            row
            for each in conversations
            for row in results.notes(each.name, memory).rows
            if "calls" in row
        ]
        if lines:
            names = ("calls", "prompt_tokens", "answer_tokens", "model_seconds", "seconds")
            names += ("links", "evolved", "pending")
            sums = Counter({name: sum(row[name] for row in lines) for name in names})
            found[memory] = {name: round(sums[name] / len(lines), 2) for name in names}
            found[memory]["notes"] = len(lines)
    return found


def shown(figure: Figure) -> str:
    """A figure with its interval, for a table."""
    return f"{figure[0]:.1f} ({figure[1]:.1f} to {figure[2]:.1f})" if figure else "-"


def print_tables(document: Mapping[str, Any]) -> None:
    """The tables on standard output; all intervals are in the document alone."""
    for name, part in document["scores"].items():
        print(f"\n{name}: {part['questions']} questions, in percent")
        _line("row", "answered", TITLES["f1"], *(TITLES[each] for each in METRICS[1:]))
        for row, figures in part["rows"].items():
            rest = (f"{figures[each][0]:.1f}" for each in METRICS[1:])
            _line(row, f"{figures['held'][0]:.1f}", shown(figures["f1"]), *rest)
    if document["unanswerable"]:
        part = document["unanswerable"]
        print(f"\nwithout an answer (category 5, none): {part['questions']} questions, in percent")
        for row, figures in part["rows"].items():
            told = f"  {row:<22} refused {shown(figures['refused']):<22}"
            if "paper_inverted_f1" in figures:
                told += (
                    "  as the paper scores it, INVERTED (more is worse):"
                    f" F1 {shown(figures['paper_inverted_f1'])},"
                    f" BLEU-1 {shown(figures['paper_inverted_bleu1'])}"
                )
            print(told)
    if document["differences"]:
        print(f"\nless `{BASE}`, the same answerable questions, in points")
        for row, figures in document["differences"].items():
            print(
                f"  {row:<22} F1 {shown(figures['f1']):<24} SBERT {shown(figures['sbert']):<24}"
                f" answered {shown(figures['held'])}"
            )
    _print_by_k(document["by_k"])
    _print_costs(document)


def _print_by_k(by_k: Mapping[int, Any]) -> None:
    """F1 and the evidence found for each number of notes, if there are several."""
    for name in next(iter(by_k.values()), {"scores": ()})["scores"]:
        print(f"\n{name}: F1 by k, in percent")
        _columns("row", *(f"k = {k}" for k in by_k))
        for row in next(iter(by_k.values()))["scores"][name]["rows"]:
            scores = (each["scores"][name]["rows"][row]["f1"] for each in by_k.values())
            _columns(row, *map(shown, scores))
    if by_k:
        print("\nevidence among the notes shown, and tokens read, by k; a question")
        _columns("row", *(f"k = {k}" for k in by_k))
        for row in next(iter(by_k.values()))["cost"]:
            costs = (each["cost"][row] for each in by_k.values())
            told = (
                f"{each['evidence_shown']:.0f} %, {each['prompt_tokens']:.0f}" for each in costs
            )
            _columns(row, *told)
        print("\nall other figures are of the first k")


def _columns(row: str, *values: str) -> None:
    print(f"  {row:<22}" + "".join(f" {each:<20}" for each in values).rstrip())


def _print_costs(document: Mapping[str, Any]) -> None:
    print("\na question")
    for row, cost in document["cost"].items():
        cut = f", {cost['share_shown']:.0f} % of the turns fit" if row == "full-context" else ""
        print(
            f"  {row:<22} {cost['calls']:.2f} calls, {cost['prompt_tokens']:.0f} tokens read,"
            f" {cost['answer_tokens']:.0f} written, {cost['seconds']:.2f} s;"
            f" {cost['notes_shown']:.1f} notes shown with {cost['evidence_shown']:.0f} % of the"
            f" evidence; {cost['in_its_words']:.0f} % in the model's words{cut}"
        )
    if document.get("writing"):
        print("\na note")
    for memory, cost in document.get("writing", {}).items():
        print(
            f"  {memory:<22} {cost['calls']:.2f} calls, {cost['prompt_tokens']:.0f} tokens read,"
            f" {cost['answer_tokens']:.0f} written, {cost['model_seconds']:.2f} s of the model,"
            f" {cost['seconds']:.2f} s in all; {cost['links']:.2f} links,"
            f" {cost['evolved']:.2f} notes changed; {cost['notes']} notes"
        )


def _line(row: str, held: str, f1: str, *rest: str) -> None:
    print(f"  {row:<22} {held:>8}  {f1:<20}" + "".join(f" {each:>11}" for each in rest))
