"""What statistics of one numeric column have in common: arguments, and the range of the values."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar

from discreet.plans import Program, Setting
from discreet.plans.kinds import UNSAID, Column, Delta, Epsilon, NoiseChoice
from discreet.plans.parts import PartPlan
from discreet.plans.results.statistic import Statistic
from discreet.privacy.certificate import Box
from discreet.statistics.auto_clip import auto_clipped
from discreet.statistics.bounds import Clip, box_of


class ColumnPlan(PartPlan):
    """A statistic of a numeric column, over the records that have a value.

    Args:
      column: a numeric column.
      clip: clip values to this (low, high), public and narrower than the schema's bounds: less noise,
        and another statistic if there are values outside. ``auto``: where there are records enough, a
        fifth of epsilon chooses the range; the answer tells it, and the ``bias`` expected of it.
      epsilon: the whole budget of the plan.
      delta: zero for a pure guarantee.
      mechanism: ``laplace``, ``gaussian``, ``linf``, or ``auto``: the one with less noise.

    Guarantees:
      - ``clip="auto"`` chooses by the number of records beyond a range. [clip-auto]
    """

    column: Annotated[str, Column()]
    _: KW_ONLY
    clip: Clip = None
    epsilon: Epsilon = UNSAID
    delta: Delta = 0.0
    mechanism: NoiseChoice = "auto"

    clips: ClassVar = (("clip", None),)

    def prepare_whole(self, setting: Setting) -> Program:
        """Make it ready within the schema's bounds, a public clip, or a range that is chosen first."""

        def build(box: Box, epsilon: float) -> Program:
            return self.within(box, setting, epsilon)

        if self.clip == "auto":
            return auto_clipped(self.column, setting, self.epsilon, build, self.bias)
        return build(box_of(setting.schema, self.column, self.clip), self.epsilon)

    @abstractmethod
    def within(self, box: Box, setting: Setting, epsilon: float) -> Program:
        """Make the question ready for values clipped to a range."""

    @staticmethod
    @abstractmethod
    def bias(found: Statistic, excess: float, width: float, records: float) -> float:
        """Return what clipping is expected to change.

        Args:
          found: the answer within the range.
          excess: by how much all values beyond the range exceed it together.
          width: of the range.
          records: how many there are.
        """

    def terms(self, epsilon: float) -> dict[str, Any]:
        """Return what noise is calibrated to."""
        return {"epsilon": epsilon, "delta": self.delta, "mechanism": self.mechanism}
