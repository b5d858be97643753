"""Every attack on our own releases stays under its ceiling, and fits into an audit of a minute."""

from __future__ import annotations

import pytest

from discreet.audit.attacks.ceiling import Ceiling
from discreet.audit.attacks.checks import checks
from discreet.audit.attacks.scoring import score_guesses
from discreet.audit.attacks.verdict import ATTACKS, attack_check, finding_of
from discreet.audit.finding import Check, Effort, finding_from_json, registry_of


def test_attacks_have_names_of_their_own_and_share_enough_doubt() -> None:
    registry = registry_of(checks())
    assert 20 <= len(registry) <= ATTACKS
    assert {check.kind for check in registry.values()} == {"attack"}


@pytest.mark.parametrize("check", checks(), ids=lambda check: check.name)
def test_our_releases_stay_under_their_ceilings(check: Check) -> None:
    found = check.run(Effort(samples=8_000, seed=5))
    assert found.held, found.said
    assert found.tries >= 20 and 0 < found.promised < 1
    assert finding_from_json(found.to_json()) == found


def test_an_attack_above_its_ceiling_is_told_with_its_figure() -> None:
    check = attack_check("sure", "nothing", lambda effort: score_guesses([1] * 50, 4, Ceiling(1.0)))
    found = check.run(Effort())
    assert not found.held and found.unit == "accuracy" and found.found > found.promised
    assert "surely above its ceiling" in found.said and found.check == "attack: sure"


def test_doubt_is_shared_by_all_attacks() -> None:
    near = score_guesses([1] * 20 + [0] * 7, 2, Ceiling(0.1))
    assert not finding_of(near, attacks=1).held and finding_of(near).held
