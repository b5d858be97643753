"""Plans of a contributor for hunts: a sum of a function of one column, certified as it says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import discreet as dc
from discreet.data import VectorContribution
from discreet.data.blocks import Block
from discreet.plans import Plan, Program, Setting, Stage
from discreet.privacy.certificate import Box, Certificate

SCHEMA = dc.Schema(
    {
        "income": dc.Number(0, 200_000, missing=False),
        "home": dc.Category("rent", "own", missing=False, other=False),
    }
)


@dataclass(frozen=True)
class Claimed:
    """A lattice and what is claimed of a sum on it; it adds no noise."""

    step: float
    certificate: Certificate

    def release(self, raw: Any, source: Any) -> Any:
        return raw * self.step


class SumOf(Plan):
    """The sum of a function of incomes in [0, 1], with a certificate for sums in [0, share]."""

    def __init__(self, function: Callable[[np.ndarray], np.ndarray], share: float = 1.0) -> None:
        super().__init__(1.0, 0.0)
        self.function, self.share = function, share

    def arguments(self) -> dict[str, Any]:
        return {}

    def prepare(self, setting: Setting) -> Program:
        setting.schema["income"]

        def compute(block: Block) -> np.ndarray:
            return self.function(block.values)

        region = Box(0.0, 1.0)
        summed = VectorContribution(("income",), 1, region, 0.0, compute, calls=None)
        certificate = Box(0.0, self.share).certify(1).widen(2.0**-20)
        stage: Any = Stage("sum", summed, Claimed(2.0**-20, certificate))

        def finish(releaser: Any) -> Any:
            return releaser.answer(stage)

        return Program((stage,), finish, {})
