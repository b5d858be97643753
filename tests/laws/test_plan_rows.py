"""What a record adds is a function of its own row to the last bit, or what is paid covers the rest.

Vectors of public rows are made alone, in blocks, in another order and beside other rows, and compared
after they were clipped: in every norm they may move as far as ``sum_terms`` pays for one row. Tried on
models that lean, with the rows beside them, as far as they may. Nothing of it happens at a release.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from discreet.audit.hunting import rows as single_rows
from discreet.audit.hunting.rows import ByRow, OwnRow
from discreet.data import ModelCalls, Summand, VectorContribution
from discreet.data.blocks import Block
from discreet.data.contributions import SubsetsContribution
from discreet.data.engine import sum_block
from discreet.explain.pdp.contribution import curve_contribution
from discreet.privacy.certificate import Box
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE, Relation
from tests.laws import world
from tests.laws.examples import Case, all_cases, leaning_cases
from tests.laws.runs import block_of, run

ODD = pd.DataFrame(
    {
        "age": [18.0, 90.0, 33.0],
        "income": [100.0, 0.0, 50.0],
        "debt": [world.MARK, -5.0, 5.0],
        "home": ["other", "own", "palace"],
        "paid": [1, 0, 1],
    }
)


@cache
def law() -> OwnRow:
    """Return the law for the table of all laws."""
    return OwnRow(world.table(), ODD, world.SCHEMA)


def too_far(contribution: ByRow, relation: Relation) -> list[str]:
    """Return how vectors of the same rows differ by more than is paid for."""
    return law().broken(contribution, relation)


def entangled(contribution: SubsetsContribution) -> list[str]:
    """Return which subsets say something else if another subset holds other rows, or none."""
    return law().entangled(contribution)


def by_row(case: Case) -> list[ByRow]:
    """Return the contributions of a case that are made of one row each."""
    return single_rows.by_row(run(case).stages)


@pytest.mark.once_per("case")
@pytest.mark.proves("lattice")
@pytest.mark.proves("generic-plots")
@pytest.mark.parametrize("case", [*all_cases(), *leaning_cases()], ids=str)
def test_a_vector_is_a_function_of_its_own_rows_or_is_paid_for(case: Case) -> None:
    for contribution in by_row(case):
        assert too_far(contribution, case.relation) == []
    for stage in run(case).stages:
        if isinstance(stage.contribution, SubsetsContribution):
            assert entangled(stage.contribution) == []


@pytest.mark.proves("lattice")
@pytest.mark.parametrize("case", all_cases(), ids=str)
def test_rows_alone_add_up_to_the_block(case: Case) -> None:
    for stage in run(case).stages:
        contribution = stage.contribution
        known = any(contribution is one for one in by_row(case))
        if not known or getattr(contribution, "pulse", None) is not None:
            continue
        block = block_of(world.table(), contribution.columns)
        asked = [Summand(contribution, stage.noise.step)]
        by_itself = [sum_block(block.rows(row, row + 1), asked)[0] for row in range(24)]
        assert np.array_equal(sum(by_itself), sum_block(block.rows(0, 24), asked)[0])


@pytest.mark.refutes("generic-plots")
def test_subsets_that_share_a_call_are_caught() -> None:
    """Answers of a leaning model tell that a record of another subset is in the call."""
    model: Any = world.model("leaning").bind(world.SCHEMA)
    (case, *_) = [case for case in leaning_cases() if case.example.plan == "feature_interaction"]
    (stage,) = [one for one in run(case).stages if isinstance(one.contribution, SubsetsContribution)]

    def together(parts: list[np.ndarray]) -> list[np.ndarray]:
        answers = model.predict(np.concatenate(parts))
        ends = np.cumsum([len(rows) for rows in parts])[:-1]
        return [np.array([found.sum()]) for found in np.split(answers, ends)]

    assert entangled(replace(stage.contribution, compute=together, size=1))


# Planted faults: what a contributor would write.


@pytest.mark.refutes("lattice")
def test_a_plain_variance_along_rows_is_caught() -> None:
    """It claims to call nothing, but its sums follow the layout of the block in memory."""

    def variance(block: Block) -> np.ndarray:
        curves = block.values[:, :1] * np.linspace(0.1, 1.0, 33) + block.values[:, 1:2] / 3
        return np.asfortranarray(curves).var(axis=1)[:, None]

    plain = VectorContribution(("age", "income"), 1, Box(0.0, 1e4), 0.0, variance, calls=None)
    faults = too_far(plain, REPLACE_ONE)
    assert any(fault.startswith("alone") for fault in faults)


SQUARES = [("single", REPLACE_ONE), ("leaning", REPLACE_ONE), ("leaning", ADD_REMOVE)]


@pytest.mark.refutes("lattice")
@pytest.mark.parametrize(("form", "relation"), SQUARES)
def test_a_square_with_the_constant_of_an_answer_is_caught(form: str, relation: Relation) -> None:
    """Copied from partial dependence, the Lipschitz constant of a square is far too small."""
    model = world.model(form).bind(world.SCHEMA)
    curve = curve_contribution(model, "income", np.linspace(0, 100, 4))

    def squares(block: Block) -> np.ndarray:
        return np.square(curve.compute(block) + model.fill)

    wrong = replace(curve, compute=squares, region=Box(0.0, world.RANGE**2))
    assert too_far(wrong, relation)
    half, right = (
        replace(wrong, calls=ModelCalls(model.third_party, lipschitz=share * world.RANGE))
        for share in (1.0, 2.0)
    )
    assert too_far(half, relation)
    assert too_far(right, relation) == [] and too_far(curve, relation) == []


@pytest.mark.refutes("lattice")
def test_a_model_that_is_called_in_secret_is_caught() -> None:
    model: Any = world.model("leaning").bind(world.SCHEMA)
    curve = curve_contribution(model, "income", np.linspace(0, 100, 4))
    assert too_far(replace(curve, calls=None), ADD_REMOVE)


def test_the_law_meets_every_way_to_owe() -> None:
    met = {
        (type(one).__name__, getattr(one, "own_row", True), bool(getattr(one, "calls", None)))
        for case in [*all_cases(), *leaning_cases()]
        for one in by_row(case)
    }
    assert met >= {
        ("VectorContribution", True, False),
        ("VectorContribution", True, True),
        ("VectorContribution", False, True),
        ("CellContribution", True, False),
        ("TablesContribution", True, False),
    }
