"""What a person decided about links, and what follows, is told by `amem stats`."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import Program

OLD = "Lamination of croissant dough needs butter at 14 degrees, else the dough tears."
NEW = "The croissant dough tore in Lamination of dough: the butter came from the fridge."


def test_stats_tell_what_was_kept_and_removed_and_the_least_strength(
    amem: Program, tmp_path: Path
) -> None:
    assert amem("init", ".").code == 0
    assert amem("config", "set", "llm.backend", "none").code == 0
    assert amem("add", OLD, "--title", "Lamination of dough").code == 0
    added = amem("add", NEW, "--title", "Morning batch", "--json").json
    assert "Lamination of dough" in added["links"][0]["path"]
    assert amem("stats", "--json").json["link_feedback"] == []
    assert amem("unlink", "Morning batch", "Lamination of dough").code == 0
    judge = "amem analyzer"
    assert amem("stats", "--json").json["link_feedback"] == [
        {"judge": judge, "kept": 0, "removed": 1, "minimum": 0.75}
    ]
    said = "0 links of amem analyzer kept, 1 removed; it now links from strength 0.75"
    assert said in " ".join(amem("stats").out.split())
    assert amem("config", "set", "evolution.feedback", "sometimes").code == 3
