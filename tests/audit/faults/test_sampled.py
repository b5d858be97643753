"""Every fault that samples show is caught by its own check, and what is wrong with it is the reason."""

from __future__ import annotations

import pytest

from discreet.audit.faults.fault import Fault
from discreet.audit.faults.registry import FAULTS as REGISTERED
from discreet.audit.faults.registry import faults_of
from discreet.audit.faults.sampled import FAULTS, row_seeded_noise
from discreet.audit.finding import Effort
from discreet.audit.sampling.checks import sample_check
from discreet.audit.sampling.subjects import count_noise_of, on_counts
from discreet.errors import ArgumentError


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_faults_are_caught(fault: Fault) -> None:
    samples = 2_000 if fault.name == "noise seeded by the rows" else 20_000  # one run at a time
    found = fault.check.run(Effort(seconds=900.0, samples=samples))
    assert not found.held, found.said
    assert found.found > found.promised


def test_the_same_check_lets_the_right_scale_pass() -> None:
    found = sample_check(on_counts("right", count_noise_of("laplace", 0.0))).run(Effort())
    assert found.held and found.found < 1.05


def test_noise_seeded_by_rows_never_changes() -> None:
    import numpy as np

    rows = np.array([0.25, 0.5])
    assert row_seeded_noise(rows) == row_seeded_noise(rows) != rows.sum()


def test_faults_are_registered_under_names_of_their_own() -> None:
    assert {fault.name for fault in FAULTS} <= set(REGISTERED)
    assert all(fault.wrong.endswith(".") and fault.source for fault in FAULTS)
    with pytest.raises(ArgumentError, match="one name"):
        faults_of(FAULTS, FAULTS)
