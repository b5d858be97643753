"""The plan of permutation importance: exact below the noise, bands, prices, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import discreet as dc
from discreet.audit.hunting.runs import SimulatedReleaser
from discreet.data import PrivateTable
from discreet.errors import ArgumentError, ModelError
from discreet.explain.permutation.contribution import value_noise
from discreet.explain.permutation.losses import choose_scorer, permutation_losses
from discreet.explain.permutation.plan import permutation_importance
from discreet.mechanisms.additive.laplace import tail_of_two
from discreet.plans import Setting
from tests.explain.permutation.cases import TINY, models, permuted
from tests.laws.examples import Example
from tests.laws.world import FORMS

D, N = 5, 9_000  # more than one block
DRAW = np.random.default_rng(1)
ROWS = np.clip(DRAW.normal(size=(N, D)), -4, 4)
LABELS = (2 * ROWS[:, 0] + ROWS[:, 1] + 0.5 * DRAW.normal(size=N) > 0).astype(int)
NAMES = [f"f{i}" for i in range(D)]
SCHEMA = dc.Schema(
    {
        **{n: dc.Number(-4, 4, missing=False) for n in NAMES},
        "y": dc.Category(0, 1, missing=False, other=False),
    },
    target="y",
)
FRAME = pd.DataFrame(ROWS, columns=NAMES).assign(y=LABELS)
FOREST = RandomForestClassifier(8, max_depth=4, random_state=0).fit(ROWS[:500], LABELS[:500])
LOGISTIC = LogisticRegression().fit(ROWS[:500], LABELS[:500])


def release(plan: Any, relation: str = "replace-one", **options: Any) -> Any:
    session = dc.protect(
        FRAME,
        SCHEMA,
        dataset="t",
        ledger=":memory:",
        epsilon=2e6,
        delta=0.1,
        relation=relation,
        seed=0,
        **options,
    )
    return session.release(plan).value


def exact(model: Any, scoring: str = "auto") -> np.ndarray:
    bound = dc.Model(model).bind(SCHEMA)
    scorer = choose_scorer(bound, SCHEMA, scoring)
    losses = permutation_losses(bound, ROWS, LABELS, scorer=scorer)
    return losses[:, :-1].mean(axis=0) - losses[:, -1].mean()


@pytest.mark.parametrize("scoring", ["auto", "log_loss", "zero_one"])
@pytest.mark.parametrize("model", [FOREST, LOGISTIC], ids=["forest", "logistic"])
def test_without_noise_it_is_the_growth_of_the_loss(model: Any, scoring: str) -> None:
    plan = permutation_importance(model, scoring=scoring, epsilon=1e6)
    value = release(plan)
    assert value.to_array()[0] == pytest.approx(exact(model, scoring), abs=1e-5)
    named = "brier" if scoring == "auto" else scoring
    assert value.quantity == f"permutation importance ({named})"
    assert value.ranking(2) == ("f0", "f1")
    assert value.plot().ax_ is not None


def test_workers_change_nothing() -> None:
    plan = permutation_importance(FOREST, epsilon=1.0)
    assert release(plan).values == release(plan, workers=2).values


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("background", [ROWS[:300], None], ids=["public", "released"])
def test_drawn_values_give_nearly_the_same(relation: str, background: Any) -> None:
    plan = permutation_importance(
        FOREST, sampling="marginal", background=background, epsilon=1e5, repeats=20
    )
    value = release(plan, relation)
    assert value.to_array()[0] == pytest.approx(exact(FOREST), abs=0.02)


def test_a_released_background_may_be_drawn_from() -> None:
    session = dc.protect(
        FRAME, SCHEMA, dataset="t", ledger=":memory:", epsilon=10.0, relation="add-remove", seed=0
    )
    background = session.release(dc.background(epsilon=1.0))
    plan = permutation_importance(FOREST, sampling="marginal", background=background, epsilon=1.0)
    assert session.release(plan).value.ranking(1) == ("f0",)


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("mechanism", ["auto", "exponential", "permute-and-flip", "laplace"])
def test_rankings(relation: str, mechanism: str) -> None:
    options: dict[str, Any] = {"sampling": "marginal"} if relation == "add-remove" else {}
    plan = permutation_importance(
        FOREST, release="ranking", k=2, mechanism=mechanism, epsilon=2.0, **options
    )
    value = release(plan, relation)
    assert value.names == ("f0", "f1")
    assert (value.gaps is not None) == (mechanism == "laplace")
    if value.gaps is not None:
        assert value.gaps[0][0] == pytest.approx(exact(FOREST)[0] - exact(FOREST)[1], abs=0.05)
    whole = permutation_importance(
        FOREST, release="ranking", mechanism=mechanism, epsilon=20.0, **options
    )
    value = release(whole, relation)
    assert sorted(value.names) == NAMES and value.names[:2] == ("f0", "f1")


@pytest.mark.proves("pfi-ranking")
def test_sorting_is_taken_where_it_is_better() -> None:
    setting = Setting(SCHEMA, "replace-one", N)
    made = {}
    for k in (1, D):
        plan = permutation_importance(FOREST, release="ranking", k=k, epsilon=1.0)
        made[k] = plan.prepare(setting).stages[0].noise
    assert made[1].name == "permute-and-flip" and made[D].name == "sorted linf"
    plan = permutation_importance(FOREST, release="ranking", mechanism="exponential", epsilon=1.0)
    picks = plan.prepare(setting).stages[0].noise
    assert made[D].spread < picks.spread
    assert (made[D].epsilon, made[D].delta) == (1.0, 0.0)
    # The first of noisy equals is as far below the best as the greatest noise, on average.
    releaser = SimulatedReleaser(PrivateTable(FRAME[:50], SCHEMA, "replace-one"), 1)
    raw = np.zeros(D, dtype=np.int64)
    noisy = [made[D].noise.release(raw, releaser.source).max() for _ in range(4_000)]
    assert np.mean(noisy) == pytest.approx(made[D].std, rel=0.1)


def test_the_promise_is_kept_by_the_price() -> None:
    """Stages never add up to more than the plan's epsilon and delta."""
    for relation, rows in (("replace-one", N), ("add-remove", None)):
        for wanted in ("values", "ranking"):
            for background in (None, ROWS[:50]):
                plan = permutation_importance(
                    FOREST,
                    sampling="marginal",
                    background=background,
                    release=wanted,
                    epsilon=0.7,
                    delta=1e-6,
                )
                program = plan.prepare(Setting(SCHEMA, relation, rows))
                assert sum(s.noise.epsilon for s in program.stages) <= 0.7 * (1 + 1e-12)
                assert sum(s.noise.delta for s in program.stages) <= 1e-6 * (1 + 1e-12)
                assert all(error.error > 0 for error in program.expected_error.values())


@pytest.mark.once_per("relation")
@pytest.mark.parametrize("delta", [0.0, 1e-4])
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_bands_hold_as_often_as_they_say(relation: str, delta: float) -> None:
    plan = permutation_importance(
        LOGISTIC, sampling="marginal", background=ROWS[:40], epsilon=1.0, delta=delta
    )
    frame = FRAME[:600]
    table = PrivateTable(frame, SCHEMA, relation)
    setting = Setting(SCHEMA, relation, len(frame) if relation == "replace-one" else None)
    program = plan.prepare(setting)
    loud = permutation_importance(
        LOGISTIC, sampling="marginal", background=ROWS[:40], epsilon=1e6, delta=delta
    )
    truth = loud.prepare(setting).finish(SimulatedReleaser(table, 0)).to_array()[0]
    releaser = SimulatedReleaser(table, 7)
    drawn = [program.finish(releaser) for _ in range(400)]
    errors = np.array([value.to_array()[0] - truth for value in drawn])
    held = np.mean([np.abs(e).max() <= v.half_width for e, v in zip(errors, drawn, strict=True)])
    assert held >= 0.93
    if relation == "replace-one":
        assert held <= 0.995
        assert errors.std() == pytest.approx(drawn[0].noise_std, rel=0.1)


def test_the_band_of_two_laplace_noises() -> None:
    draw = np.random.default_rng(0)
    for shared in (0.2, 0.7, 0.9995, 1.0, 1.4):
        noise = draw.laplace(size=400_000) + shared * draw.laplace(size=400_000)
        for distance in (0.5, 2.0, 5.0):
            found = np.mean(np.abs(noise) > distance)
            assert tail_of_two(distance, shared) == pytest.approx(found, abs=0.003)


def test_unread_features_cost_nothing() -> None:
    model = GradientBoostingClassifier(n_estimators=1, max_depth=1).fit(ROWS[:500], LABELS[:500])
    value = release(permutation_importance(model, epsilon=1.0))
    assert np.count_nonzero(value.to_array()) == 1
    full = release(permutation_importance(LOGISTIC, epsilon=1.0))
    assert value.half_width < 0.5 * full.half_width
    constant = RandomForestClassifier(2, max_depth=1).fit(np.zeros((4, D)), [0, 1, 0, 1])
    assert np.isfinite(release(permutation_importance(constant, epsilon=1.0)).to_array()).all()


def test_repeats_cost_no_privacy() -> None:
    setting = Setting(SCHEMA, "replace-one", N)
    noise = [
        permutation_importance(FOREST, repeats=r, epsilon=1.0).prepare(setting).stages[0].noise.std
        for r in (1, 50)
    ]
    assert noise[1] == pytest.approx(noise[0], rel=1e-9)


def test_a_tiny_delta_falls_back_to_laplace_noise() -> None:
    case, setting = permuted(models()["logistic"]), Setting(TINY, "replace-one", 9)
    made = value_noise(case, setting, epsilon=1.0, delta=1e-30, mechanism="auto")
    assert made.stage.noise.name == "laplace"
    with pytest.raises(ArgumentError, match="delta must be positive"):
        value_noise(case, setting, epsilon=1.0, delta=0.0, mechanism="gaussian")


def test_positions_are_refused_under_add_remove() -> None:
    plan = permutation_importance(FOREST, sampling="permutation", epsilon=1.0)
    with pytest.raises(ArgumentError, match="sampling must be 'auto' or 'marginal' for parts, groups"):
        plan.prepare(Setting(SCHEMA, "add-remove", None))


def test_bad_arguments_are_said() -> None:
    def ask(**options: Any) -> Any:
        return permutation_importance(FOREST, **({"epsilon": 1.0} | options))

    for wrong, message in (
        ({"repeats": 0}, "repeats must be a whole number"),
        ({"sampling": "shuffle"}, "sampling must be one of auto, permutation, marginal"),
        ({"release": "all"}, "release must be one of values, ranking"),
        ({"k": 2}, "k must be left out unless release='ranking'"),
        (
            {"sampling": "permutation", "background": ROWS[:5]},
            "background must be left out of sampling='permutation'",
        ),
        ({"mechanism": "exponential"}, "mechanism must be one of auto, laplace, linf, gaussian"),
        ({"release": "ranking", "mechanism": "gaussian"}, "mechanism must be one of auto, expon"),
        ({"seed": -1}, "seed must be a whole number"),
    ):
        with pytest.raises(ArgumentError, match=message):
            ask(**wrong)
    setting = Setting(SCHEMA, "replace-one", N)
    with pytest.raises(ArgumentError, match="There are no more features"):
        ask(release="ranking", k=D + 1).prepare(setting)
    plain = dc.Schema({n: dc.Number(-4, 4, missing=False) for n in NAMES})
    with pytest.raises(ArgumentError, match="schema must name a target"):
        ask().prepare(Setting(plain, "replace-one", N))


def test_single_precision_and_a_steep_loss_do_not_go_together() -> None:
    def single(rows: np.ndarray) -> np.ndarray:
        return (1 / (1 + np.exp(-rows[:, 0]))).astype(np.float32)

    model = dc.Model(single, output="probability", name="single")
    setting = Setting(SCHEMA, "replace-one", N)
    with pytest.raises(ModelError, match="must answer in double precision for zero_one"):
        permutation_importance(model, scoring="zero_one", epsilon=1.0).prepare(setting)
    assert permutation_importance(model, epsilon=1.0).prepare(setting).stages


def test_a_plan_is_known_again() -> None:
    keys = {
        permutation_importance(FOREST, epsilon=1.0, **options).key
        for options in ({}, {}, {"repeats": 6}, {"seed": 1}, {"clip": 0.5}, {"scoring": "brier"})
    }
    assert len(keys) == 5
    assert "permutation_importance(model=RandomForestClassifier" in repr(
        permutation_importance(FOREST, epsilon=1.0)
    )


EXAMPLES = [
    Example(
        "permutation_importance",
        lambda model: dc.permutation_importance(model, epsilon=1.0),
        FORMS,
    ),
    Example(
        "permutation_importance",
        lambda model: dc.permutation_importance(
            model, repeats=2, sampling="marginal", mechanism="gaussian", epsilon=1.0, delta=1e-5
        ),
        FORMS,
    ),
    Example(
        "permutation_importance",
        lambda model: dc.permutation_importance(
            model, repeats=2, release="ranking", k=2, clip=0.5, epsilon=1.0
        ),
        ("linear", "opaque"),
    ),
]
