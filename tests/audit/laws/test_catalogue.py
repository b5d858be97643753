"""Every registered mechanism is on trial; what has no exact law is refused, not passed over."""

from __future__ import annotations

import pytest

from discreet.audit.finding import Effort, registry_of
from discreet.audit.laws import catalogue as room
from discreet.audit.laws.catalogue import catalogue
from discreet.audit.laws.checks import checks, exact_check
from discreet.audit.laws.of_noise import LAWS, response_subject
from discreet.errors import ArgumentError
from discreet.mechanisms import NOISES, LaplaceNoise
from discreet.mechanisms.selection.registry import ON_SCORES, ON_STABILITY
from discreet.select.choose.chooser import CHOICES
from discreet.select.quantiles.percentile import PERCENTILE_CHOICES
from discreet.trees.splits import MECHANISMS


def test_registries_are_on_trial() -> None:
    names = set(catalogue())
    assert {f"{name} noise on counts" for name in NOISES} <= names
    assert {f"{name} noise on sums" for name in NOISES} <= names
    assert {*ON_SCORES, *ON_STABILITY} <= names
    assert {f"percentile, {name}" for name in PERCENTILE_CHOICES[1:]} <= names
    assert {f"most frequent, {name}" for name in CHOICES[1:]} <= names
    assert {f"splits of a tree, {name}" for name in MECHANISMS[1:]} <= names
    assert set(LAWS) == set(NOISES)


def test_a_noise_without_an_exact_law_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Odd(LaplaceNoise):
        name = "odd"

    monkeypatch.setitem(NOISES, "odd", Odd)
    (check,) = [check for check in checks() if check.subject == "odd noise on counts"]
    with pytest.raises(ArgumentError, match="needs an entry in LAWS"):
        check.run(Effort())


def test_a_new_selection_is_on_trial_by_being_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """And is caught if it needs twice the noise: half of the scale that scores apart ask for."""

    class Eager(ON_SCORES["exponential"]):  # type: ignore[name-defined, misc]
        name = "eager"

        @property
        def scale(self) -> float:
            return super().scale / 2

    monkeypatch.setitem(ON_SCORES, "eager", Eager)
    (check,) = [check for check in checks() if check.subject == "eager"]
    finding = check.run(Effort())
    assert not finding.held and finding.found == pytest.approx(2.0, abs=0.01)


def test_checks_have_names_of_their_own_and_cost_nothing_before_they_run() -> None:
    found = checks()
    assert len(registry_of(found)) == len(found) == len(catalogue())
    assert {check.kind for check in found} == {"exact"}
    slow = [check.subject for check in found if not check.quick]
    assert len(slow) == 3 and all(name.startswith("splits of a tree") for name in slow)


def test_a_check_tells_the_worst_of_its_laws() -> None:
    tight, loose = response_subject(1.0), response_subject(0.5).promising(1.0)
    finding = exact_check("exact: both", "both", lambda: [loose, tight]).run(Effort())
    assert finding.held and finding.found == pytest.approx(1.0) and finding.tries == 2
    broken = exact_check("exact: broken", "broken", lambda: [tight, loose.promising(0.3)])
    assert not broken.run(Effort()).held


@pytest.mark.parametrize("name", ["laplace", "laplace noise on counts", "randomised response"])
def test_a_check_holds_and_is_tight(name: str) -> None:
    (check,) = [check for check in checks() if check.subject == name]
    finding = check.run(Effort())
    assert finding.held and finding.tightness > 0.99
    assert finding.curve["epsilon"][0] == 0 and len(finding.curve["found"]) == len(
        finding.curve["promised"]
    )


def test_promises_are_of_epsilon_one() -> None:
    assert (room.EPSILON, room.DELTA) == (1.0, 1e-3)
    for subject in catalogue()["permute-and-flip"]():
        assert subject.promise.epsilon == 1.0
