"""`amem doctor`."""

from __future__ import annotations

from typing import Annotated

import typer

from amem_cli.cli.session import session_of


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("doctor")(doctor)


def doctor(
    context: typer.Context,
    fix: Annotated[bool, typer.Option("--fix", help="Mend what is safe to mend.")] = False,
) -> None:
    """Check the vault, its index, models, links, ids and git, and say what to do.

    Without --fix nothing is written. With it, only what cannot harm is: the index is brought up to
    date, leftovers of cut writes are put away, lines that git needs are added, a copied note gets
    an id of its own where the journal is clear, amem's own links to notes that are gone are
    removed. Notices leave the vault healthy; problems that are left give the exit code 1.

    Examples:

        amem doctor

        amem doctor --fix

        amem doctor --json
    """
    import os

    from amem_cli.doctor.checkup import Checkup
    from amem_cli.doctor.finding import apply_fixes, examine, is_healthy
    from amem_cli.locations import find_vault
    from amem_cli.terminal.findings import findings_document, show_findings

    session = session_of(context)
    checkup = Checkup(find_vault(session.vault), os.environ)
    try:
        with session.output.progress("checking") as progress:
            findings = examine(checkup.checks(), progress=progress)
        if fix:
            findings = apply_fixes(findings)
    finally:
        checkup.close()
    verbose = session.output.verbose
    session.output.result(
        findings_document(findings),
        lambda console: show_findings(console, findings, fixing=fix, whole=verbose),
    )
    if not is_healthy(findings):
        raise typer.Exit(1)
