"""A saved release that was edited is refused when it is read, or can be used like any other."""

from __future__ import annotations

import copy
import dataclasses
import json
import random
from dataclasses import MISSING
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import discreet as dc
from discreet.errors import ReleaseError
from tests.laws.fuzz_cases import labelled_rows, make_cases, make_schema, models

NEW: list[Any] = [None, "", 1, -1, 1.5, True, [], {}, "x" * 300_000, 10**400, [None], {"a": 1}, 10**9]


@pytest.fixture(scope="module")
def releases() -> list[dc.Release]:
    """One release of every kind of result."""
    draw = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "age": draw.integers(18, 91, 200),
            "income": draw.uniform(0, 100, 200),
            "home": draw.choice(["rent", "own"], 200),
            "paid": draw.integers(0, 2, 200),
        }
    )
    session = dc.protect(
        frame,
        make_schema(draw, "usual"),
        dataset="people",
        epsilon=200.0,
        delta=0.5,
        ledger=":memory:",
        seed=1,
        heuristics=True,
        progress=False,
    )
    plans = [case.function(**case.arguments) for case in make_cases(draw)]
    plans += [
        dc.partial_dependence(models()[0], ("age", "income"), resolution=3, epsilon=1.0),
        dc.histogram("age", ranges=True, epsilon=1.0),
        dc.data_shapley(
            LogisticRegression(), test=labelled_rows(), top=1, audience="public", rounds=1, epsilon=1.0
        ),
        dc.data_shapley(test=labelled_rows(), method="tknn", epsilon=1.0),
        dc.background(rows=5, epsilon=1.0),
        dc.histogram("age", by="home", epsilon=1.0),
        dc.model_card(models()[0], curves=1, epsilon=1.0),
    ]
    return [*(session.release(plan) for plan in plans), *_of_other_targets(draw)]


def _of_other_targets(draw: np.random.Generator) -> list[dc.Release]:
    """Return evaluations of a regressor and of a classifier of three classes."""
    from sklearn.linear_model import LinearRegression
    from sklearn.tree import DecisionTreeClassifier

    frame = pd.DataFrame({"x": draw.uniform(0, 1, 200), "z": draw.uniform(0, 1, 200)})
    frame["kind"] = np.minimum(frame.x * 3, 2).astype(int)
    columns = {"x": dc.Number(0, 1, missing=False), "z": dc.Number(0, 1, missing=False)}
    kinds = dc.Category(0, 1, 2, missing=False, other=False)
    classes = dc.Schema({**columns, "kind": kinds}, target="kind")
    tree = DecisionTreeClassifier(max_depth=2).fit(frame[["x"]], frame.kind)
    line = dc.Model(LinearRegression().fit(frame[["x"]], frame.z), bounds=(0, 1))
    asked = [(dc.Schema(columns, target="z"), line), (classes, tree)]
    found = []
    for number, (schema, model) in enumerate(asked):
        session = dc.protect(
            frame, schema, dataset=f"d{number}", epsilon=9, ledger=":memory:", seed=1, progress=False
        )
        found.append(session.release(dc.evaluate(model, epsilon=1.0)))
    return found


def places(plain: Any, before: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return where something stands in plain data: at most six entries of a list."""
    inner = plain.items() if isinstance(plain, dict) else enumerate(plain[:6])
    found = []
    for name, value in inner:
        found.append((*before, name))
        if isinstance(value, dict | list):
            found += places(value, (*before, name))
    return found


def mutated(release: dc.Release, choice: random.Random) -> str:
    """Return a release's text with one thing replaced, removed, repeated or another number."""
    plain = copy.deepcopy(release.to_json())
    *way, last = choice.choice(places(plain))
    holder: Any = plain
    for name in way:
        holder = holder[name]
    how = choice.randrange(4)
    if how == 0:
        del holder[last]
    elif how == 1 and isinstance(holder, list):
        holder.append(holder[last])
    elif how == 2 and isinstance(holder[last], int | float):
        holder[last] = choice.choice([-3 * holder[last], 10**6, 0.5, 7])
    else:
        holder[last] = choice.choice(NEW)
    return json.dumps(plain)


MADE_OF_RELEASES = ("EditedModel", "ShapeFunction")
"""What is made of a released additive model, and is never released itself."""


def test_every_kind_of_result_reads_back_equal(releases: list[dc.Release]) -> None:
    from discreet.plans.results.result import Result

    def kinds(of: type) -> set[str]:
        return {of.__name__, *(name for sub in of.__subclasses__() for name in kinds(sub))}

    found = {type(release.value).__name__ for release in releases}
    assert found == kinds(Result) - {"Result", *MADE_OF_RELEASES}
    for release in releases:
        assert dc.Release.loads(release.dumps()) == release


def test_releases_from_before_a_field_was_added_are_read(releases: list[dc.Release]) -> None:
    for release in releases:
        plain = release.to_json()
        later = [f.name for f in dataclasses.fields(release.value) if f.default is not MISSING]
        plain["value"] = {name: v for name, v in plain["value"].items() if name not in later}
        read = dc.Release.loads(json.dumps(plain))
        assert dc.Release.loads(read.dumps()) == read


@pytest.mark.slow
def test_what_is_read_can_be_used(releases: list[dc.Release]) -> None:
    choice = random.Random(3)
    loaded = 0
    for trial in range(900):
        text = mutated(releases[trial % len(releases)], choice)
        try:
            read = dc.Release.loads(text)
        except ReleaseError as error:
            assert len(str(error)) < 700
            continue
        loaded += 1
        read.value.to_frame()
        assert dc.Release.loads(read.dumps()) == read
        assert repr(read) and isinstance(read.about, tuple)
    assert 100 < loaded < 800


@pytest.mark.parametrize("text", ["[" * 100_000, '{"format": NaN}', "3", "[]", '{"format": 1}', "{"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ReleaseError, match="release saved by discreet"):
        dc.Release.loads(text)


def test_nodes_that_are_no_tree_never_reach_a_kernel(releases: list[dc.Release]) -> None:
    tree = next(r for r in releases if type(r.value).__name__ == "DecisionTree")
    plain = tree.to_json()
    assert plain["value"]["left"][0] > 0
    for left in (0, -1, 10**6):
        plain["value"]["left"][0] = left
        with pytest.raises(ReleaseError, match="fit together"):
            dc.Release.loads(json.dumps(plain))
