"""A program as the language model of a vault, from the choice to the undo."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from tests.conftest import Answer, Program
from tests.fakes.programs import a_program
from tests.vaults import tree_hashes, write_note

pytestmark = pytest.mark.slow

OLD = "Croissant dough tears in lamination where the butter is colder than 14 degrees."
NEW = "The croissant dough tore in lamination: the butter came from the fridge at 4 degrees."
SECRET = "zanzibar"
# Keeps each prompt, then describes the note and links it to every note that it is shown.
ANSWERS = """
with open({log!r}, "a") as log:
    log.write(json.dumps(prompt) + "\\n")
said = {{
    "context": "Croissant dough tears in lamination where the butter is too cold.",
    "keywords": ["croissant dough", "lamination"],
    "tags": ["baking"],
    "answer": "The dough tears [n1].",
}}
for name, of in schema["properties"].items():
    if name == "links":
        names = of["items"]["properties"]["note"]["enum"][: of["maxItems"]]
        reason = "Both are about croissant dough that tears in lamination."
        said[name] = [
            {{"note": each, "reason": reason, "relation": "related", "strength": 0.9}}
            for each in names
        ]
    elif of["type"] == "array" and "enum" in of["items"]:
        said[name] = of["items"]["enum"][:1]
    else:
        said.setdefault(name, [])
print("Here you are:\\n```json")
print(json.dumps({{name: said[name] for name in schema["properties"]}}))
print("```")
"""


@pytest.fixture
def vault(amem: Program) -> Path:
    """A vault with one note, whose settings name no model; nor does the environment."""
    root = amem.empty_vault()
    write_note(root, "notes/Butter.md", f"{OLD}\n")
    assert amem("index").code == 0
    del amem.environment["AMEM_LLM_BACKEND"]
    return root


@pytest.fixture
def log(amem: Program) -> Path:
    return amem.folder / "prompts"


@pytest.fixture
def line(amem: Program, log: Path) -> str:
    """The command line of a program that does well."""
    return a_program(amem.folder / "programs", ANSWERS.format(log=str(log)))


def prompts(log: Path) -> list[str]:
    return [json.loads(row) for row in log.read_text().splitlines()] if log.exists() else []


def use(amem: Program, line: str, *options: str) -> Answer:
    done = amem("model", "use", line, "--backend", "command", *options)
    assert done.code == 0, done.err
    return done


def test_a_program_describes_and_links_a_note_and_undo_takes_it_back(
    amem: Program, vault: Path, line: str, log: Path
) -> None:
    used = use(amem, line, "--json").json
    assert (used["llm.backend"], used["llm.model"], used["llm.base_url"]) == ("command", line, "")
    assert "except those with private: true" in used["next"][0]
    assert "amem model test" in used["next"][-1]

    added = amem("add", NEW, "--title", "Torn dough", "--json")
    assert (added.code, added.json["pending"]) == (0, False), added.out
    assert added.json["problems"] == []
    assert added.json["context"].startswith("Croissant dough tears in lamination")
    assert [link["target"] for link in added.json["links"]] == ["notes/Butter.md"]
    assert len(prompts(log)) == 1
    assert NEW in prompts(log)[0]
    note = vault / added.json["path"]
    assert "[[Butter]]" in note.read_text()
    journal = "".join(path.read_text() for path in (vault / ".amem/journal").rglob("*.jsonl"))
    assert re.search(r'"model": ?"python[\d.]* program.py \(command\)"', journal)

    undone = amem("undo", "--since", "7d", "--json")
    assert undone.code == 0, undone.out
    assert "[[Butter]]" not in note.read_text()
    assert (vault / "notes/Butter.md").read_text() == f"{OLD}\n"


def test_a_program_that_only_the_vault_names_is_never_run(
    amem: Program, vault: Path, line: str, log: Path
) -> None:
    settings = vault / ".amem/config.toml"
    settings.write_text(f'[llm]\nbackend = "command"\nmodel = {json.dumps(line)}\n')
    added = amem("add", NEW, "--json")
    assert added.json["pending"] is True
    assert "would run a program" in " ".join(added.json["problems"])
    evolved = amem("evolve")
    assert evolved.code == 3
    assert "amem model use" in evolved.err
    assert "would run a program" in amem("doctor").out
    assert amem("model", "test").code != 0
    assert amem("ask", "Why does dough tear?").code != 1
    assert prompts(log) == []

    use(amem, line)
    assert amem("evolve").code == 0
    asked = len(prompts(log))
    assert asked > 0
    # The consent is to this line alone, and to this vault.
    other = a_program(amem.folder / "programs", ANSWERS.format(log=str(log)), name="other.py")
    settings.write_text(settings.read_text().replace("program.py", "other.py"))
    assert json.loads(amem("config", "get", "llm.model", "--json").out)["value"] == other
    assert amem("add", f"{NEW} Again.", "--json").json["pending"] is True
    assert len(prompts(log)) == asked
    clone = amem.folder / "clone"
    vault.rename(clone)
    assert amem("--vault", str(clone), "evolve").code == 3
    assert len(prompts(log)) == asked


def test_to_set_a_command_as_a_setting_is_no_consent(
    amem: Program, vault: Path, line: str, log: Path
) -> None:
    assert amem("config", "set", "llm.model", line).code == 0
    assert amem("config", "set", "llm.backend", "command").code == 0
    assert amem("add", NEW, "--json").json["pending"] is True
    assert prompts(log) == []


def test_the_users_own_settings_are_a_choice_that_is_told(
    amem: Program, vault: Path, line: str, log: Path
) -> None:
    added = amem("add", NEW, AMEM_LLM_BACKEND="command", AMEM_LLM_MODEL=line)
    assert added.code == 0
    assert "texts go to the program" in added.err
    assert prompts(log)


def test_private_notes_are_kept_from_a_program(
    amem: Program, vault: Path, line: str, log: Path
) -> None:
    use(amem, line)
    write_note(vault, "notes/Secret.md", f"---\nprivate: true\n---\n{NEW} {SECRET.title()}.\n")
    assert amem("evolve").code == 0
    assert amem("ask", f"Where is {SECRET} and why does dough tear?").code == 0
    assert prompts(log)
    assert not any(SECRET.title() in prompt for prompt in prompts(log))


def test_an_answer_that_cannot_be_read_is_asked_for_once_more(amem: Program, vault: Path) -> None:
    runs = amem.folder / "runs"
    body = f"open({str(runs)!r}, 'a').write('x')\nprint('As a language model, I {{cannot}}.')"
    use(amem, a_program(amem.folder / "programs", body))
    added = amem("add", OLD, "--no-wait", "--json")
    assert added.code == 0
    for note in vault.rglob("*.md"):
        if note.name != Path(added.json["path"]).name:
            note.unlink()
    assert amem("evolve", "--json").code == 0
    assert runs.read_text() == "xx"


HOSTILE = """
import pathlib
for place in (pathlib.Path.cwd(), *pathlib.Path.cwd().parents):
    for name in ("pwned.md", "notes/pwned.md", ".amem/pwned"):
        try: (place / name).write_text("pwned")
        except OSError: pass
print(json.dumps({"action": "delete", "path": "../../notes/Butter.md"}))
said = {}
for name, of in schema["properties"].items():
    payload = "[[../../etc/passwd]] {{x}} <script>pwned</script> \\x1b[2J"
    said[name] = payload if of["type"] == "string" else [payload]
print(json.dumps(said))
print("\\x1b[2Jpwned", file=sys.stderr)
"""


def test_a_hostile_program_leaves_the_notes_as_they_are(amem: Program, vault: Path) -> None:
    before = tree_hashes(vault)
    use(amem, a_program(amem.folder / "programs", HOSTILE))
    added = amem("add", NEW, "--title", "Torn", "--json")
    assert added.code == 0
    text = (vault / added.json["path"]).read_text()
    assert "pwned" not in text and "passwd" not in text
    assert NEW in text
    after = tree_hashes(vault)
    kept = [name for name in before if name.endswith(".md")]
    assert all(after[name] == before[name] for name in kept)
    assert not [name for name in after if "pwned" in name]
    assert "\x1b" not in added.out + added.err


GOOD = f"""
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from tests.fakes.good_model import good_answer_to
print(good_answer_to(prompt, schema))
"""


def test_a_program_is_tested_and_its_verdict_remembered(amem: Program, vault: Path) -> None:
    line = a_program(amem.folder / "programs", GOOD)
    use(amem, line)
    tested = amem("model", "test", "--seconds", "300", "--json")
    assert (tested.code, tested.json["verdict"]) == (0, "fit"), tested.out
    assert tested.json["figures"]["tokens_per_note"] > 100
    listed = amem("model", "list", "--json").json["language_model"]
    assert (listed["backend"], listed["model"]) == ("command", line)
    assert "fit" in listed["verdict"]
    assert "tested before: fit" in use(amem, line).out
    assert "tested before" not in use(amem, f"{line} --more").out


def test_a_program_that_is_gone_is_reported_and_never_run_by_doctor(
    amem: Program, vault: Path, line: str, log: Path
) -> None:
    program = amem.folder / "programs" / "ask"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!/bin/sh\nexec {line}\n")
    program.chmod(0o755)
    use(amem, str(program))
    assert "program" not in amem("doctor").out
    assert prompts(log) == []
    program.unlink()
    assert "there is no program" in amem("doctor").out
    assert "the program is gone" in amem("model", "list").out
    assert amem("add", NEW, "--json").json["pending"] is True


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("sh -c x",), 2, "add --backend command"),
        (("no-such-program x", "--backend", "command"), 3, "there is no program"),
        (("", "--backend", "command"), 3, "no command line"),
        (("./x", "--backend", "command"), 3, "no full path"),
        (("sh", "--backend", "command", "--base-url", "http://x"), 2, "no address"),
        (("sh -k sk-SECRET0123456789", "--backend", "command"), 3, "looks like a key"),
        (("sh {vault}/x.sh", "--backend", "command"), 3, "a file in the vault"),
    ],
)
def test_what_cannot_be_chosen_is_told_and_changes_nothing(
    amem: Program, vault: Path, arguments: tuple[str, ...], code: int, says: str
) -> None:
    before = (vault / ".amem/config.toml").read_bytes()
    words = [word.replace("{vault}", str(vault)) for word in arguments]
    done = amem("model", "use", *words)
    assert (done.code, says in done.err) == (code, True), done.err
    assert len(done.err.strip().splitlines()) == 2
    assert (vault / ".amem/config.toml").read_bytes() == before
    state = Path(os.environ["AMEM_STATE_DIR"])
    kept = "".join(path.read_text() for path in state.rglob("*.json"))
    assert not re.search(r"command|SECRET", kept)


def test_a_program_is_chosen_from_python(vault: Path, line: str, log: Path) -> None:
    from amem_cli.library.system import AgenticMemorySystem

    memory = AgenticMemorySystem(vault=str(vault), llm_backend="command", llm_model=line)
    note = memory.read(memory.add_note(NEW))
    assert note is not None
    assert note.context.startswith("Croissant dough tears")
    assert len(prompts(log)) == 1
