"""Fingerprinting: released means speak of the records behind them.

Records are vectors of signs, with a mean of their own in every column, drawn anew in every trial.
*Tracing* asks whether a record was in the table: it is correlated with what the release has above the
columns' means (Homer et al. 2008; Dwork, Smith, Steinke, Ullman and Vadhan 2015). What lower bounds on
private means rest on is that exact means are always traced; ``limits.vectors`` has that bound.

*Planted secrets* are the experiment of Alissaiei (2026), section 8.4: a sign per column moves the mean
of all records, and is read off an explanation. Such a secret is a fact about all records at once. A
promise for one record does not cover it: its ceiling is that of n replaced records, which is none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from discreet.audit.attacks.ceiling import Ceiling
from discreet.audit.attacks.scoring import AttackResult, Rate, score_attack
from discreet.audit.attacks.simulated.encoded import noisy_sums, prepared
from discreet.explain.shap.background import background
from discreet.explain.shap.values import shap_values
from discreet.models import Model
from discreet.numerics import check_positive, check_whole
from discreet.plans.kinds import NoiseChoice
from discreet.randomness import public_generator
from discreet.schema import FloatArray, Number, Schema

Means = Callable[[FloatArray, int], FloatArray]
"""Released means, one row per table, of tables x rows x columns and a seed."""


def trace_records(
    release: Means,
    *,
    rows: int,
    columns: int,
    ceiling: Ceiling,
    target: str,
    trials: int = 1_000,
    seed: int = 0,
) -> AttackResult:
    """Ask of released means whether a record was in the table.

    With p the columns' means, x the record and m the release, the score is the sum over columns of
    (m - p)(x - p), less half of what it is on average for a member: (1 - p^2) / n. It is compared with
    zero, which nobody chose by looking.

    Args:
      release: the mechanism.
      rows: records per table.
      columns: signs per record.
      ceiling: what its promise implies for tables in which one record was replaced.
      target: what is attacked.
      trials: tables with the record, and as many without.
      seed: of tables and noise.
    """
    check_whole("rows", rows, 2)
    check_whole("columns", columns, 1)
    check_whole("trials", trials, 20, hint="Fewer cannot be told from chance.")
    generator = public_generator(seed)
    biases = generator.uniform(-1.0, 1.0, (2 * trials, columns))
    tables = _signs(generator, biases, rows)
    records = tables[:, 0].copy()
    records[trials:] = _signs(generator, biases[trials:], 1)[:, 0]
    scores = _scores(release(tables, seed + 1), records, biases, rows)
    return score_attack(
        scores[:trials], scores[trials:], ceiling, attack="fingerprint", target=target, threshold=0.0
    )


def exact_means(tables: FloatArray, seed: int) -> FloatArray:
    """Return the means themselves: what is released where nobody cares."""
    return np.asarray(tables.mean(axis=1))


def gaussian_means(noise_std: float) -> Means:
    """Return means with normal noise of a given size, whatever it promises."""

    def release(tables: FloatArray, seed: int) -> FloatArray:
        means = tables.mean(axis=1)
        return np.asarray(means + noise_std * public_generator(seed).normal(size=means.shape))

    return release


def background_means(
    rows: int, columns: int, *, epsilon: float, delta: float = 0.0, mechanism: NoiseChoice = "auto"
) -> Means:
    """Return the means that a private background of kind ``mean`` is made of."""
    schema = sign_schema(columns)
    plan = background("mean", epsilon=epsilon, delta=delta, mechanism=mechanism)
    program = prepared(plan, schema, rows)

    def release(tables: FloatArray, seed: int) -> FloatArray:
        return noisy_sums(program, tuple(schema), tables, seed) / rows

    return release


def shap_means(rows: int, columns: int, *, epsilon: float, delta: float = 0.0) -> Means:
    """Return the means that private SHAP values of a linear model tell: x_j - phi_j / w_j.

    The model has equal weights, so that its answers lie between -1 and 1, and the query is zero.
    """
    from sklearn.linear_model import LinearRegression

    schema, weight = sign_schema(columns), 1.0 / columns
    weighted = LinearRegression(fit_intercept=False).fit(np.eye(columns), np.full(columns, weight))
    model = Model(weighted, bounds=(-1.0, 1.0))
    plan = shap_values(model, np.zeros(columns), clip=None, epsilon=epsilon, delta=delta)
    program = prepared(plan, schema, rows)

    def release(tables: FloatArray, seed: int) -> FloatArray:
        return -noisy_sums(program, tuple(schema), tables, seed) / rows / weight

    return release


def sign_schema(columns: int) -> Schema:
    """Return the schema of records of signs."""
    check_whole("columns", columns, 1)
    return Schema({f"sign {place}": Number(-1.0, 1.0, missing=False) for place in range(columns)})


def _signs(generator: np.random.Generator, biases: FloatArray, rows: int) -> FloatArray:
    """Return tables x rows x columns of signs whose means are the biases."""
    drawn = generator.uniform(-1.0, 1.0, (len(biases), rows, biases.shape[1]))
    return np.where(drawn < biases[:, None, :], 1.0, -1.0)


def _scores(released: FloatArray, records: FloatArray, biases: FloatArray, rows: int) -> FloatArray:
    above = np.clip(released, -1.0, 1.0) - biases
    expected = (1.0 - biases**2) / (2.0 * rows)
    return np.asarray((above * (records - biases) - expected).sum(axis=1))


@dataclass(frozen=True)
class Planted:
    """Tables of normal records whose columns' means were moved by a secret sign.

    Args:
      secrets: tables x columns, -1 or 1.
      tables: tables x rows x columns, clipped.
    """

    secrets: FloatArray
    tables: FloatArray


def plant_secrets(
    trials: int,
    *,
    rows: int = 100,
    columns: int = 20,
    signal: float = 0.6,
    clip: float = 3.0,
    seed: int = 0,
) -> Planted:
    """Return records N(signal * secret, 1), clipped to [-clip, clip]: the sizes of Table 8."""
    check_whole("trials", trials, 1)
    check_positive("clip", clip)
    generator = public_generator(seed)
    secrets = np.where(generator.random((trials, columns)) < 0.5, 1.0, -1.0)
    drawn = generator.normal(size=(trials, rows, columns)) + signal * secrets[:, None, :]
    return Planted(secrets, np.clip(drawn, -clip, clip))


def read_secrets(
    planted: Planted, released: FloatArray, baseline: FloatArray, direction: FloatArray | float = 1.0
) -> Rate:
    """Return how many signs are right that are read off what was released.

    Args:
      planted: the truth.
      released: tables x columns, attributions or means.
      baseline: what is released of a table without any signal.
      direction: how a column's mean moves its number: -1 or 1 each. The published estimator takes all
        to be 1; whoever knows the model knows better.
    """
    right = np.sign(released - baseline) * direction == planted.secrets
    return Rate(int(right.sum()), right.size)
