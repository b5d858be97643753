"""Permutation importance: bounds against all neighbours of tiny tables, and the faults they catch."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import discreet as dc
from discreet.data.blocks import Block
from discreet.explain.dataflow.diagram_bounds import importances, permuted_losses
from discreet.explain.permutation import contribution as permutation_parts
from discreet.explain.permutation.contribution import (
    certify,
    loss_weight,
    ranking_contribution,
    ranking_stage,
    value_contribution,
    value_noise,
)
from discreet.explain.permutation.losses import Draws, partners
from discreet.plans import Setting
from discreet.privacy.certificate import NORMS
from tests.explain.permutation.cases import (
    DRAWS,
    RECORDS,
    TINY,
    models,
    permuted,
    replacements,
    total,
    within,
    worst,
)

MODELS = models()
SMALL = RECORDS[::2]  # without the target, for the long searches
FINE = 2.0**-40


def layouts(case: object) -> dict[str, object]:
    return {
        "differences": value_contribution(case, None),
        "losses": value_contribution(case, 1.7),
        "ranking": ranking_contribution(case),
    }


def widened(contribution: object, case: object, step: float) -> object:
    """Return the certificate with the roundings it is used with."""
    return contribution.certificate.widen(
        step * (1 + contribution.partners + 100 * (contribution.pulse is not None))
    )


@pytest.mark.proves("pfi", "pfi-loss-once")
@pytest.mark.parametrize("name", list(MODELS))
def test_no_replacement_moves_partners_further(name: str) -> None:
    case = permuted(MODELS[name], repeats=2)
    for contribution in layouts(case).values():
        found = worst(contribution, replacements(3, SMALL))
        assert within(found, widened(contribution, case, FINE), "replace-one")


@pytest.mark.proves("pfi")
@pytest.mark.parametrize("repeats", [1, 2])
def test_any_public_permutation_keeps_the_bound(repeats: int, monkeypatch: pytest.MonkeyPatch) -> None:
    case = permuted(MODELS["opaque"], repeats=repeats)
    pairs = list(replacements(3, SMALL[:4]))
    for chosen in itertools.product(itertools.permutations(range(3)), repeat=repeats):
        index = np.array(chosen, dtype=np.uint32)
        monkeypatch.setattr(permutation_parts, "partners", lambda *_, index=index: index)
        for contribution in layouts(case).values():
            assert within(worst(contribution, pairs), widened(contribution, case, FINE), "replace-one")


@pytest.mark.proves("pfi")
@pytest.mark.parametrize("rows", [2, 3, 4])
def test_small_blocks_keep_the_bound(rows: int) -> None:
    case, draw = permuted(MODELS["forest"], repeats=3), np.random.default_rng(rows)
    pairs = []
    for _ in range(300):  # the last block may have one row
        table = [RECORDS[i] for i in draw.integers(0, len(RECORDS), 7)]
        other, place = list(table), draw.integers(7)
        other[place] = RECORDS[draw.integers(len(RECORDS))]
        pairs.append((tuple(table), tuple(other)))
    for contribution in layouts(case).values():
        found = worst(contribution, pairs, block_rows=rows)
        assert within(found, widened(contribution, case, FINE), "replace-one")


def extreme(rows: np.ndarray) -> np.ndarray:
    """Answer 1 for a row of ones, and where a 2 and a 0 meet."""
    both = (rows == 2).any(axis=1) & (rows == 0).any(axis=1)
    return (both | (rows == 1).all(axis=1)).astype(float)


@pytest.mark.proves("pfi", "pfi-loss-once")
@pytest.mark.parametrize("features", [2, 3, 5])
@pytest.mark.parametrize("repeats", [1, 3])
def test_the_bounds_are_attained(features: int, repeats: int) -> None:
    names = [f"f{i}" for i in range(features)]
    columns = {name: dc.Number(0, 2, step=1, missing=False) for name in names} | {
        "y": dc.Category(0, 1, missing=False, other=False)
    }
    schema = dc.Schema(columns, target="y")
    model = dc.Model(extreme, output="probability", name="extreme")
    case = permuted(model, schema, repeats=repeats)
    other = (0.0,) * (features + 1)
    pair = (((1.0,) * features + (0.0,), other), ((2.0,) * features + (0.0,), other))
    for weight in (None, 1.0, 2.5):
        contribution = value_contribution(case, weight)
        found, claimed = worst(contribution, [pair]), contribution.certificate.bounds["replace-one"]
        for norm in NORMS:
            assert getattr(found, norm) == pytest.approx(getattr(claimed, norm), rel=1e-9)
    ranked = worst(ranking_contribution(case), [pair])
    assert ranked.linf == pytest.approx(2.0)


def test_the_bounds_are_those_of_the_diagram() -> None:
    for norm in NORMS:
        mine = certify(2, 7, 3.0, None, repeats=1, own=True).sensitivity(norm, "replace-one")
        assert mine == pytest.approx(importances(7, 3.0).sensitivity(norm, "replace-one"))
        mine = certify(2, 7, 3.0, None, repeats=1, own=False).sensitivity(norm, "replace-one")
        assert mine == pytest.approx(permuted_losses(7, 3.0).sensitivity(norm, "replace-one"))


@pytest.mark.proves("pfi")
def test_a_climb_finds_no_worse_neighbour() -> None:
    """Hill climbing over real-valued records of a network that bends sharply."""
    from sklearn.neural_network import MLPClassifier

    draw = np.random.default_rng(0)
    columns = {f"f{i}": dc.Number(-1, 1, missing=False) for i in range(3)} | {
        "y": dc.Category(0, 1, missing=False, other=False)
    }
    schema = dc.Schema(columns, target="y")
    rows = draw.uniform(-1, 1, (200, 3))
    model = MLPClassifier((8,), max_iter=1, tol=10.0, n_iter_no_change=1, random_state=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.warn", lambda *_, **__: None)
        model.fit(rows, rows[:, 0] * rows[:, 1] > 0)
    for layer in model.coefs_:
        layer *= 40
    case = permuted(model, schema, repeats=2)
    contribution = value_contribution(case, 1.3)
    best = 0.0
    for _ in range(6):
        tables = draw.uniform(-1, 1, (5, 4))
        tables[:, 3] = draw.integers(0, 2, 5)
        height = 0.0
        for _ in range(250):
            step = tables + draw.normal(0, 0.3, tables.shape) * (draw.random(tables.shape) < 0.3)
            step[:, :3] = np.clip(step[:, :3], -1, 1)
            step[:, 3] = np.where(draw.random(5) < 0.1, 1 - tables[:, 3], tables[:, 3])
            one, other = step[:4], np.vstack([step[4:], step[1:4]])
            moved = total(contribution, one, FINE) - total(contribution, other, FINE)
            if np.abs(moved).sum() >= height:
                height, tables = np.abs(moved).sum(), step
        best = max(best, height)
    claimed = contribution.certificate.sensitivity("l1", "replace-one")
    assert 0.4 * claimed < best <= claimed


@pytest.mark.refutes("pfi")
def test_half_the_bound_sorted_donors_and_add_remove_are_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = permuted(MODELS["opaque"])
    contribution = ranking_contribution(case)
    as_if_alone = certify(1, 2, case.scorer.most, None, repeats=1, own=False)
    assert not within(worst(contribution, replacements(3, SMALL)), as_if_alone, "replace-one")

    # Without the first record every row has another partner.
    rows = [(float(i % 3), float(i // 3 % 2), 0.0) for i in range(30)]
    moved = total(contribution, rows, FINE) - total(contribution, rows[1:], FINE)
    moved -= total(contribution, rows[:1], FINE)
    assert np.abs(moved).max() > contribution.certificate.sensitivity("linf", "replace-one")

    # Donors that follow from the values: everyone gets the value of the next greater row.
    def by_value(block: Block) -> np.ndarray:
        order = np.lexsort(block.values.T)
        index = np.empty((1, len(block)), dtype=np.uint32)
        index[0, order] = np.roll(order, 2)
        monkeypatch.setattr(permutation_parts, "partners", lambda *_: index)
        return case.losses(block)

    seen = 0.0
    draw = np.random.default_rng(0)
    for _ in range(200):
        table = np.array([RECORDS[i] for i in draw.integers(0, len(RECORDS), 12)])
        other = table.copy()
        other[0] = RECORDS[draw.integers(len(RECORDS))]
        sums = [by_value(Block(0, ("a", "b", "y"), part)).sum(axis=0) for part in (table, other)]
        seen = max(seen, np.abs(sums[0] - sums[1])[:-1].max())
    assert seen > 2 * case.scorer.most + 1e-9


@pytest.mark.proves("pfi-marginal")
@pytest.mark.parametrize("name", list(MODELS))
def test_draws_keep_both_relations(name: str) -> None:
    case = permuted(MODELS[name], repeats=2, draws=DRAWS)
    alone = [(record,) for record in RECORDS]
    for contribution in layouts(case).values():
        certificate = widened(contribution, case, FINE)
        found = worst(contribution, itertools.combinations(alone, 2))
        assert within(found, certificate, "replace-one")
        added = worst(contribution, (((), record) for record in alone))
        assert within(added, certificate, "add-remove")
    # A record adds the same whoever stands beside it.
    contribution = value_contribution(permuted(MODELS["forest"], repeats=2, draws=DRAWS), 1.5)
    together = total(contribution, RECORDS, FINE)
    assert together == pytest.approx(
        np.sum([total(contribution, [record], FINE) for record in RECORDS], axis=0), abs=1e-12
    )


@pytest.mark.refutes("pfi-marginal")
def test_draws_by_place_are_caught() -> None:
    case = permuted(MODELS["opaque"], repeats=1, draws=DRAWS)

    def by_place(records: np.ndarray) -> np.ndarray:
        index = (np.arange(len(records)) % len(DRAWS)).astype(np.uint32)[None, :]
        truth, donors = case.scorer.truth(records[:, 2]), case.draws.donors
        losses = permutation_parts.mean_losses(
            case.engine, case.scorer, records[:, :2], truth, donors, index
        )
        return losses.sum(axis=0)[:-1]

    draw, moved = np.random.default_rng(0), 0.0
    for _ in range(50):
        rows = np.array([RECORDS[i] for i in draw.integers(0, len(RECORDS), 30)])
        moved = max(moved, np.abs(by_place(rows) - by_place(rows[1:])).max())
    assert moved > case.scorer.most


@pytest.mark.proves("pfi-loss-once")
@pytest.mark.parametrize("moved", [1, 2])
@pytest.mark.parametrize("features", [1, 3, 20, 100])
def test_the_weight_is_the_best(moved: int, features: int) -> None:
    def noise(weight: float, norm: str) -> float:
        made = certify(moved, features, 1.0, weight, repeats=1, own=True)
        return made.bounds["replace-one"].__getattribute__(norm) * math.hypot(1, 1 / weight)

    for norm in NORMS:
        chosen = loss_weight(moved, features, norm)
        grid = [noise(weight, norm) for weight in np.geomspace(0.1, 50, 4_000)]
        assert noise(chosen, norm) <= min(grid) * (1 + 1e-9)
    least = noise(loss_weight(moved, features, "l2"), "l2")
    assert least == pytest.approx(moved * math.sqrt(features) + 1)


@pytest.mark.refutes("pfi-loss-once")
def test_a_forgotten_weight_is_caught() -> None:
    case = permuted(MODELS["opaque"])
    contribution = value_contribution(case, 4.0)
    forgotten = certify(2, 2, case.scorer.most, 1.0, repeats=1, own=True)
    assert not within(worst(contribution, replacements(2, RECORDS)), forgotten, "replace-one")


@pytest.mark.proves("pfi-loss-once")
def test_the_least_noise_is_taken() -> None:
    """Differences for few features, one loss for many; Gaussian noise where a delta helps."""
    setting = Setting(TINY, "replace-one", 100)
    few = value_noise(permuted(MODELS["logistic"]), setting, epsilon=1.0, delta=0.0, mechanism="auto")
    assert few.weight is None and few.stage.noise.name == "laplace"
    names = [f"f{i}" for i in range(30)]
    columns = {name: dc.Number(0, 2, step=1, missing=False) for name in names} | {
        "y": dc.Category(0, 1, missing=False, other=False)
    }
    schema = dc.Schema(columns, target="y")
    case = permuted(dc.Model(extreme, output="probability", name="extreme"), schema)
    many = value_noise(
        case, Setting(schema, "replace-one", 100), epsilon=1.0, delta=1e-6, mechanism="auto"
    )
    assert many.weight is not None and many.stage.noise.name == "gaussian"
    direct = 3 * math.sqrt(30) * many.stage.noise.event.multiplier
    assert many.std < 0.75 * direct


@pytest.mark.proves("pfi-ranking")
@pytest.mark.parametrize(
    ("relation", "draws", "bound"),
    [("replace-one", None, 2.0), ("replace-one", DRAWS, 1.0), ("add-remove", DRAWS, 0.5)],
)
def test_a_ranking_needs_one_coordinate(relation: str, draws: object, bound: float) -> None:
    case = permuted(MODELS["logistic"], draws=draws)
    setting = Setting(TINY, relation, 9 if relation == "replace-one" else None)
    stage = ranking_stage(case, setting, k=1, epsilon=1.0, delta=0.0, mechanism="permute-and-flip")
    used = stage.noise.certificate.sensitivity("linf", relation)
    assert used == pytest.approx(bound * case.scorer.most, rel=1e-6)
    raw = np.array([-5, 3])
    assert stage.noise.scores(raw).tolist() == [[-5, 3]]
    assert np.argmax(stage.noise.first_law(raw * round(9 / stage.noise.step))) == 1


@pytest.mark.refutes("pfi-ranking")
def test_absolute_values_and_one_loss_are_caught() -> None:
    from discreet.mechanisms import RankingNoise

    case = permuted(MODELS["logistic"])
    setting = Setting(TINY, "replace-one", 9)
    stage = ranking_stage(case, setting, k=1, epsilon=1.0, delta=0.0, mechanism="permute-and-flip")
    raw = np.array([-90, 3]) * round(9 / stage.noise.step)
    assert np.argmax(stage.noise.first_law(raw)) == 1
    assert np.argmax(super(type(stage.noise), stage.noise).scores(raw)) == 0
    assert RankingNoise.scores(stage.noise, raw).min() > 0
    one_loss = certify(1, 2, 1.0, None, repeats=1, own=False).sensitivity("linf", "replace-one")
    found = worst(ranking_contribution(permuted(MODELS["forest"])), replacements(3, RECORDS[:6]))
    assert found.linf > one_loss


@pytest.mark.proves("pfi-rounding")
@pytest.mark.parametrize("step", [1.0, 0.25, 2.0**-10])
def test_every_rounded_row_is_paid(step: float) -> None:
    case = permuted(MODELS["logistic"], repeats=2)
    for contribution in layouts(case).values():
        found = worst(contribution, replacements(3, SMALL), step)
        paid = contribution.certificate.widen(step * (1 + contribution.partners))
        assert within(found, paid, "replace-one")
    stage = value_noise(
        case, Setting(TINY, "replace-one", 50), epsilon=1.0, delta=0.0, mechanism="laplace"
    ).stage
    exact = stage.contribution.certificate.sensitivity("linf", "replace-one")
    paid = stage.noise.certificate.sensitivity("linf", "replace-one") - exact
    assert paid == pytest.approx(3 * stage.noise.step, rel=1e-2)


@pytest.mark.refutes("pfi-rounding")
def test_one_rounding_and_a_jumping_loss_are_caught() -> None:
    case, step = permuted(MODELS["logistic"], repeats=2), 0.125
    contribution, beyond = ranking_contribution(case), 0.0
    for one, other in replacements(3, SMALL):
        exact = total(contribution, one, FINE) - total(contribution, other, FINE)
        rounded = total(contribution, one, step) - total(contribution, other, step)
        beyond = max(beyond, np.max(np.abs(rounded) - np.abs(exact)))
    assert step * 1.1 < beyond <= step * 3
    # A last bit at the threshold: the loss may move by what its steepness says, not by one.
    scorer = permuted(MODELS["logistic"], scoring="zero_one").scorer
    moved = np.zeros(2)
    for i, answer in enumerate((0.5, 0.5 + 2.0**-50)):
        scorer.add(np.array([[answer]]), np.ones(1), False, moved[i : i + 1])
    assert 0 < abs(moved[1] - moved[0]) <= scorer.steepness * 2.0**-50 * (1 + 1e-9)


def test_steep_losses_of_foreign_models_pay_for_each_step() -> None:
    setting, paid = Setting(TINY, "replace-one", 50), {}
    for scoring in ("brier", "zero_one"):
        model = dc.Model(lambda rows: rows[:, 0] / 2, output="probability", name="opaque")
        case = permuted(model, scoring=scoring)
        stage = ranking_stage(case, setting, k=1, epsilon=1.0, delta=0.0, mechanism="auto")
        extra = stage.noise.certificate.sensitivity("linf", "replace-one") - 2
        paid[scoring] = extra - (8192 + 2) * stage.noise.step
        assert paid[scoring] >= 8192 * 2.0**-40 * case.scorer.steepness
    assert paid["brier"] == pytest.approx(8192 * 2.0**-40 * 2, rel=1e-2)
    assert paid["zero_one"] == pytest.approx(8192 * 2.0**-40 * 2**12, rel=1e-2)


def test_partners_are_one_to_one_and_nobody_is_its_own() -> None:
    for rows in (2, 3, 5, 100):
        for repeats in (1, 4, 7):
            index = partners(3, 8192, rows, repeats)
            assert all(sorted(part) == list(range(rows)) for part in index.tolist())
            assert not (index == np.arange(rows)).any()
    assert len({tuple(part) for part in partners(0, 0, 6, 5).tolist()}) == 5
    assert partners(0, 0, 1, 3).tolist() == [[0]] * 3
    assert (partners(0, 0, 50, 1) != partners(1, 0, 50, 1)).any()
    assert (partners(0, 0, 50, 1) != partners(0, 8192, 50, 1)).any()


def test_draws_are_spread_and_all_are_used() -> None:
    values = np.arange(10.0)[::-1, None]
    draws = Draws.of(values, 5)
    records = np.random.default_rng(0).normal(size=(4_000, 3))
    index = draws.index(records, 5)
    assert ((index[1:] + 10 - index[:-1]) % 10 == 2).all()
    counts = np.bincount(draws.index(records, 1)[0], minlength=10)
    assert np.abs(counts - 400).max() < 100
    assert sorted(draws.index(records[:1], 99)[:, 0].tolist()) == list(range(10))
    assert (draws.index(records, 1) == draws.index(records[::-1], 1)[:, ::-1]).all()
    assert (draws.index(np.array([[0.0]]), 1) == draws.index(np.array([[-0.0]]), 1)).all()
