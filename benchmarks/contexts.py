"""What a language model in a GGUF file writes as contexts, and what becomes of it.

    python benchmarks/contexts.py FILE.gguf VAULT/notes.jsonl --output contexts.jsonl

It asks about every note as amem asks a model that is not trusted. Each line of the output holds a
note, what the model said, what of it is kept and why not: for readers who judge what is false.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import psutil
from common import parser_of
from memory_gold import rows

from amem_cli.markdown.plain_text import plain_text
from amem_cli.memory.ask_model import ask_once
from amem_cli.memory.describe import MetadataQuestion, check_metadata, summary_request
from amem_cli.models.llama_cpp import LlamaCppModel


def main() -> None:
    """Ask about all notes, and print how many contexts are kept and what they cost."""
    parser = parser_of(__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("notes", type=Path)
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    model = LlamaCppModel(options.model, threads=2, context_tokens=4096, memory_limit_mb=6144)
    model.start()
    process = psutil.Process(model.process_id)
    begun = process.cpu_times()
    notes = rows(options.notes)
    outcomes, wall = Counter[str](), 0.0
    with options.output.open("w", encoding="utf-8") as output:
        for note in notes:
            text = plain_text(note["content"])
            reply = ask_once(model, summary_request(note["title"], text, 3600.0))
            wall += reply.use.seconds
            question = MetadataQuestion(note["title"], text, ("context",))
            checked = check_metadata(reply.answer or {}, question, similarity=None)
            kept, why = checked.metadata.context, checked.failures.get("context", "")
            outcomes[reply.fault or why.partition(":")[0] or "kept"] += 1
            row = {"title": note["title"], "text": note["content"], "kept": kept, "why": why}
            row["said"] = (reply.answer or {}).get("context", reply.fault)
            print(json.dumps(row, ensure_ascii=False), file=output, flush=True)
    done = process.cpu_times()
    processor = done.user + done.system - begun.user - begun.system
    model.close()
    for outcome, count in outcomes.most_common():
        print(f"{count:4} {outcome}")
    print(f"{processor / len(notes) / 2:.1f} s of 2 processors a note")
    print(f"{wall / len(notes):.1f} s a note as it was")


if __name__ == "__main__":
    main()
