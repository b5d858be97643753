"""Tiny tables on which every neighbour can be tried, for permutation importance."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

import discreet as dc
from discreet.data import Summand
from discreet.data.blocks import Block
from discreet.data.engine import sum_block
from discreet.engines.table import engine_for
from discreet.explain.permutation.contribution import PermutedLosses
from discreet.explain.permutation.losses import Draws, choose_scorer
from discreet.privacy.certificate import NORMS, Bounds, Certificate
from tests.explain.shap.cases import ORDERS, tiny_models

NAMES = ("a", "b", "y")
TINY = dc.Schema(
    {
        "a": dc.Number(0, 2, step=1, missing=False),
        "b": dc.Number(0, 1, step=1, missing=False),
        "y": dc.Category(0, 1, missing=False, other=False),
    },
    target="y",
)
RECORDS = list(itertools.product([0.0, 1.0, 2.0], [0.0, 1.0], [0.0, 1.0]))
DRAWS = np.array([[0.0, 1.0], [2.0, 0.0], [1.0, 1.0]])


def models() -> dict[str, Any]:
    """Return one model for every engine."""
    known = tiny_models()
    return {
        "opaque": known["opaque"],
        "linear": dc.Model(known["linear"]._model, bounds=(-2, 3)),
        "logistic": known["logistic"],
        "network": known["network"],
        "forest": known["forest"],
        "boosted": known["boosted"],
    }


def permuted(
    model: Any,
    schema: dc.Schema = TINY,
    *,
    scoring: str = "auto",
    repeats: int = 1,
    draws: np.ndarray | None = None,
    seed: int = 0,
    clip: float | None = None,
) -> PermutedLosses:
    bound = (model if isinstance(model, dc.Model) else dc.Model(model)).bind(schema)
    scorer = choose_scorer(bound, schema, scoring, clip)
    values = None if draws is None else Draws.of(draws, seed)
    return PermutedLosses(
        bound, engine_for("permute", bound), scorer, schema.target, repeats, seed, values
    )


def total(contribution: Any, records: Any, step: float, block_rows: int = 100) -> np.ndarray:
    """Return the rounded sum over blocks of a table, in values."""
    values = np.asfortranarray(np.array(records, dtype=float))
    parts = [np.zeros(contribution.size)]
    for start in range(0, len(values), block_rows):
        block = Block(start, contribution.columns, values[start : start + block_rows])
        parts.append(sum_block(block, [Summand(contribution, step)])[0] * step)
    return np.sum(parts, axis=0)


def replacements(size: int, records: list[Any] = RECORDS) -> Iterator[tuple[Any, Any]]:
    """Yield all pairs of tables of so many records that differ in the first or the last record."""
    for rest in itertools.product(records, repeat=size - 1):
        for old, new in itertools.combinations(records, 2):
            yield (old, *rest), (new, *rest)
            yield (*rest, old), (*rest, new)


def worst(contribution: Any, pairs: Any, step: float = 2.0**-40, **options: int) -> Bounds:
    """Return the greatest change of the sum over pairs of tables."""
    known: dict[Any, np.ndarray] = {}

    def sums(table: Any) -> np.ndarray:
        if table not in known:
            known[table] = total(contribution, table, step, **options)
        return known[table]

    found = dict.fromkeys(NORMS, 0.0)
    for one, other in pairs:
        change = sums(one) - sums(other)
        for norm in NORMS:
            found[norm] = max(found[norm], float(np.linalg.norm(change, ORDERS[norm])))
    return Bounds(**found)


def within(found: Bounds, certificate: Certificate, relation: str) -> bool:
    return all(getattr(found, n) <= certificate.sensitivity(n, relation) for n in NORMS)
