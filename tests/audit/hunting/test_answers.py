"""The audit of a model: what looks at its batch, keeps something, or hides its precision is found."""

from __future__ import annotations

import json
import threading
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.audit.hunting.answers import model as audit
from discreet.audit.hunting.interview import Interview, Paid
from discreet.audit.hunting.model_report import ModelAudit
from discreet.errors import DiscreetError
from discreet.models.probe import DOUBLE, SINGLE

SCHEMA = dc.Schema({"a": dc.Number(0, 1, missing=False), "b": dc.Number(0, 1, missing=False)})
SHORT = 0.1


def answer_to(report: ModelAudit, words: str) -> Any:
    (found,) = [one for one in report.questions if words in one.question]
    return found


def by_row(rows: Any) -> Any:
    return np.sin(rows[:, 0]) / 3 + rows[:, 1] / 7


def test_a_function_of_its_row_holds() -> None:
    report = audit(by_row, SCHEMA, bounds=(0, 1), seconds=SHORT)
    assert report.held and report.precision == "double" and not report.refused
    assert report.batches > 60 and report.calls > report.batches and report.rows > 10_000
    assert 0 <= report.least < report.greatest < 0.5


def meaning(rows: Any) -> Any:
    return np.clip(rows[:, 0] - rows[:, 0].mean(), 0, 1)


def ranking(rows: Any) -> Any:
    return np.searchsorted(np.sort(rows[:, 0]), rows[:, 0]) / len(rows)


def numbering(rows: Any) -> Any:
    return np.unique(rows[:, 0], return_inverse=True)[1] / len(rows)


@pytest.mark.parametrize("function", [meaning, ranking, numbering])
def test_a_model_that_looks_at_its_batch_is_found(function: Any) -> None:
    report = audit(function, SCHEMA, bounds=(0, 1), seconds=SHORT)
    assert not report.held and report.refused
    by_itself = answer_to(report, "where the row stands")
    assert not by_itself.yes and by_itself.figure > 0.1 and by_itself.where.startswith("beside")
    assert "NO " in str(report)


def test_a_model_that_never_answers_a_number_is_told() -> None:
    report = audit(lambda rows: np.full(len(rows), np.nan), SCHEMA, bounds=(0, 1), seconds=SHORT)
    assert not answer_to(report, "answer every row").yes and "Answers were never numbers" in str(report)


def test_what_the_shape_of_a_call_shields_is_told_and_no_fault() -> None:
    """The ends of all columns are in every call of a release, so a scaler to [0, 1] has no choice."""

    def to_ends(rows: Any) -> Any:
        low, high = rows.min(axis=0), rows.max(axis=0)
        return ((rows - low) / np.where(high > low, high - low, 1)).mean(axis=1)

    report = audit(to_ends, SCHEMA, bounds=(0, 1), seconds=SHORT)
    assert report.held and not answer_to(report, "calls of any size").yes


def test_a_model_that_counts_its_calls_is_found_where_the_probe_is_too_short() -> None:
    class Counting:
        calls = 0

        def __call__(self, rows: Any) -> Any:
            Counting.calls += 1
            return rows[:, 0] / 2 + 0.25 * (Counting.calls > 400)

    model = dc.Model(Counting(), bounds=(0, 1), name="counting")
    model.bind(SCHEMA)
    assert Counting.calls < 400
    bound, _ = model.attach(SCHEMA)
    ticks = iter(range(10**6))
    interview = Interview(bound, SCHEMA, Paid(DOUBLE, DOUBLE), False, 0, 2, lambda: float(next(ticks)))
    report = interview.hold("counting", 300.0)
    assert not report.held and Counting.calls > 400


def test_a_model_that_draws_is_found_by_the_same_call() -> None:
    draw = np.random.default_rng(0)
    report = audit(lambda rows: draw.random(len(rows)), SCHEMA, bounds=(0, 1), seconds=SHORT)
    assert not answer_to(report, "the same call alike").yes


def test_a_model_that_shares_state_between_threads_is_found() -> None:
    """It answers otherwise once a second thread has asked."""
    busy: set[int] = set()

    def shared(rows: Any) -> Any:
        busy.add(threading.get_ident())
        return (1 + rows[:, 0]) / (3 if len(busy) > 1 else 2)

    report = audit(shared, SCHEMA, bounds=(0, 1), seconds=SHORT)
    assert not answer_to(report, "several threads").yes


def single(rows: Any) -> Any:
    weights = np.array([1.5, -0.7], dtype=np.float32)
    return (1 / (1 + np.exp(-(rows.astype(np.float32) @ weights)))).astype(np.float64)


def test_single_precision_is_paid_for_unless_it_is_declared_away() -> None:
    taken = audit(single, SCHEMA, bounds=(0, 1), seconds=SHORT)
    assert taken.held and taken.precision == "single"
    assert answer_to(taken, "precision").allowed == SINGLE
    declared = audit(single, SCHEMA, bounds=(0, 1), batch_error=DOUBLE, seconds=SHORT)
    assert not declared.held and not answer_to(declared, "precision").yes


def test_labels_have_no_precision() -> None:
    report = audit(lambda rows: rows[:, 0] > 0.5, SCHEMA, bounds=(0, 1), seconds=SHORT)
    assert report.precision == "short" and report.held


def test_answers_beyond_the_bounds_or_none_are_told_and_no_fault() -> None:
    def wild(rows: Any) -> Any:
        return np.where(rows[:, 0] > 0.9, np.nan, 3 * rows[:, 1])

    report = audit(wild, SCHEMA, bounds=(0, 1), seconds=SHORT)
    assert report.held and answer_to(report, "in the bounds").figure == pytest.approx(2.0)
    assert answer_to(report, "every row").figure > 100


@pytest.mark.parametrize("form", ["linear", "trees", "network"])
def test_forms_are_asked_to_the_last_bit(form: Any) -> None:
    from discreet.audit.hunting.questions import SCHEMA as LOANS
    from discreet.audit.hunting.questions import model_of

    report = audit(model_of(form), LOANS, seconds=SHORT)
    ours = [one for one in report.questions if "code of ours" in one.question]
    assert report.held and report.form == form and len(ours) == (form != "network")


def test_an_interrupt_keeps_what_was_found() -> None:
    calls = 0

    def interrupted(rows: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 400:
            raise KeyboardInterrupt
        return by_row(rows)

    report = audit(interrupted, SCHEMA, bounds=(0, 1), seconds=60.0)
    assert report.partial and report.batches > 60 and "interrupted" in str(report)


def test_the_budget_of_seconds_is_kept_after_one_round() -> None:
    bound, _ = dc.Model(by_row, bounds=(0, 1)).attach(SCHEMA)
    looks = 0

    def clock() -> float:
        nonlocal looks
        looks += 1
        return float(looks)

    held = Interview(bound, SCHEMA, Paid(DOUBLE, DOUBLE), False, 0, 2, clock).hold("by row", 5.0)
    one_round = held.batches
    looks = 0
    longer = Interview(bound, SCHEMA, Paid(DOUBLE, DOUBLE), False, 0, 2, clock).hold("by row", 25.0)
    assert one_round > 60 and longer.batches - one_round == 20


def test_the_report_as_a_frame_and_as_json() -> None:
    report = audit(ranking, SCHEMA, bounds=(0, 1), seconds=SHORT)
    frame = report.to_frame()
    assert set(frame.columns) == {"question", "yes", "needed", "figure", "allowed", "where"}
    plain = json.loads(json.dumps(report.to_json(), allow_nan=False))
    assert plain["held"] is False and len(plain["questions"]) == len(frame)


def raising(rows: Any) -> Any:
    raise RuntimeError("no such file")


WRONG: dict[str, tuple[Any, dict[str, Any], str]] = {
    "raises": (raising, {}, "no such file"),
    "strings": (lambda rows: np.array(["yes"] * len(rows)), {}, "must predict rows"),
    "wrong shape": (lambda rows: np.zeros((len(rows), 3)), {}, "one number per row"),
    "no model": (3, {}, "model must be an estimator or a function"),
    "no bounds": (by_row, {"bounds": None}, "bounds must be given"),
    "bounds twice": (dc.Model(by_row, bounds=(0, 1)), {}, "bounds must be left out"),
    "seconds": (by_row, {"seconds": -1}, "seconds must be"),
    "threads": (by_row, {"threads": 0}, "threads must be"),
    "batch error": (by_row, {"batch_error": float("nan")}, "batch_error must be"),
}


@pytest.mark.parametrize("name", WRONG)
def test_bad_input_is_one_sentence(name: str) -> None:
    given, options, says = WRONG[name]
    with pytest.raises(DiscreetError, match=says) as caught:
        audit(given, SCHEMA, **({"bounds": (0, 1)} | options))
    assert "\n" not in str(caught.value)


def test_an_isolated_model_is_asked_for_the_rows_that_count_alone() -> None:
    made = dc.Model(by_row, bounds=(0, 1), name="by row", isolated=True)
    report = audit(made, SCHEMA, seconds=SHORT)
    assert report.held and report.batches > 60 and report.rows < 10 * report.batches


def test_an_isolated_model_that_keeps_something_is_found() -> None:
    class Keeping:
        last = 0.0

        def __call__(self, rows: Any) -> Any:
            before, Keeping.last = Keeping.last, float(rows[:, 0].sum()) % 1
            return (rows[:, 0] + before) / 3

    report = audit(dc.Model(Keeping(), bounds=(0, 1), isolated=True), SCHEMA, seconds=SHORT)
    assert not report.held
