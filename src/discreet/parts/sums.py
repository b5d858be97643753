"""Noisy sums of vectors that records contribute, with everything a model call adds to the bound."""

from __future__ import annotations

from dataclasses import replace
from typing import TypedDict

from discreet.certificates import RELATIONS, Certificate, Relation
from discreet.data import (
    ROWS_CAP,
    SealedContribution,
    VectorContribution,
    WholeContribution,
    companion_rows,
)
from discreet.errors import ModelError
from discreet.mechanisms import Noise, NoiseName, sum_noise
from discreet.plans import Setting, Stage

ROWS_ASSUMED = f"the table has at most {ROWS_CAP} rows"


class SumTerms(TypedDict):
    """What every mechanism on a sum has to know of it besides the certificate."""

    relation: Relation
    largest_sum: float
    companions: int


def pay_for_last_bits(contribution: VectorContribution, moved: float, whose: str) -> VectorContribution:
    """Widen a certificate by what every companion of a record may move, where it is more than a step.

    Args:
      contribution: one that calls code which is not ours.
      moved: how far a coordinate of another record may move with the rows beside it.
      whose: what is assumed to move by no more, in words.
    """
    proven = contribution.certificate
    bounds = {
        name: proven.widen(companion_rows(contribution, name) * moved).bounds[name]
        for name in RELATIONS
        if name in proven.bounds
    }
    return replace(contribution, proven=replace(proven, bounds=bounds).assume(whose))


def sum_terms(
    contribution: VectorContribution | SealedContribution | WholeContribution,
    setting: Setting,
    *,
    statement: str,
) -> tuple[Certificate, SumTerms]:
    """Return the certificate of a sum of contributions, and the terms of noise on it.

    Guarantees:
      - Pays for what a model's answers move with the rows beside them: one step for each of those
        rows, and for a model in single precision its grain besides. [lattice]
    """
    if not isinstance(contribution, VectorContribution):
        reach = contribution.region.magnitude
        return contribution.proven, SumTerms(relation="replace-one", largest_sum=reach, companions=0)
    companions = companion_rows(contribution, setting.relation)
    if contribution.grain > 0 and setting.relation == "add-remove":
        raise ModelError(
            "model must answer in double precision under add-remove, got answers that move by more "
            "than 1e-12 of their range with the rows beside them. Use replace-one, or convert it."
        )
    certificate = _certify(contribution, setting, companions, statement)
    largest = (setting.rows or ROWS_CAP) * contribution.region.magnitude
    return certificate, SumTerms(relation=setting.relation, largest_sum=largest, companions=companions)


def sum_stage(
    name: str,
    contribution: VectorContribution | SealedContribution | WholeContribution,
    setting: Setting,
    *,
    statement: str,
    epsilon: float,
    delta: float = 0.0,
    mechanism: NoiseName = "auto",
    joint: bool = False,
) -> Stage[Noise]:
    """Return the stage that adds up a contribution of every record; ``joint`` as in ``sum_noise``.

    Guarantees:
      - Pays for rounding, and for everything ``sum_terms`` names. [lattice]
    """
    certificate, terms = sum_terms(contribution, setting, statement=statement)
    promise = {"epsilon": epsilon, "delta": delta}
    noise = sum_noise(certificate, mechanism=mechanism, joint=joint, **promise, **terms)
    return Stage(name, contribution, noise)


def _certify(
    contribution: VectorContribution, setting: Setting, companions: int, statement: str
) -> Certificate:
    certificate = contribution.certificate.widen(companions * contribution.grain, statement)
    if contribution.foreign:
        limit = f"{contribution.grain:g}" if contribution.grain else "one lattice step"
        certificate = certificate.assume(
            f"a model's answer for a row moves by less than {limit} with the rows beside it"
        )
    return certificate.assume(ROWS_ASSUMED) if setting.rows is None else certificate
