"""Bounds of any size: refused while nothing is spent, or sums that do not wrap."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import discreet as dc
from discreet.data import Summand, VectorContribution, add_up
from discreet.data.adding import _into_ball
from discreet.data.at_once import subset_rows
from discreet.data.contributions import SubsetsContribution
from discreet.data.engine import check_summand
from discreet.data.rows import open_rows
from discreet.data.state import own_state
from discreet.errors import ArgumentError, DiscreetError
from discreet.mechanisms import lattice
from discreet.plans import Plan
from discreet.privacy.certificate import (
    NORMS,
    Ball,
)
from discreet.privacy.relation import Relation

RELATIONS: tuple[Relation, ...] = ("replace-one", "add-remove")
LARGEST = 1.7976931348623157e308
WIDTHS = (
    *(5e-324, 1e-310, 1e-300, 1e-200, 9e-101, 1e-100),
    *(1.0, 1e100, 1.1e100, 1e200, 1e300, LARGEST),
)
PLAIN = dc.Schema({"a": dc.Number(0, 1, missing=False), "b": dc.Number(0, 1, missing=False)})
DRAW = np.random.default_rng(0)
ROWS = pd.DataFrame(DRAW.uniform(0, 1, (33, 2)), columns=["a", "b"])
QUERY = pd.Series({"a": 0.7, "b": 0.2})
PUBLIC = pd.DataFrame({"a": [0.1, 0.9], "b": [0.3, 0.6]})
ORDERS = {"l1": 1, "l2": 2, "linf": np.inf}


def jump(low: float, high: float) -> dc.Model:
    """Return a model that answers one end of its bounds or the other."""
    return dc.Model(lambda rows: np.where(rows[:, 0] > 0.5, high, low), bounds=(low, high), name="f")


def score(low: float, high: float) -> Callable[..., Any]:
    def utility(rows: Any, candidates: Any) -> Any:
        return np.where(rows["a"] > 0.5, high, low)[:, None] + np.zeros((1, len(candidates)))

    return utility


def by_subset(low: float, high: float) -> Callable[[pd.DataFrame], list[float]]:
    return lambda frame: [high if frame["a"].mean() > 0.5 else low] * 3


BY_BOUNDS: dict[str, Callable[[float, float], Plan]] = {
    "shap_values": lambda low, high: dc.shap_values(jump(low, high), QUERY, epsilon=1.0),
    "shap_values, delta": lambda low, high: dc.shap_values(
        jump(low, high), QUERY, clip=None, epsilon=1.0, delta=1e-6
    ),
    "shap_ranking": lambda low, high: dc.shap_ranking(jump(low, high), QUERY, k=2, epsilon=1.0),
    "shap_ranking, threshold": lambda low, high: dc.shap_ranking(
        jump(low, high), QUERY, k=2, threshold=high / 4 - low / 4, epsilon=1.0, delta=1e-6
    ),
    "shap_importance": lambda low, high: dc.shap_importance(
        jump(low, high), background=PUBLIC, epsilon=1.0
    ),
    "shap_dependence": lambda low, high: dc.shap_dependence(
        jump(low, high), "a", background=PUBLIC, epsilon=1.0
    ),
    "partial_dependence": lambda low, high: dc.partial_dependence(
        jump(low, high), "b", resolution=3, epsilon=1.0
    ),
    "partial_dependence, auto": lambda low, high: dc.partial_dependence(
        jump(low, high), "b", resolution=3, curve="auto", epsilon=1.0
    ),
    "accumulated_effects": lambda low, high: dc.accumulated_effects(
        jump(low, high), "a", intervals=3, epsilon=1.0
    ),
    "feature_interaction": lambda low, high: dc.feature_interaction(
        jump(low, high), subsets=3, points=4, epsilon=1.0
    ),
    "any_curve": lambda low, high: dc.any_curve(
        by_subset(low, high), grid=[0, 1, 2], bounds=(low, high), subsets=3, name="c", epsilon=1.0
    ),
    "choose": lambda low, high: dc.choose(
        score(low, high), [0.0, 1.0], bounds=(low, high), name="u", epsilon=1.0
    ),
    "choose, whole table": lambda low, high: dc.choose(
        lambda table, candidates: np.array([low, high]),
        [0.0, 1.0],
        bounds=(low, high),
        sensitivity=high / 2 - low / 2,
        name="w",
        epsilon=1.0,
    ),
}


def open_session(rows: pd.DataFrame, schema: dc.Schema, relation: Relation) -> dc.Session:
    return dc.protect(
        rows, schema, dataset="d", ledger=":memory:", epsilon=9.0, delta=0.1, relation=relation, seed=1
    )


def exact_sum(session: dc.Session, contribution: Any, step: float) -> list[int] | None:
    """Return a sum in whole numbers of any length, or None if there is nothing to add up."""
    table = session._table
    if isinstance(contribution, VectorContribution):
        blocks = open_rows(table, contribution.columns)
        found = np.concatenate([contribution.compute(block) for block in blocks])
    elif isinstance(contribution, SubsetsContribution):
        found = np.array(list(contribution.compute(subset_rows(table, contribution, None))))
    else:
        return None
    if isinstance(contribution.region, Ball):
        found = _into_ball(found, contribution.region, contribution.fill)
    clipped = np.clip(np.where(np.isnan(found), contribution.fill, found), *contribution.region.limits)
    return [sum(round(Fraction(v) / Fraction(step)) for v in column) for column in clipped.T.tolist()]


@own_state()
def broken(session: dc.Session, neighbour: dc.Session, plan: Plan) -> list[str]:
    """Return what is wrong with the sums of a plan that was accepted."""
    faults: list[str] = []
    program = plan.prepare(session._setting)
    sums, others = session._exact_sums(*program.stages), neighbour._exact_sums(*program.stages)
    for stage, found, other in zip(program.stages, sums, others, strict=True):
        step, relation = stage.noise.step, session._setting.relation
        for number in (step, 1 / step):
            if not 2.0**-1022 <= number <= LARGEST:
                faults.append(f"{stage.name}: step {step:g}")
        expected = exact_sum(session, stage.contribution, step)
        if expected is None:
            continue
        if expected != found.tolist() or max(map(abs, expected)) > 2**61:
            faults.append(f"{stage.name}: wraps")
        moved = np.array([int(a) - int(b) for a, b in zip(found, other, strict=True)], dtype=float)
        for norm in NORMS:
            limit = stage.noise.certificate.sensitivity(norm, relation) / step
            if np.linalg.norm(moved, ORDERS[norm]) > limit * (1 + 1e-12) + 1e-6:
                faults.append(f"{stage.name}: moves too far in {norm}")
    return faults


def refused(
    make: Callable[[], Plan], rows: pd.DataFrame, schema: dc.Schema, relation: Relation
) -> bool:
    """Ask a plan; say whether it was refused, for free, or check that it was answered as it should."""
    try:
        plan = make()
    except DiscreetError:
        return True
    session = open_session(rows, schema, relation)
    try:
        session.release(plan).dumps()
    except DiscreetError:
        assert session.balance.spent.loss == 0
        return True
    other = open_session(neighbours(rows, relation), schema, relation)
    assert broken(session, other, plan) == []
    return False


def neighbours(rows: pd.DataFrame, relation: Relation) -> pd.DataFrame:
    """Return the rows with the last one gone, or turned around."""
    if relation == "add-remove":
        return rows.iloc[:-1]
    turned = rows.copy()
    turned.iloc[-1] = rows.max() + rows.min() - rows.iloc[-1]
    return turned


@pytest.mark.proves("lattice")
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", BY_BOUNDS)
def test_bounds_are_refused_for_free_or_sums_do_not_wrap(name: str, relation: Relation) -> None:
    accepted = []
    for width in WIDTHS:
        for low, high in ((0.0, width), (-width / 2, width / 2)):
            make = partial(BY_BOUNDS[name], low, high)
            accepted += [] if refused(make, ROWS, PLAIN, relation) else [width]
    public = "threshold" in name and relation == "add-remove"  # it needs the number of rows
    assert set(accepted) == (set() if public else {1e-100, 1.0, 1e100})


@pytest.mark.refutes("lattice")
@pytest.mark.parametrize("name", ["shap_values, delta", "partial_dependence", "choose"])
def test_steps_that_are_no_normal_numbers_are_caught(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sums wrapped with bounds (0, 1e-300), and the parity of the number of rows was plain to see."""
    monkeypatch.setattr(lattice, "_LEAST", -1074)
    monkeypatch.setattr(lattice, "NARROWEST", 0.0)
    session = open_session(ROWS, PLAIN, "add-remove")
    plan = BY_BOUNDS[name](0.0, 1e-300)
    assert broken(session, open_session(ROWS.iloc[:-1], PLAIN, "add-remove"), plan)


def linear() -> LinearRegression:
    model = LinearRegression()
    model.coef_, model.intercept_, model.n_features_in_ = np.array([1.0, 0.0]), 0.0, 2
    return model


def logistic() -> LogisticRegression:
    model = LogisticRegression()
    model.coef_, model.intercept_ = np.array([[1.0, 1.0]]), np.array([0.0])
    model.classes_, model.n_features_in_ = np.array([0, 1]), 2
    return model


def by_schema(schema: dc.Schema, low: float, high: float) -> dict[str, Callable[[], Plan]]:
    """Return plans whose bounds are those of the columns."""
    ends = pd.DataFrame({"a": [low, high], "b": [low, high]})
    return {
        "histogram": lambda: dc.histogram(["a", "b"], bins=3, epsilon=1.0),
        "quantiles": lambda: dc.quantiles("a", [0.25, 0.75], epsilon=1.0),
        "background": lambda: dc.background("mean", epsilon=1.0),
        "functional_mean": lambda: dc.functional_mean(["a", "b"], epsilon=1.0, delta=1e-6),
        "synthesize": lambda: dc.synthesize(5, bins=3, epsilon=1.0),
        "certified model": lambda: dc.shap_values(
            dc.Model(linear(), bounds=schema), ends.iloc[0], epsilon=1.0
        ),
        "certified curve": lambda: dc.partial_dependence(
            dc.Model(linear(), bounds=schema), "a", resolution=3, epsilon=1.0
        ),
        "query": lambda: dc.shap_values(
            logistic(), ends.iloc[0], protects="query", background=ends, epsilon=1.0
        ),
    }


@pytest.mark.proves("lattice")
@pytest.mark.parametrize("width", [5e-324, 1e-300, 1.0, 1e150, LARGEST])
def test_columns_of_any_width_are_refused_for_free_or_sums_do_not_wrap(width: float) -> None:
    low, high = 0.0, width
    schema = dc.Schema(
        {"a": dc.Number(low, high, missing=False), "b": dc.Number(low, high, missing=False)}
    )
    rows = ROWS * width
    for relation in RELATIONS:
        for name, make in by_schema(schema, low, high).items():
            assert not refused(make, rows, schema, relation) or width != 1.0, name


def test_sums_beyond_the_lattice_are_refused() -> None:
    contribution = VectorContribution(
        ("a",), 1, dc.Model(linear(), bounds=(0, 1)).bounds, 0.0, lambda block: block.values, calls=None
    )
    check_summand(Summand(contribution, 2.0**-37), 2**24)
    check_summand(Summand(contribution, 2.0**-50), 2**11)
    for step, rows in ((2.0**-38, 2**24), (2.0**-50, 2**11 + 1), (2.0**-451, 1), (2.0**401, 1)):
        with pytest.raises(ArgumentError, match="bounds must"):
            check_summand(Summand(contribution, step), rows)
    table = open_session(ROWS, PLAIN, "replace-one")._table
    assert add_up(table, [Summand(contribution, 2.0**-38)])[0][0] > 0
