"""Whatever is asked of whatever table: one of our errors and nothing spent, or a release at its price.

Plans x schemas x tables x arguments, most of them right, one or two replaced by something else. Seeded
and bounded; the trials are dealt to a few tests so that several processes can share them.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.errors import DiscreetError, ReleaseFailed
from tests.laws.fuzz_cases import NASTY, SCHEMAS, Draw, make_cases, make_schema, make_table

TRIALS, SHARES = 400, 8
LONGEST = 700


def ask_something(draw: Draw, number: int) -> tuple[str, Any]:
    """Return the name of a question and what makes its plan, with some arguments replaced."""
    cases = make_cases(draw)
    case = cases[number % len(cases)]
    given = dict(case.arguments)
    for _ in range(int(draw.choice([0, 1, 2], p=[0.25, 0.6, 0.15]))):
        given[str(draw.choice(case.options))] = NASTY[int(draw.integers(len(NASTY)))]
    return case.name, lambda: case.function(**given)


def open_something(draw: Draw) -> dc.Session:
    return dc.protect(
        make_table(draw),
        make_schema(draw, str(draw.choice(SCHEMAS))),
        dataset="people",
        epsilon=2.0,
        delta=0.01,
        ledger=":memory:",
        relation=str(draw.choice(["replace-one", "add-remove"])),
        accountant=str(draw.choice(["basic", "zcdp"])),
        seed=1,
        workers=1,
        heuristics=True,
        progress=False,
    )


def try_once(number: int) -> str:
    """Return what came of one trial; anything but a refusal or a release at its price fails."""
    draw = np.random.default_rng(number)
    name, make_plan = ask_something(draw, number)
    try:
        session = open_something(draw)
    except DiscreetError as error:
        assert len(str(error)) < LONGEST
        return "refused"
    try:
        plan = make_plan()
        price = session.price(plan)
        release = session.release(plan)
    except ReleaseFailed:
        pytest.fail(f"trial {number}: {name} failed after its reservation")
    except DiscreetError as error:
        assert len(str(error)) < LONGEST, f"trial {number}: {name}"
        assert session.balance.remaining == session.balance.budget, f"trial {number}: {name}"
        return "refused"
    assert session.balance.spent == price.cost.amount, f"trial {number}: {name}"
    promised = plan.epsilon if price.cost.loss else 0.0  # what is public costs nothing
    assert (release.guarantee.epsilon, repr(plan)) == (promised, price.plans[0].plan)
    assert dc.Release.loads(release.dumps()) == release
    assert len(release.value.to_frame()) >= 0 and str(price) and repr(release)
    return "released"


@pytest.mark.slow
@pytest.mark.parametrize("share", range(SHARES))
def test_an_error_of_ours_and_nothing_spent_or_a_release_at_its_price(share: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        came = [try_once(number) for number in range(share, TRIALS, SHARES)]
    # Both must occur often, or the fuzz tells nothing.
    assert came.count("released") >= TRIALS // SHARES // 10
    assert came.count("refused") >= TRIALS // SHARES // 10


@pytest.mark.parametrize("schema", [{}, None, 3, [], b"schema.toml"])
def test_a_schema_of_another_kind_is_refused(schema: Any) -> None:
    with pytest.raises(dc.errors.SchemaError, match="schema must be a Schema or the path"):
        dc.protect([[1.0]], schema, dataset="people", epsilon=1.0, ledger=":memory:")
