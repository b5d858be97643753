"""Reconstruction of backgrounds: what explanations give away of the records behind them.

Interventional SHAP values are means over the background's records, so that the values of many queries
are linear in the counts of records of each kind. Where kinds are few the counts are found by least
squares, to the last record. With noise that is calibrated to one record, they are not, and a guess at
one record of which all others are known stays under the ceiling.
"""

from __future__ import annotations

import itertools
from typing import Any, Literal

import numpy as np

from discreet.audit.attacks.ceiling import NOTHING_PROMISED, Ceiling
from discreet.audit.attacks.scoring import AttackResult, score_guesses
from discreet.audit.attacks.simulated.encoded import EncodedTable, prepared
from discreet.audit.attacks.simulated.reconstruction import logistic_model, unit_schema
from discreet.explain.shap.background import background
from discreet.explain.shap.values import shap_values
from discreet.mechanisms import Noise
from discreet.plans import Perturbation, Stage
from discreet.randomness import SimulatedNoise, public_generator
from discreet.schema import FloatArray

Released = Literal["values", "background"]


def reconstruct_background(
    *, epsilon: float | None = None, columns: int = 5, records: int = 8, trials: int = 20, seed: int = 0
) -> tuple[FloatArray, float]:
    """Solve for all records of a small background, from the values of all queries with 0 or 1.

    Args:
      epsilon: of all values together; None for values as they are.
      columns: each 0 or 1.
      records: of the background.
      trials: backgrounds that are drawn, and blind guesses.
      seed: of backgrounds and noise.

    Returns:
      The share of records that were found, of every trial, and what a blind guess finds on average.
    """
    from scipy.optimize import nnls

    kinds, stage = _kinds(columns), background_stage(columns, records, epsilon or 1.0)
    each = _values_of_kinds(stage, columns)
    generator, found, blind = public_generator(seed), [], []
    for trial in range(trials):
        counts, guess = (
            np.bincount(generator.integers(0, len(kinds), records), minlength=len(kinds))
            for _ in range(2)
        )
        table = EncodedTable(
            tuple(unit_schema(columns)), np.repeat(kinds, counts, axis=0), SimulatedNoise(trial)
        )
        seen = table.exact(stage) * stage.noise.step if epsilon is None else table.answer(stage)[0]
        solved, _ = nnls(each.T, seen, maxiter=100 * len(kinds))
        found.append(np.minimum(_rounded(solved, records), counts).sum() / records)
        blind.append(np.minimum(guess, counts).sum() / records)
    return np.array(found), float(np.mean(blind))


def guess_record(
    *,
    released: Released = "values",
    epsilon: float | None,
    delta: float = 0.0,
    columns: int = 3,
    records: int = 10,
    trials: int = 500,
    seed: int = 0,
) -> AttackResult:
    """Guess one record of a background of which all others are known: the likeliest kind of record.

    Args:
      released: the ``values`` of all queries, or a ``background`` of means that is paid for once and
        explains everything afterwards.
      epsilon: of all numbers together; None for numbers as they are.
      delta: of the promise.
      columns: each 0 or 1, so that there are 2^columns kinds.
      records: of the background.
      trials: guesses.
      seed: of records and noise.
    """
    kinds, make = _kinds(columns), mean_stage if released == "background" else background_stage
    stage = make(columns, records, epsilon or 1.0, delta)
    each, noise = _values_of_kinds(stage, columns), stage.noise
    assert isinstance(noise, Noise)
    generator, source = public_generator(seed), SimulatedNoise(seed)
    truth = generator.integers(0, len(kinds), trials)
    right = []
    for kind in truth:
        rest = each[generator.integers(0, len(kinds), records - 1)].sum(axis=0)
        steps = np.rint((rest + each[kind]) / noise.step).astype(np.int64)
        seen = steps * noise.step if epsilon is None else noise.release(steps, source)
        right.append(int(np.argmin(_unlikely(noise.norm, seen - rest - each))) == kind)
    ceiling = NOTHING_PROMISED if epsilon is None else Ceiling(epsilon, delta)
    target = f"a record behind {'SHAP values' if released == 'values' else 'a background'}"
    return score_guesses(right, len(kinds), ceiling, attack="likeliest record", target=target)


def background_stage(
    columns: int, records: int, epsilon: float, delta: float = 0.0
) -> Stage[Perturbation]:
    """Return what is released query by query: the values of all queries of zeros and ones."""
    plan = shap_values(
        logistic_model(columns), _kinds(columns), clip=None, epsilon=epsilon, delta=delta
    )
    (stage,) = prepared(plan, unit_schema(columns), records).stages
    return stage


def mean_stage(columns: int, records: int, epsilon: float, delta: float = 0.0) -> Stage[Perturbation]:
    """Return what is released of a background that is paid for once: the sums of its columns."""
    plan = background("mean", epsilon=epsilon, delta=delta)
    (stage,) = prepared(plan, unit_schema(columns), records).stages
    return stage


def _kinds(columns: int) -> FloatArray:
    """Return all records of zeros and ones."""
    return np.array(list(itertools.product((0.0, 1.0), repeat=columns)))


def _values_of_kinds(stage: Stage[Perturbation], columns: int) -> FloatArray:
    """Return what one record of every kind adds to what is released."""
    names = tuple(unit_schema(columns))
    alone = [
        EncodedTable(names, kind[None], SimulatedNoise(0)).exact(stage) for kind in _kinds(columns)
    ]
    return np.asarray(np.array(alone) * stage.noise.step, dtype=np.float64)


def _rounded(counts: FloatArray, total: int) -> FloatArray:
    """Return whole counts with a given total, the greatest remainders rounded up."""
    scaled = counts * (total / max(counts.sum(), 1e-12))
    whole: FloatArray = np.floor(scaled)
    missing = int(total - whole.sum())
    whole[np.argsort(whole - scaled, kind="stable")[:missing]] += 1
    return whole


def _unlikely(norm: Literal["l1", "l2", "linf"], noise: FloatArray) -> FloatArray:
    """Return how unlikely noise of a law is that is calibrated to a norm: the greater, the more so."""
    orders: dict[str, Any] = {"l1": 1, "l2": 2, "linf": np.inf}
    return np.asarray(np.linalg.norm(noise, ord=orders[norm], axis=-1))
