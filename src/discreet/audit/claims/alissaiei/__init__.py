"""The claims of Alissaiei (2026), ranking release for kernel SHAP, by theme."""

from __future__ import annotations

from discreet.audit.claims.alissaiei import curved, operators, ranges, ranking, sensitivity
from discreet.audit.claims.claim import Claim


def claims() -> list[Claim]:
    """Return all claims of the paper."""
    return [
        claim for part in (operators, ranges, sensitivity, curved, ranking) for claim in part.claims()
    ]
