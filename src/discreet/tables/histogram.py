"""Private histograms: how many records are in every cell of a public partition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from discreet.errors import ArgumentError
from discreet.mechanisms import NoiseName
from discreet.numerics import check_choice
from discreet.parts import build_histogram, count_stage, partition
from discreet.plans import Histogram, Plan, Program, Releaser, Setting

_LEVEL = 0.95


class HistogramPlan(Plan):
    """See ``histogram``."""

    kind = "histogram"

    def __init__(
        self,
        columns: tuple[str, ...],
        bins: int | dict[str, int],
        clip: bool,
        epsilon: float,
        delta: float,
        mechanism: NoiseName,
    ) -> None:
        super().__init__(epsilon, delta)
        if not columns or len(set(columns)) < len(columns):
            raise ArgumentError(f"columns must be one or more different names, got {columns!r}.")
        check_choice("mechanism", mechanism, ("auto", "laplace", "gaussian"))
        self.columns, self.bins, self.clip, self.mechanism = columns, bins, clip, mechanism

    def arguments(self) -> dict[str, Any]:
        """Return the question as plain data."""
        return {
            "columns": list(self.columns),
            "bins": self.bins,
            "clip": self.clip,
            "mechanism": self.mechanism,
        }

    def prepare(self, setting: Setting) -> Program:
        """Lay out the cells and calibrate the noise on their counts."""
        cells = partition(setting, self.columns, self.bins)
        stage = count_stage(
            "counts",
            cells,
            setting,
            epsilon=self.epsilon,
            delta=self.delta,
            mechanism=self.mechanism,
        )

        def finish(releaser: Releaser) -> Histogram:
            (noisy_counts,) = releaser.answer(stage)
            return build_histogram(cells, noisy_counts, stage.noise, level=_LEVEL, clip=self.clip)

        return Program((stage,), finish, {"count": stage.noise.std})


def histogram(
    columns: str | Sequence[str],
    *,
    bins: int | Mapping[str, int] = 20,
    clip: bool = True,
    epsilon: float,
    delta: float = 0.0,
    mechanism: NoiseName = "auto",
) -> HistogramPlan:
    """Plan noisy counts of one column, or of all combinations of several.

    Args:
      columns: one column or several.
      bins: cells per numeric column (of equal width, from the schema); per column by a mapping. A
        column with a ``step`` gets cells that hold whole steps; a category one cell per value.
      clip: raise negative noisy counts to zero (free, but it biases empty cells upwards).
      epsilon: the whole budget of the plan.
      delta: zero for a pure guarantee.
      mechanism: ``laplace``, ``gaussian``, or ``auto``: the one with less noise.

    Guarantees:
      - One record moves two counts by one under replace-one, one count under add-remove. [histogram]
      - Noise is discrete and exact on the whole counts. [laplace] [gauss-counts]

    >>> histogram("age", bins=10, epsilon=0.5)
    histogram(columns=['age'], bins=10, clip=True, mechanism='auto', epsilon=0.5)
    """
    names = (columns,) if isinstance(columns, str) else tuple(columns)
    per_column = dict(bins) if isinstance(bins, Mapping) else bins
    return HistogramPlan(names, per_column, clip, epsilon, delta, mechanism)
