"""Every planted fault is caught by its own check, with any seed, within seconds."""

from __future__ import annotations

import pytest

from discreet.audit.attacks.simulated.checks import checks
from discreet.audit.faults.fault import Fault
from discreet.audit.faults.reconstructed import FAULTS
from discreet.audit.finding import Effort, registry_of


@pytest.mark.parametrize("seed", [0, 3, 7])
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_is_caught(fault: Fault, seed: int) -> None:
    found = fault.check.run(Effort(seed=seed))
    assert not found.held and found.found > found.promised
    assert "surely above" in found.said


def test_names_do_not_meet_those_of_the_product() -> None:
    assert len(registry_of([*checks(), *(fault.check for fault in FAULTS)])) == len(checks()) + 3
