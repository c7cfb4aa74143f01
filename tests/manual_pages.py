"""Makes man/*.1, a manual page a command, from what every command says of itself."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from typer.main import get_command

from amem_cli.cli.main import app

FOLDER = Path(__file__).parents[1] / "man"

_ENVIRONMENT = (
    ("AMEM_VAULT", "The vault's folder, where --vault does not name one."),
    (
        "AMEM_SECTION_KEY",
        "Any setting of the vault: AMEM_LLM_BACKEND=none is llm.backend. `amem config list` shows"
        " them all.",
    ),
    ("AMEM_API_KEY, OPENAI_API_KEY", "Key for a server that wants one."),
    ("HF_TOKEN, HF_ENDPOINT, HF_HUB_OFFLINE", "As in huggingface_hub, for `amem model pull`."),
    (
        "OPENAI_BASE_URL, OLLAMA_HOST",
        "The server of the backend openai or ollama if the setting llm.base_url is empty.",
    ),
    (
        "AMEM_CONFIG_DIR, AMEM_STATE_DIR, AMEM_CACHE_DIR, AMEM_DATA_DIR",
        "Folders of the user's settings, of what is remembered about vaults, of prepared encoders,"
        " and of fetched models.",
    ),
    ("EDITOR, VISUAL", "What `amem edit` and `amem add` without a text open."),
    ("NO_COLOR", "No colours, where it is not empty."),
)
_FILES = (
    (".amem/config.toml", "Settings of the vault."),
    (".amem/journal/*.jsonl", "What amem did to the notes, and why."),
    (".amem/index.db", "The index; it may be deleted at any time and is made anew."),
    (".trash/", "Notes that were removed."),
)
_EXIT_CODES = (
    ("0", "Done."),
    ("1", "Not found, or problems were found."),
    ("2", "Wrong usage."),
    ("3", "Something that you can put right: a setting, a model, a permission, the disk."),
    ("70", "A bug; a log is kept."),
    ("130", "Interrupted."),
)


def pages() -> dict[str, str]:
    """File name and text of each page."""
    made: dict[str, str] = {}
    _add_pages(made, get_command(app), ("amem",), None)
    return made


def _add_pages(made: dict[str, str], command: Any, words: tuple[str, ...], parent: Any) -> None:
    context = command.make_context(words[-1], [], parent=parent, resilient_parsing=True)
    made["-".join(words) + ".1"] = _page(command, words, context)
    for name, inner in getattr(command, "commands", {}).items():
        _add_pages(made, inner, (*words, name), context)


def _page(command: Any, words: tuple[str, ...], context: Any) -> str:
    name = "-".join(words)
    explained, _, examples = command.help.partition("\n\nExamples:\n\n")
    summary, _, details = explained.partition("\n\n")
    if len(words) == 1:
        summary, details = _first_sentence(explained)
    usage = " ".join(command.collect_usage_pieces(context))
    records: dict[str, list[tuple[str, str]]] = {"argument": [], "option": []}
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            records[parameter.param_type_name].append(record)
    brief = summary[0].lower() + " ".join(summary.split())[1:].rstrip(".")
    parts = [
        f'.TH {_text(name).upper()} 1 "" amem "User Commands"\n.nh\n.ad l',
        f".SH NAME\n{_text(name)} \\- {_text(brief)}",
        f".SH SYNOPSIS\n.B {_text(' '.join(words))}\n{_text(usage)}",
    ]
    if details:
        parts.append(".SH DESCRIPTION\n" + "\n.PP\n".join(map(_text, details.split("\n\n"))))
    parts.append(_list("ARGUMENTS", records["argument"]))
    parts.append(_list("OPTIONS", records["option"]))
    inner = getattr(command, "commands", {})
    lines = [(each, inner[each].help.split("\n\n")[0].replace("\n", " ")) for each in inner]
    parts.append(_list("COMMANDS", lines))
    if examples:
        shown = [line.strip() for line in examples.splitlines() if line.strip()]
        parts.append(".SH EXAMPLES\n.nf\n" + "\n".join(map(_text, shown)) + "\n.fi")
    if len(words) == 1:
        parts += [_list("ENVIRONMENT", _ENVIRONMENT), _list("FILES", _FILES)]
        parts.append(_list("EXIT STATUS", _EXIT_CODES))
    parts.append(_see_also(words, inner))
    return "\n".join(part for part in parts if part) + "\n"


def _first_sentence(text: str) -> tuple[str, str]:
    first, _, rest = " ".join(text.split()).partition(". ")
    return first, rest


def _list(heading: str, items: Any) -> str:
    if not items:
        return ""
    entries = [f".TP\n.B {_text(name)}\n{_text(text)}" for name, text in items]
    return f".SH {heading}\n" + "\n".join(entries)


def _see_also(words: tuple[str, ...], inner: Any) -> str:
    near = ["-".join(words[:number]) for number in range(1, len(words))]
    near += ["-".join((*words, each)) for each in inner]
    return ".SH SEE ALSO\n" + ",\n".join(f".BR {_text(each)} (1)" for each in near)


def _text(text: str) -> str:
    """The same as roff source: nothing of it is an instruction, all of it is ASCII."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "\\(ga")
    escaped = escaped.replace("'", "\\(aq").replace("^", "\\(ha").replace("~", "\\(ti")
    plain = "".join(char if char < "\x7f" else f"\\[u{ord(char):04X}]" for char in escaped)
    return "\n".join("\\&" + line if line.startswith(".") else line for line in plain.split("\n"))


def write(folder: Path = FOLDER) -> None:
    """Write all pages and remove those of commands that are gone."""
    folder.mkdir(exist_ok=True)
    made = pages()
    for page in folder.glob("*.1"):
        if page.name not in made:
            page.unlink()
    for name, text in made.items():
        (folder / name).write_text(text, encoding="ascii")


if __name__ == "__main__":
    write()
    sys.stdout.write(f"{len(pages())} pages in {FOLDER.name}/\n")
