"""What is said of ours is what its plans have."""

from __future__ import annotations

import pytest

from discreet.audit.limits import reached
from discreet.explain.shap.background import background
from discreet.mechanisms.additive.balanced import balanced
from discreet.plans import Setting
from discreet.privacy.relation import REPLACE_ONE
from discreet.schema import Category, Number, Schema
from discreet.tables.histogram.plan import histogram


@pytest.mark.parametrize("mechanism", ["auto", "linf"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_means_have_the_noise_of_a_background(delta: float, mechanism: str) -> None:
    schema = Schema({f"column {place}": Number(-1.0, 1.0, missing=False) for place in range(20)})
    plan = background("mean", epsilon=1.0, delta=delta, mechanism=mechanism)  # type: ignore[arg-type]
    (stage,) = plan.prepare(Setting(schema, REPLACE_ONE, 500)).stages
    noise = reached.vector_noise(500, 20, 1.0, delta, mechanism)  # type: ignore[arg-type]
    assert stage.noise.name == noise.name
    assert stage.noise.std == pytest.approx(noise.std, rel=1e-6)


def test_counts_have_the_noise_of_a_histogram() -> None:
    """Without the balance of a public sum, by which a histogram has less."""
    schema = Schema({"home": Category("rent", "own", "other", missing=False, other=False)})
    (stage,) = histogram("home", epsilon=0.5).prepare(Setting(schema, REPLACE_ONE, 500)).stages
    independent = reached.histogram_noise(3, 0.5)
    assert stage.noise.std == pytest.approx(balanced(independent, 500).std)
    assert stage.noise.std < independent.std


def test_a_choice_needs_the_gap_at_which_it_is_right() -> None:
    gap = reached.needed_gap(10, 1.0, level=0.9)
    assert reached.peeled_chance(10, gap, 1.0) >= 0.9
    chances = [law(10, gap - 1, 1.0) for law in (reached.peeled_chance, reached.sorted_chance)]
    assert max(chances) < 0.9
