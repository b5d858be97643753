"""Every planted fault is caught by the check our own mechanisms pass, and by figures that are known."""

from __future__ import annotations

import math
import time
from pathlib import Path

import numpy as np
import pytest

from discreet.audit.faults.exact import FAULTS
from discreet.audit.faults.exact_laws import laplace_in_runs, private_threshold, renyi_noise
from discreet.audit.faults.fault import Fault
from discreet.audit.faults.published_smooth import published_table
from discreet.audit.finding import Effort, registry_of
from discreet.audit.laws.checks import checks
from discreet.audit.laws.exact_audit import exact
from discreet.audit.laws.of_stability import table_subject
from discreet.audit.laws.subject import Promise
from discreet.tables.entropy.bounds import bound_entropy

SOURCE = Path(__file__).parents[3] / "src" / "discreet"


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_planted_fault_is_caught_within_seconds(fault: Fault) -> None:
    start = time.process_time()  # what others do to the machine does not count
    finding = fault.check.run(Effort())
    assert time.process_time() - start < 5
    assert not finding.held
    assert finding.found > 1.2 * finding.promised or "exceeds the rho" in finding.said


def test_faults_have_names_of_their_own_beside_the_checks() -> None:
    both = [*(fault.check for fault in FAULTS), *checks()]
    assert len(registry_of(both)) == len(both)


@pytest.mark.parametrize(("candidates", "loss"), [(4096, 0.92), (6000, 1.005), (100_000, 1.728)])
def test_the_published_smooth_noisy_max_fails_with_many_candidates(
    candidates: int, loss: float
) -> None:
    table = published_table("student-t", candidates, 1.0, 90)
    audit = exact(table_subject("published", table, Promise(1.0)))
    assert audit.epsilon == pytest.approx(loss, abs=0.01)
    assert audit.epsilon == pytest.approx(table.loss(), abs=1e-6)
    assert audit.kept is (loss < 1)


def test_epsilon_in_place_of_beta_loses_its_degrees_of_freedom_times_as_much() -> None:
    table = published_table("student-t", 2, 0.5, 15, beta=0.5)
    assert 1.5 < exact(table_subject("printed", table, Promise(0.5))).epsilon < 1.6


@pytest.mark.parametrize("order", [0.5, 0.9])
def test_the_loss_of_the_published_entropy_bound_is_what_it_is_too_small_by(order: float) -> None:
    rows = 20
    audit = exact(renyi_noise(1.0, order, rows))
    short = bound_entropy(rows, 2, order) / (2 * order / (abs(1 - order) * rows))
    assert audit.epsilon == pytest.approx(short, rel=0.01)
    assert audit.kept is (short < 1)


def test_a_laplace_variable_in_runs_is_a_law() -> None:
    law = laplace_in_runs(0.3)
    assert law.sum() == pytest.approx(1.0, abs=1e-12) and (law > 0).all()
    moved = laplace_in_runs(1.3)
    assert np.log(law / moved).max() == pytest.approx(1.0, abs=1e-9)


def test_a_public_threshold_is_no_fault() -> None:
    """The same pairs, the same mechanism, a threshold that does not move."""
    from discreet.mechanisms import AboveThreshold

    fault, mechanism = private_threshold(1.0), AboveThreshold(1, 1.0)
    audit = exact(
        lambda scores: mechanism.probabilities(np.array(scores), 0), pairs=fault.pairs(), epsilon=1.0
    )
    assert audit.kept and audit.epsilon <= 1.0 + 1e-9
    assert exact(fault).epsilon > 1.4


def test_mechanism_f_that_counts_a_failure_is_no_fault() -> None:
    from discreet.audit.laws.of_records import deniability_subject
    from discreet.mechanisms.selection.deniability import DeniabilityTest

    test = DeniabilityTest(k=4, t=2, gamma=2.0, scale=2.0, rows=5)
    assert exact(deniability_subject(test)).kept
    (fault,) = [fault for fault in FAULTS if "until a record passes" in fault.name]
    assert fault.check.run(Effort()).found == math.inf


def test_flips_are_fine_if_they_are_charged_as_what_they_are() -> None:
    from discreet.audit.faults.exact_laws import cheap_flips
    from discreet.mechanisms import PermuteAndFlip

    audit = exact(cheap_flips(1.0))
    assert audit.exceeded == ("the rho 0.125 that is told",)
    assert audit.epsilon <= 1.0 and exact(PermuteAndFlip(1, 1.0)).exceeded == ()
