"""Models that look at their neighbours, by families: refused, or harmless to the end.

Every member is asked through a whole plan on neighbouring tables. Either it is refused before a row is
read, or the sum moves by no more than its certificate says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    maxabs_scale,
    minmax_scale,
    robust_scale,
    scale,
)

import discreet as dc
from discreet.data import PrivateTable, Summand, add_up
from discreet.data.calls import RowCalls
from discreet.errors import ModelError
from discreet.models import known_parts
from discreet.plans import Setting
from discreet.privacy.certificate import (
    NORMS,
)
from discreet.privacy.relation import RELATIONS, Relation
from discreet.schema import FloatArray

Function = Callable[[FloatArray], FloatArray]

SCHEMA = dc.Schema(
    {
        "a": dc.Number(0, 1, missing=False),
        "b": dc.Number(0, 1, missing=False),
        "c": dc.Number(0, 1, missing=False),
        "h": dc.Category("x", "y", "z", missing=False, other=False),
    },
)
NAMES = list(SCHEMA)
ROWS, FEW = 300, 30
WEIGHTS = np.array([3.0, -3.0, 2.0, 0.25])
NOWHERE = 0.371230001


def table() -> FloatArray:
    """Rows around the middle, none of them of the last category."""
    draw = np.random.default_rng(0)
    return np.column_stack([draw.uniform(0.4, 0.6, (ROWS, 3)), draw.integers(0, 2, ROWS)])


NEWCOMERS = {
    "high": [1.0, 1.0, 1.0, 2.0],
    "low": [0.0, 0.0, 0.0, 0.0],
    "corner": [1.0, 0.0, 1.0, 2.0],
    "other corner": [0.0, 1.0, 0.0, 1.0],
    "double": table()[7].tolist(),
    "hidden": [NOWHERE, 0.5, 0.5, 1.0],
}


def neighbours(relation: Relation, newcomer: list[float], rows: int = ROWS) -> tuple[FloatArray, ...]:
    first = table()[:rows]
    changed = np.array([newcomer])
    return first, np.concatenate([changed, first[1:] if relation == "replace-one" else first])


def frame(rows: FloatArray) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=NAMES).assign(h=np.array(["x", "y", "z"])[rows[:, 3].astype(int)])


def moved_over_certified(stage: Any, relation: Relation, tables: tuple[FloatArray, ...]) -> float:
    sums = [
        add_up(PrivateTable(frame(rows), SCHEMA), [Summand(stage.contribution, stage.noise.step)])[0]
        for rows in tables
    ]
    apart = np.abs((sums[0] - sums[1]).astype(np.float64)) * stage.noise.step
    lengths = {"l1": apart.sum(), "l2": np.linalg.norm(apart), "linf": apart.max()}
    return max(lengths[norm] / stage.certificate.sensitivity(norm, relation) for norm in NORMS)


def worst(
    model: Any,
    relation: Relation,
    ask: Any = None,
    newcomers: tuple[str, ...] = tuple(NEWCOMERS),
    rows: int = ROWS,
) -> float | None:
    """Return how far one record moves a sum, in units of its certificate; None for a refusal."""
    ask = ask or (lambda model: dc.partial_dependence(model, "c", resolution=3, rug=False, epsilon=1.0))
    try:
        setting = Setting(SCHEMA, relation, rows if relation == "replace-one" else None)
        stage = ask(model).prepare(setting).stages[0]
    except ModelError:
        return None
    return max(
        moved_over_certified(stage, relation, neighbours(relation, NEWCOMERS[name], rows))
        for name in newcomers
    )


def squash(numbers: Any) -> FloatArray:
    return np.asarray(0.5 + np.arctan(numbers) / np.pi)


class Kept:
    """Models with a memory, each a way to use what was seen in earlier calls."""

    def __init__(self, how: str) -> None:
        self.how, self.calls, self.seen, self.best, self.last = how, 0, set[bytes](), -np.inf, 0.0

    def __call__(self, rows: FloatArray) -> FloatArray:
        self.calls += 1
        old = (self.best, self.last)
        self.best = max(self.best, float((rows @ WEIGHTS).max()))
        self.last = float(rows[:, 0].mean())
        if self.how == "counts calls":
            return squash(rows[:, 0] + self.calls)
        if self.how == "greatest so far":
            return squash(rows @ WEIGHTS - max(self.best, old[0]))
        if self.how == "mean of the call before":
            return squash(rows[:, 0] - 9 * old[1])
        known = np.array([row.tobytes() in self.seen for row in rows])
        self.seen.update(row.tobytes() for row in rows)
        return np.where(known, 1.0, 0.0)


def ties(seed: int, kind: Any = np.float64) -> Function:
    """A product that is compared with itself: its last bit decides."""
    weights = np.random.default_rng(seed).normal(size=4).astype(kind)
    limit = float((np.asfortranarray(np.tile(table()[7], (3, 1))).astype(kind) @ weights)[0])
    return lambda rows: (rows.astype(kind) @ weights >= limit).astype(np.float64)


def codes(rows: FloatArray) -> FloatArray:
    return np.asarray(np.unique(rows[:, 3], return_inverse=True)[1] / 2.0)


def dummies(rows: FloatArray) -> FloatArray:
    return np.asarray(pd.get_dummies(rows[:, 3]).to_numpy(float)[:, -1])


FAMILIES: dict[str, dict[str, Any]] = {
    "extremes of columns": {
        "minmax": lambda rows: minmax_scale(rows).mean(axis=1),
        "maxabs": lambda rows: maxabs_scale(rows).mean(axis=1),
        "softmax": lambda rows: np.exp(rows[:, 0] - rows[:, 0].max()),
        "winsorised": lambda rows: np.minimum(rows[:, 0], rows[:, 0].max()) / rows[:, 0].max(),
        "width": lambda rows: rows[:, 0] / np.ptp(rows[:, 0]),
    },
    "joint extremes": {
        "score": lambda rows: np.exp(rows @ WEIGHTS - (rows @ WEIGHTS).max()),
        "longest": lambda rows: rows[:, 0] / np.hypot(rows[:, 0], 1 - rows[:, 1]).max(),
        "difference": lambda rows: squash(rows[:, 0] - (rows[:, 0] - rows[:, 1]).max()),
    },
    "moments": {
        "mean": lambda rows: squash(9 * (rows[:, 0] - rows[:, 0].mean())),
        "scaled": lambda rows: squash(scale(rows)[:, 0]),
        "robust": lambda rows: squash(robust_scale(rows)[:, 0]),
        "product": lambda rows: squash(rows[:, 0] - np.mean(rows[:, 0] * rows[:, 1])),
    },
    "ranks": {
        "rank": lambda rows: np.argsort(np.argsort(rows[:, 0])) / len(rows),
        "median": lambda rows: (rows[:, 0] >= np.median(rows[:, 0])).astype(float),
        "tail": lambda rows: (rows[:, 0] >= np.quantile(rows[:, 0], 0.9)).astype(float),
    },
    "order": {
        "running sum": lambda rows: squash(np.cumsum(rows[:, 0])),
        "difference": lambda rows: squash(np.diff(rows[:, 0], prepend=0.0)),
        "one before": lambda rows: np.roll(rows[:, 0], 1),
        "greatest before": lambda rows: np.maximum.accumulate(rows @ WEIGHTS) / 9 + 0.5,
    },
    "position": {
        "odd": lambda rows: np.arange(len(rows)) % 2 * 1.0,
        "late": lambda rows: (np.arange(len(rows)) > 40) * 1.0,
        "number": lambda rows: np.arange(len(rows)) / len(rows),
        "last": lambda rows: (np.arange(len(rows)) == len(rows) - 1) * 1.0,
    },
    "size": {
        "share": lambda rows: rows[:, 0] / len(rows),
        "remainder": lambda rows: np.full(len(rows), len(rows) % 7 / 7),
        "small": lambda rows: rows[:, 0] * (len(rows) > 100),
    },
    "presence of a value": {
        "codes": codes,
        "dummies": dummies,
        "last category": lambda rows: np.full(len(rows), float((rows[:, 3] == 2).any())),
        "an end": lambda rows: np.full(len(rows), float((rows[:, 0] == 1.0).any())),
        "how many": lambda rows: np.full(len(rows), len(np.unique(rows[:, 3])) / 3),
    },
    "equality of rows": {
        "doubles": lambda rows: pd.DataFrame(rows).duplicated(keep=False).to_numpy(float),
        "first of doubles": lambda rows: (~pd.DataFrame(rows).duplicated()).to_numpy(float),
        "how often": lambda rows: np.minimum(
            np.unique(rows, axis=0, return_inverse=True, return_counts=True)[2][
                np.unique(rows, axis=0, return_inverse=True)[1].ravel()
            ]
            / 9,
            1.0,
        ),
    },
    "memory": {
        how: how
        for how in ("counts calls", "greatest so far", "mean of the call before", "seen before")
    },
    "ties": {f"double {seed}": ties(seed) for seed in range(8)}
    | {f"single {seed}": ties(seed, np.float32) for seed in range(4)},
}
MEMBERS = [(family, name) for family, members in FAMILIES.items() for name in members]


def member(family: str, name: str, **options: Any) -> dc.Model:
    found = FAMILIES[family][name]
    function = Kept(found) if isinstance(found, str) else found
    return dc.Model(function, bounds=(0, 1), **options)


@pytest.mark.proves("grades")
@pytest.mark.proves("public-shape")
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("family", "name"), MEMBERS)
def test_a_member_is_refused_or_harmless(family: str, name: str, relation: Relation) -> None:
    moved = worst(member(family, name), relation)
    assert moved is None or moved <= 1


SEEN_THROUGH = ("joint extremes", "moments", "ranks", "order", "equality of rows", "memory")


@pytest.mark.parametrize(("family", "name"), [found for found in MEMBERS if found[0] in SEEN_THROUGH])
def test_what_one_shape_does_not_hide_is_refused(family: str, name: str) -> None:
    with pytest.raises(ModelError, match="must answer every row by itself"):
        member(family, name).bind(SCHEMA)


HIDDEN = ("extremes of columns", "size", "presence of a value")


@pytest.mark.parametrize(("family", "name"), [found for found in MEMBERS if found[0] in HIDDEN])
def test_what_one_shape_hides_is_released(family: str, name: str) -> None:
    """The public rows of a call hold the ends and the categories, so that these are constants."""
    assert member(family, name).bind(SCHEMA).third_party is not None


def bare(calls: RowCalls, shape: Any, rows: FloatArray, first: int, after: int) -> FloatArray:
    """Call as it was once: with the records and nothing else."""
    return np.asarray(calls.call(np.asfortranarray(rows[first:after])), dtype=np.float64)


@pytest.mark.refutes("public-shape")
@pytest.mark.parametrize(
    ("family", "name"),
    [
        ("extremes of columns", "minmax"),
        ("size", "remainder"),
        ("presence of a value", "last category"),
    ],
)
def test_calls_without_public_rows_are_caught(
    family: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = dc.partial_dependence(member(family, name), "c", resolution=3, rug=False, epsilon=1.0)
    stage = plan.prepare(Setting(SCHEMA, "add-remove", None)).stages[0]
    monkeypatch.setattr(RowCalls, "_ask", bare)
    tables = [neighbours("add-remove", newcomer) for newcomer in NEWCOMERS.values()]
    assert max(moved_over_certified(stage, "add-remove", pair) for pair in tables) > 1


# What no public row shows.


def waits(rows: FloatArray) -> FloatArray:
    """Look for one number that nobody draws."""
    return np.full(len(rows), float((rows[:, 0] == NOWHERE).any()))


BACKGROUND = pd.DataFrame({"a": [0.2, 0.7], "b": [0.4, 0.1], "c": [0.5, 0.9], "h": ["x", "z"]})
PLANS: dict[str, Any] = {
    "partial dependence": lambda m: dc.partial_dependence(m, "c", resolution=3, rug=False, epsilon=1.0),
    "accumulated effects": lambda m: dc.accumulated_effects(
        m, "c", edges="uniform", intervals=3, rug=False, epsilon=1.0
    ),
    "shap values": lambda m: dc.shap_values(m, BACKGROUND.iloc[0], clip=None, epsilon=1.0),
    "shap importance": lambda m: dc.shap_importance(m, background=BACKGROUND, clip=None, epsilon=1.0),
    "shap dependence": lambda m: dc.shap_dependence(
        m, "c", background=BACKGROUND, bins=2, clip=None, epsilon=1.0
    ),
}


@pytest.mark.refutes("grades")
@pytest.mark.parametrize("relation", RELATIONS)
def test_what_no_probe_meets_is_called_probed(relation: Relation) -> None:
    model = dc.Model(waits, bounds=(0, 1))
    moved = worst(model, relation)
    assert moved is not None and moved > 1, "so it is no more than probed"
    session = dc.protect(
        frame(table()),
        SCHEMA,
        dataset="d",
        ledger=":memory:",
        epsilon=9.0,
        relation=relation,
        progress=False,
    )
    guarantee = session.release(PLANS["partial dependence"](model)).guarantee
    assert guarantee.grade == "probed"
    assert "provided the model answers each row by itself: probed on " in str(guarantee)
    assert "public batches, not proven" in str(guarantee)


@pytest.mark.proves("grades")
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("plan", PLANS)
def test_isolated_it_stays_within_every_certificate(plan: str, relation: Relation) -> None:
    model = dc.Model(waits, bounds=(0, 1), isolated=True)
    moved = worst(model, relation, PLANS[plan], ("hidden", "corner"), FEW)
    assert moved is not None and moved <= 1


@pytest.mark.proves("grades")
@pytest.mark.parametrize(("family", "name"), MEMBERS)
def test_isolated_members_are_refused_or_harmless(family: str, name: str) -> None:
    for relation in RELATIONS:
        model = member(family, name, isolated=True)
        moved = worst(model, relation, None, ("corner", "double"), FEW)
        assert moved is None or moved <= 1
        assert (moved is None) == (family == "memory")


# Pipelines.

SCALERS = {"minmax": minmax_scale, "maxabs": maxabs_scale, "robust": robust_scale, "scale": scale}


def pipeline(name: str) -> Any:
    numbers = pd.DataFrame(table()[:, :3], columns=NAMES[:3])
    model = make_pipeline(FunctionTransformer(SCALERS[name]), LogisticRegression(C=100))
    return model.fit(numbers, numbers.a + numbers.b > 1)


@pytest.mark.proves("grades")
@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("name", SCALERS)
def test_a_scaler_of_the_call_is_refused_or_harmless(name: str, plan: str) -> None:
    moved = worst(pipeline(name), "replace-one", PLANS[plan], ("corner", "high"))
    assert (moved is None) == (name in ("robust", "scale"))
    assert moved is None or moved <= 1


@pytest.mark.refutes("grades")
def test_a_list_with_any_function_on_it_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault: were FunctionTransformer known, a mean over the call would be proven."""
    module = "sklearn.preprocessing._function_transformer"
    monkeypatch.setitem(known_parts.ANYWHERE, module, ("FunctionTransformer",))
    monkeypatch.setattr(known_parts, "_made_of", lambda part: "anywhere")
    moved = worst(pipeline("scale"), "replace-one")
    assert moved is not None and moved > 1


TARGETS = dc.Schema({name: dc.Number(0, 1, missing=False) for name in "aby"}, target="y")


@pytest.mark.proves("grades")
@pytest.mark.parametrize("isolated", [True, False])
def test_permuted_values_stay_within_the_certificate_if_isolated(isolated: bool) -> None:
    """A record swaps values with a partner: both may be seen in a call, and nobody else."""

    def meets(rows: FloatArray) -> FloatArray:
        """Say whether a number is in the call that is nobody's own but a partner's."""
        return np.full(len(rows), float(((rows[:, 0] == NOWHERE) & (rows[:, 1] != NOWHERE)).any()))

    model = dc.Model(meets, bounds=(0, 1), isolated=isolated)
    plan = dc.permutation_importance(model, scoring="absolute_error", repeats=3, epsilon=1.0)
    stage = plan.prepare(Setting(TARGETS, "replace-one", FEW)).stages[-1]
    rows = np.random.default_rng(1).uniform(0.4, 0.6, (FEW, 3))
    rows[:, 2] = 0.0
    other = rows.copy()
    other[0, :2] = NOWHERE
    sums = [
        add_up(PrivateTable(table, TARGETS), [Summand(stage.contribution, stage.noise.step)])[0]
        for table in (rows, other)
    ]
    apart = np.abs(sums[0] - sums[1]).max() * stage.noise.step
    certified = stage.certificate.sensitivity("linf", "replace-one")
    assert bool(0 < apart <= certified) is isolated
