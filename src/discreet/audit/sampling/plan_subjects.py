"""Plans on trial: the noise that the session adds to a plan's sums, on counts of neighbours."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from discreet.audit.sampling.drawn_ahead import DrawnAhead
from discreet.audit.sampling.subjects import EPSILON, RunSubject
from discreet.plans import Plan, Setting
from discreet.privacy.relation import Relation
from discreet.randomness import NoiseSource
from discreet.schema import Category, Number, Schema
from discreet.select.choose.most_frequent import most_frequent
from discreet.select.quantiles.percentile import percentile
from discreet.tables.histogram.plan import histogram

_ROWS = 15


def plans(source: NoiseSource | None = None) -> Iterator[RunSubject]:
    """Yield cheap plans, prepared as the session does, with counts in the place of a table.

    Args:
      source: of noise; None for the product's own, drawn ahead.
    """
    source = DrawnAhead() if source is None else source
    schema = Schema(
        {
            "kind": Category("a", "b", missing=False, other=False),
            "size": Number(0, 3, step=1, missing=False),
        }
    )
    setting = Setting(schema, Relation.REPLACE_ONE, _ROWS)
    pairs: list[tuple[Plan, list[int], list[int]]] = [
        (histogram("kind", epsilon=EPSILON), [10, 5], [9, 6]),
        (most_frequent("kind", epsilon=EPSILON), [8, 7], [7, 8]),
        (percentile("size", 50, epsilon=EPSILON), [7, 0, 0, 8], [8, 0, 0, 7]),
    ]
    for plan, first, second in pairs:
        yield _prepared(plan, setting, first, second, source)


def _prepared(
    plan: Plan, setting: Setting, first: list[int], second: list[int], source: NoiseSource
) -> RunSubject:
    (stage,) = plan.prepare(setting).stages
    rest = [0] * (stage.contribution.size - len(first))
    return RunSubject(
        f"plan {type(plan).__name__}",
        f"counts {first} and {second}",
        lambda counts: stage.noise.release(counts, source),
        np.array(first + rest),
        np.array(second + rest),
    )
