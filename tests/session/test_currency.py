"""Plans in rho: what answers them, what it costs, and what is said of it."""

from __future__ import annotations

from typing import Any

import pytest

import discreet as dc
from discreet.errors import ArgumentError, BudgetExhausted, CertificateError
from discreet.numerics import to_units
from discreet.plans import Setting
from discreet.privacy.accounting.conversion import rho_worth, zcdp_delta
from discreet.session.currency import Currency

LOANS = dc.samples.loans(500)
SCHEMA = dc.samples.loan_schema()
SETTING = Setting(SCHEMA, "replace-one", 500)  # type: ignore[arg-type]
ZCDP = Currency("zcdp", 1e-6)


def open_session(accountant: Any = "zcdp", epsilon: float = 3.0) -> dc.Session:
    return dc.protect(
        LOANS,
        SCHEMA,
        dataset="loans",
        epsilon=epsilon,
        delta=1e-6,
        accountant=accountant,
        ledger=":memory:",
        workers=1,
    )


@pytest.mark.parametrize("rho", [1e-5, 1e-3, 0.05, 0.5])
@pytest.mark.parametrize(
    ("ask", "taken"),
    [
        (lambda rho: dc.histogram("age", rho=rho), "gaussian"),
        (lambda rho: dc.histogram("age", mechanism="laplace", rho=rho), "laplace"),
        (lambda rho: dc.most_frequent("home", rho=rho), "exponential"),
        (lambda rho: dc.quantiles("age", [0.25, 0.5], rho=rho), "exponential"),
    ],
)
def test_all_of_a_rho_is_used_and_never_more(ask: Any, taken: str, rho: float) -> None:
    _, program = ZCDP.ready(ask(rho), SETTING)
    assert 0.99 * to_units(rho) <= program.cost("zcdp").loss <= to_units(rho)
    assert program.stages[0].noise.name == taken


def test_at_equal_rho_the_mechanism_with_less_error_is_taken() -> None:
    """Two counts move, so Gaussian noise of the same rho has half the deviation of Laplace noise.

    Laplace noise that adds up to nothing has a little less than by itself.
    """
    _, best = ZCDP.ready(dc.histogram("age", rho=0.01), SETTING)
    _, laplace = ZCDP.ready(dc.histogram("age", mechanism="laplace", rho=0.01), SETTING)
    assert 0.5 <= best.stages[0].noise.std / laplace.stages[0].noise.std <= 0.55


def test_a_plan_with_a_delta_costs_what_its_cheapest_mechanism_does() -> None:
    plan = dc.histogram("age", epsilon=0.3, delta=1e-6)
    by, program = ZCDP.ready(plan, SETTING)
    alone = dc.histogram("age", epsilon=0.3, delta=1e-6, mechanism="gaussian").prepare(SETTING)
    assert program.cost("zcdp") == alone.cost("zcdp") and by.epsilon <= plan.epsilon
    left_to_epsilon = plan.prepare(SETTING)
    assert left_to_epsilon.stages[0].noise.name == "laplace", "what auto takes where epsilon counts"
    assert left_to_epsilon.cost("zcdp").loss > 10 * program.cost("zcdp").loss
    session = open_session(epsilon=0.6)
    assert left_to_epsilon.cost("zcdp").loss > session.balance.remaining.loss
    assert session.release(plan).guarantee.epsilon == 0.3, "it was refused when auto took Laplace"


@pytest.mark.parametrize(
    "plan", [dc.histogram("age", epsilon=0.1), dc.most_frequent("home", epsilon=0.3)]
)
def test_a_plan_with_delta_zero_is_left_as_it_is(plan: dc.Plan) -> None:
    by, program = ZCDP.ready(plan, SETTING)
    assert by is plan and sum(stage.noise.delta for stage in program.stages) == 0
    guarantee = open_session().release(plan).guarantee
    assert guarantee.delta == 0 and guarantee.epsilon == plan.epsilon
    assert guarantee.rho is not None and "(pure)" in str(guarantee)


def test_where_epsilon_is_counted_rho_is_refused_with_what_it_is_worth() -> None:
    session = open_session("basic")
    told = r"counts rho, got 0\.01 .* worth epsilon=0\.622 at delta=1e-06"
    with pytest.raises(ArgumentError, match=told):
        session.release(dc.histogram("age", rho=0.01))
    assert session.balance.spent.loss == 0
    assert session.release(dc.histogram("age", epsilon=0.5)).guarantee.rho is None


def test_rho_and_what_it_is_worth_are_told_together() -> None:
    session = open_session()
    assert str(session.remaining).endswith("(worth epsilon=3 at delta=1e-06)")
    plan = dc.histogram("age", rho=0.02)
    assert "rho=0.02" in repr(plan) and "5% from rho = " in str(session.price(plan))
    release = session.release(plan)
    promised = release.guarantee
    assert (promised.rho, promised.delta) == (0.02, 1e-6)
    assert promised.epsilon == rho_worth(0.02, 1e-6) and zcdp_delta(promised.epsilon, 0.02) <= 1e-6
    assert str(promised).startswith("rho=0.02 and epsilon=0.89993")
    assert {"filter-zcdp", "zcdp-conversion"} <= set(promised.statements)
    assert dc.Release.loads(release.dumps()).guarantee == promised
    charged = session.history().query("kind == 'reserve'").iloc[0]
    assert charged["epsilon_worth"] == rho_worth(float(charged["loss"]), 1e-6)
    assert session.release(plan).id == release.id, "the same question is free"
    with pytest.raises(BudgetExhausted, match=r"costs rho=0\.9\d* \(worth epsilon=7\.\d.* Lower rho"):
        session.release(dc.histogram("home", rho=0.95))


def test_several_features_share_a_rho() -> None:
    model = dc.Model(lambda rows: rows[:, 0] / 100, bounds=(0, 1), name="age")
    parts = dc.partial_dependence(model, ["age", "income"], rho=0.02).parts(SCHEMA)
    assert [part.rho for part in parts] == [0.01, 0.01]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({}, "epsilon must be given, got none"),
        ({"rho": 0.1, "epsilon": 1.0}, "epsilon must be left out of a plan with a rho, got 1.0"),
        ({"rho": 0.1, "delta": 1e-6}, "delta must be left out of a plan with a rho, got 1e-06"),
        ({"rho": -1}, "rho must be a positive finite number, got -1"),
        ({"rho": "much"}, "rho must be a positive finite number, got 'much'"),
        ({"rho": 0.1, "bins": 0}, "bins must be"),
    ],
)
def test_wrong_budgets_are_one_sentence(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ArgumentError, match=sentence):
        dc.histogram("age", **given)


def test_a_plan_in_rho_reads_back() -> None:
    plan = dc.histogram("age", rho=0.02)
    assert plan.describe().keys() == {"kind", "meaning", "rho", "arguments"}
    assert dc.plan_from_json(plan.to_json()) == plan != dc.histogram("age", rho=0.03)
    with pytest.raises(ArgumentError, match="rho in place of epsilon and delta"):
        dc.plan_from_json(plan.describe() | {"epsilon": 1.0})


@pytest.mark.refutes("filter-zcdp")
def test_a_plan_that_costs_more_than_its_rho_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    session = open_session()
    costly = dc.histogram("age", rho=0.02)
    true = Currency.ready

    def cheated(self: Currency, plan: dc.Plan, setting: Setting) -> Any:
        return true(self, dc.histogram("age", rho=0.03), setting)

    monkeypatch.setattr(Currency, "ready", cheated)
    with pytest.raises(CertificateError, match=r"need rho 0\.029.* more than the 0\.02 the plan"):
        session.release(costly)
    assert session.balance.spent.loss == 0
