"""The command that tries to break the product, or a planted fault."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.audit.faults.registry import FAULTS, find_fault
from discreet.audit.finding import Checks, Finding, registry_of
from discreet.audit.suite import PLANTED, AuditReport, product_checks, run
from discreet.cli.output import JsonOption, print_json, print_table
from discreet.cli.writing import check_file


def audit_command(
    full: Annotated[
        bool, typer.Option("--full/--quick", help="An hour, or a minute with fewer samples.")
    ] = False,
    only: Annotated[str, typer.Option(help="Run the checks whose name contains this text.")] = "",
    planted: Annotated[
        str, typer.Option(help="Try a planted fault instead of the product; the audit must not pass.")
    ] = "",
    list_: Annotated[
        bool, typer.Option("--list", help="Name the checks and the planted faults.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Write the report here: a page (.html) or data (.json).")
    ] = None,
    journal: Annotated[
        Path | None, typer.Option(help="Keep findings here; the same file goes on where it stopped.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of what is simulated.")] = 0,
    json: JsonOption = False,
) -> None:
    """Try to break every mechanism and plan, and tell what was found; exit code 0 if all held."""
    if list_:
        _list(json)
        return
    check_file("--out", out, (".html", ".json"))
    check_file("--journal", journal)
    checks = _checks(planted)
    report = run(
        checks,
        level="full" if full else "quick",
        only=only,
        seed=seed,
        effort=PLANTED if planted else None,
        journal=journal,
    )
    if json:
        print_json(report.to_json())
    else:
        _show(report)
    if out is not None:  # last: what cannot be written has been shown
        _save(report, out)
    raise typer.Exit(report.exit_code)


def _checks(planted: str) -> Checks:
    return registry_of([find_fault(planted).check]) if planted else product_checks()


def _list(json: bool) -> None:
    checks = product_checks()
    if json:
        faults = {name: fault.wrong for name, fault in FAULTS.items()}
        print_json({"checks": {name: one.subject for name, one in checks.items()}, "faults": faults})
        return
    rows = [[name, one.subject, "quick" if one.quick else "full"] for name, one in checks.items()]
    print_table("Checks of the product", ["check", "on trial", "level"], rows)
    told = [[name, fault.wrong, fault.source] for name, fault in FAULTS.items()]
    print_table("Planted faults", ["fault", "what is wrong", "source"], told)


def _save(report: AuditReport, out: Path) -> None:
    from json import dumps

    from discreet.plain import write_text
    from discreet.reporting.audit_page import audit_page

    if out.suffix == ".json":
        write_text(out, dumps(report.to_json(), indent=2))
    else:
        audit_page(report).save(out)


def _show(report: AuditReport) -> None:
    header = ["check", "promised", "found", "held", "tries", "seconds"]
    print_table(str(report), header, [_row(found) for found in report.findings])
    for found in report.broken:
        typer.echo(f"{found.check}: {found.said}", err=True)


def _row(found: Finding) -> list[str]:
    return [
        found.check,
        f"{found.promised:.4g} {found.unit}",
        f"{found.found:.4g}",
        "yes" if found.held else "NO",
        f"{found.tries:,}",
        f"{found.seconds:.2f}",
    ]
