"""Lange et al. (2024), "Tailoring Differential Privacy to Any Explainer", its supplement."""

from __future__ import annotations

from discreet.audit.claims.claim import Claim


def claims() -> list[Claim]:
    """Return every claim of the supplement that was put on trial, in the order of its sections."""
    from discreet.audit.claims.lange import curve_claims, rankings, sensitivities, stages

    modules = (rankings, stages, sensitivities, curve_claims)
    return [claim for module in modules for claim in module.claims()]
