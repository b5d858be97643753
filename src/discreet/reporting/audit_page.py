"""The report of an audit as one self-contained page."""

from __future__ import annotations

import math
from typing import Any

from discreet.audit.finding import KINDS, Finding
from discreet.audit.suite import AuditReport
from discreet.reporting.page import Page, load_template

_NAMES = {
    "exact": "Laws that were computed",
    "sample": "Lower bounds from samples",
    "lattice": "Impossible outputs",
    "hunt": "Certificates that were hunted",
    "model": "Models that were asked",
    "attack": "Attacks on releases",
}


def audit_page(report: AuditReport, *, title: str = "Audit") -> Page:
    """Make a page of an audit: what was promised, what was found, and whether it held.

    Args:
      report: what ``discreet.audit.run`` returned.
      title: heading of the page.
    """
    groups = [(_NAMES[kind], [_line(f) for f in report.findings if f.kind == kind]) for kind in KINDS]
    html = load_template("audit.html").render(
        title=title, report=report, groups=[(name, lines) for name, lines in groups if lines]
    )
    return Page(html)


def _line(found: Finding) -> dict[str, Any]:
    share = found.tightness
    return {
        "finding": found,
        "promised": f"{found.promised:.4g} {found.unit}",
        "found": f"{found.found:.4g}",
        "share": None if math.isnan(share) else max(0.0, min(share, 1.0)),
    }
