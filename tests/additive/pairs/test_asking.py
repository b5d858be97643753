"""Pairs of features: every stage keeps its bound, the price is the promise, true pairs are found."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

import discreet as dc
from discreet.additive.coding import Coder, Feature, fine_features
from discreet.additive.contrasts import Contrasts, cosines, pair_contrasts
from discreet.additive.noise import Purse, certify_sums, check_columns
from discreet.additive.pairs import stages
from discreet.additive.pairs.asking import CHOICE
from discreet.additive.pairs.cells import FeaturePair, PairSide, all_pairs, count_pairs
from discreet.additive.pairs.stages import Predictor, choice_stage, pair_stage
from discreet.additive.plan import additive_model
from discreet.additive.program import AdditiveProgram
from discreet.additive.released.attributions import term_weights
from discreet.additive.stages import AdditiveGround
from discreet.audit.hunting.moves import raw_sums, too_far
from discreet.data import PrivateTable
from discreet.data.blocks import Block
from discreet.errors import ArgumentError, CertificateError
from discreet.numerics import to_units
from discreet.plans import Setting
from discreet.privacy.accounting import GaussianEvent, PureEvent
from discreet.privacy.accounting.joint import joint_delta, joint_rho, rho_beside
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE, Relation
from discreet.schema import Bins
from tests.additive.test_noise import FEATURES as SHAPES
from tests.additive.test_noise import UNIT, farthest, purse
from tests.additive.test_plan import FACTS, FEATURES, ODD, SCHEMA, broken, fitted, frame

TARGETS = {"y": 2, "three": 3, "number": 0}
PAIRED = dc.Schema(
    {name: dc.Number(-1, 1, missing=False) for name in "abcd"}
    | {"y": FACTS["y"], "number": dc.Number(-2, 2, missing=False)},
    target="y",
)


def crossed(rows: int, seed: int = 0) -> pd.DataFrame:
    """Return rows whose target follows the sign of a product, and one feature by itself."""
    draw = np.random.default_rng(seed)
    frame = pd.DataFrame(draw.uniform(-1, 1, (rows, 4)), columns=list("abcd"))
    margin = 5 * frame.a * frame.c + frame.d
    frame["y"] = np.where(draw.uniform(size=rows) < 1 / (1 + np.exp(-margin)), "yes", "no")
    frame["number"] = np.clip(margin / 4 + draw.normal(0, 0.2, rows), -2, 2)
    return frame


def asked(target: str, k: int = 1, **terms: Any) -> additive_model:
    return additive_model(
        target, features=FEATURES, interactions=k, **{"epsilon": 1.0, "delta": 1e-6} | terms
    )


def predictor(target: str, *, setting: Setting | None = None, seed: int = 0) -> Predictor:
    """Return scores that could have been released, large ones."""
    ground = AdditiveGround(
        setting or Setting(SCHEMA, ADD_REMOVE, None), FEATURES, target, TARGETS[target]
    )
    features = fine_features(SCHEMA, FEATURES)
    draw = np.random.default_rng(seed)
    scores = tuple(draw.normal(0, 3, (one.size, ground.margins)) for one in features)
    return Predictor(ground, Coder(features), (), np.zeros(ground.margins), scores, 0.7)


def every_pair(found: Predictor) -> list[FeaturePair]:
    return all_pairs(
        [
            PairSide.of(SCHEMA, one, place, np.arange(1.0, one.size + 1))
            for place, one in enumerate(found.coder.features)
        ]
    )


def encoded(target: str, rows: int = 300) -> Block:
    """Return encoded rows of all kinds."""
    draw = np.random.default_rng(1)
    table = frame(rows)[0].assign(x=draw.choice([0.0, 0.5, 1.0, np.nan], rows))
    columns = (*FEATURES, target)
    values = [SCHEMA[name].encode(table[name].to_numpy(dtype=object)) for name in columns]
    return Block(0, columns, np.column_stack(values))


def longest(target: str, norm: str) -> float:
    """Return how long the longest residual is, in the norm of a stage."""
    found = predictor(target)
    block = encoded(target)
    residuals = found.residuals(block, found.codes(block), norm)
    return float(np.linalg.norm(residuals, 1 if norm == "l1" else 2, axis=1).max())


@pytest.mark.proves("additive-pairs")
@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("target", TARGETS)
def test_residuals_are_in_the_unit_ball(target: str, norm: str) -> None:
    assert 0.5 < longest(target, norm) <= 1 + 1e-12


@pytest.mark.refutes("additive-pairs")
@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_residuals_of_classes_that_are_not_divided_are_caught(
    norm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stages, "longest", lambda *_: 1.0)
    assert longest("three", norm) > 1.02


def moved(relation: Relation, target: str, norm: str, k: int) -> list[str]:
    """Return how far records at corners move the sums of a choice and of a pair, if too far."""
    setting = Setting(SCHEMA, relation, 13 if relation.rows_public else None)
    found = predictor(target, setting=setting, seed=k)
    paid = Purse.of(setting, 1.0, 0.0 if norm == "l1" else 1e-6, 10, choices=(1, CHOICE))
    pairs = every_pair(found)
    stages = [choice_stage(found, paid, pairs, 1), pair_stage(found, paid, pairs[k], 0.1)]
    base = frame(12)[0]
    corners = pd.DataFrame(
        {
            "x": [0.0, 1.0, None],
            "z": [0.0, 1.0, 0.0],
            "kind": ["p", "r", None],
            "y": ["no", "yes", "no"],
        }
        | {"three": ["low", "high", "mid"], "number": [-1.0, 3.0, 3.0]}
    )
    tables = [pd.concat([base, corners[i : i + 1]], ignore_index=True) for i in range(3)]
    if relation is ADD_REMOVE:
        near = [(base, one) for one in tables]
    else:
        near = list(itertools.combinations(tables, 2))
    return [
        told
        for stage in stages
        for pair in near
        for told in too_far(
            stage.noise,
            stage.certificate,
            relation,
            raw_sums(stage, [PrivateTable(one, SCHEMA, relation) for one in pair]),
        )
    ]


@pytest.mark.proves("additive-pairs")
@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("target", TARGETS)
def test_corners_move_choices_and_pairs_no_farther_than_certified(target: str, norm: str) -> None:
    for relation, k in itertools.product((ADD_REMOVE, REPLACE_ONE), range(3)):
        assert moved(relation, target, norm, k) == []


@pytest.mark.refutes("additive-pairs")
@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_residuals_in_units_of_how_many_records_there_are_are_caught(
    norm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If their unit follows the records, one record moves what all others add."""
    honest = Predictor.residuals

    def peeking(self: Predictor, block: Block, *others: Any) -> np.ndarray:
        return honest(self, block, *others) / (1 + len(block) % 2)

    monkeypatch.setattr(Predictor, "residuals", peeking)
    assert moved(ADD_REMOVE, "y", norm, 0) != []


@pytest.mark.proves("additive-pairs")
@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("pair", list(itertools.product(SHAPES, SHAPES)))
def test_products_of_columns_are_one_long(pair: tuple[Feature, Feature], norm: Any) -> None:
    block = pair_contrasts(*pair, 2.0, UNIT, norm=norm)
    check_columns([block], norm)
    certificate = certify_sums([block], 2, purse(norm), step=2.0**-18)
    corners = [np.outer(c, u).ravel() for c in block.matrix.T for u in (*np.eye(2), *-np.eye(2))]
    for relation in (ADD_REMOVE, REPLACE_ONE):
        assert farthest(corners, relation, norm) <= certificate.sensitivity(norm, relation)


@pytest.mark.refutes("additive-pairs")
def test_products_of_columns_that_were_not_brought_to_length_one_are_caught() -> None:
    rows = np.kron(cosines(5), cosines(4))
    with pytest.raises(CertificateError, match="one long"):
        check_columns([Contrasts(np.trunc(rows / UNIT).astype(np.int64), UNIT)], "l2")


@pytest.mark.proves("additive-pairs")
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
@pytest.mark.parametrize("picks", [1, 5, 16])
def test_choices_and_gaussian_stages_keep_the_promise_together(epsilon: float, picks: int) -> None:
    whole = joint_rho(epsilon, 1e-6)
    choices = (PureEvent((2 * 0.05 * whole / picks) ** 0.5, "choice"),) * picks
    rho = rho_beside(epsilon, 1e-6, choices)
    assert 0.85 * whole < rho < whole
    noise = GaussianEvent((0.5 / rho) ** 0.5, 0.0)
    assert joint_delta((noise, *choices), epsilon) <= 1e-6
    assert joint_delta((noise, *choices), 0.99 * epsilon) > 1e-6, "little is given away"


@pytest.mark.refutes("additive-pairs")
@pytest.mark.parametrize("picks", [1, 5])
def test_choices_left_out_of_the_joint_price_are_caught(picks: int) -> None:
    whole = joint_rho(1.0, 1e-6)
    choices = (PureEvent((2 * 0.05 * whole / picks) ** 0.5, "choice"),) * picks
    assert joint_delta((GaussianEvent((0.5 / whole) ** 0.5, 0.0), *choices), 1.0) > 1e-6


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE_ONE])
@pytest.mark.parametrize("epsilon", [1e-4, 0.01, 13.0, 700.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-3])
@pytest.mark.parametrize("k", [0, 2])
def test_any_promise_has_a_price(relation: Relation, epsilon: float, delta: float, k: int) -> None:
    rows = 500 if relation.rows_public else None
    found = asked("three", k, epsilon=epsilon, delta=delta).prepare(Setting(SCHEMA, relation, rows))
    assert found.joint is not None and joint_delta(found.events, found.joint[0]) <= delta
    assert found.cost("basic").loss <= to_units(epsilon)


def test_choices_that_take_everything_leave_nothing() -> None:
    assert rho_beside(1.0, 1e-6, (PureEvent(3.0, "choice"),)) == 0.0
    assert rho_beside(1.0, 1e-6, ()) == joint_rho(1.0, 1e-6)


def test_the_charge_is_the_promise_under_both_accountants() -> None:
    for relation, rows in ((ADD_REMOVE, None), (REPLACE_ONE, 500)):
        for target, delta, k in itertools.product(TARGETS, (0.0, 1e-6), (1, 2, 3)):
            found = asked(target, k, epsilon=0.7, delta=delta).prepare(Setting(SCHEMA, relation, rows))
            cost = found.cost("basic")
            assert cost.loss <= to_units(0.7) and joint_delta(found.events, 0.7) <= delta
            assert cost.loss > to_units(0.7 * (1 - 1e-6))
            if delta:
                assert joint_delta(found.events, 0.69) > delta, "little is given away"
            rhos = sum(to_units(event.rho) for event in found.events)
            assert found.cost("zcdp").loss <= rhos
            names = [stage.name for stage in found.stages]
            assert ("choice of pairs" in names) == (k < 3) and len(names) >= k


@pytest.mark.parametrize("accountant", ["basic", "zcdp"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_what_is_charged_is_what_was_told(accountant: str, delta: float) -> None:
    budget: dict[str, Any] = {"epsilon": 3.0, "delta": 1e-4}
    session = dc.protect(
        frame(1_000)[0], SCHEMA, dataset="d", ledger=":memory:", seed=1, accountant=accountant, **budget
    )
    plan = asked("y", 1, delta=delta)
    release = session.release(plan)
    priced = plan.prepare(Setting(SCHEMA, REPLACE_ONE, 1_000)).cost(accountant)  # type: ignore[arg-type]
    assert session.balance.spent == priced
    assert [stage["name"] for stage in release.stages].count("choice of pairs") == 1


def test_without_pairs_nothing_is_different() -> None:
    ground = additive_model("y", features=FEATURES, epsilon=1.0).ground(
        Setting(SCHEMA, ADD_REMOVE, None)
    )
    for delta in (0.0, 1e-6):
        made = AdditiveProgram.of(ground, bins=32, epsilon=1.0, delta=delta)
        size = 2 * sum(2 * one.size for one in made.fine)
        assert made.purse == Purse.of(ground.setting, 1.0, delta, 2 + 24 * 3, size=size)
        assert made.pairs.shares == () and made.pairs.stages == () and made.purse.pick == 0
        parts = (made.part, 24 * 3)
        assert made.total_share == made.purse.rest((made.range_share, 1), parts)
        assert not any("pair" in stage.name for stage in made.stages)


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_no_corner_of_the_domain_breaks_a_certificate(delta: float) -> None:
    for relation in (ADD_REMOVE, REPLACE_ONE):
        for target in TARGETS:
            assert broken(asked(target, 2, bins=4, epsilon=3.0, delta=delta), relation) == []


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_a_true_pair_is_found_as_rows_grow(relation: str) -> None:
    test = crossed(3_000, seed=9)
    known = test.y == "yes"
    found = []
    for rows in (200, 20_000):
        plan = dc.additive_model("y", features=list("abcd"), interactions=1, epsilon=1.0, delta=1e-6)
        model = fitted(plan, crossed(rows), relation, schema=PAIRED)
        found.append((model.terms[-1].columns, roc_auc_score(known, model.margins(test)[:, 0])))
    plain = dc.additive_model("y", features=list("abcd"), epsilon=1.0, delta=1e-6)
    alone = fitted(plain, crossed(20_000), relation, schema=PAIRED)
    assert found[1][0] == ("a", "c")
    assert found[1][1] > roc_auc_score(known, alone.margins(test)[:, 0]) + 0.1
    assert found[1][1] > found[0][1]


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_true_pair_of_a_number_explains_more(delta: float) -> None:
    test, rows = crossed(2_000, seed=9), crossed(20_000)
    scores = []
    for k in (0, 1):
        plan = dc.additive_model(
            "number", features=list("abcd"), interactions=k, epsilon=3.0, delta=delta
        )
        scores.append(fitted(plan, rows, schema=PAIRED).score(test, test.number))
    assert scores[1] > scores[0] + 0.2


@pytest.mark.parametrize("target", TARGETS)
def test_a_pair_averages_to_nothing_and_shap_values_add_up(target: str) -> None:
    model = fitted(asked(target, 3, epsilon=3.0), frame(5_000)[0])
    pairs = [term for term in model.terms if len(term.columns) == 2]
    assert len(pairs) == 3
    for term in pairs:
        first, second = term_weights(term)
        table = term.table.reshape(-1, *term.shape)
        np.testing.assert_allclose(table @ second, 0, atol=1e-9)
        np.testing.assert_allclose(np.einsum("kab,a->kb", table, first), 0, atol=1e-9)
        assert (np.array(term.noise_std) >= 0).all() and np.sum(term.counts) > 4_000
    told = model.shap_values(frame(50)[0], class_="mid" if target == "three" else None)
    found = np.sum(told.values, axis=1) + np.array(told.base_values)
    np.testing.assert_allclose(found, told.predictions, atol=1e-9)
    assert model.shape(*pairs[0].columns, class_="mid" if target == "three" else None).extent


def test_workers_make_no_difference() -> None:
    rows, plan = frame(20_000)[0], asked("three", 2)
    first = fitted(plan, rows, workers=1)
    assert fitted(plan, rows, workers=2) == first == fitted(plan, rows, workers=3)


def test_two_features_have_one_pair_and_nothing_is_chosen() -> None:
    plan = additive_model("y", features=("x", "z"), interactions=4, epsilon=1.0, delta=1e-6)
    found = plan.prepare(Setting(SCHEMA, REPLACE_ONE, 500))
    assert "choice of pairs" not in [stage.name for stage in found.stages]
    assert found.reasons == (
        "there are 1 pairs of features, so that is how many interactions there are",
    )
    assert [term.name for term in fitted(plan, frame(500)[0]).terms] == ["x", "z", "x x z"]


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_codes_that_share_a_cell_share_its_scores(delta: float) -> None:
    draw = np.random.default_rng(0)
    columns = {"c": dc.Category(*range(40)), "g": dc.Category(*"abcdefghijkl", ordered=True)}
    schema = dc.Schema(columns | {"huge": dc.Category(*range(100)), "y": FACTS["y"]}, target="y")
    rows = pd.DataFrame({"c": draw.integers(0, 40, 4_000), "huge": draw.integers(0, 100, 4_000)})
    rows["g"] = draw.choice(list("abcdefghijkl"), 4_000)
    rows["y"] = np.where((rows.c < 20) ^ (rows.g < "f"), "yes", "no")
    model = fitted(
        dc.additive_model("y", interactions=2, epsilon=5.0, delta=delta), rows, schema=schema
    )
    (term,) = [term for term in model.terms if len(term.columns) == 2]
    assert term.columns == ("c", "g") and term.shape == (42, 14), "the huge one goes with nothing"
    assert len(np.unique(term.table.reshape(42, 14), axis=0)) <= 8
    assert np.isfinite(model.margins(rows)).all()


def test_of_many_features_those_that_tell_most_go_together() -> None:
    draw = np.random.default_rng(0)
    names = [f"f{n}" for n in range(20)]
    rows = pd.DataFrame({name: draw.uniform(size=2_000) for name in names})
    rows["y"] = np.where(rows.f19 + rows.f18 > 1, "yes", "no")
    schema = dc.Schema({name: dc.Number(0, 1) for name in names} | {"y": FACTS["y"]}, target="y")
    assert count_pairs(fine_features(schema, names)) == 120
    plan = dc.additive_model("y", bins=4, interactions=2, epsilon=9.0, delta=1e-6)
    assert len(fitted(plan, rows, schema=schema).terms) == 22


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_no_table_makes_it_fail(name: str, target: str, delta: float) -> None:
    rows = ODD[name](frame(200)[0].astype(object))
    model = fitted(asked(target, 2, bins=5, epsilon=0.5, delta=delta), rows)
    assert np.isfinite(model.margins(frame(20)[0])).all()


@pytest.mark.parametrize("mode", ["one", "weighted", "capped"])
@pytest.mark.parametrize("target", TARGETS)
def test_persons_with_many_rows(mode: str, target: str) -> None:
    rows = frame(1_500)[0].assign(who=np.arange(1_500) % 500)
    most = 3 if mode == "capped" else None
    schema = dc.Schema(FACTS, target="y", person="who", rows=mode, most=most)  # type: ignore[arg-type]
    model = fitted(asked(target, 1, epsilon=5.0), rows, schema=schema)
    assert np.isfinite(model.margins(rows)).all()


def test_a_part_of_the_records() -> None:
    plan = additive_model(
        "y", features=("x", "z"), interactions=1, where="kind == 'p'", epsilon=2.0, delta=1e-6
    )
    assert len(fitted(plan, frame(2_000)[0], "replace-one").terms) == 3


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"features": ["x"], "interactions": 1}, "interactions must be 0 where fewer than two"),
        ({"interactions": 17}, "interactions"),
        ({"interactions": -1}, "interactions"),
        ({"interactions": 1.5}, "interactions"),
    ],
)
def test_bad_arguments_are_one_sentence(arguments: dict[str, Any], match: str) -> None:
    with pytest.raises(ArgumentError, match=match):
        additive_model("y", epsilon=1.0, **arguments).prepare(Setting(SCHEMA, REPLACE_ONE, 100))


def test_cells_of_a_side_are_few_and_keep_missing_values_apart() -> None:
    bins = Bins(tuple(map(str, range(30))))
    side = PairSide.of(
        dc.Schema({"f": dc.Category(*range(30), missing=False, other=False)}),
        Feature("f", bins, 0),
        0,
        np.arange(30.0, 0.0, -1.0),
    )
    assert side.size == 8 and side.group[:7].tolist() == list(range(7)) and set(side.group[7:]) == {7}
    np.testing.assert_allclose(side.weights.sum(), np.arange(31).sum())
    number = fine_features(SCHEMA, ("x",))[0]
    side = PairSide.of(SCHEMA, number, 0, np.ones(number.size))
    assert side.size == 9 and side.group[-1] == 8 and side.bins.reserved == 1
    assert side.bins.edges is not None and len(side.bins.edges) == 9
