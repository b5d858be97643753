"""The claims of Alissaiei (2026), ranking release for kernel SHAP, by theme."""

from __future__ import annotations

from discreet.audit.claims.alissaiei import (
    accuracy,
    bootstrap,
    curved,
    impossibility,
    noise,
    operators,
    ranges,
    ranking,
    relations,
    reruns,
    sensitivity,
    tables,
)
from discreet.audit.claims.claim import Claim

_PARTS = (
    operators,
    ranges,
    relations,
    sensitivity,
    curved,
    ranking,
    noise,
    bootstrap,
    impossibility,
    accuracy,
    reruns,
    tables,
)


def claims() -> list[Claim]:
    """Return all claims of the paper."""
    return [claim for part in _PARTS for claim in part.claims()]
