"""What a mechanism or a caller may get wrong is told in a sentence, and nothing drawn is lost."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from discreet.audit.laws.exact_audit import exact
from discreet.audit.sampling.auditing import sample
from discreet.audit.sampling.canaries import one_run
from discreet.audit.sampling.run_time import timing
from discreet.errors import ArgumentError


def response(bit: int) -> dict[int, float]:
    return {bit: 0.7, 1 - bit: 0.3}


def fails(*given: Any) -> Any:
    raise RuntimeError("no disk")


WRONG: list[tuple[Callable[[], Any], str]] = [
    (lambda: exact(fails, pairs=[(0, 1)], epsilon=1.0), "law, .* got RuntimeError: no disk"),
    (lambda: exact(response, pairs=5, epsilon=1.0), "pairs must be pairs of inputs, got 5"),  # type: ignore[arg-type]
    (
        lambda: exact(response, neighbours=[1], start=0, epsilon=1.0),  # type: ignore[arg-type]
        r"neighbours must be a function of an input, got \[1\]",
    ),
    (lambda: exact(response, pairs=[(0, 1)], epsilon=1.0, seed=-1), "seed must be a whole number"),
    (
        lambda: one_run(fails, canaries=9),
        "scores must be a function .* and raised RuntimeError: no disk",
    ),
    (
        lambda: one_run(lambda mask: mask * np.nan, canaries=9),
        r"got an array of shape \(9,\), NaN among",
    ),
    (lambda: one_run(lambda mask: mask[1:], canaries=9), r"must be 9 numbers.* of shape \(8,\)\."),
    (
        lambda: one_run(lambda mask: mask, canaries=9, confidence=1),
        "confidence must be above 0 and below",
    ),
    (lambda: timing(fails, 0, 1), "release must answer for 5 pairs at least, and raised RuntimeError"),
    (lambda: timing(len, "a", "b", seed=-1), "seed must be a whole number"),
    (lambda: sample(len, "a", "b", score=5), "score must be a function of an outcome, got 5"),  # type: ignore[arg-type]
    (lambda: sample(len, "a", "b", confidence=0), "confidence must be above 0 and below 1, got 0"),
    (lambda: sample(lambda t, n: "a" * n, 0, 1, batched=True), "must return a row for every run"),
    (lambda: sample(lambda t, n: dict.fromkeys(range(n)), 0, 1, batched=True), "a row for every run"),
]


@pytest.mark.parametrize(("call", "told"), WRONG, ids=[told for _, told in WRONG])
def test_bad_input_is_told_in_a_sentence(call: Callable[[], Any], told: str) -> None:
    with pytest.raises(ArgumentError, match=told):
        call()


def test_a_release_that_fails_late_keeps_the_pairs_there_are() -> None:
    calls = itertools.count()
    report = timing(lambda table: fails() if next(calls) > 40 else 1, 0, 1)
    assert report.pairs == 19 and report.stopped == "raised RuntimeError: no disk"


def test_ctrl_c_before_there_is_anything_to_tell_is_ctrl_c() -> None:
    def interrupted(table: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        timing(interrupted, 0, 1)


@pytest.mark.parametrize("great", [10**400, 2**60, -(2**62)])
def test_whole_numbers_that_are_no_floats_are_told_apart(great: int) -> None:
    same = sample(lambda table: great, 0, 1, epsilon=1.0, samples=100)
    apart = sample(lambda table: great + table, 0, 1, epsilon=1.0, samples=100)
    assert same.held and "one and the same" in same.note
    assert not apart.held and "in every run" in apart.note


def test_arrays_of_great_whole_numbers_are_told_apart() -> None:
    def noisy(table: int, size: int, generator: np.random.Generator) -> Any:
        return 2**60 + table + generator.integers(-2, 3, size)

    assert not sample(noisy, 0, 1, epsilon=1.0, samples=2_000, batched=True, seed=1).held
    assert sample(noisy, 0, 0, epsilon=1.0, samples=2_000, batched=True, seed=1).held


def test_values_that_repeat_are_told_apart_one_by_one() -> None:
    def doubled(table: int, size: int, generator: np.random.Generator) -> Any:
        return 2 * generator.integers(0, 1_000, size) + table

    audit = sample(doubled, 0, 1, epsilon=1.0, samples=20_000, batched=True, seed=1)
    assert not audit.held and audit.event.startswith("the ratio of each value")
    assert sample(doubled, 0, 0, epsilon=0.1, samples=20_000, batched=True, seed=1).held


def test_texts_that_never_repeat_need_a_score() -> None:
    def text(table: int, generator: np.random.Generator) -> str:
        return f"{table} {generator.random()}"

    blind = sample(text, 0, 1, epsilon=1.0, samples=200, seed=1)
    assert blind.held and "give score=" in str(blind)
    seen = sample(text, 0, 1, epsilon=1.0, samples=200, seed=1, score=lambda found: int(found[0]))
    assert not seen.held and "score=" not in seen.note


def test_keys_of_other_kinds_are_other_outcomes() -> None:
    assert not sample(lambda t: {1: 0} if t else {"1": 0}, 0, 1, epsilon=1.0, samples=100).held
    assert not sample(lambda t: {1} if t else {"1"}, 0, 1, epsilon=1.0, samples=100).held


def test_a_mechanism_that_ends_its_process_is_told() -> None:
    with pytest.raises(ArgumentError, match="and ended a worker process"):
        sample(lambda table: os._exit(1), 0, 1, samples=64, workers=2)


def test_a_frame_has_a_row_for_every_run() -> None:
    def frame(table: int, size: int, generator: np.random.Generator) -> Any:
        return pd.DataFrame({f"x{place}": generator.normal(table, 1, size) for place in range(7)})

    audit = sample(frame, 0, 9, epsilon=1.0, samples=7 * 64, batched=True, seed=1)
    assert audit.samples == 7 * 64 and not audit.held


def test_an_exact_audit_speaks() -> None:
    audit = exact(response, pairs=[(0, 1)], epsilon=1.0)
    assert "stays within epsilon 1, delta 0: the true loss of 0 against 1 is 0.8473" in str(audit)
