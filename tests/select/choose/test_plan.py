"""Choosing by summed utilities: certificates, every mechanism, guarded callbacks, the reason given."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.data import PrivateTable, Summand, add_up
from discreet.errors import ArgumentError
from discreet.plans import Result, Setting
from discreet.plans.results.choice import Choice
from discreet.privacy.accounting import ApproximateEvent, BoundedRangeEvent, PureEvent
from discreet.select.choose.chooser import CHOICES, Chooser, decide
from discreet.select.choose.plan import choose
from discreet.select.quantiles.order_statistics import Standing
from tests.laws.examples import Example
from tests.oracles.laws import as_law, max_divergence

SCHEMA = dc.Schema(
    {
        "kind": dc.Category("a", "b", "c", missing=False, other=False),
        "mass": dc.Number(0, 10, missing=False),
    }
)
KINDS = ["a", "b", "c"]


def votes(block: Any, candidates: Any) -> Any:
    return np.stack([block["kind"] == kind for kind in candidates], axis=1)


def rows(counts: tuple[int, ...]) -> pd.DataFrame:
    kinds = np.repeat(KINDS, counts)
    return pd.DataFrame({"kind": kinds, "mass": np.linspace(0, 10, len(kinds))})


def simulate(frame: pd.DataFrame, plan: Any, seed: int = 0, **options: Any) -> Any:
    terms = {"dataset": "d", "epsilon": 1e5, "delta": 1e-2, "ledger": ":memory:", "seed": seed}
    return dc.protect(frame, SCHEMA, workers=1, **{**terms, **options}).release(plan).value


@pytest.mark.parametrize("mechanism", CHOICES)
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_an_obvious_winner_is_found(mechanism: str, relation: str) -> None:
    plan = choose(votes, KINDS, columns=["kind"], epsilon=2.0, delta=1e-6, mechanism=mechanism)  # type: ignore[arg-type]
    value = simulate(rows((20, 400, 30)), plan, relation=relation)
    assert value.winner == "b" and value.place == 1 and value.candidates == 3
    assert (value.gap is not None) == (mechanism == "laplace")
    if value.gap is not None:
        assert value.gap == pytest.approx(370, abs=60)


@pytest.mark.proves("choose")
@pytest.mark.parametrize(("relation", "sensitivity"), [("replace-one", 3.0), ("add-remove", 1.5)])
def test_a_score_moves_by_half_the_range_or_by_the_range(relation: str, sensitivity: float) -> None:
    plan = choose(votes, KINDS, columns=["kind"], bounds=(-1.0, 2.0), epsilon=1.0, name="votes")
    program = plan.prepare(Setting(SCHEMA, relation, None if relation == "add-remove" else 50))  # type: ignore[arg-type]
    (stage,) = program.stages
    assert stage.certificate.sensitivity("linf", relation) == pytest.approx(sensitivity, rel=1e-3)  # type: ignore[arg-type]
    moved = stage.noise.chooser.sensitivity * stage.noise.step
    assert sensitivity <= moved <= sensitivity * 1.001


def small_sums(relation: str, mechanism: str, epsilon: float, counts: tuple[int, ...]) -> Any:
    plan = choose(votes, KINDS, columns=["kind"], epsilon=epsilon, mechanism=mechanism, name="votes")  # type: ignore[arg-type]
    setting = Setting(SCHEMA, relation, sum(counts) if relation == "replace-one" else None)  # type: ignore[arg-type]
    (stage,) = plan.prepare(setting).stages
    table = PrivateTable(rows(counts), SCHEMA, relation)  # type: ignore[arg-type]
    (steps,) = add_up(table, [Summand(stage.contribution, stage.noise.step)])
    return stage.noise.chooser.law(stage.noise.standing(steps))


@pytest.mark.proves("choose")
@pytest.mark.parametrize("mechanism", ["exponential", "permute-and-flip", "stability"])
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_laws_of_neighbouring_tables_keep_epsilon(mechanism: str, relation: str) -> None:
    base = (3, 3, 2)
    first = as_law(small_sums(relation, mechanism, 1.0, base))
    for i, j in itertools.permutations(range(3), 2):
        moved = list(base)
        moved[i] += 1
        moved[j] -= relation == "replace-one"
        other = as_law(small_sums(relation, mechanism, 1.0, tuple(moved)))
        assert max_divergence(first, other) <= 1.0 + 1e-9


@pytest.mark.refutes("choose")
def test_the_bound_of_add_remove_is_too_small_for_replacing() -> None:
    """Priced for coming and going, replacing one vote by another costs up to twice as much."""
    first = as_law(small_sums("add-remove", "exponential", 1.0, (3, 3, 2)))
    other = as_law(small_sums("add-remove", "exponential", 1.0, (4, 2, 2)))
    assert max_divergence(first, other) > 1.05


def test_counts_beat_smooth_noise_as_in_the_notes() -> None:
    """Two classes, a gap of 20, epsilon 0.1: counts give .881 by the exponential law, .932 by flips."""
    schema = dc.Schema({"kind": dc.Category("a", "b", missing=False, other=False)})
    setting = Setting(schema, "add-remove", None)
    found = {}
    for mechanism in ("exponential", "permute-and-flip"):
        plan = choose(votes, ["a", "b"], epsilon=0.1, mechanism=mechanism)  # type: ignore[arg-type]
        (stage,) = plan.prepare(setting).stages
        steps = np.round(np.array([10.0, -10.0]) / stage.noise.step).astype(np.int64)
        found[mechanism] = stage.noise.chooser.law(stage.noise.standing(steps))[0]
    assert found["exponential"] == pytest.approx(0.881, abs=0.001)
    assert found["permute-and-flip"] == pytest.approx(0.932, abs=0.001)


# Which mechanism, and why


def test_auto_takes_the_least_worst_error_and_says_so() -> None:
    value = simulate(rows((50, 400, 30)), choose(votes, KINDS, columns=["kind"], epsilon=1.0))
    assert value.mechanism == "permute-and-flip" == min(value.compared, key=lambda pair: pair[1])[0]
    assert value.expected_error == dict(value.compared)["permute-and-flip"]
    assert "exponential" in value.why and "whatever the table" in value.why
    asked = simulate(
        rows((50, 400, 30)), choose(votes, KINDS, columns=["kind"], epsilon=1.0, mechanism="stability")
    )
    assert asked.why.startswith("stability was asked for")
    assert asked.expected_error > 100 * value.expected_error


@pytest.mark.parametrize("kind", ["exponential", "permute-and-flip", "laplace", "stability"])
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_no_table_errs_more_than_the_stated_worst(kind: str, epsilon: float) -> None:
    """Over small score vectors, the law's expected distance from the best."""
    chooser, errors = decide(kind, 3, epsilon, 0.0, 1, 30.0)
    for scores in itertools.product((0, 1, 5, 30), repeat=3):
        steps = np.array(scores)
        lost = chooser.law(Standing(steps, int(np.argmax(steps)), 0)) @ (steps.max() - steps)
        assert lost <= errors[kind] * (1 + 1e-9) + 1e-2


def test_events() -> None:
    def event(kind: str, delta: float = 0.0) -> Any:
        return Chooser(kind, 5, 1.0, delta, 1).events[0]

    assert isinstance(event("exponential"), BoundedRangeEvent)
    assert isinstance(event("permute-and-flip"), PureEvent) and isinstance(event("laplace"), PureEvent)
    assert isinstance(event("stability"), PureEvent)
    assert isinstance(event("smooth-laplace", 1e-6), ApproximateEvent)
    assert Chooser("laplace", 5, 1.0, 1e-6, 1).spent_delta == 0


def test_laws_of_all_mechanisms_sum_to_one() -> None:
    standing = Standing(np.array([4, 9, 0, 2]), 1, 2)
    for kind in CHOICES[1:]:
        law = Chooser(kind, 4, 1.0, 0.0, 1).law(standing)
        assert law.sum() == pytest.approx(1.0, abs=1e-9) and law.argmax() == 1


# Callbacks


def test_rows_on_which_a_utility_fails_count_as_the_middle() -> None:
    def picky(block: Any, candidates: Any) -> Any:
        if np.any(block["mass"] == 9.87):
            raise SystemExit("mass 10")
        return votes(block, candidates)

    frame = rows((5, 90, 5))
    frame["mass"] = 1.0
    frame.loc[7, "mass"] = 9.87
    with pytest.raises(ArgumentError, match="utility must answer rows drawn from the schema"):
        strict = lambda block, candidates: 1 / 0  # noqa: E731
        choose(strict, KINDS, epsilon=1.0).prepare(Setting(SCHEMA, "replace-one", 100))

    value = simulate(frame, choose(picky, KINDS, epsilon=5.0))
    assert value.winner == "b"


def test_nothing_a_utility_prints_is_seen(capsys: pytest.CaptureFixture[str]) -> None:
    def chatty(block: Any, candidates: Any) -> Any:
        print("secret", block["mass"][0])
        return votes(block, candidates)

    simulate(rows((5, 90, 5)), choose(chatty, KINDS, epsilon=5.0))
    assert "secret" not in capsys.readouterr().out


def test_a_utility_that_looks_at_other_rows_is_refused() -> None:
    def relative(block: Any, candidates: Any) -> Any:
        rank = np.argsort(np.argsort(block["mass"])) / len(block["mass"])
        return np.repeat(rank[:, None], len(candidates), axis=1)

    with pytest.raises(ArgumentError, match="utility must answer every row by itself"):
        choose(relative, KINDS, epsilon=1.0).prepare(Setting(SCHEMA, "replace-one", 10))


def test_wrong_shapes_and_arguments() -> None:
    flat = lambda block, candidates: np.zeros(len(block["mass"]))  # noqa: E731
    with pytest.raises(ArgumentError, match="one row per record and one column per candidate"):
        choose(flat, KINDS, epsilon=1.0).prepare(Setting(SCHEMA, "replace-one", 10))
    for wrong in ([], ["a"], ["a", "a"], [["a"], ["b"]], [float("nan"), 1.0]):
        with pytest.raises(ArgumentError, match="candidates must be"):
            choose(votes, wrong, epsilon=1.0)
    with pytest.raises(ArgumentError, match="utility must be a function"):
        choose("votes", KINDS, epsilon=1.0)  # type: ignore[arg-type]
    for bounds in ((1, 0), (0, float("inf")), 3):
        with pytest.raises(ArgumentError, match="must be"):
            choose(votes, KINDS, bounds=bounds, epsilon=1.0)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="mechanism must be one of"):
        choose(votes, KINDS, epsilon=1.0, mechanism="best")  # type: ignore[arg-type]


def test_a_choice_is_saved_tabled_and_drawn() -> None:
    value = simulate(
        rows((50, 400, 30)), choose(votes, KINDS, columns=["kind"], epsilon=1.0, mechanism="laplace")
    )
    assert Result.read(value.to_json()) == value
    assert value.to_frame().loc[0, "winner"] == "b" and "gap" in value.to_frame()
    assert value.plot().ax_ is not None
    assert isinstance(value, Choice)


def test_keys_tell_questions_apart() -> None:
    one, other = (choose(votes, KINDS, epsilon=1.0, name="votes") for _ in range(2))
    assert one.key == other.key != choose(votes, KINDS, epsilon=1.0).key
    assert choose(votes, KINDS, epsilon=1.0).key != choose(votes, KINDS, epsilon=1.0).key


@pytest.mark.proves("choose")
@pytest.mark.parametrize("mechanism", ["stability", "smooth-student-t", "exponential"])
def test_utilities_that_lean_with_their_company_stay_inside_the_promise(mechanism: str) -> None:
    """A utility may move by what the probe lets pass; stability turns any excess into an epsilon."""
    rows, lean = 8_192, 4.9e-13

    def utility(block: Any, candidates: Any) -> Any:
        x = block["x"]
        tilt = lean if np.any(x == 0.123) else -lean
        first, second = np.full(len(x), 0.5 + tilt), np.full(len(x), 0.5 - tilt)
        for value, a, b in ((0.123, 1, 0), (0.321, 0, 1), (0.777, 1, 0), (0.555, 0.5 + 1e-9, 0.5)):
            first, second = np.where(x == value, a, first), np.where(x == value, b, second)
        return np.column_stack([first, second])

    schema = dc.Schema({"x": dc.Number(0, 1, missing=False)})
    plan = dc.choose(
        utility, ["p", "q"], bounds=(0, 1), columns=["x"], name="u", epsilon=1.0, mechanism=mechanism
    )
    (stage,) = plan.prepare(Setting(schema, "replace-one", rows)).stages
    laws = []
    for first in (0.123, 0.321):
        x = np.linspace(0.8, 1, rows)
        x[:3] = first, 0.777, 0.555
        table = PrivateTable(pd.DataFrame({"x": x}), schema)
        (sums,) = add_up(table, [Summand(stage.contribution, stage.noise.step)])
        laws.append(stage.noise.chooser.law(stage.noise.standing(sums)))
    assert np.abs(np.log(laws[0] / laws[1])).max() <= 1.0 + 1e-9


def right_by_row(block: Any, cuts: Any) -> np.ndarray:
    return np.stack([(block["income"] > cut) == (block["paid"] == 1) for cut in cuts], axis=1)


def balance(block: Any, cuts: Any) -> np.ndarray:
    """Return minus how far a cut is from halving the table: at most one per record that comes."""
    return -np.abs([np.sum(np.where(block["income"] > cut, 1, -1)) for cut in cuts])


EXAMPLES = [
    Example(
        "choose",
        lambda _: choose(
            right_by_row, [10, 30, 50, 70], columns=["income", "paid"], name="rule", epsilon=1.0
        ),
    ),
    Example(
        "choose",
        lambda _: choose(
            balance, [5.0, 20.0, 60.0], columns=["income"], sensitivity=2.0, name="balance", epsilon=1.0
        ),
    ),
]
