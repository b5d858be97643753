"""Targets draw from the mechanism's own law, and their likelihood is that law."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as dc
from discreet.audit.attacks import scenes
from discreet.audit.attacks.ceiling import NOTHING_PROMISED, Ceiling
from discreet.audit.attacks.membership import attack_membership
from discreet.audit.attacks.targets import exact_target, result_target, sums_target
from discreet.errors import ArgumentError
from discreet.mechanisms import LaplaceNoise
from discreet.schema import FloatArray

TABLES = scenes.neighbours()
COUNTS = [table["home"].value_counts()[["rent", "mortgage", "own"]].to_numpy() for table in TABLES]


def test_releases_scatter_around_the_exact_counts_of_their_table() -> None:
    target = scenes.sums_scene("histogram", 1.0)
    (stage,) = scenes.PLANS["histogram"](1.0).prepare(setting()).stages
    for which, exact in enumerate(COUNTS):
        drawn = target.draw(which, 10_000, 3)
        assert drawn.mean(axis=0) == pytest.approx(exact, abs=0.1)
        assert drawn.std(axis=0) == pytest.approx(stage.noise.std, rel=0.05)
        assert np.all(drawn.sum(axis=1) == exact.sum())


@pytest.mark.parametrize("name", ["histogram", "Gaussian histogram"])
def test_the_likelihood_of_noise_is_its_exact_law(name: str) -> None:
    target = scenes.sums_scene(name, 1.0)
    assert target.likelihood is not None
    noise = scenes.PLANS[name](1.0).prepare(setting()).stages[0].noise
    outputs = np.array([[30.0, 20.0, 12.0], [24.0, 25.0, 9.0]])
    found = -np.diff(target.likelihood(outputs))[:, 0]
    # Given that noises add up to nothing, probabilities are in proportion to those of independent ones.
    each = LaplaceNoise.probabilities if name == "histogram" else type(noise).probabilities  # type: ignore[attr-defined]
    law = [
        np.log(each(noise, (outputs - exact).astype(int))).sum(axis=1)  # type: ignore[arg-type]
        for exact in COUNTS
    ]
    assert found == pytest.approx(law[0] - law[1], rel=1e-9)


def setting() -> dc.plans.Setting:  # type: ignore[name-defined]
    from discreet.plans import Setting

    return Setting(scenes.SCHEMA, "replace-one", len(TABLES[0]))


@pytest.mark.parametrize("name", scenes.PLANS)
def test_no_output_s_ratio_is_beyond_a_pure_promise(name: str) -> None:
    target = scenes.sums_scene(name, 0.7)
    assert target.likelihood is not None
    ratios = np.diff(target.likelihood(target.draw(0, 100, 0)))
    if target.ceiling.delta == 0:
        assert np.abs(ratios).max() <= 0.7 + 1e-9
    assert np.abs(ratios).max() > 0.05


def test_exact_answers_are_the_same_each_time_and_promise_nothing() -> None:
    plan = dc.histogram("home", epsilon=1.0)
    target = exact_target(plan, TABLES, scenes.SCHEMA)
    assert (target.draw(0, 3, 0) == COUNTS[0]).all() and (target.draw(1, 2, 9) == COUNTS[1]).all()
    assert target.ceiling == NOTHING_PROMISED and target.under(Ceiling(1.0)).ceiling == Ceiling(1.0)


def test_results_are_whole_releases() -> None:
    def read(result: dc.Histogram) -> FloatArray:
        return np.array(result.counts)

    target = result_target(dc.histogram("home", epsilon=30.0), TABLES, scenes.SCHEMA, read=read)
    assert np.median(target.draw(0, 41, 1), axis=0) == pytest.approx(COUNTS[0], abs=1)
    assert (target.draw(0, 5, 1) == target.draw(0, 5, 1)).all()
    assert target.likelihood is None


def test_replacing_a_record_is_two_steps_under_add_remove() -> None:
    plan = dc.histogram("home", epsilon=0.5)
    assert sums_target(plan, TABLES, scenes.SCHEMA, "add-remove").ceiling == Ceiling(1.0)
    apart = scenes.neighbours("add-remove")
    assert sums_target(plan, apart, scenes.SCHEMA, "add-remove").ceiling == Ceiling(0.5)


def test_bad_input_is_told_in_a_sentence() -> None:
    plan = dc.histogram("home", epsilon=1.0)
    with pytest.raises(ArgumentError, match="tables must be at least two, got 1"):
        sums_target(plan, TABLES[:1], scenes.SCHEMA)
    with pytest.raises(ArgumentError, match="as many rows under replace-one, got"):
        sums_target(plan, scenes.neighbours("add-remove"), scenes.SCHEMA)
    with pytest.raises(ArgumentError, match="plan must add noise to sums alone"):
        sums_target(dc.quantiles("income", [0.5], epsilon=1.0), TABLES, scenes.SCHEMA)


def test_gaussian_noise_is_held_to_its_own_curve_and_touches_it() -> None:
    target = scenes.sums_scene("Gaussian histogram", 3.0)
    promised = Ceiling(3.0, 1e-6)
    assert target.ceiling.accuracy < promised.accuracy - 0.3
    found = attack_membership(target, trials=20_000)
    assert found.accuracy.value == pytest.approx(target.ceiling.accuracy, abs=0.01)
    assert not found.beats(attacks=64) and found.beats(Ceiling(0.3), attacks=64)


def test_what_is_no_plan_or_no_table_is_told() -> None:
    with pytest.raises(ArgumentError, match=r"plan must be a plan, such as dc.histogram\(...\), got 5"):
        sums_target(5, [], None)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="tables must be a list, got None"):
        sums_target(dc.histogram("home", epsilon=1.0), None, None)  # type: ignore[arg-type]
