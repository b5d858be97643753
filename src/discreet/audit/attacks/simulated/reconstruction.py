"""Reconstruction of queries: what an explanation gives away of the row it explains.

SHAP values are nearly a function of the query, so that the way back can be learned from rows the
attacker explains himself (Luo, Jiang and Zhang 2022, as Ma, Wu and Yan 2026 cite them).

A guess is right if it is within a tolerance. What a promise allows follows from how often a guess that
sees nothing is right: ``Ceiling.tpr`` at that share.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.audit.attacks.ceiling import NOTHING_PROMISED, Ceiling
from discreet.audit.attacks.scoring import DOUBT, Rate
from discreet.audit.attacks.simulated.encoded import prepared
from discreet.data.contributions import SealedContribution
from discreet.explain.shap.values import shap_values
from discreet.models import Model
from discreet.numerics import check_whole
from discreet.plans import Perturbation, Stage
from discreet.randomness import SimulatedNoise, public_generator
from discreet.schema import FloatArray, Number, Schema

TOLERANCE = 0.05
"""A guess this near, in ranges of a column, is right."""

_TREES, _LEAF = 60, 3
WEIGHTS = (2.0, -1.5, 1.0, 3.0, -2.5, 0.7)
"""Of the logistic model that is explained: no two columns count alike."""


@dataclass(frozen=True)
class Reconstruction:
    """How near guesses came to what they were about.

    Args:
      attack: how the guesses were made.
      target: what they were made from.
      ceiling: what the promise implies.
      within: one value of every row: how many guesses were within the tolerance.
      blind: the greatest chance that a guess which sees nothing is.
      errors: the mean absolute error of every row, in ranges of the columns.
      blind_error: that of the best guess which sees nothing, on average.
    """

    attack: str
    target: str
    ceiling: Ceiling
    within: Rate
    blind: float
    errors: FloatArray
    blind_error: float

    @property
    def limit(self) -> float:
        """The greatest share of right guesses that the promise allows."""
        return self.ceiling.tpr(self.blind)

    @property
    def error(self) -> tuple[float, float, float]:
        """The mean absolute error and the ends of its 95 % interval."""
        middle = float(self.errors.mean())
        half = 1.96 * float(self.errors.std(ddof=1)) / len(self.errors) ** 0.5
        return middle, middle - half, middle + half

    def beats(self, *, attacks: int = 1) -> bool:
        """Say whether guesses are surely right more often than allowed, one of several attacks."""
        check_whole("attacks", attacks, 1)
        return self.within.at_least(DOUBT / attacks) > self.limit

    def __str__(self) -> str:
        middle, low, high = self.error
        return (
            f"{self.attack} of {self.target}: within {TOLERANCE:g} of the range "
            f"{self.within.value:.3f} [{self.within.low:.3f}, {self.within.high:.3f}], at most "
            f"{self.limit:.3f}, blind {self.blind:.3f}; mean error {middle:.3f} "
            f"[{low:.3f}, {high:.3f}], blind {self.blind_error:.3f}"
        )


@dataclass(frozen=True)
class ExplainedQueries:
    """A logistic model, a public background and rows to be explained: independent uniform numbers.

    Args:
      columns: of the rows.
      background: public rows.
    """

    columns: int = 4
    background: int = 20

    @property
    def schema(self) -> Schema:
        """Numbers between 0 and 1."""
        return unit_schema(self.columns)

    def stage(self, epsilon: float, query: FloatArray) -> Stage[Perturbation]:
        """Return what is released of a sealed query: one value of it is protected, over its range."""
        import pandas as pd

        known = pd.DataFrame(self.public_rows(), columns=list(self.schema))
        plan = shap_values(
            logistic_model(self.columns),
            query,
            protects="query",
            background=known,
            clip=None,
            epsilon=epsilon,
        )
        (stage,) = prepared(plan, self.schema, 1).stages
        return stage

    def explain(self, queries: FloatArray) -> FloatArray:
        """Return the exact SHAP values of many queries."""
        from discreet.explain.shap.engines import choose_engine

        bound = logistic_model(self.columns).bind(self.schema)
        engine = choose_engine(bound, self.schema, coalitions=None, seed=0)
        return np.asarray(engine.against(self.public_rows())(queries))

    def draw(self, rows: int, seed: int) -> FloatArray:
        """Return rows as the owner and the attacker have them."""
        return public_generator(seed).random((rows, self.columns))

    def public_rows(self) -> FloatArray:
        """Return the background, which everybody knows."""
        return public_generator(7).random((self.background, self.columns))


def reconstruct_queries(
    *,
    epsilon: float | None = None,
    noise_std: float = 0.0,
    known: int = 2_000,
    queries: int = 300,
    seed: int = 0,
    setting: ExplainedQueries = ExplainedQueries(),  # noqa: B008  (frozen)
) -> Reconstruction:
    """Learn the way back from SHAP values to queries, and try it on queries that were not learned from.

    Args:
      epsilon: of values whose query is protected; None for values as they are.
      noise_std: normal noise on them instead, as a mechanism adds it that protects the background.
      known: rows that the attacker explains himself, with the same noise.
      queries: that he sees explained.
      seed: of rows and noise.
      setting: what is explained.
    """
    from sklearn.ensemble import ExtraTreesRegressor

    own, sought = setting.draw(known, 3 * seed + 1), setting.draw(queries, 3 * seed + 2)
    seen = _explained(setting, np.vstack([own, sought]), epsilon, noise_std, seed)
    model = ExtraTreesRegressor(_TREES, min_samples_leaf=_LEAF, random_state=seed, n_jobs=1)
    away = np.abs(model.fit(seen[:known], own).predict(seen[known:]) - sought)
    # One value of every query: values of one query share its noise and are not independent.
    asked = public_generator(3 * seed).integers(0, setting.columns, queries)
    right = away[np.arange(queries), asked] <= TOLERANCE
    target = "exact values" if epsilon is None and noise_std == 0 else "noisy values"
    return Reconstruction(
        attack="inverse map",
        target=f"{target} of a query",
        ceiling=NOTHING_PROMISED if epsilon is None else Ceiling(epsilon),
        within=Rate(int(right.sum()), queries),
        blind=2 * TOLERANCE,
        errors=away.mean(axis=1),
        blind_error=0.25,
    )


def unit_schema(columns: int) -> Schema:
    """Return the schema of numbers between 0 and 1."""
    check_whole("columns", columns, 1, len(WEIGHTS))
    return Schema({f"number {place}": Number(0.0, 1.0, missing=False) for place in range(columns)})


def logistic_model(columns: int) -> Model:
    """Return a logistic model of so many columns, with weights that differ."""
    from sklearn.linear_model import LogisticRegression

    fitted = LogisticRegression().fit(np.eye(columns), np.arange(columns) % 2 if columns > 1 else [0])
    fitted.coef_ = np.array([WEIGHTS[:columns]])
    fitted.intercept_ = np.array([-0.5 * sum(WEIGHTS[:columns])])
    return Model(fitted)


def _explained(
    setting: ExplainedQueries, rows: FloatArray, epsilon: float | None, noise_std: float, seed: int
) -> FloatArray:
    """Return the values of all rows as they are released."""
    exact = setting.explain(rows)
    if epsilon is None:
        return np.asarray(exact + noise_std * public_generator(seed + 11).normal(size=exact.shape))
    stage, source = setting.stage(epsilon, rows[0]), SimulatedNoise(seed)
    assert isinstance(stage.contribution, SealedContribution)
    inside = np.clip(exact, *stage.contribution.region.limits)
    steps = np.rint(inside / stage.noise.step).astype(np.int64)
    return np.vstack([stage.noise.release(values, source) for values in steps])
