"""Counts: free where the number of records is public, noisy everywhere else."""

from __future__ import annotations

import itertools

import pytest

import discreet as dc
from discreet.errors import ArgumentError, SchemaError
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE
from tests.laws.examples import Example
from tests.statistics.coverage import LEAST, SCHEMA, answers, held, people, setting_of

EXAMPLES = [
    Example("count", lambda _: dc.count(epsilon=1.0)),
    Example("count", lambda _: dc.count(["income", "home"], epsilon=1.0)),
    Example("count", lambda _: dc.count(where="age >= 40", epsilon=1.0)),
    Example("count", lambda _: dc.count(by="home", epsilon=1.0)),
]


def session(relation: str = "replace-one", accountant: str = "basic") -> dc.Session:
    return dc.protect(
        people(),
        SCHEMA,
        dataset="people",
        epsilon=2.0,
        delta=1e-5,
        ledger=":memory:",
        relation=relation,
        accountant=accountant,
    )


@pytest.mark.parametrize("accountant", ["basic", "zcdp"])
def test_all_records_are_counted_for_free_where_their_number_is_public(accountant: str) -> None:
    asked = session(accountant=accountant)
    plan = dc.count(epsilon=1.0)
    assert asked.price(plan).cost.loss == 0
    release = asked.release(plan)
    assert release.value.value == release.value.low == release.value.high == 400
    assert release.guarantee.epsilon == 0 and release.guarantee.certified
    assert release.guarantee.statements == ("public-size",) and release.stages == ()
    assert asked.balance.spent.loss == 0
    assert dc.Release.loads(release.dumps()).value == release.value


def test_no_epsilon_is_needed_for_what_is_free() -> None:
    asked = session()
    release = asked.release(dc.count())
    assert release.value.value == 400 and asked.balance.spent.loss == 0
    assert repr(dc.count()) == "count(columns=[], mechanism='auto')"
    assert dc.plan_from_json(dc.count().to_json()) == dc.count()
    assert session(accountant="zcdp").release(dc.count()).value.value == 400


@pytest.mark.parametrize(
    ("plan", "relation", "why"),
    [
        (dc.count(), ADD_REMOVE, "The number of records is private"),
        (dc.count("odd"), REPLACE_ONE, "How many records have a value of odd"),
        (dc.count(where="age >= 40"), REPLACE_ONE, "How many records are in a part"),
        (dc.count(by="home"), REPLACE_ONE, "How many records are in a part"),
    ],
)
def test_what_is_private_says_that_it_wants_one(plan: dc.count, relation: str, why: str) -> None:
    asked = session(relation)
    with pytest.raises(ArgumentError, match=f"epsilon must be given, got none. {why}"):
        asked.release(plan)
    assert asked.balance.spent.loss == 0


def test_a_rho_is_not_charged_either() -> None:
    asked = session(accountant="zcdp")
    release = asked.release(dc.count(rho=0.01))
    assert release.value.value == 400 and release.guarantee.rho == 0 and asked.balance.spent.loss == 0


@pytest.mark.parametrize("relation", [REPLACE_ONE, ADD_REMOVE])
def test_what_is_private_is_charged_and_noisy(relation: str) -> None:
    asked = session(relation)
    release = asked.release(dc.count("odd", epsilon=1.0))
    assert float(asked.remaining.loss) == 1.0 and release.guarantee.epsilon == 1.0
    assert release.value.half_width > 0 and 200 < release.value.value < 400


@pytest.mark.proves("public-size")
def test_neighbours_under_replace_one_have_as_many_records() -> None:
    values = range(3)
    for size in (1, 2, 3):
        for table in itertools.product(values, repeat=size):
            replaced = [(*table[:i], other, *table[i + 1 :]) for i in range(size) for other in values]
            assert {len(other) for other in replaced} == {len(table)}
    assert setting_of(ADD_REMOVE).rows is None
    assert dc.count(epsilon=1.0).prepare(setting_of(ADD_REMOVE)).stages != ()


@pytest.mark.refutes("public-size")
@pytest.mark.parametrize(
    ("plan", "relation"),
    [
        (dc.count(epsilon=1.0), ADD_REMOVE),
        (dc.count("odd", epsilon=1.0), REPLACE_ONE),
        (dc.count("job", epsilon=1.0), REPLACE_ONE),
    ],
)
def test_numbers_that_neighbours_differ_in_are_never_free(plan: dc.Plan, relation: str) -> None:
    """Planted: a record that has no value is replaced by one that has, or comes."""
    program = plan.prepare(setting_of(relation))
    assert len(program.stages) == 1 and program.stages[0].noise.std > 0


@pytest.mark.parametrize("relation", [REPLACE_ONE, ADD_REMOVE])
def test_the_interval_holds(relation: str) -> None:
    frame = people()
    found = answers(dc.count("odd", epsilon=0.5), relation, frame)
    exact = float(frame["odd"].notna().sum())
    assert held(found, exact) > LEAST > held(found, exact, 1 / 3)


def test_unknown_columns_are_refused() -> None:
    with pytest.raises(SchemaError, match="nobody"):
        dc.count("nobody", epsilon=1.0).prepare(setting_of(REPLACE_ONE))
