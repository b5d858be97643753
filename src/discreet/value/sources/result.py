"""What sources are worth, with the released counts from which any other such question is answered."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from discreet.arguments import as_names
from discreet.errors import ArgumentError
from discreet.numerics import check_choice
from discreet.plans.results.bands import LEVEL
from discreet.plans.results.result import Result
from discreet.randomness import IntArray, public_generator
from discreet.schema import Bins, Category, FloatArray, Schema
from discreet.schema.files import from_plain
from discreet.value.private_rows import encode_rows
from discreet.value.sources.game import (
    ScoreName,
    Semivalue,
    SourceGame,
    SourceTables,
    TestCells,
    operator,
)

if TYPE_CHECKING:
    import pandas as pd

_FEWEST_DRAWS, _DRAWS = 48, 256
_DRAWN_COALITIONS = 2**17
_DRAWN_ROWS = 1_000
"""Coalitions and test rows of a simulation: fewer draws of many sources, and a thinned test set."""

_WIDER, _BIASES = 2.1, 2.0
"""A band is so many deviations wide, and so many of the biases that a second noise has."""


@dataclass(frozen=True)
class SourceValues(Result):
    """The value of every source of records for a model, and the noisy counts it was found from.

    Everything here follows from the counts and from public rows, so that other test rows, scores and
    values cost nothing: ``for_test``, ``scored``, ``banzhaf``, ``shapley``, ``utility``.

    Attributes:
      source: the column that names the source of a record.
      sources: its values.
      values: of every source, in the unit of the score.
      low: lower end of its noise band.
      high: upper end.
      level: how often a band is meant to hold the value that exact counts have in the same game. The
        bands are simulated from the mended counts with the known law of the noise.
      score: of naive Bayes on the test rows; higher is better.
      semivalue: ``shapley`` or ``banzhaf``.
      utilities: the score of every coalition of sources, in the order of their numbers: the first
        source is in the odd ones. The first is that of nobody, the last that of everybody.
      features: the columns naive Bayes sees.
      bins: cells per number, of each of them.
      counts: the noisy counts as they were drawn: of sources x classes, then for every column of
        sources x classes x cells.
      noise_std: standard deviation of the noise on a count, and the smoothing of a single source's.
      normal: whether the noise is Gaussian; else Laplace's.
      test: public test rows, equal ones once: class, number, cells of the columns.
      facts: the public schema, as JSON.
    """

    source: str
    sources: tuple[str, ...]
    values: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    level: float
    score: ScoreName
    semivalue: Semivalue
    utilities: tuple[float, ...]
    features: tuple[str, ...]
    bins: tuple[int, ...]
    counts: tuple[float, ...]
    noise_std: float
    normal: bool
    test: tuple[tuple[int, ...], ...]
    facts: str

    @property
    def extent(self) -> str:
        """The number of sources."""
        return f"{len(self.sources)} sources"

    def fits_together(self) -> bool:
        """Return whether every source has a value, every cell a count and every test row its cells."""
        ends = (self.values, self.low, self.high)
        known = SourceCells.of(
            from_plain(json.loads(self.facts)), self.source, self.features, self.bins
        )
        return (
            all(len(part) == len(self.sources) == known.layout.sources for part in ends)
            and len(self.counts) == known.layout.size
            and len(self.utilities) == 2 ** len(self.sources)
            and all(len(row) == len(self.features) + 2 for row in self.test)
        )

    def for_test(self, test: Any) -> SourceValues:
        """Return the values for other public test rows: a frame, an array or a file; free."""
        cells = self._cells
        return found_values(replace(self, test=cells.test_rows(test)), cells)

    def scored(self, score: ScoreName) -> SourceValues:
        """Return the values by another score: ``brier``, ``log-loss`` or ``accuracy``; free."""
        check_choice("score", score, get_args(ScoreName))
        return found_values(replace(self, score=score), self._cells)

    def banzhaf(self) -> SourceValues:
        """Return Banzhaf values: every coalition of the others counts the same; free."""
        return found_values(replace(self, semivalue="banzhaf"), self._cells)

    def shapley(self) -> SourceValues:
        """Return Shapley values: every size of coalitions counts the same; free."""
        return found_values(replace(self, semivalue="shapley"), self._cells)

    def utility(self, sources: str | Sequence[str] = ()) -> float:
        """Return the score of naive Bayes trained on the counts of some sources, or of none."""
        named = (
            () if not isinstance(sources, str) and not len(sources) else as_names("sources", sources)
        )
        unknown = [name for name in named if name not in self.sources]
        if unknown:
            raise ArgumentError(f"sources must be among {', '.join(self.sources)}, got {unknown[0]!r}.")
        return self.utilities[sum(1 << self.sources.index(name) for name in named)]

    def ranking(self) -> tuple[str, ...]:
        """Return the sources from the most to the least valuable."""
        return tuple(self.sources[i] for i in np.argsort(-np.asarray(self.values), kind="stable"))

    def to_frame(self) -> pd.DataFrame:
        """Return one row per source, the source as index: its value and its band."""
        import pandas as pd

        return pd.DataFrame(
            {"value": self.values, "low": self.low, "high": self.high},
            index=pd.Index(self.sources, name=self.source),
        )

    def plot(self, ax: Any = None, *, title: str | None = None) -> Any:
        """Draw the values as bars with their bands, the best first."""
        from discreet.plans.results.pictures.valuation import SourceDisplay

        return SourceDisplay(self).plot(ax, title=title)

    @property
    def quantity(self) -> str:
        """What a value measures."""
        return f"{self.semivalue.capitalize()} value ({self.score} of naive Bayes on the test rows)"

    @cached_property
    def _cells(self) -> SourceCells:
        return SourceCells.of(from_plain(json.loads(self.facts)), self.source, self.features, self.bins)


@dataclass(frozen=True)
class SourceCells:
    """How records and test rows fall into cells: sources, classes, and cells of the features."""

    schema: Schema
    source: str
    features: tuple[str, ...]
    parts: tuple[Bins, ...]

    @classmethod
    def of(
        cls, schema: Schema, source: str, features: Sequence[str], bins: Sequence[int]
    ) -> SourceCells:
        """Return the cells of some features."""
        pairs = zip(features, bins, strict=True)
        return cls(schema, source, tuple(features), tuple(schema[n].bins(count) for n, count in pairs))

    @property
    def target(self) -> str:
        """The column that is predicted."""
        assert self.schema.target is not None
        return self.schema.target

    @property
    def layout(self) -> SourceTables:
        """Where the counts are."""
        return SourceTables(
            len(listed(self.schema, self.source)),
            len(listed(self.schema, self.target)),
            tuple(len(part) for part in self.parts),
        )

    def test_rows(self, test: Any) -> tuple[tuple[int, ...], ...]:
        """Return public test rows as a result keeps them: equal ones once."""
        rows = encode_rows(test, self.schema, (self.target, *self.features), "test")
        labels = rows[:, 0].astype(np.int64)
        if np.any(labels >= self.layout.classes):
            raise ArgumentError(
                f"test must have a listed {self.target!r} in every row, got one without. Leave it out."
            )
        cells = [part.index(rows[:, 1 + place]) for place, part in enumerate(self.parts)]
        kept = TestCells.of(np.column_stack(cells), labels)
        return tuple(map(tuple, np.column_stack([kept.labels, kept.weights, kept.cells]).tolist()))


def listed(schema: Schema, name: str) -> tuple[Any, ...]:
    """Return the values of a category."""
    column = schema[name]
    assert isinstance(column, Category)
    return column.values


def as_test(rows: tuple[tuple[int, ...], ...]) -> TestCells:
    """Return test rows as a game has them."""
    table: IntArray = np.array(rows, dtype=np.int64)
    return TestCells(table[:, 2:], table[:, 0], table[:, 1])


def found_values(counted: SourceValues, cells: SourceCells) -> SourceValues:
    """Return a result with the values of its own counts, test rows, score and semivalue."""
    layout, test = cells.layout, as_test(counted.test)
    game = SourceGame(layout, test, counted.score, counted.noise_std)
    mended = layout.mended(np.array(counted.counts))
    utilities = game.utilities(mended)
    values = operator(layout.sources, counted.semivalue) @ utilities
    half = half_widths(
        replace(game, test=test.thinned(_DRAWN_ROWS)), mended, counted.semivalue, counted.normal
    )
    return replace(
        counted,
        values=tuple(values.tolist()),
        low=tuple((values - half).tolist()),
        high=tuple((values + half).tolist()),
        level=LEVEL,
        utilities=tuple(utilities.tolist()),
    )


def half_widths(
    game: SourceGame, mended: FloatArray, semivalue: Semivalue, normal: bool, draws: int | None = None
) -> FloatArray:
    """Return half the width of every value's band, by noise drawn on mended counts.

    Mending and smoothing bias a value as far as a second noise shows; the first, on counts that were
    sparser still, may have done a little more, so that the bias is taken twice.
    """
    noises = simulated_values(game, mended, semivalue, normal, draws) - game.values(
        mended, semivalue, np.float32
    )
    return np.asarray(_WIDER * noises.std(axis=0) + _BIASES * np.abs(noises.mean(axis=0)))


def simulated_values(
    game: SourceGame, counts: FloatArray, semivalue: Semivalue, normal: bool, draws: int | None = None
) -> FloatArray:
    """Return values of counts with noise of the released law, draws x sources; public generator."""
    draw = public_generator(0)
    some = draws or int(np.clip(_DRAWN_COALITIONS >> game.layout.sources, _FEWEST_DRAWS, _DRAWS))
    scale = game.smoothing / (1.0 if normal else np.sqrt(2))
    law = draw.normal if normal else draw.laplace
    noisy = (counts + law(0.0, scale, len(counts)) for _ in range(some))
    return np.array([game.values(game.layout.mended(each), semivalue, np.float32) for each in noisy])
