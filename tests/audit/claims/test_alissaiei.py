"""Every numbered statement, table and figure of Alissaiei (2026) has a verdict that evidence finds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from discreet.audit.claims.alissaiei import claims
from discreet.audit.claims.claim import Claim, register_of

THEORY = Path(__file__).parents[3] / "docs" / "theory"
REGISTER = register_of(claims())

KINDS = {
    "Definition": (1, 2, 3, 8, 37),
    "Lemma": (4, 5, 9, 10, 11, 20, 23, 31, 34, 35, 36, 38),
    "Proposition": (6, 7, 22, 39, 42),
    "Theorem": (12, 14, 16, 19, 29, 33, 40),
    "Corollary": (15, 41),
    "Remark": (13, 17, 18, 21, 24, 25, 26, 27, 28, 30, 32, 43),
}
"""The paper numbers all of these in one sequence."""

PLACES = [f"{kind} {number}" for kind, numbers in KINDS.items() for number in numbers] + [
    *(f"Table {number}" for number in range(1, 20)),
    "Figure 1",
    "Algorithm 1",
    "Equation 1",
    "Equation 2",
]

TRIED = [claim for claim in REGISTER.values() if claim.evidence is not None]


def covered() -> set[str]:
    """Return all places that some claim names."""
    place = re.compile(rf"(?:{'|'.join(KINDS)}|Table|Figure|Algorithm|Equation) \d+")
    return {found for claim in REGISTER.values() for found in place.findall(claim.place)}


def test_no_number_of_the_paper_is_skipped() -> None:
    assert sorted(n for numbers in KINDS.values() for n in numbers) == list(range(1, 44))


def test_every_numbered_place_is_covered() -> None:
    assert set(PLACES) - covered() == set()
    assert covered() - set(PLACES) == set(), "places that the paper does not have"


def test_ids_are_statements_of_the_theory_pages() -> None:
    written = "\n".join(page.read_text() for page in THEORY.glob("*.md"))
    known = set(re.findall(r"^### (\S+)$", written, re.M))
    named = {name for claim in REGISTER.values() for name in claim.statements}
    assert named - known == set()


@pytest.mark.parametrize("claim", TRIED, ids=lambda claim: claim.id)
def test_the_evidence_finds_the_verdict(claim: Claim) -> None:
    found = claim.run()
    assert found.verdict == claim.verdict, found.said
    assert found.said
    assert found.figures


@pytest.mark.parametrize("claim", TRIED, ids=lambda claim: claim.id)
def test_the_evidence_finds_another_at_the_control(claim: Claim) -> None:
    found = claim.run(claim.control)
    assert found.verdict != claim.verdict, found.said


def test_what_cannot_be_tried_says_why() -> None:
    assert all(claim.verdict == "not reproducible" for claim in REGISTER.values() if not claim.evidence)
    assert all(len(claim.because) > 40 for claim in REGISTER.values())
