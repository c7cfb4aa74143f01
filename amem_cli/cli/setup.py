"""`amem setup`: see which language models are here, and choose one for the vault."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from amem_cli.cli.files import agreed, ask_key, can_ask
from amem_cli.cli.session import Session, session_of
from amem_cli.errors import AmemError, NoVault, UsageError

if TYPE_CHECKING:
    from amem_cli.settings import Settings
    from amem_cli.workspace.languages import EncoderProposal
    from amem_cli.workspace.setup import Choice, Survey


def setup(
    context: typer.Context,
    model: Annotated[
        str,
        Option(
            metavar="NAME",
            help="Choose this one: a name that the list shows, or what `amem model use` takes.",
        ),
    ] = "",
    none: Annotated[bool, Option("--none", help="Choose no model.")] = False,
    yes: Annotated[
        bool,
        Option(
            "--yes",
            "-y",
            help="Do not ask: take the recommended model, which sends nothing away, and the encoder"
            " that fits your languages, if it is installed; with --model, let that one get the"
            " texts of your notes wherever it is.",
        ),
    ] = False,
) -> None:
    """Show which language models are here, and choose one.

    amem says what a model is worth and recommends one; Enter takes it. It looks for Ollama,
    llama-server, LM Studio and vLLM on this machine, for GGUF files in the usual folders, and for
    programs such as llm and claude, and runs none of them. Nothing is downloaded, and no text
    leaves this machine unless you say so.

    If a fifth of your notes' text is not English, and the encoder knows English only, amem proposes
    one that knows more languages, and asks once whether to use it.

    The choice is made as by `amem model use`. Without a terminal, or with --json, nothing is asked
    and nothing changed, unless an option makes the choice.

    Examples:

        amem setup
        amem setup --yes
        amem setup --model qwen3:4b
        amem setup --none
        amem setup --json
    """
    from amem_cli.terminal.setup import show_survey, survey_document

    if model and none:
        raise UsageError("--model and --none cannot be combined", hint="Choose one.")
    session = session_of(context)
    name, output = "none" if none else model, session.output
    try:
        root: Path | None = session.root
    except NoVault:
        if name or yes:
            raise
        root = None
    found = _survey(session, root)
    if name or yes:
        choice = found.named(name) if name else found.recommended
        also = {} if name else _take_encoder(session, found.proposed)
        _take(session, choice or name, yes=yes, also=also)
        return
    output.result(lambda: survey_document(found), lambda console: show_survey(console, found))
    if output.as_json:
        return
    if root is None:
        output.notice("no vault here: `amem init DIR` makes one, then `amem setup` chooses")
    elif can_ask(session.output):
        _offer_encoder(session, found.proposed)
        _ask(session, found)
    else:
        output.notice("nothing was changed; --yes takes the recommended one, --model NAME another")


def offer(session: Session, root: Path) -> None:
    """Let the user of a new vault choose a model, if one is here, and an encoder for its languages.

    Without a terminal it only says which encoder fits. The vault is there whatever comes of it, so
    a failure is only reported.
    """
    from amem_cli.terminal.setup import show_survey
    from amem_cli.workspace.languages import encoder_proposal
    from amem_cli.workspace.setup import languages_of

    session, output = replace(session, vault=root), session.output
    try:
        if not can_ask(output):
            if not (output.as_json or output.quiet):
                with session.workspace(sync=False) as workspace:
                    proposed = encoder_proposal(languages_of(workspace), workspace.settings)
                    _tell(session, proposed, "first")
            return
        found = _survey(session, root)
        is_offered = found.current.kind == "none" and bool(found.models)
        if is_offered:
            output.plain("")
            show_survey(output.console(), found)
        elif found.proposed is not None and found.proposed.install:
            _tell(session, found.proposed, "first")
        _offer_encoder(session, found.proposed)
        if is_offered:
            _ask(session, found)
            output.plain("")
        elif found.current.kind == "none":
            output.plain("no language model was found; `amem setup` tells what one is worth")
    except AmemError as error:
        output.error(error)


def _tell(session: Session, proposed: EncoderProposal | None, when: str = "next") -> None:
    if proposed is not None:
        session.output.notice(f"{proposed.message}; {when}: {proposed.hint}")


def _offer_encoder(session: Session, proposed: EncoderProposal | None) -> None:
    if proposed is None or proposed.install:
        return
    question = f"{proposed.message}. Use the encoder `{proposed.name}`, which knows more?"
    if agreed(session.output, question, f"the encoder was not changed; later: {proposed.hint}"):
        _take_encoder(session, proposed)


def _take_encoder(session: Session, proposed: EncoderProposal | None) -> dict[str, str]:
    """Use the encoder if one is proposed and installed; the settings that changed."""
    from amem_cli.cli.config import AFTER_ENCODER
    from amem_cli.workspace.model_choice import choose

    if proposed is None:
        return {}
    if proposed.install:
        _tell(session, proposed)
        return {}
    with session.workspace(sync=False) as workspace:
        choose(workspace, {"encoder.model": proposed.name})
        # In a vault without vectors, the next search or index makes them, and nothing waits.
        has_vectors = workspace.index.vectors.encoder() is not None
    if not session.output.as_json:
        session.output.plain(f"encoder.model = {proposed.name!r}")
    if has_vectors:
        session.output.notice(AFTER_ENCODER)
    return {"encoder.model": proposed.name}


def _survey(session: Session, root: Path | None) -> Survey:
    from amem_cli.workspace.setup import survey

    if root is None:
        return survey(os.environ)
    with session.workspace(sync=False) as workspace:
        return survey(os.environ, workspace)


def _ask(session: Session, found: Survey) -> None:
    from amem_cli.terminal.setup import shown_choices

    shown = shown_choices(found)
    usual = next(key for key, choice in shown.items() if choice is found.recommended)
    enter = "keeps what is in use" if found.recommended.in_use else f"takes {usual}"
    prompt = f"Enter {enter}, a number takes another, q changes nothing"
    key = ask_key(session.output, prompt, f"{''.join(shown)}q\r\n")
    if key == "q":
        session.output.notice("nothing was changed")
        return
    _take(session, shown.get(key, found.recommended), yes=False)


def _take(
    session: Session,
    choice: Choice | str,
    *,
    yes: bool,
    also: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Choose a model of the survey, or one that `model use` knows by its name."""
    from amem_cli.cli.model import use_language_model

    if isinstance(choice, str):
        name, backend, base_url, model = choice, None, "", choice
    else:
        name, backend, base_url = choice.name, choice.backend or None, choice.base_url
        model = choice.model
        if choice.in_use and not choice.is_lost:
            kept = {"name": name, "kept": True, "settings": {**also}, "next": []}
            model = "no language model" if name == "none" else name
            session.output.result(kept, f"{model}, as before")
            return
    chosen = use_language_model(
        session, model, backend, base_url, allow=lambda chosen: _may_leave(session, chosen, yes)
    )
    if chosen and session.output.as_json:
        follows = chosen.pop("next")
        document = {"name": name, "kept": False, "settings": {**also, **chosen}, "next": follows}
        session.output.json_line(document, indent=2)


def _may_leave(session: Session, chosen: Settings, yes: bool) -> bool:
    """Whether texts may go where the chosen model is; asks unless the user has said yes."""
    from amem_cli.workspace.model_choice import leaves_machine

    if yes or not leaves_machine(chosen, os.environ):
        return True
    where = chosen.llm_base_url or chosen.llm_model
    if not can_ask(session.output):
        raise UsageError(f"{where} would get the texts of your notes", hint="--yes allows that.")
    question = (
        f"The texts of your notes, except those with private: true, go to {where}, and may"
        " leave this machine. Allow it?"
    )
    return agreed(session.output, question, "nothing was changed")
