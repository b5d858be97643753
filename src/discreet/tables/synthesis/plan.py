"""Records in place of a private table: synthetic ones from noisy marginals, and deniable ones.

Synthetic records are what most people want who ask for a private table. Deniable ones are proposed from
real ones, and released if many could have proposed them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, replace
from typing import Annotated, Any, ClassVar, Literal, get_args

import numpy as np

from discreet.data import WholeContribution
from discreet.errors import ArgumentError
from discreet.mechanisms.selection.deniability import PlausibleDeniability, Proposal, plan_attempts
from discreet.numerics import check_finite, check_whole, up
from discreet.plans import Program, Releaser, Setting, Stage, kinds, share_out
from discreet.plans.declaration import DeclaredPlan
from discreet.plans.expected import RECORDS, of_summed_choice
from discreet.plans.kinds import UNSAID, Columns, Delta, Epsilon, NoiseChoice, OneOf, Whole
from discreet.plans.parts import WherePlan
from discreet.plans.results.synthetic_rows import DeniableRows, SyntheticRows
from discreet.plans.stages.marginals import (
    LARGEST_PAIRS,
    MOST_BINS,
    PairTables,
    TreeStages,
    lay_out,
    tree_stages,
)
from discreet.plans.stages.tree_rows import decode_rows, spread_cells
from discreet.privacy.certificate import Bounds, Box, Certificate
from discreet.privacy.relation import REPLACE_ONE
from discreet.randomness import public_generator
from discreet.schema import FloatArray, Number, Schema
from discreet.tables.synthesis.budget import choose_budget
from discreet.tables.synthesis.model import RowModel
from discreet.tables.synthesis.proposals import BallProposal, radii_of, resample
from discreet.tables.synthesis.stages import RowStages

ProposalName = Literal["resample", "ball"]

_IDLE = {"resample": ("radius", "gamma"), "ball": ("resampled",)}
"""Arguments that a proposal does not look at."""

_MODEL_SHARE = 0.3
_MOST_ROWS = 1_000_000
_MOST_ATTEMPTS = 10_000

SomeColumns = Annotated[Sequence[str] | None, Columns(optional=True)]
Cells = Annotated[int, Whole(2, MOST_BINS)]
Seed = Annotated[int, Whole(0)]


class synthesize(WherePlan):
    """Plan synthetic records, drawn from noisy tables of columns and of the strongest pairs.

    Every column's table is released, then those of a tree of pairs, chosen privately. Where noise is
    small enough more pairs follow, in rounds: those that a model of all that is released errs on most.
    Rows are drawn along the tree and weighed until all tables agree with them.

    Args:
      rows: how many; as many as the table has if left out (its noisy number, where that is private).
      columns: which columns they have; all of the schema, the target included, if left out.
      bins: cells per number, at most 64; a small table does better with fewer.
      pairs: how many pairs are measured beyond a tree: 0 for the tree alone; if left out, as many as
        pay for their noise, by public facts alone (columns, cells, budget, number of records; where
        that is private its noisy value, or with delta 0 none).
      seed: of the public generator that draws rows from released tables.
      epsilon: the whole budget: 0.25 for the columns' tables, 0.1 for the choice of a tree, the rest
        for tables of pairs and the choice of more of them. More rows cost nothing.
      delta: zero for a pure guarantee; with one, all stages share one rho, and noise is far less.
      mechanism: ``laplace``, ``gaussian``, ``linf``, or ``auto``: the least noise.

    Guarantees:
      - A record is in one cell of every table, whatever its weight. [weighted-tables]
      - The tree of pairs is so many exponential mechanisms. [tree-score] [spanning-tree]
      - So is every choice of more pairs, whatever model they are scored by. [tree-score] [top-k]
      - Rows follow from what was released. [background-separator]

    >>> synthesize(1_000, epsilon=1.0)
    synthesize(rows=1000, columns=None, bins=16, pairs=None, seed=0, mechanism='auto', epsilon=1)
    """

    rows: Annotated[int | None, Whole(1, _MOST_ROWS, optional=True)] = None
    _: KW_ONLY
    columns: SomeColumns = None
    bins: Cells = 16
    pairs: Annotated[int | None, Whole(0, LARGEST_PAIRS, optional=True)] = None
    seed: Seed = 0
    epsilon: Epsilon = UNSAID
    delta: Delta = 0.0
    mechanism: NoiseChoice = "auto"

    meaning: ClassVar = 2

    def prepare_whole(self, setting: Setting) -> Program:
        """Lay out the tables of columns and pairs and calibrate every stage."""
        schema = setting.schema
        names = tuple(schema if self.columns is None else self.columns)
        budget = choose_budget(
            lay_out(schema, names, self.bins),
            setting,
            epsilon=self.epsilon,
            delta=self.delta,
            mechanism=self.mechanism,
        )
        stages = RowStages(budget, self.pairs)

        def finish(releaser: Releaser) -> SyntheticRows:
            found = stages.ask(releaser, self.rows, public_generator(self.seed))
            return synthetic_rows(found, schema, names)

        return Program(stages.stages, finish, stages.expected_error, joint=budget.joint)


def synthetic_rows(found: RowModel, schema: Schema, names: tuple[str, ...]) -> SyntheticRows:
    """Return rows drawn from a model, in original values."""
    known = found.known
    cells = found.draw(_MOST_ROWS)
    columns = [schema[name] for name in names]
    drawn = spread_cells(columns, known.layout.cells, cells, found.generator)
    more = [pair for pair in known.pairs if pair not in found.tree]
    tree, others = (
        tuple((names[a], names[b]) for a, b in map(known.edge, pairs)) for pairs in (found.tree, more)
    )
    stds = [table.std for table in known.pairs.values()]
    return SyntheticRows(
        columns=names,
        values=decode_rows(schema, names, drawn),
        tree=tree,
        noise_std=float(np.median([table.std for table in known.columns])) / known.rows,
        pair_noise_std=float(np.median(stds)) / known.rows if stds else 0.0,
        more_pairs=others,
        misfit=found.misfit(cells),
    )


def _radius(name: str, radius: Any) -> float:
    check_finite(name, radius)
    if not 0 < radius <= 1:
        raise ArgumentError(f"{name} must be a share between 0 and 1, got {radius!r}.")
    return float(radius)


def _gamma(name: str, gamma: Any) -> float:
    check_finite(name, gamma)
    if not gamma > 1:
        raise ArgumentError(f"{name} must exceed 1, got {gamma!r}.")
    return float(gamma)


class deniable_rows(DeclaredPlan):
    """Plan records proposed from real ones and released if plausibly deniable (Mechanism F).

    Each attempt draws a record as its seed, proposes another from it, and releases that if at least
    about k records could have proposed it as well. Every attempt is charged, passed or not: expect
    few records, and none from a small table. ``synthesize`` gives more for the same budget; this is
    for those who need rows that come from real ones.

    Args:
      attempts: how many proposals; the budget is shared by all of them.
      columns: which columns the records have; all of the schema if left out.
      proposal: ``resample`` keeps some columns and draws the others from a noisy tree of tables (0.3
        of epsilon); ``ball`` keeps categories and moves numbers to cells near by.
      resampled: how many columns are drawn anew; half of them if left out. The more, the more records
        are plausible seeds.
      radius: of a ball, as a share of the cells of a number.
      gamma: of a ball, within which factor the chances of plausible seeds are.
      bins: cells per number.
      seed: of the public generator that spreads numbers inside their cells.
      epsilon: the whole budget of the plan.
      delta: above zero.

    Guarantees:
      - Attempts together keep (epsilon, delta) under replace-one, those that fail included.
        [deniability] [approximate-composition]

    >>> deniable_rows(20, epsilon=5.0, delta=1e-6)
    deniable_rows(attempts=20, columns=None, proposal='resample', resampled=None, bins=16, seed=0, \
epsilon=5, delta=1e-06)
    """

    attempts: Annotated[int, Whole(1, _MOST_ATTEMPTS)]
    _: KW_ONLY
    columns: SomeColumns = None
    proposal: Annotated[ProposalName, OneOf(get_args(ProposalName))] = "resample"
    resampled: Annotated[int | None, Whole(1, optional=True)] = None
    radius: Annotated[float, kinds.RealNumber(by=_radius)] = 0.1
    gamma: Annotated[float, kinds.RealNumber(by=_gamma)] = 2.0
    bins: Cells = 16
    seed: Seed = 0
    epsilon: Epsilon = UNSAID
    delta: Delta = 0.0

    whole_only: ClassVar = "Deniability counts all records; ask dc.synthesize(where=...)."

    def settle(self) -> dict[str, Any]:
        """Refuse a pure guarantee."""
        if self.delta == 0:
            raise ArgumentError("delta must be above zero, got 0. Few plausible seeds pass by chance.")
        return {}

    def arguments(self) -> dict[str, Any]:
        """Return the arguments that define the answer, without those of the other proposal."""
        told = super().arguments().items()
        return {name: value for name, value in told if name not in _IDLE[self.proposal]}

    def prepare(self, setting: Setting) -> Program:
        """Plan the test from public facts; the model of a resampling proposal is released first."""
        if not setting.relation.rows_public or setting.rows is None:
            raise ArgumentError(
                "relation must be replace-one for deniable records, got add-remove. "
                "Use synthesize, which has no seeds."
            )
        schema = setting.schema
        names = tuple(schema if self.columns is None else self.columns)
        layout = lay_out(schema, names, self.bins)
        model, epsilon, delta = self._model(layout, setting)
        test = plan_attempts(
            self.attempts,
            epsilon=epsilon,
            delta=delta,
            gamma=1.0 if self.proposal == "resample" else self.gamma,
            rows=setting.rows,
        )
        noise = PlausibleDeniability(
            certify_codes(layout, setting.rows), test, self.attempts, epsilon, delta
        )
        stage = Stage("attempts", _all_codes(layout, setting.rows, noise.certificate), noise)

        def finish(releaser: Releaser) -> DeniableRows:
            tree = None if model is None else model.ask(releaser)
            proposal: Proposal = (
                self._ball(layout, schema)
                if tree is None
                else resample(tree, self._resampled(len(names)))
            )
            (flat,) = releaser.answer(replace(stage, noise=replace(noise, proposal=proposal)))
            found = flat.reshape(self.attempts, len(names))
            cells = found[~np.isnan(found[:, 0])].astype(np.int64)
            drawn = spread_cells(
                [schema[n] for n in names], layout.cells, cells, public_generator(self.seed)
            )
            return DeniableRows(
                columns=names,
                values=decode_rows(schema, names, drawn),
                tree=() if tree is None else tuple((names[a], names[b]) for a, b in tree.edges),
                noise_std=0.0 if tree is None else tree.margin_std / tree.rows,
                pair_noise_std=0.0 if tree is None else tree.pair_std / tree.rows,
                attempts=self.attempts,
                k=test.k,
                t=test.t,
                gamma=test.gamma,
                forced_failure=test.forced_failure,
            )

        first = () if model is None else model.stages
        seeds = of_summed_choice(float(test.k), setting.rows, 1.0, RECORDS)
        return Program((*first, stage), finish, {"plausible seeds that a row must have": seeds})

    def _model(self, layout: PairTables, setting: Setting) -> tuple[TreeStages | None, float, float]:
        """Return the stages of the model, if one is needed, and what is left for the attempts."""
        if self.proposal == "ball":
            return None, self.epsilon, self.delta
        self._resampled(len(layout.names))
        shares = (1 - _MODEL_SHARE, _MODEL_SHARE)
        epsilon, spent = share_out(self.epsilon, shares)
        return tree_stages(layout, setting, epsilon=spent), epsilon, self.delta

    def _resampled(self, columns: int) -> int:
        count = math.ceil(columns / 2) if self.resampled is None else self.resampled
        check_whole("resampled", count, 1, columns)
        return count

    def _ball(self, layout: PairTables, schema: Any) -> BallProposal:
        numbers = [isinstance(schema[name], Number) for name in layout.names]
        return BallProposal(radii_of(layout.sizes, numbers, self.radius), layout.sizes, self.gamma)


def certify_codes(layout: PairTables, rows: int) -> Certificate:
    """Certify the table of codes itself: a replaced record moves its own row."""
    widths = [size - 1 for size in layout.sizes]
    return Certificate(
        ("deniability", "approximate-composition"),
        rows * len(widths),
        {REPLACE_ONE: Bounds(float(sum(widths)), up(math.hypot(*widths)), float(max(widths)))},
    )


def _all_codes(layout: PairTables, rows: int, certificate: Certificate) -> WholeContribution:
    def compute(values: FloatArray) -> FloatArray:
        parts = zip(layout.cells, values.T, strict=True)
        codes = [cells.index(column) for cells, column in parts]
        return np.column_stack(codes).astype(np.float64).ravel()

    return WholeContribution(
        layout.names,
        rows * len(layout.names),
        Box(0.0, float(max(layout.sizes))),
        fill=0.0,
        compute=compute,
        proven=certificate,
        pulse=None,
        of_rows=True,
    )
