"""Plausibly deniable records: proposed from real ones, released if many could have proposed them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from discreet.arguments import some_names
from discreet.data import WholeContribution
from discreet.errors import ArgumentError
from discreet.mechanisms.selection.deniability import PlausibleDeniability, Proposal, plan_attempts
from discreet.numerics import check_choice, check_finite, check_whole, up
from discreet.plans import Plan, Program, Releaser, Setting, Stage, share_out
from discreet.plans.expected import RECORDS, of_summed_choice
from discreet.plans.stages.marginals import MOST_BINS, PairTables, TreeStages, lay_out, tree_stages
from discreet.plans.stages.tree_rows import decode_rows, spread_cells
from discreet.privacy.certificate import Bounds, Box, Certificate
from discreet.privacy.relation import REPLACE_ONE
from discreet.randomness import public_generator
from discreet.schema import FloatArray, Number
from discreet.tables.synthesis.plan import SyntheticRows
from discreet.tables.synthesis.proposals import Ball, radii_of, resample

ProposalName = Literal["resample", "ball"]
_MODEL_SHARE = 0.3
_MOST_ATTEMPTS = 10_000


@dataclass(frozen=True)
class DeniableRows(SyntheticRows):
    """Records that passed Mechanism F.

    Attributes:
      attempts: how many proposals were made and charged.
      k: plausible seeds that were asked for.
      t: how many of them carry the proof.
      gamma: within which factor their probabilities are.
      forced_failure: the public probability that an attempt fails whatever it found.
    """

    attempts: int
    k: int
    t: int
    gamma: float
    forced_failure: float

    @property
    def pass_rate(self) -> float:
        """The share of attempts that passed."""
        return len(self) / self.attempts


class DeniableRowsPlan(Plan):
    """See ``deniable_rows``."""

    kind = "deniable_rows"

    def __init__(
        self,
        attempts: int,
        columns: tuple[str, ...] | None,
        proposal: ProposalName,
        resampled: int | None,
        radius: float,
        gamma: float,
        bins: int,
        seed: int,
        epsilon: float,
        delta: float,
    ) -> None:
        super().__init__(epsilon, delta)
        check_whole("attempts", attempts, 1, _MOST_ATTEMPTS)
        check_choice("proposal", proposal, ("resample", "ball"))
        check_whole("bins", bins, 2, MOST_BINS)
        check_whole("seed", seed, 0)
        if self.delta == 0:
            raise ArgumentError("delta must be above zero, got 0. Few plausible seeds pass by chance.")
        check_finite("radius", radius)
        check_finite("gamma", gamma)
        if not 0 < radius <= 1:
            raise ArgumentError(f"radius must be a share between 0 and 1, got {radius!r}.")
        if not gamma > 1:
            raise ArgumentError(f"gamma must exceed 1, got {gamma!r}.")
        self.attempts, self.columns, self.proposal = attempts, columns, proposal
        self.resampled, self.radius, self.gamma = resampled, radius, gamma
        self.bins, self.seed = bins, seed

    def arguments(self) -> dict[str, Any]:
        """Return the question as plain data."""
        own = (
            {"resampled": self.resampled}
            if self.proposal == "resample"
            else {"radius": self.radius, "gamma": self.gamma}
        )
        return {
            "attempts": self.attempts,
            "columns": None if self.columns is None else list(self.columns),
            "proposal": self.proposal,
            **own,
            "bins": self.bins,
            "seed": self.seed,
        }

    def prepare(self, setting: Setting) -> Program:
        """Plan the test from public facts; the model of a resampling proposal is bought first."""
        if not setting.relation.rows_public or setting.rows is None:
            raise ArgumentError(
                "relation must be replace-one for deniable records, got add-remove. "
                "Use synthesize, which has no seeds."
            )
        schema = setting.schema
        names = tuple(schema) if self.columns is None else self.columns
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

    def _ball(self, layout: PairTables, schema: Any) -> Ball:
        numbers = [isinstance(schema[name], Number) for name in layout.names]
        return Ball(radii_of(layout.sizes, numbers, self.radius), layout.sizes, self.gamma)


def certify_codes(layout: PairTables, rows: int) -> Certificate:
    """Certify the table of codes itself: a replaced record moves its own row."""
    reach = [size - 1 for size in layout.sizes]
    return Certificate(
        ("deniability", "approximate-composition"),
        rows * len(reach),
        {REPLACE_ONE: Bounds(float(sum(reach)), up(math.hypot(*reach)), float(max(reach)))},
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
    )


def deniable_rows(
    attempts: int,
    *,
    columns: Sequence[str] | None = None,
    proposal: ProposalName = "resample",
    resampled: int | None = None,
    radius: float = 0.1,
    gamma: float = 2.0,
    bins: int = 16,
    seed: int = 0,
    epsilon: float,
    delta: float,
) -> DeniableRowsPlan:
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
    names = some_names("columns", columns)
    return DeniableRowsPlan(
        attempts, names, proposal, resampled, radius, gamma, bins, seed, epsilon, delta
    )
