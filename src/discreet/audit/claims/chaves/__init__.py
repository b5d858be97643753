"""Chaves et al. (2025), "Differentially Private Selection using Smooth Sensitivity"."""

from __future__ import annotations

from discreet.audit.claims.claim import Claim


def claims() -> list[Claim]:
    """Return every claim of the paper that was put on trial, in the order of its sections."""
    from discreet.audit.claims.chaves import (
        abstract,
        dampening,
        earlier,
        errors,
        figures,
        percentile,
        rivals,
        smooth,
        tree_claims,
    )

    modules = (earlier, rivals, errors, smooth, percentile, dampening, tree_claims, abstract, figures)
    return [claim for module in modules for claim in module.claims()]
