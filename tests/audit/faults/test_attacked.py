"""Every planted fault is caught by its own attack, after few tries."""

from __future__ import annotations

import pytest

from discreet.audit.faults.attacked import FAULTS
from discreet.audit.faults.fault import Fault
from discreet.audit.finding import Effort


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
@pytest.mark.parametrize("seed", [0, 1])
def test_faults_are_caught(fault: Fault, seed: int) -> None:
    found = fault.check.run(Effort(seed=seed))
    assert not found.held, found.said
    assert found.found > found.promised
    assert found.tries <= 8_000, "few enough for the audit of a minute"


def test_faults_have_names_of_their_own() -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 3
