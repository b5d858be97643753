"""Claims of Ma, Wu and Yan (2026) and of Watson et al. (2022)."""

from __future__ import annotations

import pytest

from discreet.audit.claims import ma, watson
from discreet.audit.claims.claim import Claim
from tests.audit.claims.covers import check_places, check_verdict, statements

MA, WATSON = ma.claims(), watson.claims()

MA_PLACES = [
    *(f"Theorem {number}" for number in range(1, 5)),
    *(f"Lemma {number}" for number in range(1, 5)),
    "Corollary 1",
    "Algorithm 1",
    "equation (17)",
    *(f"Figure {number}" for number in range(1, 9)),
    *(f"Figure {number}" for number in ("S1", "S2", "S4")),
    *(f"Table {number}" for number in ("IV", "S1", "S3")),
]
"""Without Tables I (related work), II (notation), III (sources), S2 (list of figures) and Figure S3,
of which the paper says nothing."""

WATSON_PLACES = [
    "Theorem 2.3",
    "Observation 3.1",
    "Definition 3.2",
    "Theorem 3.3",
    "Theorem 3.4",
    "Theorem 3.5",
    "Lemma C.1",
    "Algorithm 1",
    "Algorithm 2",
    "Figure 1",
]
"""Without Table 1 (notation) and Definitions 2.1 and 2.2 (neighbours, differential privacy)."""


@pytest.mark.parametrize("claim", [*MA, *WATSON], ids=lambda claim: claim.id)
def test_evidence_comes_to_the_verdict_and_can_fail(claim: Claim) -> None:
    check_verdict(claim)
    assert set(claim.statements) <= statements()


def test_every_numbered_item_is_there() -> None:
    check_places(MA, MA_PLACES)
    check_places(WATSON, WATSON_PLACES)
