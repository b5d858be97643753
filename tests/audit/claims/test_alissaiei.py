"""Every numbered statement, table and figure of Alissaiei (2026) has a verdict that evidence finds."""

from __future__ import annotations

import re

import pytest

from discreet.audit.claims import alissaiei
from discreet.audit.claims.claim import Claim
from tests.audit.claims.covers import check_places, check_verdict, statements

CLAIMS = alissaiei.claims()

KINDS = {
    "Definition": (1, 2, 3, 8, 37),
    "Lemma": (4, 5, 9, 10, 11, 20, 23, 31, 34, 35, 36, 38),
    "Proposition": (6, 7, 22, 39, 42),
    "Theorem": (12, 14, 16, 19, 29, 33, 40),
    "Corollary": (15, 41),
    "Remark": (13, 17, 18, 21, 24, 25, 26, 27, 28, 30, 32, 43),
}
"""The paper numbers all of these in one sequence."""

PLACES = [
    *(f"{kind} {number}" for kind, numbers in KINDS.items() for number in numbers),
    *(f"Table {number}" for number in range(1, 20)),
    "Figure 1",
    "Algorithm 1",
    "Equation 1",
    "Equation 2",
]


def test_no_number_of_the_paper_is_skipped() -> None:
    assert sorted(number for numbers in KINDS.values() for number in numbers) == list(range(1, 44))


def test_every_numbered_item_is_there() -> None:
    check_places(CLAIMS, PLACES)


def test_no_place_is_made_up() -> None:
    kinds = "|".join([*KINDS, "Table", "Figure", "Algorithm", "Equation"])
    named = {place for claim in CLAIMS for place in re.findall(rf"(?:{kinds}) \d+", claim.place)}
    assert named - set(PLACES) == set()


def test_an_item_that_is_left_out_is_noticed() -> None:
    without = [claim for claim in CLAIMS if "Lemma 11" not in claim.place]
    with pytest.raises(AssertionError):
        check_places(without, PLACES)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_evidence_comes_to_the_verdict_and_can_fail(claim: Claim) -> None:
    check_verdict(claim)
    assert set(claim.statements) <= statements()
