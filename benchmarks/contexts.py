"""What a language model in a GGUF file writes as contexts, and what becomes of it.

    python benchmarks/contexts.py FILE.gguf VAULT/notes.jsonl --output contexts.jsonl

It asks about every note as amem asks a model that is not trusted. Each line of the output holds a
note, what the model said, what of it is kept and why not: for readers who judge what is false.
"""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
from pathlib import Path

from amem_cli.markdown.plain_text import plain_text
from amem_cli.memory.ask_model import ask_once
from amem_cli.memory.describe import MetadataQuestion, check_metadata, summary_request
from amem_cli.models.llama_cpp import LlamaCppModel


def processor_seconds(process_id: int) -> float:
    """What a process has used until now, of all its threads."""
    fields = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Ask about all notes, and print how many contexts are kept and what they cost."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("notes", type=Path)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--every", type=int, default=1, help="ask about every so many notes alone")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    model = LlamaCppModel(
        options.model, threads=options.threads, context_tokens=4096, memory_limit_mb=6144
    )
    model.start()
    assert model.process_id is not None
    lines = options.notes.read_text(encoding="utf-8").splitlines()[:: options.every]
    outcomes, processor, wall = Counter[str](), 0.0, 0.0
    with options.output.open("w", encoding="utf-8") as output:
        for note in map(json.loads, lines):
            text = plain_text(note["content"])
            begun = processor_seconds(model.process_id)
            reply = ask_once(model, summary_request(note["title"], text, 3600.0))
            processor += processor_seconds(model.process_id) - begun
            wall += reply.use.seconds
            question = MetadataQuestion(note["title"], text, ("context",))
            checked = check_metadata(reply.answer or {}, question, similarity=None)
            kept, why = checked.metadata.context, checked.failures.get("context", "")
            outcomes[reply.fault or why.partition(":")[0] or "kept"] += 1
            row = {"title": note["title"], "text": note["content"], "kept": kept, "why": why}
            row["said"] = (reply.answer or {}).get("context", reply.fault)
            print(json.dumps(row, ensure_ascii=False), file=output, flush=True)
    model.close()
    for outcome, count in outcomes.most_common():
        print(f"{count:4} {outcome}")
    count = len(lines)
    print(f"{processor / count / options.threads:.1f} s of {options.threads} processors a note")
    print(f"{wall / count:.1f} s a note as it was")


if __name__ == "__main__":
    main()
