"""``data_shapley`` from plan to release: who sees what, what it costs, and what a release holds."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.tree import DecisionTreeClassifier

import discreet as dc
from discreet.errors import AccessDenied, ArgumentError, ModelError
from discreet.plans import Release, Setting
from discreet.plans.results.valuation import RecordRanking, Valuation
from discreet.privacy.accounting import Amount
from discreet.value import private_layered
from discreet.value.engines.running import Job
from discreet.value.engines.scores import custom_score
from discreet.value.plan import data_shapley
from discreet.value.private_design import Pairs, Rotations
from discreet.value.private_layered import Coreset, layer_limits, seeded
from discreet.value.private_neighbours import NeighbourCounts
from discreet.value.private_rows import read_test
from tests.laws.examples import Example
from tests.laws.world import labelled_rows

N = 12
MODEL = LogisticRegression(solver="liblinear")


def people(rows: int, seed: int) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {"a": draw.uniform(-1, 1, rows), "b": draw.uniform(-1, 1, rows), "home": "rent"}
    )
    frame.loc[::3, "home"] = "own"
    frame["paid"] = (frame["a"] + 0.3 * draw.normal(size=rows) > 0).astype(int)
    return frame


SCHEMA = dc.Schema(
    {
        "a": dc.Number(-1.0, 1.0, missing=False),
        "b": dc.Number(-1.0, 1.0, missing=False),
        "home": dc.Category("rent", "own", missing=False, other=False),
        "paid": dc.Category(0, 1, missing=False, other=False),
    },
    target="paid",
)
TEST = people(60, 1)


def encoded(frame: pd.DataFrame) -> np.ndarray:
    return np.column_stack([SCHEMA[name].encode(np.asarray(frame[name])) for name in SCHEMA])


def session(data: Any = None, **options: Any) -> dc.Session:
    terms: dict[str, Any] = {"dataset": "people", "ledger": ":memory:", "epsilon": 1e6, "delta": 1e-3}
    return dc.protect(people(N, 0) if data is None else data, SCHEMA, **{**terms, **options})


def plan(**options: Any) -> Any:
    terms: dict[str, Any] = {"test": TEST, "rounds": 1, "epsilon": 1.0}
    return data_shapley(MODEL, **{**terms, **options})


SETTING = Setting(SCHEMA, "replace-one", N)


def test_values_are_near_the_exact_ones_for_a_large_epsilon() -> None:
    one = session().release(plan(records=3, epsilon=1e5)).value
    everybody = session().release(plan(rounds=8, epsilon=1e5)).value
    assert isinstance(one, Valuation) and one.records == (3,)
    assert everybody.records == tuple(range(N))
    assert abs(one.values[0] - everybody.values[3]) < 0.02
    assert np.std(everybody.values) > 0.001


def test_who_may_see_it_is_part_of_the_promise() -> None:
    owner = session().release(plan(records=3))
    public = session().release(plan(records=3, audience="public"))
    assert "owner alone" in owner.guarantee.protects
    assert public.guarantee.protects == "one record of the table"
    assert owner.value.audience == "owner"
    assert public.value.noise_std[0] > 2 * owner.value.noise_std[0]
    assert owner.guarantee.certified and "shapley-design" in owner.guarantee.statements
    assert "joint-values" in owner.guarantee.statements
    assert "joint-values" not in public.guarantee.statements


def test_more_values_have_more_noise_each() -> None:
    price = {k: session().price(plan(records=tuple(range(k)))) for k in (1, 3, N)}
    noise = [price[k].plans[0].expected_error["value"].error for k in (1, 3, N)]
    assert noise[0] < noise[1] < noise[2]
    together = plan(delta=1e-5, mechanism="gaussian").prepare(SETTING).stages[0]
    assert together.noise.name == "gaussian"


def test_the_curator_can_see_whether_noise_wins_before_paying() -> None:
    book = session(epsilon=2.0)
    loud, calm = (book.diagnose(plan(epsilon=epsilon)).facts for epsilon in (1.0, 1e4))
    assert loud["share of noise"] > 0.9 > 0.1 > calm["share of noise"]
    assert loud["spread of exact values"] == pytest.approx(calm["spread of exact values"], rel=1e-6)
    with pytest.raises(ArgumentError, match="can be diagnosed, got a ranking"):
        book.diagnose(plan(audience="public", top=2))
    assert book.remaining.loss == 2.0


@pytest.mark.parametrize("end", ["top", "bottom"])
def test_rankings_name_the_best_or_the_worst(end: str) -> None:
    book = session()
    exact = book.release(plan(epsilon=1e5, audience="public")).value
    ranked = book.release(plan(epsilon=8e5, audience="public", **{end: 3}))
    assert isinstance(ranked.value, RecordRanking)
    wanted = exact.ranking("best" if end == "top" else "worst")[:3]
    values = dict(zip(exact.records, exact.values, strict=True))
    found = [values[record] for record in ranked.value.records]
    assert found == pytest.approx([values[record] for record in wanted], abs=1e-3)
    tabled = ranked.value.to_frame()
    assert tabled.index.name == "record" and tuple(tabled.index) == ranked.value.records
    assert list(tabled["place"]) == [1, 2, 3]
    assert Release.loads(ranked.dumps()).value == ranked.value


def test_scores_of_a_ranking_are_never_negative() -> None:
    program = plan(audience="public", bottom=2).prepare(SETTING)
    contribution = program.stages[0].contribution
    rows = encoded(people(N, 5))
    assert (contribution.compute(rows) > 0).all()


def test_a_release_can_be_saved_and_holds_no_row() -> None:
    release = session().release(plan())
    text = release.dumps()
    assert Release.loads(text) == release
    assert not any(repr(value) in text for value in people(N, 0)["a"].tolist())


def test_frames_pictures_and_what_an_owner_gets() -> None:
    value = session().release(plan()).value
    frame = value.to_frame()
    assert list(frame.columns) == ["value", "standard_error", "low", "high"]
    assert frame.index.name == "record" and list(frame.index) == list(range(N))
    assert frame["value"].tolist() == list(value.values), "zipped with rows it must be right"
    assert value.for_owner(4).records == (4,) and len(value.for_owner(4)) == 1
    assert min(value.standard_errors) >= value.noise_std[0]
    assert value.noise_share is not None and value.noise_share > 0.3  # noise wins
    assert session().release(plan(epsilon=1e5)).value.noise_share < 0.01
    assert value.for_owner(4).noise_share is None
    assert value.plot(top=3).ax_ is not None
    drawn = value.plot_removal(lambda kept: float(len(kept)), points=4)
    assert drawn.curves["best"][0] == (0, 12.0) and drawn.figure_ is not None
    with pytest.raises(ArgumentError, match="record must be one of the valued ones, got 99"):
        value.for_owner(99)
    with pytest.raises(ArgumentError, match="order must be one of"):
        value.ranking("middle")  # type: ignore[arg-type]


def test_any_estimator_works_and_its_chance_is_fixed() -> None:
    model = DecisionTreeClassifier(max_depth=2, max_features=1)
    assert seeded(model).random_state == 0 and model.random_state is None
    release = session().release(data_shapley(model, test=TEST, records=2, rounds=1, epsilon=1.0))
    assert any("twice" in assumption for assumption in release.guarantee.assumptions)


def test_coalitions_without_a_record_are_worth_the_same_to_the_last_bit() -> None:
    """Of compiled chains: every prefix before the replaced record joins."""
    asked = plan().prepare(SETTING).stages[0].contribution.compute.__closure__
    values = next(cell.cell_contents for cell in asked if hasattr(cell.cell_contents, "utility"))
    design = Rotations(N, tuple(range(N)), 2, 0)
    first = people(N, 0)
    second = first.copy()
    second.loc[5] = [0.123, -0.9, "own", 1 - first.loc[5, "paid"]]
    games = []
    for frame in (first, second):
        games.append(values.utility.on(*values.test.split(encoded(frame))))
    compared = 0
    for chains in design.batches():
        one, other = (game.evaluate(chains).reshape(N, N + 1) for game in games)
        for chain in range(N):
            joins = int(np.flatnonzero(chains.order(chain) == 5)[0])
            np.testing.assert_array_equal(one[chain, : joins + 1], other[chain, : joins + 1])
            compared += joins
        assert (one != other).any()
    assert compared > 50


@pytest.mark.proves("shapley-design", "joint-values")
@pytest.mark.parametrize("audience", ["owner", "public"])
@pytest.mark.parametrize("model", [MODEL, DecisionTreeClassifier(max_depth=2, random_state=0)])
def test_no_replacement_moves_fitted_values_by_more(audience: str, model: Any) -> None:
    """Real fits on a tiny table: every record replaced by every row of a small universe."""
    n, universe = 5, encoded(people(4, 9))
    terms: dict[str, Any] = {"test": TEST, "rounds": 1, "epsilon": 1.0, "audience": audience}
    stage = data_shapley(model, **terms).prepare(Setting(SCHEMA, "replace-one", n)).stages[0]
    compute, certificate = stage.contribution.compute, stage.contribution.certificate
    rows = encoded(people(n, 4))
    before, moved_at_all = compute(rows), 0.0
    for j in range(n):
        for row in universe:
            neighbour = rows.copy()
            neighbour[j] = row
            moved = np.abs(compute(neighbour) - before)
            moved_at_all = max(moved_at_all, moved.max())
            seen = moved if audience == "public" else np.delete(moved, j)
            assert seen.sum() <= certificate.sensitivity("l1", "replace-one")
            assert np.sqrt((seen**2).sum()) <= certificate.sensitivity("l2", "replace-one")
            assert seen.max() <= certificate.sensitivity("linf", "replace-one")
    assert moved_at_all > 0


def test_a_numeric_target_is_valued_by_ridge() -> None:
    numeric = dc.Schema(
        {"a": dc.Number(0, 1, missing=False), "y": dc.Number(0, 1, missing=False)}, target="y"
    )
    draw = np.random.default_rng(0)
    rows = pd.DataFrame({"a": draw.uniform(size=20), "y": draw.uniform(size=20)})
    asked = data_shapley(Ridge(), test=rows, score="r2", records=1, rounds=1, epsilon=1.0)
    book = dc.protect(rows[:8], numeric, dataset="n", ledger=":memory:", epsilon=2.0)
    assert book.release(asked).value.quantity == "Shapley value (r2)"


def test_an_interruption_never_answers_with_half_the_coalitions(monkeypatch: Any) -> None:
    def interrupted(game: Any, chains: Any, **options: Any) -> Job:
        return Job(np.zeros(chains.evaluations), finished=False)

    monkeypatch.setattr(private_layered, "run_chains", interrupted)
    book = session(epsilon=2.0)
    with pytest.raises(KeyboardInterrupt):
        book.release(plan(records=1))
    assert book.remaining.loss == pytest.approx(1.0)  # what was reserved stays spent


@pytest.mark.proves("coreset-billing")
def test_what_a_coreset_remembers_changes_neither_answer_nor_price() -> None:
    core = Coreset()
    rows = encoded(people(N, 0))
    for records in ((1,), (1, 4), None):
        fresh, kept = (
            plan(records=records, coreset=c).prepare(SETTING).stages[0] for c in (Coreset(), core)
        )
        np.testing.assert_array_equal(fresh.contribution.compute(rows), kept.contribution.compute(rows))
        assert fresh.certificate == kept.certificate
    book = session(epsilon=3.0)
    for record in (1, 4):
        book.release(plan(records=record, coreset=core))
    assert book.remaining.loss == pytest.approx(1.0)  # of three


@pytest.mark.proves("coreset-billing")
def test_a_coreset_never_answers_for_other_rows_and_cannot_be_read() -> None:
    core, other = Coreset(), np.zeros((N, 4))
    seen: list[str] = []

    def remember(name: str) -> list[np.ndarray]:
        seen.append(name)
        return [np.zeros(1)]

    for name, question, rows in [("first", "q", other), ("same", "q", other), ("rows", "q", other + 1)]:
        core.recall(question, rows, lambda name=name: remember(name))
    core.recall("another", other + 1, lambda: remember("question"))
    assert seen == ["first", "rows", "question"]
    assert repr(core) == "Coreset(sealed)"
    for leak in (pickle.dumps, copy.copy):
        with pytest.raises(AccessDenied):
            leak(core)


@pytest.mark.refutes("coreset-billing")
def test_two_records_for_the_price_of_one_are_caught() -> None:
    """Two values from one coreset move together by more than one of them may."""
    one, both = (
        plan(records=records, coreset=Coreset()).prepare(SETTING).stages[0].certificate
        for records in ((1,), (1, 4))
    )
    assert both.sensitivity("l1", "replace-one") > 1.3 * one.sensitivity("l1", "replace-one")


def test_counts_for_owners_hold_under_both_relations() -> None:
    for relation in ("replace-one", "add-remove"):
        asked = data_shapley(test=TEST, method="tknn", epsilon=1.0, delta=1e-5)
        release = session(relation=relation).release(asked)
        assert isinstance(release.value, NeighbourCounts)
        assert Release.loads(release.dumps()) == release
        assert release.guarantee.protects == "one record of the table"
        values = release.value.appraise(people(N, 0))
        assert len(values) == N and values.half_width is None
        assert release.plot().ax_ is not None and values.plot().ax_ is not None
        tabled = release.value.to_frame()
        assert tabled.index.name == "test_point" and list(tabled.index) == list(range(len(TEST)))


def test_counts_are_near_the_exact_ones_for_a_large_epsilon() -> None:
    release = session().release(data_shapley(test=TEST, method="tknn", radius=0.5, epsilon=1e6))
    total = np.array(release.value.right) + np.array(release.value.wrong)
    assert np.abs(total - np.rint(total)).max() < 0.01 and total.max() > 1


def test_clips_fall_with_the_layer_and_spare_the_owner_layer_zero() -> None:
    owner = layer_limits(5, 1.0, 0.4, 1.0, None, "owner")
    assert owner == pytest.approx([1.0, 0.4, 0.2, 0.4 / 3, 0.1])
    assert layer_limits(5, 1.0, 0.4, 1.0, None, "public")[0] == 0.4
    assert layer_limits(5, 1.0, None, 1.0, None, "public")[1] == 0.1
    assert layer_limits(5, 1.0, 0.4, 2.0, None, "owner")[2] == pytest.approx(0.1)


def test_stability_is_used_where_it_is_proven() -> None:
    options = {"score": "log-loss", "l2_penalty": 2.0, "row_clip": 1.0, "records": 3, "clip": 5.0}
    stable, plain = (
        plan(**terms).prepare(SETTING).stages[0].certificate.sensitivity("linf", "replace-one")
        for terms in (options, {**options, "l2_penalty": None, "row_clip": None})
    )
    assert stable < plain


def test_plans_tell_questions_apart() -> None:
    same = plan(records=1), plan(records=1)
    assert same[0].key == same[1].key == plan(records=1, n_jobs=2).key
    different: list[dict[str, Any]] = [
        {},
        {"records": 2},
        {"test": people(50, 3)},
        {"clip": 0.2},
        {"decay": 2.0},
    ]
    different += [{"audience": "public"}, {"coreset": Coreset()}, {"empty": 0.3}]
    assert len({plan(**options).key for options in different}) == len(different)
    assert isinstance(plan(records=1).prepare(SETTING).stages[0].contribution.size, int)
    assert Pairs(N, (1,), 1, 0).evaluations > 0


def test_a_score_of_the_callers_keeps_its_name_for_the_plan() -> None:
    def share(truth: Any, said: Any) -> Any:
        return np.mean(said == truth, axis=-1)

    score = custom_score("share", share, low=0.0, high=1.0, needs="label")
    asked = plan(records=1, score=score, empty=0.5)
    assert asked.key == asked.key
    assert session().release(asked).value.quantity == "Shapley value (share)"
    with pytest.raises(ArgumentError, match="empty must be given"):
        plan(records=1, score=score).prepare(SETTING)


def test_public_rows_come_in_many_kinds(tmp_path: Any) -> None:
    import polars as pl

    TEST.to_csv(tmp_path / "test.csv", index=False)
    kinds = [TEST, pl.from_pandas(TEST), tmp_path / "test.csv"]
    asked = [plan(records=1, test=rows).prepare(SETTING).stages[0] for rows in kinds]
    assert asked[0].certificate == asked[1].certificate == asked[2].certificate
    for wrong in ([1, 2], tmp_path / "none.csv"):
        with pytest.raises(ArgumentError, match="test must be"):
            plan(records=1, test=wrong).key  # noqa: B018


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"audience": "owner", "top": 2}, "audience must be public for a ranking"),
        ({"audience": "friends"}, "audience must be one of owner, public"),
        ({"method": "magic"}, "method must be one of layered, tknn"),
        ({"top": 1, "bottom": 1}, "bottom must be left out"),
        ({"records": [1, 1]}, "records must be different places"),
        ({"records": []}, "records must be different places"),
        ({"records": "all"}, "records must be a list"),
        ({"radius": 0.5}, "radius must be left out for method='layered'"),
        ({"method": "tknn"}, "model must be left out for method='tknn'"),
        ({"clip": -1.0}, "clip must be a positive"),
        ({"rounds": 0}, "rounds must be a whole number"),
        ({"rounds": 10**12}, "at least 1 and at most 2000, got 10"),
    ],
)
def test_bad_arguments_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        plan(**options)


def test_coalitions_that_no_memory_holds_are_refused_before_they_are_drawn() -> None:
    many = Setting(SCHEMA, "replace-one", 2_000)
    with pytest.raises(ArgumentError, match="rounds must be at most 25 for 2000 records, got 26"):
        plan(rounds=26).prepare(many)
    assert len(plan(rounds=1, records=range(100)).prepare(many).stages) == 1


def test_published_values_of_counts_are_refused() -> None:
    with pytest.raises(ArgumentError, match="audience must be owner for method='tknn', got public"):
        data_shapley(test=TEST, method="tknn", audience="public", epsilon=1.0)


def test_what_needs_a_schema_is_refused_before_a_row_is_read() -> None:
    with pytest.raises(ArgumentError, match="relation must be replace-one for method='layered'"):
        plan().prepare(Setting(SCHEMA, "add-remove", None))
    with pytest.raises(ArgumentError, match="records must be places from 0 to 11, got 40"):
        plan(records=40).prepare(SETTING)
    with pytest.raises(ArgumentError, match="test must have a column 'paid'"):
        plan(test=TEST.drop(columns="paid")).prepare(SETTING)
    with pytest.raises(ArgumentError, match="The table must have 2 to"):
        plan().prepare(Setting(SCHEMA, "replace-one", 10**6))
    with pytest.raises(ArgumentError, match="test must have at least one row"):
        plan(test=TEST[:0]).prepare(SETTING)
    with pytest.raises(ArgumentError, match="radius must be given for a single test point"):
        data_shapley(test=TEST[:1], method="tknn", epsilon=1.0).prepare(SETTING)
    numeric = dc.Schema(
        {"a": dc.Number(0, 1, missing=False), "y": dc.Number(0, 1, missing=False)}, target="y"
    )
    both = pd.DataFrame({"a": [0.1, 0.5], "y": [0.0, 1.0]})
    with pytest.raises(ArgumentError, match="The target must be a category"):
        data_shapley(test=both, method="tknn", epsilon=1.0).prepare(
            Setting(numeric, "add-remove", None)
        )
    nothing = dc.Schema({"a": dc.Number(0, 1, missing=False)})
    with pytest.raises(ArgumentError, match="schema must have a target"):
        plan().prepare(Setting(nothing, "replace-one", N))


def test_models_that_cannot_be_fitted_or_repeat_themselves_are_refused() -> None:
    class Fickle(DecisionTreeClassifier):
        def predict(self, x: Any, check_input: bool = True) -> Any:
            return np.random.default_rng().integers(0, 2, len(x)).astype(float)

    class Broken(DecisionTreeClassifier):
        def fit(self, x: Any, y: Any, **options: Any) -> Any:
            raise ValueError("no")

    for kind, message in ((Fickle, "twice on the same rows"), (Broken, "rows drawn from the schema")):
        with pytest.raises(ModelError, match=message):
            data_shapley(kind(), test=TEST, epsilon=1.0).prepare(SETTING)


def test_an_analyst_cannot_ask_for_the_values_of_owners() -> None:
    draw = np.random.default_rng(0)
    frame = pd.DataFrame({"x": draw.random(40), "y": draw.choice(["a", "b"], 40)})
    schema = dc.Schema(
        {"x": dc.Number(0, 1, missing=False), "y": dc.Category("a", "b", missing=False, other=False)},
        target="y",
    )
    ledger = dc.Ledger.open(":memory:")
    terms = {"dataset": "d", "ledger": ledger}
    dc.protect(frame, schema, epsilon=5.0, delta=1e-3, **terms)
    ledger.allot("d", "ann", Amount.charge(2.0))
    plan = dc.data_shapley(LogisticRegression(), test=frame, records=[0], epsilon=1.0)
    ann = dc.protect(frame, schema, analyst="ann", **terms)
    with pytest.raises(AccessDenied, match="must be asked by the data set's owner"):
        ann.release(plan)
    dc.protect(frame, schema, **terms).release(plan)
    with pytest.raises(AccessDenied, match="must be asked by the data set's owner"):
        ann.release(plan)  # stored by now, and still not hers


def test_a_score_of_the_caller_s_runs_in_silence_and_alone(capsys: pytest.CaptureFixture[str]) -> None:
    calls: list[int] = []

    def loud(truth: Any, said: Any) -> Any:
        print(said)
        calls.append(len(np.atleast_2d(said)))
        if calls and float(np.mean(said == "a")) > 0.7:
            raise SystemExit
        return np.mean(np.atleast_2d(said) == truth, axis=1)

    draw = np.random.default_rng(0)
    frame = pd.DataFrame({"x": draw.random(8), "y": ["a", "b"] * 4})
    schema = dc.Schema(
        {"x": dc.Number(0, 1, missing=False), "y": dc.Category("a", "b", missing=False, other=False)},
        target="y",
    )
    session = dc.protect(frame, schema, dataset="d", epsilon=9.0, ledger=":memory:")
    plan = dc.data_shapley(
        LogisticRegression(),
        test=frame,
        records=[0],
        score=custom_score("loud", loud, low=0.0, high=1.0, needs="label"),
        empty=0.5,
        epsilon=1.0,
    )
    session.release(plan)
    assert set(calls) == {1} and capsys.readouterr().out == ""


def test_a_coreset_tells_schemas_apart() -> None:
    rows = pd.DataFrame({"x": [0.1, 0.2, 0.7, 0.9], "b": [0.5] * 4, "y": list("abab")})
    core, found = dc.Coreset(), []
    for high in (1, 500):
        schema = dc.Schema(
            {
                "x": dc.Number(0, 1, missing=False),
                "b": dc.Number(0, high, missing=False),
                "y": dc.Category("a", "b", missing=False, other=False),
            },
            target="y",
        )
        plan = dc.data_shapley(
            LogisticRegression(), test=rows, records=[0], coreset=core, score="log-loss", epsilon=1.0
        )
        asked = plan.prepare(Setting(schema, "replace-one", 4)).stages[0].contribution
        found.append(
            asked.compute(np.array([[0.1, 0.5, 0], [0.2, 0.5, 1], [0.7, 0.5, 0], [0.9, 0.5, 1]]))
        )
        fresh = dc.data_shapley(
            LogisticRegression(),
            test=rows,
            records=[0],
            coreset=dc.Coreset(),
            score="log-loss",
            epsilon=1.0,
        )
        alone = fresh.prepare(Setting(schema, "replace-one", 4)).stages[0].contribution
        again = alone.compute(np.array([[0.1, 0.5, 0], [0.2, 0.5, 1], [0.7, 0.5, 0], [0.9, 0.5, 1]]))
        assert np.array_equal(found[-1], again)


def valued(**options: Any) -> Any:
    return dc.data_shapley(
        LogisticRegression(solver="liblinear"),
        test=labelled_rows(),
        rounds=1,
        n_jobs=1,
        epsilon=1.0,
        **options,
    )


@pytest.mark.parametrize("options", [{"records": [0]}, {"method": "tknn", "model": None}])
def test_a_target_that_may_be_missing_is_refused(options: Any) -> None:
    columns = {"income": dc.Number(0, 100), "paid": dc.Category(0, 1)}
    schema = dc.Schema(columns, target="paid")
    test = pd.DataFrame({"income": [1.0], "paid": [1]})
    plan = dc.data_shapley(**{"model": LogisticRegression(), "test": test, "epsilon": 1.0, **options})
    with pytest.raises(ArgumentError, match="'paid', which may be missing or not listed"):
        plan.prepare(Setting(schema, "replace-one", 5))


def test_missing_features_are_shown_as_a_public_fill() -> None:
    columns = {"income": dc.Number(0, 100), "home": dc.Category("rent", "own")}
    schema = dc.Schema({**columns, "paid": dc.Category(0, 1, unknown=0)}, target="paid")
    frame = pd.DataFrame({"income": [None, 100.0], "home": ["castle", None], "paid": [1, None]})
    test = read_test(frame, schema)
    assert test.x[:, 0].tolist() == [0.5, 1.0]
    assert (test.x[:, 1:] > 0).tolist() == [[False, False, True, False], [False, False, False, True]]
    assert test.y.tolist() == [1.0, 0.0] and test.classes == 2


EXAMPLES = [
    Example("data_shapley", lambda _: valued(records=[0, 7]), relations=("replace-one",)),
    Example("data_shapley", lambda _: valued(top=2, audience="public"), relations=("replace-one",)),
    Example(
        "data_shapley", lambda _: dc.data_shapley(method="tknn", test=labelled_rows(), epsilon=1.0)
    ),
]
