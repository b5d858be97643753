"""Distribution functions: they rise, their bands hold, quantiles and shares follow."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as dc
from discreet.errors import ArgumentError
from discreet.privacy.relation import RELATIONS, REPLACE_ONE
from discreet.statistics.cdf import risen
from tests.laws.examples import Example
from tests.statistics.coverage import LEAST, SCHEMA, answers, people, setting_of

EXAMPLES = [
    Example("cdf", lambda _: dc.cdf("income", bins=8, epsilon=1.0)),
    Example("cdf", lambda _: dc.cdf("age", bins=64, epsilon=1.0, delta=1e-5, mechanism="gaussian")),
]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("column", "bins"), [("gain", 16), ("age", 64), ("odd", 8)])
def test_bands_hold_and_functions_rise(column: str, bins: int, relation: str) -> None:
    frame = people(3_000)
    found = answers(dc.cdf(column, bins=bins, epsilon=0.5), relation, frame, 200)
    values, x = frame[column].dropna().to_numpy(), np.array(found[0].x)
    at = values[:, None] <= x if SCHEMA[column].step else values[:, None] < x  # type: ignore[union-attr]
    exact = at.mean(axis=0)
    exact[-1] = 1.0
    each = np.mean([(one.band()[0] <= exact) & (exact <= one.band()[1]) for one in found], axis=0)
    assert each.min() > LEAST
    together = [np.all((one.band("all")[0] <= exact) & (exact <= one.band("all")[1])) for one in found]
    assert np.mean(together) > LEAST
    for one in found:
        assert np.all(np.diff((0.0, *one.y)) >= 0) and one.y[-1] == 1.0


def test_quantiles_and_shares_follow() -> None:
    frame = people(20_000)
    (one,) = answers(dc.cdf("age", bins=73, epsilon=3.0), REPLACE_ONE, frame, 1)
    assert one.quantile(0.5) == pytest.approx(frame["age"].median(), abs=1)
    assert one.share(45) == pytest.approx((frame["age"] <= 45).mean(), abs=0.01)
    assert one.quantile(0) == 18 and one.quantile(1) <= 90
    with pytest.raises(ArgumentError, match="level must be between 0 and 1"):
        one.quantile(1.5)
    assert one.plot().ax_.get_ylabel() == "share of the records"
    assert type(one).read(one.to_json()) == one


@pytest.mark.proves("isotonic")
def test_rising_shares_are_never_further_off() -> None:
    draw = np.random.default_rng(2)
    for _ in range(200):
        exact = np.append(np.sort(draw.random(9)), 1.0)
        noisy = exact + draw.normal(0, 0.3, 10)
        assert np.linalg.norm(risen(noisy) - exact) <= np.linalg.norm(noisy - exact) + 1e-12


@pytest.mark.refutes("isotonic")
def test_running_maxima_are_caught() -> None:
    """Planted: shares that are only ever raised are further off where noise was high."""
    exact = np.linspace(0.1, 1.0, 10)
    noisy = exact + np.array([0.8, *[0.0] * 9])
    raised = np.minimum(np.maximum.accumulate(noisy), 1.0)
    assert np.linalg.norm(raised - exact) > np.linalg.norm(noisy - exact)


def test_what_has_no_order_is_refused() -> None:
    with pytest.raises(ArgumentError, match="column must be a number or a date"):
        dc.cdf("home", epsilon=1.0).prepare(setting_of(REPLACE_ONE))
    with pytest.raises(ArgumentError, match="mechanism must draw"):
        dc.cdf("age", mechanism="linf", epsilon=1.0).prepare(setting_of(REPLACE_ONE))
