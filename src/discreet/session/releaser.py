"""Answers a program's stages inside a reservation: here rows are charged for, read and perturbed.

What was asked decides the promise on the face of a release.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from discreet.data import PrivateTable, Summand, add_up
from discreet.data.blocks import KeptRows
from discreet.data.engine import Progress, check_summand, is_dead
from discreet.data.workers.cluster import Cluster
from discreet.numerics import from_units, up
from discreet.plans import Perturbation, Plan, Program, Stage
from discreet.privacy.accounting import ACCOUNTANTS, AccountantName, Filter, total
from discreet.privacy.accounting.conversion import rho_worth
from discreet.privacy.accounting.joint import JointEvents
from discreet.privacy.certificate import worst_grade
from discreet.privacy.guarantee import MODEL_DEAD, Guarantee
from discreet.privacy.relation import Relation
from discreet.randomness import IntArray, NoiseSource
from discreet.schema import FloatArray
from discreet.session.currency import Currency


def promise_of(
    plan: Plan,
    by: Plan,
    program: Program,
    asked: Sequence[Stage[Perturbation]],
    currency: Currency,
    *,
    relation: Relation,
    simulation: bool,
) -> Guarantee:
    """Return the promise: of the stages that were asked, which may differ from those priced.

    A plan with a rho promises that, and the epsilon that it is worth at the data set's delta.

    Args:
      plan: what was asked.
      by: the plan that answered it.
      program: it made ready.
      asked: its stages so far.
      currency: how the data set counts.
      relation: of the data set.
      simulation: whether noise came from a seed.
    """
    certificates = [stage.certificate for stage in asked]
    simulated = simulation or plan.simulated
    told = [
        *program.reasons,
        *program.assumptions,
        *by.fills(),
        *(text for c in certificates for text in c.assumptions),
    ]
    told += [MODEL_DEAD for stage in asked if is_dead(stage.contribution)]
    alone = (by.epsilon, sum(stage.noise.delta for stage in asked))
    (epsilon, delta), rho = program.joint or alone, plan.rho
    proven = [*program.statements, *(s for c in certificates for s in c.statements)]
    proven += [] if program.joint is None else ["joint-stages"]
    if not program.stages:  # a public fact: nothing was asked of the rows
        epsilon, rho = 0.0, 0.0 if currency.counts_rho else None
    elif rho is not None:
        epsilon, delta = rho_worth(rho, currency.delta), currency.delta
        proven += ["filter-zcdp", "zcdp-conversion"]
    elif currency.counts_rho:
        rho = up(float(from_units(total([stage.cost("zcdp") for stage in asked]).loss)))
    return Guarantee(
        epsilon=epsilon,
        delta=delta,
        relation=program.relation or relation,
        statements=tuple(dict.fromkeys(proven)),
        assumptions=tuple(dict.fromkeys(told)),
        certified=all(c.certified for c in certificates) and not simulated,
        simulation=simulated,
        protects=program.protects,
        grade=worst_grade(c.grade for c in certificates),
        rho=rho,
    )


@dataclass
class PaidReleaser:
    """Answers stages inside a reservation; the filter, not the plan, knows what is left of it.

    ``most_rows`` is what is public of their number; ``asked`` are the stages so far; ``joint`` are the
    events that a plan was priced for whose stages are promised together.
    """

    table: PrivateTable
    noise: NoiseSource
    accountant: AccountantName
    filter: Filter
    workers: int
    cluster: Cluster | None
    most_rows: int
    kept: KeptRows | None
    asked: list[Stage[Perturbation]]
    joint: JointEvents | None = None
    progress: Progress | None = None
    sums: dict[tuple[int, float], tuple[Stage[Perturbation], IntArray]] = field(default_factory=dict)

    def answer(self, *stages: Stage[Perturbation]) -> list[FloatArray]:
        """Charge the stages, read the rows once, add noise."""
        self._charge(stages)
        self.asked += stages
        self._add_up([stage for stage in stages if _place(stage) not in self.sums])
        return [stage.noise.release(self.sums[_place(stage)][1], self.noise) for stage in stages]

    def _charge(self, stages: Sequence[Stage[Perturbation]]) -> None:
        """Charge stages; strike those that are promised together off what was paid for.

        Guarantees:
          - Stages that are promised together are asked only if they were priced. [joint-stages]
        """
        if self.joint is not None:
            self.joint.take([event for stage in stages for event in stage.events])
        if self.joint is None or ACCOUNTANTS[self.accountant].unit == "rho":
            self.filter.charge(total([stage.cost(self.accountant) for stage in stages]))

    def _add_up(self, stages: list[Stage[Perturbation]]) -> None:
        if not stages:
            return
        summands = [Summand(stage.contribution, stage.noise.step) for stage in stages]
        for summand in summands:  # stages that were decided on along the way
            check_summand(summand, self.most_rows)
        raw_sums = add_up(
            self.table,
            summands,
            workers=self.workers,
            cluster=self.cluster,
            progress=self.progress,
            kept=self.kept,
        )
        for stage, raw in zip(stages, raw_sums, strict=True):
            self.sums[_place(stage)] = (stage, raw)


def _place(stage: Stage[Perturbation]) -> tuple[int, float]:
    """Return what two stages that need the same sum have in common."""
    return id(stage.contribution), stage.noise.step
