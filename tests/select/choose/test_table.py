"""Utilities of the whole table: the claim in the certificate, laws under a true one, guarded calls."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.audit.laws.neighbours import Counts, neighbouring_tables, small_tables
from discreet.data import PrivateTable, Summand, add_up
from discreet.errors import ArgumentError, CertificateError
from discreet.plans import Setting
from discreet.randomness import SimulatedNoise
from discreet.select.choose.plan import choose
from discreet.select.choose.table import JOINT, LOCAL, TABLE_CHOICES, JointChoice
from discreet.select.quantiles.order_statistics import PercentileDistances, value_sensitivities
from tests.oracles.goodness import fits
from tests.oracles.laws import as_law, max_divergence

VALUES = [0.0, 1.0, 2.0, 3.0]
SCHEMA = dc.Schema(
    {"size": dc.Number(0, 3, step=1, missing=False), "mass": dc.Number(0, 1, missing=False)}
)
RELATIONS = ["replace-one", "add-remove"]
REACH = 8


def counted(block: Any) -> np.ndarray:
    return np.bincount(block["size"].astype(int), minlength=len(VALUES))


def measure_of(relation: str) -> PercentileDistances:
    return PercentileDistances(Fraction(50), relation)  # type: ignore[arg-type]


def functions(relation: str) -> dict[str, Any]:
    """Return the median as a question of the whole table: minus the distance in value."""
    measure = measure_of(relation)

    def utility(block: Any, candidates: Any) -> Any:
        return -np.abs(np.asarray(candidates) - measure.standing(counted(block)).winner)

    def distance(block: Any, candidates: Any) -> Any:
        return measure.distances(counted(block))

    def local(block: Any, candidates: Any) -> Any:
        near = value_sensitivities(counted(block), measure, len(VALUES))
        return np.append(near, [len(VALUES) - 1] * REACH)[:REACH]

    return {"utility": utility, "distance": distance, "local": local}


def stage_of(relation: str, mechanism: str, epsilon: float = 1.0, **options: Any) -> Any:
    made = functions(relation)
    rows = 5 if relation == "replace-one" else None
    plan = choose(
        made["utility"],
        VALUES,
        **{
            "sensitivity": 3.0,
            "bounds": (-3, 0),
            "distance": made["distance"],
            "local": made["local"],
            "columns": ["size"],
            "epsilon": epsilon,
            "mechanism": mechanism,
            **options,
        },
    )
    return plan.prepare(Setting(SCHEMA, relation, rows)).stages[0]  # type: ignore[arg-type]


def steps_of(stage: Any, relation: str, counts: Counts) -> np.ndarray:
    frame = pd.DataFrame({"size": np.repeat(VALUES, counts), "mass": 0.5})
    table = PrivateTable(frame, SCHEMA, relation)  # type: ignore[arg-type]
    (steps,) = add_up(table, [Summand(stage.contribution, stage.noise.step)])
    return steps


def law_of(stage: Any, relation: str, counts: Counts) -> np.ndarray:
    steps = steps_of(stage, relation, counts)
    if isinstance(stage.noise, JointChoice):
        return stage.noise.law(steps)
    return stage.noise.chooser.law(stage.noise.standing(steps))


PURE = [name for name in TABLE_CHOICES if not name.startswith(("auto", "laplace", "joint-l"))]


@pytest.mark.proves("claimed-utility")
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("mechanism", PURE)
def test_laws_of_neighbours_keep_epsilon_if_the_claim_is_true(relation: str, mechanism: str) -> None:
    stage = stage_of(relation, mechanism)
    known = cache(lambda counts: as_law(law_of(stage, relation, counts)))
    for counts in small_tables(4, 3):
        if sum(counts) == 0 and relation == "replace-one":
            continue
        assert sum(known(counts).values()) == pytest.approx(1.0, abs=1e-6)
        for other in neighbouring_tables(counts, relation):
            assert max_divergence(known(counts), known(other)) <= 1.0 + 1e-9


@pytest.mark.refutes("claimed-utility")
@pytest.mark.parametrize("mechanism", ["exponential", "inverse-sensitivity"])
def test_a_false_claim_breaks_the_promise(mechanism: str) -> None:
    """A third of the true sensitivity, and distances that jump by three."""

    def jumps(block: Any, candidates: Any) -> Any:
        return 5 * functions("add-remove")["distance"](block, candidates)

    stage = stage_of("add-remove", mechanism, sensitivity=1.0, distance=jumps)
    worst = max(
        max_divergence(
            as_law(law_of(stage, "add-remove", counts)), as_law(law_of(stage, "add-remove", other))
        )
        for counts in small_tables(4, 2)
        for other in neighbouring_tables(counts, "add-remove")
        if sum(counts) and sum(other)
    )
    assert worst > 1.05


def test_the_claim_is_an_assumption_of_the_guarantee() -> None:
    frame = pd.DataFrame({"size": np.repeat(VALUES, (3, 50, 200, 9)), "mass": 0.5})
    made = functions("replace-one")
    session = dc.protect(frame, SCHEMA, dataset="d", epsilon=1e3, ledger=":memory:")
    plan = choose(made["utility"], VALUES, sensitivity=3.0, columns=["size"], epsilon=200.0)
    release = session.release(plan)
    assert release.value.winner == 2.0 and release.value.mechanism == "permute-and-flip"
    (claim,) = [text for text in release.guarantee.assumptions if "utility" in text]
    assert claim.startswith("one record moves a score of utility by at most 3")
    assert "claimed-utility" in release.guarantee.statements and release.guarantee.certified
    by_distance = session.release(
        choose(
            made["utility"],
            VALUES,
            sensitivity=3.0,
            distance=made["distance"],
            columns=["size"],
            epsilon=1.0,
            mechanism="inverse-sensitivity",
        )
    )
    assert by_distance.value.winner == 2.0
    assert any("zero for exactly one candidate" in text for text in by_distance.guarantee.assumptions)


@pytest.mark.parametrize("mechanism", TABLE_CHOICES)
@pytest.mark.parametrize("relation", RELATIONS)
def test_an_obvious_winner_is_found_by_every_mechanism(mechanism: str, relation: str) -> None:
    stage = stage_of(relation, mechanism, epsilon=40.0, delta=1e-3)
    steps = steps_of(stage, relation, (2, 3, 90, 2))
    index, gap = stage.noise.release(steps, SimulatedNoise(0))
    assert index == 2 and (np.isfinite(gap) == (mechanism == "laplace"))
    assert stage.noise.delta <= 1e-3 and stage.noise.std >= 0


@pytest.mark.parametrize("mechanism", LOCAL)
def test_draws_have_the_law(mechanism: str) -> None:
    stage = stage_of("add-remove", mechanism, epsilon=0.8, delta=1e-3)
    steps = steps_of(stage, "add-remove", (1, 4, 2, 0))
    source = SimulatedNoise(2)
    sample = [int(stage.noise.release(steps, source)[0]) for _ in range(400)]
    assert fits(sample, as_law(law_of(stage, "add-remove", (1, 4, 2, 0))))


def test_noise_without_a_proof_is_refused_unless_the_owner_allows_it() -> None:
    frame = pd.DataFrame({"size": np.repeat(VALUES, (3, 50, 200, 9)), "mass": 0.5})
    made = functions("replace-one")
    plan = choose(
        made["utility"],
        VALUES,
        sensitivity=3.0,
        local=made["local"],
        columns=["size"],
        epsilon=50.0,
        delta=1e-6,
        mechanism="joint-laplace-log-normal",
    )
    terms = {"dataset": "d", "epsilon": 100.0, "delta": 1e-5, "ledger": ":memory:"}
    with pytest.raises(CertificateError, match="plan must be certified, got a heuristic one"):
        dc.protect(frame, SCHEMA, **terms).release(plan)
    release = dc.protect(frame, SCHEMA, heuristics=True, **terms).release(plan)
    assert release.value.winner in VALUES and not release.guarantee.certified


@pytest.mark.parametrize("mechanism", JOINT)
def test_a_row_per_candidate_makes_noise_element_wise(mechanism: str) -> None:
    def rows(block: Any, candidates: Any) -> Any:
        return np.outer([1.0, 0.1, 0.5, 3.0], np.ones(REACH))

    stage = stage_of("add-remove", mechanism, epsilon=3.0, delta=1e-3, local=rows)
    assert stage.noise.mechanism.element_wise
    bounds = stage.noise.bounds(steps_of(stage, "add-remove", (1, 4, 2, 0)))
    assert len(bounds) == 4 and bounds[1] <= bounds[2] <= bounds[0] <= bounds[3]


# Calls that are guarded


def test_failures_count_as_claimed() -> None:
    """A utility that fails or returns nonsense gives everybody the middle; nobody is told."""

    def failing(block: Any, candidates: Any) -> Any:
        if len(block["size"]) != 64:  # not the public rows it is tried on
            raise SystemExit(f"size {block['size'][0]}")
        return np.zeros(len(candidates))

    stage = stage_of("replace-one", "exponential", local=None, distance=None)
    assert stage.contribution.fill == -1.5
    for broken in (failing, lambda block, c: np.zeros(len(c) if len(block["size"]) == 64 else 1)):
        plan = choose(broken, VALUES, sensitivity=1.0, bounds=(0, 1), epsilon=1.0)
        (stage,) = plan.prepare(Setting(SCHEMA, "replace-one", 10)).stages
        steps = steps_of(stage, "replace-one", (2, 2, 3, 3))
        assert (steps * stage.noise.step).tolist() == [0.5] * 4
    stage = stage_of("replace-one", "inverse-sensitivity", distance=failing)
    assert steps_of(stage, "replace-one", (1, 2, 1, 1)).tolist() == [1, 1, 1, 1]
    stage = stage_of("replace-one", "local-dampening", local=lambda b, c: failing(b, c))
    near = stage.noise.near.read(steps_of(stage, "replace-one", (1, 2, 1, 1)))[1]
    assert near.min() * stage.noise.step >= 3.0


def test_scores_are_clipped_to_the_bounds() -> None:
    def wild(block: Any, candidates: Any) -> Any:
        return [1e9, -1e9, 0.25, np.nan]

    plan = choose(wild, VALUES, sensitivity=1.0, bounds=(0, 1), epsilon=1.0)
    (stage,) = plan.prepare(Setting(SCHEMA, "replace-one", 10)).stages
    steps = steps_of(stage, "replace-one", (2, 2, 3, 3))
    assert (steps * stage.noise.step).tolist() == pytest.approx([1.0, 0.0, 0.25, 0.5])


def test_nothing_it_prints_is_seen(capsys: pytest.CaptureFixture[str]) -> None:
    def chatty(block: Any, candidates: Any) -> Any:
        print("secret", block["size"][0])
        return np.zeros(len(candidates))

    plan = choose(chatty, VALUES, sensitivity=1.0, epsilon=1.0)
    (stage,) = plan.prepare(Setting(SCHEMA, "replace-one", 10)).stages
    steps_of(stage, "replace-one", (2, 2, 3, 3))
    assert "secret" not in capsys.readouterr().out


def test_an_interrupt_is_passed_on() -> None:
    def interrupted(block: Any, candidates: Any) -> Any:
        if len(block["size"]) != 64:
            raise KeyboardInterrupt
        return np.zeros(len(candidates))

    plan = choose(interrupted, VALUES, sensitivity=1.0, epsilon=1.0)
    (stage,) = plan.prepare(Setting(SCHEMA, "replace-one", 10)).stages
    with pytest.raises(KeyboardInterrupt):
        steps_of(stage, "replace-one", (2, 2, 3, 3))


def test_wrong_arguments() -> None:
    made, setting = functions("replace-one"), Setting(SCHEMA, "replace-one", 10)
    with pytest.raises(ArgumentError, match="sensitivity must be given with distance or local"):
        choose(made["utility"], VALUES, distance=made["distance"], epsilon=1.0)
    with pytest.raises(ArgumentError, match="sensitivity must be"):
        choose(made["utility"], VALUES, sensitivity=0.0, epsilon=1.0)
    for mechanism, needed in (("inverse-sensitivity", "distance"), ("local-dampening", "local")):
        with pytest.raises(ArgumentError, match=f"{needed} must be a function"):
            choose(made["utility"], VALUES, sensitivity=1.0, epsilon=1.0, mechanism=mechanism)  # type: ignore[arg-type]
        with pytest.raises(ArgumentError, match=f"{needed} must be a function"):
            choose(made["utility"], VALUES, sensitivity=1.0, epsilon=1.0, **{needed: 3})  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=r"utility must return one number per candidate, got shape"):
        choose(lambda b, c: [1.0], VALUES, sensitivity=1.0, epsilon=1.0).prepare(setting)
    with pytest.raises(ArgumentError, match="utility must answer rows drawn from the schema"):
        choose(lambda b, c: 1 / 0, VALUES, sensitivity=1.0, epsilon=1.0).prepare(setting)
    with pytest.raises(ArgumentError, match="local must return one number per distance"):
        stage_of("replace-one", "local-dampening", local=lambda b, c: np.zeros((2, 3)))
    with pytest.raises(ArgumentError, match="delta must be positive with Laplace noise"):
        stage_of("replace-one", "joint-laplace")


def test_plans_say_what_was_claimed() -> None:
    made = functions("replace-one")
    plan = choose(made["utility"], VALUES, sensitivity=3.0, name="median", epsilon=1.0)
    same = choose(made["utility"], VALUES, sensitivity=3.0, name="median", epsilon=1.0)
    other = choose(made["utility"], VALUES, sensitivity=2.0, name="median", epsilon=1.0)
    assert plan.key == same.key != other.key
    assert plan.arguments()["sensitivity"] == 3.0 and plan.arguments()["distance"] is None
