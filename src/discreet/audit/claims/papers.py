"""The register of claims: all papers together, looked up by id."""

from __future__ import annotations

import difflib
import importlib
from functools import cache
from typing import Any

from discreet.audit.claims.claim import PAPERS, Claim, Paper, register_of
from discreet.errors import ArgumentError
from discreet.numerics import check_choice

_HOMES: dict[Paper, str] = {
    "alissaiei-2026": "discreet.audit.claims.alissaiei",
    "lange-2024": "discreet.audit.claims.lange",
    "chaves-2025": "discreet.audit.claims.chaves",
    "ma-2026": "discreet.audit.claims.ma",
    "watson-2022": "discreet.audit.claims.watson",
    "peers": "discreet.audit.claims.peers",
}


@cache
def register() -> dict[str, Claim]:
    """Return every claim by its id, paper by paper."""
    return register_of(
        claim for home in _HOMES.values() for claim in importlib.import_module(home).claims()
    )


def find_claim(id: str) -> Claim:
    """Return a claim, or raise with ids that are like the one that was asked for."""
    known = register()
    if id in known:
        return known[id]
    near = difflib.get_close_matches(id, known, n=3, cutoff=0.4)
    hint = f"Did you mean {', '.join(near)}?" if near else "'discreet claims' lists them."
    raise ArgumentError(f"id must be that of a claim, got {id!r}. {hint}")


def claims_frame(paper: str = "") -> Any:
    """Return a row per claim: where it stands, what it says, the verdict and why.

    Args:
      paper: one of ``PAPERS``; all of them if it is left out.
    """
    import pandas as pd

    if paper:
        check_choice("paper", paper, tuple(PAPERS))
    told = ("id", "place", "says", "verdict", "because", "instead")
    rows = [
        {name: getattr(claim, name) for name in told}
        for claim in register().values()
        if claim.paper == paper or not paper
    ]
    return pd.DataFrame(rows, columns=list(told)).set_index("id")
