"""Noisy sums of vectors that records contribute, with everything a model call adds to the bound."""

from __future__ import annotations

from discreet.certificates import Certificate
from discreet.data import ROWS_CAP, VectorContribution, companion_rows
from discreet.errors import ModelError
from discreet.mechanisms import Noise, NoiseName, sum_noise
from discreet.plans import Setting, Stage

ROWS_ASSUMED = f"the table has at most {ROWS_CAP} rows"


def sum_stage(
    name: str,
    contribution: VectorContribution,
    setting: Setting,
    *,
    statement: str,
    epsilon: float,
    delta: float = 0.0,
    mechanism: NoiseName = "auto",
) -> Stage[Noise]:
    """Return the stage that adds up a contribution of every record.

    Guarantees:
      - Pays for rounding, and for what a model's answers move with the rows beside them: one step
        for each of those rows, and for a model in single precision its grain besides. [lattice]
    """
    companions = companion_rows(contribution, setting.relation)
    if contribution.grain > 0 and setting.relation == "add-remove":
        raise ModelError(
            "model must answer in double precision under add-remove, got answers that move by more "
            "than 1e-12 of their range with the rows beside them. Use replace-one, or convert it."
        )
    noise = sum_noise(
        _certify(contribution, setting, companions, statement),
        relation=setting.relation,
        epsilon=epsilon,
        delta=delta,
        mechanism=mechanism,
        largest_sum=(setting.rows or ROWS_CAP) * contribution.region.magnitude,
        companions=companions,
    )
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
