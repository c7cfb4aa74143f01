"""Private notes and excluded folders, searched for in every request that leaves the program."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from amem_cli.notes.note import parse_note
from tests.conftest import Program
from tests.fakes.chat_server import ChatServer
from tests.vaults import write_note

pytestmark = pytest.mark.slow

DOUGH = "Croissant dough tears in lamination where the butter is colder than 14 degrees."
# Words that stand in notes that must not leave the machine, and nowhere else.
SECRETS = ("nightfall", "merger-secret", "4711", "zanzibar", "quokka", "walrus", "hushword")
PRIVATE = {
    "Nightfall.md": "---\nprivate: true\ntags: [merger-secret]\nkeywords: [zanzibar butter]\n"
    f"context: Nightfall is about 4711.\n---\n{DOUGH} The code is 4711.\n",
    "Nightfall broken.md": f"---\na: 1\na: 2\nprivate: yes\n---\n{DOUGH} Quokka.\n",
    "clients/Walrus.md": f"---\ntags: [walrus]\n---\n{DOUGH} Walrus wants it.\n",
    "clients/deep/Walrus two.md": f"{DOUGH} Walrus again.\n",
    "Nightfall diary.md": f"---\nPrivate: 'true'\n---\n{DOUGH} Hushword, nightfall.\n",
}
PUBLIC = {
    "Tearing.md": f"---\ntags: [baking]\n---\n{DOUGH} See [[Nightfall]]? No.\n".replace(
        "See [[Nightfall]]? No.", "It happens in winter."
    ),
    "Winter.md": f"{DOUGH} In winter the fridge is at 4 degrees.\n",
    "Summer.md": f"{DOUGH} In summer the kitchen is too warm for butter.\n",
}


@pytest.fixture
def vault(amem: Program, server: ChatServer) -> Path:
    """Public, private and excluded notes on the same subject."""
    root = amem.folder / "v"
    (root / ".amem").mkdir(parents=True)
    (root / ".amem/config.toml").write_text('[exclude]\nfolders = ["clients"]\n')
    for number, (path, text) in enumerate({**PRIVATE, **PUBLIC}.items()):
        note = write_note(root, path, text)
        os.utime(note, (1_600_000_000 + number, 1_600_000_000 + number))
    amem.environment |= {
        "AMEM_VAULT": str(root),
        "AMEM_LLM_BACKEND": "openai",
        "AMEM_LLM_BASE_URL": server.url,
        "AMEM_LLM_DEADLINE_SECONDS": "20",
    }
    return root


def remote(amem: Program) -> None:
    """Choose a model of the server that is computed on another machine."""
    amem.environment["AMEM_LLM_MODEL"] = "m:120b-cloud"


def local(amem: Program) -> None:
    amem.environment["AMEM_LLM_MODEL"] = "m"


def told(server: ChatServer) -> list[str]:
    """The secret words that the server was told."""
    sent = json.dumps([request.body for request in server.requests], ensure_ascii=False).casefold()
    return [word for word in SECRETS if word in sent]


def leaky(body: dict[str, Any]) -> str:
    """An answer that links everything and spreads all the words that the model was shown."""
    text = body["messages"][1]["content"]
    schema = body["response_format"]["json_schema"]["schema"]["properties"]
    words = list(dict.fromkeys(re.findall(r"[A-Za-z0-9-]{4,}", text)))
    secret = [word for word in words if word.casefold() in SECRETS]
    said = " ".join([*secret, "dough and butter tear in lamination where they are cold"])[:120]
    sentence = f"Croissant {said}."
    answer: dict[str, Any] = {}
    for name, of in schema.items():
        if name == "context":
            answer[name] = sentence
        elif name == "links":
            names = of["items"]["properties"]["note"]["enum"][: of["maxItems"]]
            answer[name] = [
                {
                    "note": each,
                    "reason": f"{each}: butter in lamination, {' '.join(secret)}"[:130],
                    "relation": "related",
                    "strength": 0.9,
                }
                for each in names
            ]
        elif name == "changes":
            names = of["items"]["properties"]["note"]["enum"][: of["maxItems"]]
            labels = [*secret, "butter"][:3]
            answer[name] = [
                {
                    "note": each,
                    "why": sentence[:130],
                    "context": sentence,
                    "keywords": labels,
                    "tags": labels,
                    "drop": [],
                }
                for each in names
            ]
        elif "enum" in of["items"]:
            answer[name] = of["items"]["enum"][-1:]
        else:
            answer[name] = (secret or ["butter"])[: of["maxItems"]]
    return json.dumps(answer)


def public_metadata(vault: Path) -> str:
    """Everything that stands in the headers of the public notes."""
    headers = []
    for path in [*vault.glob("*.md"), *vault.glob("notes/*.md")]:
        note = parse_note(path.name, path.read_bytes())
        if not note.private:
            headers.append(path.read_text().split("---\n")[1] if note.id else "")
    return "\n".join(headers).casefold()


def test_no_request_to_another_machine_holds_a_word_of_a_private_or_excluded_note(
    amem: Program, vault: Path, server: ChatServer
) -> None:
    remote(amem)
    server.content = leaky
    assert amem("evolve", "--all").code == 0
    assert amem("add", f"{DOUGH} A third time.", "--title", "Third").code == 0
    assert amem("evolve", "Nightfall", "Nightfall diary").code == 0
    assert server.requests
    assert told(server) == []
    assert [word for word in SECRETS if word in public_metadata(vault)] == []


def test_what_a_local_model_saw_does_not_leave_later_through_other_notes(
    amem: Program, vault: Path, server: ChatServer
) -> None:
    local(amem)
    server.content = leaky
    assert amem("evolve", "--all").code == 0
    # On this machine private notes may be read by the model; it is told of them only for them.
    assert "nightfall" in told(server)
    assert "walrus" not in told(server)
    assert [word for word in SECRETS if word in public_metadata(vault)] == []
    server.requests.clear()
    remote(amem)
    for number in range(2):
        assert amem("add", f"{DOUGH} Time {number}.", "--title", f"Time {number}").code == 0
    assert server.requests
    assert told(server) == []


def test_what_the_analyzer_wrote_does_not_carry_words_of_private_notes_to_a_server(
    amem: Program, vault: Path, server: ChatServer
) -> None:
    remote(amem)
    assert amem("evolve", "--all", "--no-llm").code == 0
    assert server.requests == []
    assert [word for word in SECRETS if word in public_metadata(vault)] == []
    assert amem("add", f"{DOUGH} A third time.", "--title", "Third").code == 0
    assert server.requests
    assert told(server) == []


def test_a_note_that_becomes_private_is_not_sent_any_more(
    amem: Program, vault: Path, server: ChatServer
) -> None:
    remote(amem)
    assert amem("evolve", "--all", "--no-llm").code == 0
    winter = vault / "Winter.md"
    winter.write_text(winter.read_text().replace("---\n", "---\nprivate: true\n", 1) + "Quokka.\n")
    assert amem("add", f"{DOUGH} A third time.", "--title", "Third").code == 0
    assert server.requests
    assert told(server) == []
    sent = json.dumps([request.body for request in server.requests])
    assert "In winter the fridge" not in sent


def test_a_folder_that_becomes_excluded_is_not_sent_any_more(
    amem: Program, vault: Path, server: ChatServer
) -> None:
    remote(amem)
    (vault / ".amem/config.toml").write_text("")
    assert amem("evolve", "--all", "--no-llm").code == 0
    (vault / ".amem/config.toml").write_text('[exclude]\nfolders = ["clients/"]\n')
    assert amem("add", f"{DOUGH} A third time.", "--title", "Third").code == 0
    assert server.requests
    assert "walrus" not in told(server)
    assert amem("evolve", "clients/Walrus.md").code == 1


def test_a_new_note_in_an_excluded_folder_is_not_sent(
    amem: Program, vault: Path, server: ChatServer
) -> None:
    remote(amem)
    for folder in ("clients", "clients/deep"):
        added = amem("add", f"{DOUGH} Walrus.", "--json", AMEM_NOTES_DIR=folder)
        assert (added.code, server.requests) == (3, [])
        assert "notes_dir" in added.err


def test_a_private_text_on_stdin_is_not_sent(
    amem: Program, vault: Path, server: ChatServer
) -> None:
    remote(amem)
    text = f"---\nprivate: true\n---\n{DOUGH} 4711 zanzibar.\n"
    added = amem("add", "-", "--title", "Hidden", "--json", stdin=text)
    assert (added.code, added.json["pending"]) == (0, False)
    assert told(server) == []
    assert server.requests == []
