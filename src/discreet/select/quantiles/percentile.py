"""Private percentiles: a value of a public grid, chosen by how many edits it is away."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import as_list
from discreet.data import CellContribution
from discreet.data.blocks import Block
from discreet.errors import ArgumentError
from discreet.mechanisms.selection.dampening import PARTS, LocalDampening
from discreet.numerics import check_finite, up
from discreet.plans import Program, Releaser, Setting, Stage, kinds
from discreet.plans.declaration import DeclaredPlan
from discreet.plans.expected import RECORDS, of_summed_choice
from discreet.plans.kinds import UNSAID, Column, Delta, Epsilon, Values
from discreet.plans.results.choice import Choice
from discreet.privacy.certificate import Bounds, Certificate
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE
from discreet.randomness import IntArray, NoiseSource
from discreet.schema import Date, FloatArray, Number
from discreet.schema.fine_grid import FineGrid, fine_grid
from discreet.select.choose.chooser import (
    CHOICES,
    INVERSE,
    ChoiceName,
    ChoiceNoise,
    Chooser,
    build_choice,
    decide,
)
from discreet.select.quantiles.order_statistics import (
    PercentileDistances,
    Standing,
    nearest,
    read_percentile,
    value_sensitivities,
)

GRID = 1_024
"""How many candidates a column's range has if none are given, where steps have to be even."""

_MOST_CANDIDATES = 2**20
_UNIT = "records from the percentile"
_BY_OTHER_SCORES = (INVERSE, "local-dampening")

PercentileName = ChoiceName | Literal["inverse-sensitivity", "local-dampening"]
PERCENTILE_CHOICES = (*CHOICES, *_BY_OTHER_SCORES)


@dataclass(frozen=True)
class PercentileChoice(ChoiceNoise):
    """A choice by counts on the grid; ``release`` returns the index and the noisy gap, if any.

    Guarantees:
      - One edit moves every score by at most one, of any kind. [percentile-distance]
        [signed-distance] [inverse-sensitivity] [dampening] [value-sensitivity]
      - A record that comes or goes alone, its neighbour having no value, moves it no
        further. [percentile-part]
    """

    measure: PercentileDistances
    asked: str

    @property
    def name(self) -> str:
        """The mechanism."""
        return self.asked if self.asked in _BY_OTHER_SCORES else self.chooser.kind

    @property
    def keeps_groups(self) -> bool:
        """Whether every group may choose: by edits of which a replaced record is two.

        Guarantees:
          - One edit loses what was promised divided by how many are paid for. [groups-of-choices]
        """
        return self.measure.relation.edits == 1

    @property
    def numbers(self) -> int:
        """The index and the gap."""
        return 2

    def standing(self, raw_counts: IntArray) -> Standing:
        """Return what the choice looks at."""
        standing = self.measure.standing(raw_counts)
        if self.asked == INVERSE:
            return replace(standing, scores=-self.measure.distances(raw_counts))
        if self.asked == "local-dampening":
            size = len(raw_counts)
            off = np.abs(np.arange(size) - standing.winner)
            dampening = LocalDampening(self.epsilon, size - 1)
            admissible = value_sensitivities(raw_counts, self.measure, size)
            return replace(standing, scores=dampening.scores(-off, admissible))
        return standing

    def law(self, counts: IntArray) -> FloatArray:
        """Return the exact law of the chosen candidate."""
        return self.chooser.law(self.standing(counts))

    def release(self, raw_counts: IntArray, source: NoiseSource) -> FloatArray:
        """Return the index and the gap."""
        return self.chooser.draw(self.standing(raw_counts), source)


def decide_percentile(
    asked: str, size: int, epsilon: float, delta: float, rows: float
) -> tuple[Chooser, dict[str, float]]:
    """Return the mechanism and the worst expected errors, in records from the percentile."""
    if asked not in _BY_OTHER_SCORES:
        return decide(asked, size, epsilon, delta, 1, rows)
    chooser, errors = decide("exponential", size, epsilon, delta, 1, rows)
    if asked == INVERSE:
        return chooser, {asked: errors["exponential"], **errors}
    # Dampened values say nothing of the number of records in between.
    return replace(chooser, sensitivity=PARTS), {asked: rows, **errors}


def certify_distances(candidates: int, *, of_part: bool = False) -> Certificate:
    """Return the certificate of the signed distances of all candidates, of a table or a part of it."""
    bound = Bounds(float(candidates), up(math.sqrt(candidates), 1), 1.0)
    part = ("percentile-part",) if of_part else ()
    return Certificate(
        ("percentile-distance", "signed-distance", *part),
        candidates,
        {REPLACE_ONE: bound, ADD_REMOVE: bound},
    )


def list_values(name: str, candidates: Any) -> tuple[float, ...]:
    """Return given candidates in order."""
    given = as_list("candidates", candidates)
    for entry in given:
        check_finite("A candidate", entry)
    listed = tuple(sorted({float(entry) for entry in given}))
    if not 2 <= len(listed) <= _MOST_CANDIDATES:
        raise ArgumentError(
            f"candidates must be 2 to {_MOST_CANDIDATES} different numbers, got {len(listed)}."
        )
    return listed


def _percent(name: str, p: Any) -> float:
    percent = float(read_percentile(p))
    if 0 < percent < 1:
        raise ArgumentError(
            f"p must be a percent, 0 or from 1 to 100, got {percent:g}. Write {100 * percent:g} for "
            f"the share {percent:g}; for {percent:g} percent itself ask quantiles(column, "
            f"[{percent / 100:g}])."
        )
    return percent


NumericColumn = Annotated[str, Column()]
Candidates = Annotated[Sequence[float] | None, Values(by=list_values, optional=True)]


class percentile(DeclaredPlan):
    """Plan the value below or at which ``p`` percent of the records lie.

    Args:
      column: a numeric column.
      p: a percent, 0 or from 1 to 100; the rank is ceil(p n / 100), at least 1, of the n
        records that have a value. Less than one percent is a level of ``quantiles``, from 0 to 1.
      candidates: public values to choose from; every record counts at the nearest. Left out: the
        column's step grid, or the round numbers of its range, to four or five digits.
      epsilon: the whole budget of the plan.
      delta: zero for a pure guarantee; of use for mechanisms on stability alone.
      mechanism: ``exponential`` (on these scores: shifted local dampening), ``permute-and-flip``,
        ``laplace``, ``stability``, ``smooth-...``, or ``auto``; see ``choose``. Besides,
        ``inverse-sensitivity``, which leaves out how safe the answer is, and ``local-dampening`` of the
        distance in value, on 1,024 even steps.

    Guarantees:
      - Scores are exact distances in edits; they move by at most one per edit. [percentile-distance]
        [signed-distance]
      - Every mechanism keeps (epsilon, delta). [exponential] [permute-and-flip] [free-gap] [snm-exact]

    >>> percentile("age", 50, epsilon=0.5)
    percentile(column='age', p=50.0, candidates=None, mechanism='auto', epsilon=0.5)
    """

    column: NumericColumn
    p: Annotated[float, kinds.RealNumber(by=_percent)]
    _: KW_ONLY
    candidates: Candidates = None
    epsilon: Epsilon = UNSAID
    delta: Delta = 0.0
    mechanism: Annotated[PercentileName, kinds.OneOf(PERCENTILE_CHOICES)] = "auto"

    whole_only: ClassVar = "Its distances are those of all records; ask dc.quantiles(..., where=...)."

    def prepare(self, setting: Setting) -> Program:
        """Lay out the candidates and pick a mechanism."""
        # Local dampening measures distances in steps of the grid, so these have to be even.
        even = self.mechanism == "local-dampening"
        grid = value_grid(self.column, self.candidates, setting, even=even).values

        find = nearest(grid)

        def index(block: Block) -> NDArray[np.int64]:
            return find(block[self.column])

        contribution = CellContribution((self.column,), len(grid), index)
        most = float(setting.most_rows)
        parted = setting.schema[self.column].may_be_missing and setting.relation.rows_public
        if parted and even:
            raise ArgumentError(
                f"mechanism must be another one where values of {self.column!r} may be missing, got "
                "'local-dampening'. Use 'auto', or say missing=False in the schema if none is."
            )
        chooser, errors = decide_percentile(self.mechanism, len(grid), self.epsilon, self.delta, most)
        measure = PercentileDistances(read_percentile(self.p), setting.relation)
        measure.check_fits("p / 100", setting.most_rows)
        proven = certify_distances(len(grid), of_part=parted)
        noise = PercentileChoice(proven, chooser, 1.0, errors, measure, self.mechanism)
        stage = Stage("percentile", contribution, noise)

        def finish(releaser: Releaser) -> Choice:
            (drawn,) = releaser.answer(stage)
            choice = build_choice(grid.tolist(), drawn, errors, self.mechanism, noise.name, _UNIT)
            column = setting.schema[self.column]
            shown = column.show(choice.winner) if isinstance(column, Date) else choice.winner
            return replace(choice, winner=shown)

        error = of_summed_choice(noise.std, setting.rows, 1.0, RECORDS)
        return Program((stage,), finish, {_UNIT: error})


def value_grid(
    name: str, candidates: Sequence[float] | None, setting: Setting, *, even: bool = False
) -> FineGrid:
    """Return the public values a column's records count at: those given, or its step grid or range."""
    column = setting.schema[name]
    if not isinstance(column, Number):
        raise ArgumentError(f"column must be numeric, got {name!r}. Use choose.")
    if candidates is None:
        return _evenly_weighted(column.grid(GRID)) if even else fine_grid(column)
    if candidates[0] < column.low or candidates[-1] > column.high:
        raise ArgumentError(
            f"candidates must lie between {column.low:g} and {column.high:g}, the bounds of "
            f"{name!r}, got {candidates[0]:g} to {candidates[-1]:g}."
        )
    return _evenly_weighted(np.array(candidates))


def _evenly_weighted(values: FloatArray) -> FineGrid:
    return FineGrid(values, np.ones(len(values), dtype=np.int64))
