"""The product's own releases hold against attacks that make up their tables."""

from __future__ import annotations

import pytest

from discreet.audit.attacks.simulated.checks import checks, finding_of_reconstruction
from discreet.audit.attacks.simulated.reconstruction import reconstruct_queries
from discreet.audit.finding import Check, Effort, registry_of


@pytest.mark.parametrize("check", checks(), ids=lambda check: check.name)
def test_ours_holds(check: Check) -> None:
    found = check.run(Effort(seconds=1.0, seed=5))
    assert found.held, found.said
    assert found.kind == "attack" and 0 < found.promised < 1 and found.tries >= 40


def test_names_are_unique_and_told() -> None:
    assert len(registry_of(checks())) == 9
    assert all(check.name.startswith("attack: ") and check.quick for check in checks())


def test_exact_values_are_no_violation_of_a_promise_nobody_made() -> None:
    found = finding_of_reconstruction(reconstruct_queries(known=400, queries=100))
    assert found.held and found.promised == 1.0
