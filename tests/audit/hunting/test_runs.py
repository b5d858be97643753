"""The releaser of other tests: whatever two stages are called, each gets its own sum."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

import discreet as dc
from discreet.audit.hunting.runs import SimulatedReleaser
from discreet.data import PrivateTable
from discreet.plans import Setting, Stage

SCHEMA = dc.Schema(
    {
        "age": dc.Number(0, 9, step=1, missing=False),
        "home": dc.Category("rent", "own", missing=False, other=False),
    }
)
FRAME = pd.DataFrame({"age": [1, 1, 8, 9], "home": ["own", "own", "own", "rent"]})


def count_stage(column: str) -> Stage:
    plan = dc.histogram(column, bins=2, epsilon=1.0)
    (stage,) = plan.prepare(Setting(SCHEMA, "replace-one", len(FRAME))).stages
    return replace(stage, name="counts")


def mean_stage(epsilon: float) -> Stage:
    plan = dc.background("mean", rows=3, epsilon=epsilon)
    return plan.prepare(Setting(SCHEMA, "replace-one", len(FRAME))).stages[0]


def test_two_sums_under_one_name_are_two_sums() -> None:
    releaser = SimulatedReleaser(PrivateTable(FRAME, SCHEMA), 0)
    ages, homes = count_stage("age"), count_stage("home")
    assert ages.name == homes.name
    assert releaser.exact(ages).tolist() == [2, 2] and releaser.exact(homes).tolist() == [1, 3]


def test_a_sum_on_another_lattice_is_another_sum() -> None:
    releaser = SimulatedReleaser(PrivateTable(FRAME, SCHEMA), 0)
    coarse, fine = mean_stage(0.01), mean_stage(100.0)
    fine_on_coarse = replace(coarse, noise=fine.noise)
    assert fine.noise.step < coarse.noise.step
    raw = [releaser.exact(stage) * stage.noise.step for stage in (coarse, fine_on_coarse)]
    assert np.allclose(*raw, atol=len(FRAME) * coarse.noise.step) and np.any(raw[0])
    assert not np.array_equal(releaser.exact(coarse), releaser.exact(fine_on_coarse))


def test_a_sum_is_taken_once() -> None:
    releaser = SimulatedReleaser(PrivateTable(FRAME, SCHEMA), 0)
    stage = count_stage("age")
    assert releaser.exact(stage) is releaser.exact(replace(stage, name="again"))
