"""What a private release costs beyond our own exact computation."""

from __future__ import annotations

from typing import Any

import numpy as np

import discreet as dc
from benchmarks.curves_cases import (
    KINDS,
    NAMES,
    SCHEMA,
    Rows,
    mean_of,
    model_of,
    output_of,
    row,
    rows_of,
    sizes,
)
from benchmarks.shap_models import cpu_seconds


def measure_overhead(quick: bool) -> Rows:
    """Return what a release of partial dependence costs beyond the same means."""
    from benchmarks.curves_releases import Once
    from discreet.data import PrivateTable
    from discreet.plans import Setting

    found = []
    for size in sizes(quick):
        rows, classes = rows_of(size)
        raw = np.column_stack([rows, classes])
        for kind in KINDS:
            plan = dc.partial_dependence(
                model_of(kind, output_of(kind)), "f0", resolution=20, rug=False, epsilon=1.0
            )
            program = plan.prepare(Setting(SCHEMA, "replace-one", size))

            def plain(c: Any = program.stages[0].contribution, r: Any = raw) -> None:
                encoded = [SCHEMA[name].encode(r[:, place]) for place, name in enumerate(NAMES)]
                mean_of(c, np.stack(encoded).T)

            exact, private = cpu_seconds(
                plain,
                lambda p=program, r=raw: p.finish(Once(PrivateTable(r, SCHEMA))),
                repeats=5 if quick else 9,
            )
            aimed = kind != "logistic"
            target = "<= 1.05 ours" if aimed else "none"
            met = not aimed or private <= 1.05 * exact
            found.append(row(kind, size, exact, private, target, met))
    return found
