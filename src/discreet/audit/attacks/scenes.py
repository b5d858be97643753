"""Where attacks take place: made-up loans, a record at the edge of what a schema allows, plans of ours.

The record and what stands in its place are as far apart as two records can be, and the model tells
them apart as surely as any model can, because a promise is about the worst case. For a typical record
attacks do worse.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from discreet.audit.attacks.linkage import Guess, nearest
from discreet.audit.attacks.targets import Target, result_target, sums_target
from discreet.explain.ale.plan import accumulated_effects
from discreet.explain.pdp.plan import partial_dependence
from discreet.explain.permutation.plan import permutation_importance
from discreet.explain.shap.values import shap_values
from discreet.plans import Plan
from discreet.privacy.relation import Relation, RelationName
from discreet.samples import loan_schema, loans
from discreet.schema import FloatArray, Number
from discreet.select.choose.most_frequent import most_frequent
from discreet.tables.histogram.plan import histogram
from discreet.tables.synthesis.plan import synthesize
from discreet.trees.forest import random_forest
from discreet.value.plan import data_shapley

SCHEMA = loan_schema()
FEATURES = ["income", "late_payments"]
ROWS = 60
CELLS = ["home", "purpose"]
SYNTHETIC = ["home", "defaulted"]
WIDE = ["age", "income", "credit_score"]
_TEXTS = {"low": ("rent", "car", 0), "high": ("own", "medical", 1)}


def extreme(end: str, **values: Any) -> dict[str, Any]:
    """Return the record with all least or all greatest values, or other ones where given."""
    home, purpose, defaulted = _TEXTS[end]
    ends = {
        name: column.low if end == "low" else column.high
        for name in SCHEMA
        if isinstance(column := SCHEMA[name], Number)
    }
    return ends | {"home": home, "purpose": purpose, "defaulted": defaulted} | values


@cache
def others() -> Any:
    """Return the records that the attacker knows."""
    return loans(ROWS)


def table_with(*records: dict[str, Any], known: Any = None) -> Any:
    """Return the known records and some more."""
    import pandas as pd

    frame = others() if known is None else known
    return pd.concat([frame, pd.DataFrame(list(records))], ignore_index=True)


@cache
def model() -> Any:
    """Return a tree whose answers are 0 for the least record and 1 for the greatest."""
    import pandas as pd
    from sklearn.tree import DecisionTreeClassifier

    public = pd.DataFrame([extreme("low"), extreme("high")])[FEATURES]
    return DecisionTreeClassifier(random_state=0).fit(public, [0, 1])


def neighbours(relation: RelationName = "replace-one") -> tuple[Any, Any]:
    """Return the table with the record, and its worst neighbour."""
    here = table_with(extreme("high"))
    return here, table_with(extreme("low")) if Relation(relation).keeps_places else others()


def _query() -> dict[str, Any]:
    return {name: extreme("low")[name] for name in FEATURES}


def _tests() -> Any:
    import pandas as pd

    return pd.DataFrame([extreme("low"), extreme("high")])


PLANS: dict[str, Callable[[float], Plan]] = {
    "histogram": lambda epsilon: histogram("home", epsilon=epsilon),
    "Gaussian histogram": lambda epsilon: histogram(
        "home", epsilon=epsilon, delta=1e-6, mechanism="gaussian"
    ),
    "partial dependence": lambda epsilon: partial_dependence(
        model(), "income", resolution=4, grid="uniform", rug=False, epsilon=epsilon
    ),
    "SHAP values": lambda epsilon: shap_values(model(), _query(), epsilon=epsilon),
    "accumulated effects": lambda epsilon: accumulated_effects(
        model(), "late_payments", intervals=2, edges="uniform", rug=False, epsilon=epsilon
    ),
    "permutation importance": lambda epsilon: permutation_importance(model(), epsilon=epsilon),
    "forest": lambda epsilon: random_forest(
        "defaulted", trees=1, depth=2, method="random", rows="disjoint", epsilon=epsilon
    ),
    "valuation": lambda epsilon: data_shapley(method="tknn", test=_tests(), epsilon=epsilon),
}
"""Plans that add noise to sums, by what they release."""


def sums_scene(name: str, epsilon: float, relation: RelationName = "replace-one") -> Target:
    """Return one of ``PLANS`` on the table and its neighbour."""
    return sums_target(PLANS[name](epsilon), neighbours(relation), SCHEMA, relation, name=name)


def synthetic_scene(epsilon: float) -> Target:
    """Return synthetic rows of the table and of its neighbour, as counts of their cells."""
    plan = synthesize(40, columns=SYNTHETIC, epsilon=epsilon)
    cells = list(product(*(SCHEMA[name].values for name in SYNTHETIC)))  # type: ignore[union-attr]

    def read(rows: Any) -> FloatArray:
        return np.array([rows.values.count(cell) for cell in cells], dtype=np.float64)

    return result_target(plan, neighbours(), SCHEMA, read=read, name="synthetic rows")


def choice_scene(epsilon: float) -> Target:
    """Return which home is the most frequent one, where the record decides between two of them."""
    even = others().assign(home=["rent", "own"] * (ROWS // 2))
    tables = [table_with(extreme(end), known=even) for end in ("high", "low")]
    homes = SCHEMA["home"].values  # type: ignore[union-attr]

    def read(choice: Any) -> FloatArray:
        return np.array([choice.winner == home for home in homes], dtype=np.float64)

    plan = most_frequent("home", epsilon=epsilon)
    return result_target(plan, tables, SCHEMA, read=read, name="most frequent value")


def candidates(count: int = 6) -> Any:
    """Return outside records, of whom one will be in the table."""
    return loans(ROWS + count).iloc[ROWS:].reset_index(drop=True)


def rows_scene(epsilon: float) -> Target:
    """Return synthetic rows of three numbers, of tables with one candidate each."""
    tables = [table_with(record) for record in candidates().to_dict("records")]
    plan = synthesize(ROWS, columns=WIDE, bins=8, epsilon=epsilon)

    def read(rows: Any) -> FloatArray:
        return np.array(rows.values, dtype=np.float64).ravel()

    return result_target(plan, tables, SCHEMA, read=read, name="synthetic rows")


def nearest_candidate() -> Guess:
    """Return the guess that takes the candidate with the nearest row, numbers by their ranges."""
    ranges = np.array([SCHEMA[name].high - SCHEMA[name].low for name in WIDE])  # type: ignore[union-attr]
    return nearest(candidates()[WIDE].to_numpy(dtype=np.float64), scale=ranges)


def candidate_tables(count: int = 6) -> list[Any]:
    """Return the table with each of some candidates, whose home and purpose differ."""
    homes, purposes = (SCHEMA[name].values for name in CELLS)  # type: ignore[union-attr]
    pairs = [(home, purpose) for purpose in purposes for home in homes][:count]
    return [table_with(extreme("low", home=home, purpose=purpose)) for home, purpose in pairs]


def linkage_scene(epsilon: float, candidates: int = 6) -> Target:
    """Return a table of two columns as a target: which candidate is in it?"""
    plan = histogram(CELLS, epsilon=epsilon)
    return sums_target(plan, candidate_tables(candidates), SCHEMA, name="histogram of two columns")


_LATE = (0, 4, 8, 12)


@cache
def graded_model() -> Any:
    """Return a tree that answers 0, 1/3, 2/3 or 1 by late payments."""
    import pandas as pd
    from sklearn.tree import DecisionTreeRegressor

    public = pd.DataFrame([extreme("low", late_payments=late) for late in _LATE])[FEATURES]
    return DecisionTreeRegressor(random_state=0).fit(public, [0.0, 1 / 3, 2 / 3, 1.0])


def late_tables() -> list[Any]:
    """Return the table with a record known but for its late payments: none, a few, many, most."""
    return [table_with(extreme("low", late_payments=late)) for late in _LATE]


def late_plan(epsilon: float) -> Plan:
    """Return the plan of SHAP values that late payments of the background move."""
    return shap_values(graded_model(), _query(), epsilon=epsilon)
