"""Claims of libraries, tried where they are installed; they are for tests."""

from __future__ import annotations

import pytest

from discreet.audit.claims import peers
from discreet.audit.claims.claim import Claim, Evidence
from tests.audit.claims.covers import check_verdict, statements


@pytest.mark.parametrize("claim", peers.claims(), ids=lambda claim: claim.id)
def test_evidence_comes_to_the_verdict_and_can_fail(claim: Claim) -> None:
    check_verdict(claim)
    assert set(claim.statements) <= statements()


def test_a_library_that_is_not_there_leaves_its_claim_untried() -> None:
    run = peers.needs("no_such_library", lambda twist: Evidence("holds", "never", {}))
    assert run(1.0) == Evidence("not reproducible", "no_such_library is not installed.", {})
