"""The promise on the face of a release."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.data.engine import is_dead
from discreet.plans import Perturbation, Plan, Program, Stage
from discreet.privacy.certificate import worst_grade
from discreet.privacy.guarantee import MODEL_DEAD, Guarantee
from discreet.privacy.relation import Relation


def promise_of(
    plan: Plan,
    program: Program,
    asked: Sequence[Stage[Perturbation]],
    *,
    relation: Relation,
    simulation: bool,
) -> Guarantee:
    """Return the promise: of the stages that were asked, which may differ from those priced."""
    certificates = [stage.certificate for stage in asked]
    simulated = simulation or plan.simulated
    told = [*program.assumptions, *(text for c in certificates for text in c.assumptions)]
    told += [MODEL_DEAD for stage in asked if is_dead(stage.contribution)]
    return Guarantee(
        epsilon=plan.epsilon,
        delta=sum(stage.noise.delta for stage in asked),
        relation=program.relation or relation,
        statements=tuple(dict.fromkeys(s for c in certificates for s in c.statements)),
        assumptions=tuple(dict.fromkeys(told)),
        certified=all(c.certified for c in certificates) and not simulated,
        simulation=simulated,
        protects=program.protects,
        grade=worst_grade(c.grade for c in certificates),
    )
