"""``source_values``: what every source of records adds to a model, privately, for any public test set.

One release of T = columns + 1 tables of counts, by source and class; all coalitions of sources, their
scores and the values of sources follow from it without a further cost.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from discreet.data import TablesContribution
from discreet.data.blocks import Block
from discreet.errors import ArgumentError
from discreet.mechanisms import NOISES
from discreet.plans import Program, Releaser, Setting, Stage
from discreet.plans.held import Table
from discreet.plans.kinds import UNSAID, Column, Columns, Delta, Epsilon, NoiseChoice
from discreet.plans.parts import WherePlan
from discreet.plans.results.bands import LEVEL
from discreet.plans.stages.counts import BinCounts
from discreet.plans.stages.sums import TableNoise, table_noise
from discreet.schema import Category, Number, Schema
from discreet.value.private_rows import encode_rows, keep_rows
from discreet.value.sources.game import MOST_SOURCES
from discreet.value.sources.rehearsal import expected_errors
from discreet.value.sources.result import SourceCells, SourceValues, found_values, listed

_FEATURES = 6
"""So many columns are taken if none are named."""

_MOST_BINS = 64


class source_values(WherePlan):
    """Plan the Shapley value of every source of records (a hospital, a vendor) for a model.

    The model is naive Bayes on counts by source, its score Brier's on public test rows. The counts are
    released once; values for other test rows, by other scores and of Banzhaf are free afterwards.

    Args:
      source: the column that says where a record comes from: a category of 2 to 12 values. Records
        with none of them are nobody's.
      test: public rows with the target, on which coalitions are scored. They are not protected.
      features: the columns the model sees; if left out, the six that tell most of the target in the
        public test rows. Fewer have less noise each.
      bins: cells per numeric column, as in ``histogram``.
      epsilon: the whole budget of the plan.
      delta: zero for a pure guarantee; with one there is far less noise.
      mechanism: ``laplace``, ``gaussian``, or ``auto``: the one with less noise.

    Guarantees:
      - One record is in one cell of each of T tables, whatever the number of sources, also if its
        replacement is another source's: L1 2 T, L2 sqrt(2 T). [marginals]
      - Noise is exact on the lattice of the counts. [laplace] [gauss-lattice]

    >>> import numpy as np
    >>> source_values("site", test=np.zeros((1, 3)), epsilon=1.0).arguments()["bins"]
    4
    """

    source: Annotated[str, Column()]
    _: KW_ONLY
    test: Annotated[Any, Table(keep_rows)]
    features: Annotated[str | Sequence[str] | None, Columns(optional=True)] = None
    bins: BinCounts = 4
    epsilon: Epsilon = UNSAID
    delta: Delta = 0.0
    mechanism: NoiseChoice = "auto"

    def prepare_whole(self, setting: Setting) -> Program:
        """Lay out the tables, calibrate their noise, and rehearse on the public test rows."""
        cells = self._cells(setting.schema)
        test = cells.test_rows(self.test.value)
        stage = self._stage(cells, setting)
        counted = SourceValues(
            source=self.source,
            sources=tuple(map(str, listed(setting.schema, self.source))),
            values=(),
            low=(),
            high=(),
            level=LEVEL,
            score="brier",
            semivalue="shapley",
            utilities=(),
            features=cells.features,
            bins=tuple(self._bins(name) for name in cells.features),
            counts=(),
            noise_std=stage.noise.std,
            normal=stage.noise.normal,
            test=test,
            facts=json.dumps(setting.schema.to_json()),
        )

        def finish(releaser: Releaser) -> SourceValues:
            (noisy_counts,) = releaser.answer(stage)
            return found_values(replace(counted, counts=tuple(noisy_counts.tolist())), cells)

        return Program((stage,), finish, expected_errors(counted, cells, setting.rows))

    def _stage(self, cells: SourceCells, setting: Setting) -> Stage[TableNoise]:
        """Return the counts of all tables, with noise."""
        if self.mechanism != "auto" and not NOISES[self.mechanism].independent:
            raise ArgumentError(
                f"mechanism must draw every count's noise by itself for source_values, got "
                f"{self.mechanism!r}. Use 'auto'."
            )
        sizes = cells.layout.sizes
        noise = table_noise(
            len(sizes),
            sum(sizes),
            setting,
            epsilon=self.epsilon,
            delta=self.delta,
            mechanism=self.mechanism,
        )
        contribution = TablesContribution(
            (self.source, cells.target, *cells.features), sizes, lambda block: _index(cells, block)
        )
        return Stage("counts by source", contribution, replace(noise, places=tuple(range(sum(sizes)))))

    def _cells(self, schema: Schema) -> SourceCells:
        """Return the cells of sources, classes and features, or raise what is wrong with them."""
        _check_source(schema, self.source)
        _check_target(schema, self.source)
        if self.features is None:
            return self._chosen(schema)
        for name in self.features:
            schema[name]
            if name in (self.source, schema.target):
                raise ArgumentError(
                    f"features must be columns besides the source and the target, got {name!r}."
                )
        return self._of(schema, self.features)

    def _chosen(self, schema: Schema) -> SourceCells:
        """Return the features that tell most of the target in the public test rows."""
        names = [name for name in schema.features if name != self.source]
        if not names:
            raise ArgumentError(
                "schema must have a column besides the source and the target, got none. Add one."
            )
        assert schema.target is not None
        every = self._of(schema, names)
        rows = encode_rows(self.test.value, schema, (schema.target, *names), "test")
        told = [
            _information(part.index(rows[:, 1 + place]), rows[:, 0].astype(np.int64))
            for place, part in enumerate(every.parts)
        ]
        best = sorted(np.argsort(-np.array(told), kind="stable")[:_FEATURES].tolist())
        return self._of(schema, [names[place] for place in best])

    def _of(self, schema: Schema, names: Sequence[str]) -> SourceCells:
        return SourceCells.of(schema, self.source, names, [self._bins(name) for name in names])

    def _bins(self, name: str) -> int:
        count = self.bins if isinstance(self.bins, int) else self.bins.get(name, 4)
        if count > _MOST_BINS:
            raise ArgumentError(f"bins must be at most {_MOST_BINS}, got {count}.")
        return count


def _check_source(schema: Schema, source: str) -> None:
    column = schema[source]
    if not isinstance(column, Category) or not 2 <= len(column.values) <= MOST_SOURCES:
        kind = "a number" if isinstance(column, Number) else f"{len(column.values)} values"
        raise ArgumentError(
            f"source must be a category of 2 to {MOST_SOURCES} values, got {kind} in {source!r}. "
            "All coalitions of sources are valued; group them in a column of their own."
        )


def _check_target(schema: Schema, source: str) -> None:
    if schema.target is None or source == schema.target:
        raise ArgumentError(
            f"schema must have a target besides the source, got {schema.target!r}. Name it."
        )
    column = schema[schema.target]
    if not isinstance(column, Category) or len(column.values) < 2:
        raise ArgumentError(
            f"The target must be a category of at least two values for source_values, got the column "
            f"{schema.target!r}. Cut a number into classes."
        )


def _index(cells: SourceCells, block: Block) -> Iterator[NDArray[np.int64]]:
    """Return the cells of a block's records; one without a listed source or class is in none."""
    layout = cells.layout
    source, label = (np.asarray(block[name]).astype(np.int64) for name in (cells.source, cells.target))
    known = (source < layout.sources) & (label < layout.classes)
    pair = source * layout.classes + label
    yield np.where(known, pair, -1)
    for name, part in zip(cells.features, cells.parts, strict=True):
        yield np.where(known, pair * len(part) + part.index(block[name]), -1)


def _information(cells: NDArray[np.int64], labels: NDArray[np.int64]) -> float:
    """Return the mutual information of cells and labels in public rows, freed of its first bias."""
    table = np.zeros((int(cells.max()) + 1, int(labels.max()) + 1))
    np.add.at(table, (cells, labels), 1.0)
    joint = table / len(labels)
    apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    seen = joint > 0
    found = float(np.sum(joint[seen] * np.log(joint[seen] / apart[seen])))
    used = (np.count_nonzero(table.sum(axis=1)) - 1) * (np.count_nonzero(table.sum(axis=0)) - 1)
    return found - used / (2 * len(labels))
