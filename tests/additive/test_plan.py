"""Additive models end to end: what they learn, what they cost, and that every stage keeps its bound."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.additive import kernels
from discreet.additive.coding import Coder, fine_features
from discreet.additive.contrasts import feature_contrasts
from discreet.additive.noise import Purse
from discreet.additive.plan import additive_model
from discreet.additive.stages import AdditiveGround, Correction, correction_stage
from discreet.audit.hunting.moves import raw_sums, too_far
from discreet.audit.hunting.runs import run_program
from discreet.data import PrivateTable
from discreet.errors import ArgumentError
from discreet.numerics import to_units
from discreet.plans import Setting
from discreet.privacy.accounting.joint import joint_delta
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE, Relation
from tests.laws.examples import Example

EXAMPLES = [
    Example("additive_model", lambda _: additive_model("paid", bins=4, epsilon=1.0, delta=1e-6)),
    Example("additive_model", lambda _: additive_model("paid", epsilon=1.0)),
    Example("additive_model", lambda _: additive_model("home", bins=3, epsilon=1.0, delta=1e-6)),
    Example("additive_model", lambda _: additive_model("income", bins=3, epsilon=1.0, delta=1e-6)),
    *(
        Example("additive_model", lambda _, own=own: additive_model(bins=3, epsilon=1.0, **own))
        for own in (
            {"target": "paid", "interactions": 1, "delta": 1e-6},
            {"target": "home", "interactions": 1},
            {"target": "income", "interactions": 2, "delta": 1e-6},
        )
    ),
]

FACTS = {
    "x": dc.Number(0, 1),
    "z": dc.Number(0, 1, missing=False),
    "kind": dc.Category("p", "q", "r"),
    "y": dc.Category("no", "yes", missing=False, other=False),
    "three": dc.Category("low", "mid", "high", missing=False, other=False),
    "number": dc.Number(-1, 3, missing=False),
}
SCHEMA = dc.Schema(FACTS, target="y")
FEATURES = ("x", "z", "kind")


def frame(rows: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Return rows of a known additive truth, and its log-odds."""
    draw = np.random.default_rng(seed)
    x, z, kind = draw.uniform(size=rows), draw.uniform(size=rows), draw.integers(0, 3, rows)
    truth = 2.5 * np.sin(4 * x) + 3 * (z - 0.5) + np.array([-1.0, 0.0, 1.0])[kind] - 0.5
    yes = draw.uniform(size=rows) < 1 / (1 + np.exp(-truth))
    ranked = truth + draw.logistic(size=rows)
    number = np.clip(1 + truth / 4 + draw.normal(0, 0.2, rows), -1, 3)
    return pd.DataFrame(
        {
            "x": np.where(draw.uniform(size=rows) < 0.05, np.nan, x),
            "z": z,
            "kind": np.array(["p", "q", "r"])[kind],
            "y": np.where(yes, "yes", "no"),
            "three": np.array(["low", "mid", "high"])[np.digitize(ranked, [-1.0, 1.0])],
            "number": number,
        }
    ), truth


def fitted(
    plan: Any, rows: pd.DataFrame, relation: str = "add-remove", **more: Any
) -> dc.AdditiveModel:
    told = {"dataset": "d", "epsilon": 99.0, "delta": 1e-3, "ledger": ":memory:", "seed": 1}
    session = dc.protect(rows, more.pop("schema", SCHEMA), relation=relation, **told | more)
    value = session.release(plan).value
    assert isinstance(value, dc.AdditiveModel) and value.fits_together()
    return value


def log_loss(model: dc.AdditiveModel, rows: pd.DataFrame, target: str) -> float:
    shares = model.predict_proba(rows)
    places = [list(model.classes_).index(value) for value in rows[target]]
    return float(-np.log(shares[np.arange(len(rows)), places]).mean())


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_a_known_additive_truth_is_found_as_rows_grow(relation: str) -> None:
    test, truth = frame(2_000, seed=9)
    errors = []
    for rows in (300, 20_000):
        plan = dc.additive_model("y", features=FEATURES, epsilon=2.0, delta=1e-6)
        margins = fitted(plan, frame(rows)[0], relation).margins(test)[:, 0]
        known = test.x.notna().to_numpy()
        errors.append(float(np.sqrt(np.mean((margins - truth)[known] ** 2))))
    assert errors[1] < 0.6 < errors[0]


@pytest.mark.parametrize("target", ["y", "three"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_classes_are_told_apart(target: str, delta: float) -> None:
    rows, test = frame(8_000)[0], frame(2_000, seed=9)[0]
    plan = dc.additive_model(target, features=FEATURES, epsilon=3.0, delta=delta)
    shares = rows[target].value_counts(normalize=True)
    constant = float(-np.log(shares[test[target]].to_numpy()).mean())
    assert log_loss(fitted(plan, rows), test, target) < constant - 0.1


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_number_is_predicted_inside_its_bounds(delta: float) -> None:
    rows, test = frame(8_000)[0], frame(2_000, seed=9)[0]
    plan = dc.additive_model("number", features=FEATURES, epsilon=3.0, delta=delta)
    model = fitted(plan, rows)
    assert model.classes is None and model.score(test, test.number) > 0.6
    found = model.predict(test)
    assert found.min() >= -1 and found.max() <= 3


def test_the_charge_is_the_promise_and_events_add_up() -> None:
    for relation, rows in ((ADD_REMOVE, None), (REPLACE_ONE, 500)):
        for target, delta in (("y", 1e-6), ("three", 1e-6), ("number", 1e-6), ("y", 0.0)):
            plan = additive_model(target, features=FEATURES, epsilon=0.7, delta=delta)
            found = plan.prepare(Setting(SCHEMA, relation, rows))
            cost = found.cost("basic")
            assert cost.loss <= to_units(0.7) and joint_delta(found.events, 0.7) <= delta
            if delta:  # little is given away
                assert joint_delta(found.events, 0.69) > delta
            rhos = math.fsum(event.rho for event in found.events)
            rounded_up = found.cost("zcdp").loss - to_units(rhos)
            assert 0 <= rounded_up <= len(found.events)


def test_what_is_asked_is_what_was_priced() -> None:
    session = dc.protect(
        frame(3_000)[0], SCHEMA, dataset="d", epsilon=5, delta=1e-4, ledger=":memory:", seed=1
    )
    plan = dc.additive_model("y", features=FEATURES, epsilon=1.0, delta=1e-6)
    priced = plan.prepare(Setting(SCHEMA, REPLACE_ONE, 3_000)).events
    asked = [e for stage in session.release(plan).stages for e in [stage["events"]]]
    assert sum(event["times"] for events in asked for event in events) <= len(priced)


def tables(relation: Relation) -> list[tuple[pd.DataFrame, pd.DataFrame]]:
    """Return neighbouring tables whose one record stands at corners of the domain."""
    base = frame(12)[0]
    corners = [
        {"x": x, "z": z, "kind": kind, "y": y, "three": three, "number": number}
        for x, z, kind, y, three, number in [
            (0.0, 0.0, "p", "no", "low", -1.0),
            (1.0, 1.0, "r", "yes", "high", 3.0),
            (None, 0.0, None, "no", "mid", 3.0),
            (1.0, 0.5, "castle", "yes", "low", 1.0),
        ]
    ]
    added = [pd.concat([base, pd.DataFrame([c])], ignore_index=True) for c in corners]
    if relation is ADD_REMOVE:
        return [(base, one) for one in added]
    return [(one, other) for one in added for other in added if one is not other]


def broken(plan: Any, relation: Relation) -> list[str]:
    """Return the stages of a released model, in the order asked, that neighbours move too far."""
    found = []
    for first, second in tables(relation):
        setting = Setting(SCHEMA, relation, len(first) if relation.rows_public else None)
        run = run_program(
            plan.prepare(setting), PrivateTable(first, SCHEMA, relation), relation, seed=0
        )
        for stage in run.stages:
            sums = raw_sums(stage, [PrivateTable(t, SCHEMA, relation) for t in (first, second)])
            found += [stage.name for _ in too_far(stage.noise, stage.certificate, relation, sums)]
    return found


def test_no_corner_of_the_domain_breaks_a_certificate() -> None:
    for relation in (ADD_REMOVE, REPLACE_ONE):
        for target in ("y", "three", "number"):
            plan = additive_model(target, features=FEATURES, bins=4, epsilon=3.0, delta=1e-3)
            assert broken(plan, relation) == []


ODD: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "one class": lambda rows: rows.assign(y="no"),
    "a constant target": lambda rows: rows.assign(number=0.5),
    "nobody has a feature": lambda rows: rows.assign(x=np.nan, kind=None),
    "no record": lambda rows: rows[:0],
    "one record": lambda rows: rows[:1],
    "strange values": lambda rows: rows.assign(x="?", kind=7, number=np.inf),
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("target", ["y", "three", "number"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_no_table_makes_it_fail(name: str, target: str, delta: float) -> None:
    rows = ODD[name](frame(200)[0].astype(object))
    plan = dc.additive_model(target, features=FEATURES, bins=5, epsilon=0.5, delta=delta)
    model = fitted(plan, rows)
    assert np.isfinite(model.margins(frame(20)[0])).all()


@pytest.mark.parametrize("features", [("z",), ("kind",)])
def test_one_feature_is_enough(features: tuple[str, ...]) -> None:
    plan = dc.additive_model("y", features=features, epsilon=2.0, delta=1e-6)
    assert len(fitted(plan, frame(2_000)[0]).terms) == 1


def test_many_features_and_many_categories() -> None:
    draw = np.random.default_rng(0)
    names = [f"f{n}" for n in range(200)]
    rows = pd.DataFrame({name: draw.uniform(size=300) for name in names})
    rows["y"] = np.where(rows.f0 > 0.5, "yes", "no")
    schema = dc.Schema({name: dc.Number(0, 1) for name in names} | {"y": FACTS["y"]}, target="y")
    assert len(fitted(dc.additive_model("y", bins=4, epsilon=1.0), rows, schema=schema).terms) == 200
    wide = dc.Schema({"c": dc.Category(*range(1_000)), "y": FACTS["y"]}, target="y")
    coded = pd.DataFrame({"c": draw.integers(0, 1_000, 2_000)})
    coded["y"] = np.where(coded.c < 500, "yes", "no")
    model = fitted(dc.additive_model("y", epsilon=5.0, delta=1e-6), coded, schema=wide)
    assert len(model.terms[0].counts) == 1_002


def test_a_feature_with_one_value_has_no_term() -> None:
    schema = dc.Schema(
        {"only": dc.Category("a", missing=False, other=False), "y": FACTS["y"]}, target="y"
    )
    rows = frame(400)[0].assign(only="a")
    model = fitted(dc.additive_model("y", epsilon=1.0, delta=1e-6), rows, schema=schema)
    assert model.terms == () and model.margins(rows).shape == (400, 1)


def test_workers_and_sources_make_no_difference(tmp_path: Any) -> None:
    rows = frame(20_000)[0]
    rows.to_csv(tmp_path / "rows.csv", index=False)
    plan = dc.additive_model("y", features=FEATURES, epsilon=1.0, delta=1e-6)
    first = fitted(plan, rows, workers=1)
    assert fitted(plan, rows, workers=3) == first
    assert fitted(plan, tmp_path / "rows.csv", workers=2) == first


def test_a_part_of_the_records() -> None:
    rows = frame(4_000)[0]
    plan = dc.additive_model("y", features=("x",), where="kind == 'p'", epsilon=2.0, delta=1e-6)
    share = float((rows.kind == "p").mean())
    assert fitted(plan, rows, "replace-one").records == pytest.approx(4_000 * share, rel=0.1)


@pytest.mark.parametrize("mode", ["one", "weighted", "capped"])
@pytest.mark.parametrize("target", ["y", "number"])
def test_persons_with_many_rows(mode: str, target: str) -> None:
    rows = frame(3_000)[0].assign(who=np.arange(3_000) % 1_000)
    most = 3 if mode == "capped" else None
    schema = dc.Schema(FACTS, target="y", person="who", rows=mode, most=most)  # type: ignore[arg-type]
    plan = dc.additive_model(target, features=FEATURES, epsilon=5.0, delta=1e-6)
    model = fitted(plan, rows, schema=schema)
    assert np.isfinite(model.margins(rows)).all()


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"target": "y", "features": ["y"]}, "besides the target"),
        ({"target": "nobody"}, "nobody"),
        ({"target": "y", "features": ["nobody"]}, "nobody"),
        ({"target": "single"}, "two classes"),
        ({"target": "y", "features": ["huge"]}, "at most 4096 values"),
        ({"target": "y", "bins": 1}, "bins"),
    ],
)
def test_bad_arguments_are_one_sentence(arguments: dict[str, Any], match: str) -> None:
    columns = FACTS | {"single": dc.Category("a")}
    if "huge" in arguments.get("features", ()):
        columns["huge"] = dc.Category(*range(5_000))
    with pytest.raises(ArgumentError, match=match):
        additive_model(epsilon=1.0, **arguments).prepare(
            Setting(dc.Schema(columns, target="y"), REPLACE_ONE, 100)
        )


def test_too_many_cells_are_refused() -> None:
    columns = {f"f{n}": dc.Category(*range(4_000)) for n in range(20)} | {"y": FACTS["y"]}
    with pytest.raises(ArgumentError, match="cells together"):
        additive_model("y", epsilon=1.0).prepare(
            Setting(dc.Schema(columns, target="y"), REPLACE_ONE, 100)
        )


def moved_by_a_corner(relation: Relation) -> list[str]:
    """Return what breaks if a record at a corner comes to records that are all alike."""
    setting = Setting(SCHEMA, relation, None)
    ground = AdditiveGround(setting, FEATURES, "y", 2)
    purse = Purse.of(setting, 1.0, 1e-6, 10)
    coder = Coder(fine_features(SCHEMA, FEATURES))
    sizes = [one.size for one in coder.features]
    scores = np.concatenate([np.linspace(-2, 2, size) for size in sizes])[:, None]
    kind = 2
    asked = Correction(
        kind, np.zeros(1), scores, np.full((sizes[kind], 1), 0.5), np.full(sizes[kind], 0.5)
    )
    block = feature_contrasts(
        coder.features[kind], 2.0, purse.unit(purse.sum_step), norm="l2", total=True
    )
    stage = correction_stage(ground, purse, coder, block, asked, share=0.5, times=1)
    alike = frame(50)[0].assign(x=0.52, z=0.5, kind="q", y="no")
    corner = alike[:1].assign(x=1.0, z=1.0)
    tables = [PrivateTable(t, SCHEMA, relation) for t in (alike, pd.concat([alike, corner]))]
    return list(map(str, too_far(stage.noise, stage.certificate, relation, raw_sums(stage, tables))))


@pytest.mark.proves("additive-corrections")
def test_a_corner_moves_a_correction_by_itself_alone() -> None:
    assert moved_by_a_corner(ADD_REMOVE) == []


@pytest.mark.refutes("additive-corrections")
def test_widths_taken_from_the_records_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """In units of the farthest record of all, one record moves what all others add."""
    honest = kernels.correct

    def peeking(*arguments: Any) -> None:
        honest(*arguments)
        out = arguments[-1]
        out /= max(float(np.abs(out).max()), 1e-9)

    monkeypatch.setattr(kernels, "correct", peeking)
    assert moved_by_a_corner(ADD_REMOVE) != []
