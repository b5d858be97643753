"""How far values of sources will be off, before a row is read: a rehearsal on the public test rows.

Sources of equal size are imagined whose records are like the public test rows, but for the labels: of
the first source they are right, of the last any label is as likely, and in between in part. What lies
between the best and the worst is what an error is compared with: noise as large as that says nothing.
"""

from __future__ import annotations

import numpy as np

from discreet.plans.expected import Expected
from discreet.schema import FloatArray
from discreet.value.sources.game import SourceGame, SourceTables, TestCells
from discreet.value.sources.result import SourceCells, SourceValues, as_test, half_widths

_REFERENCE_ROWS = 20_000
"""How many records are imagined where their number is private."""

_ROWS, _DRAWS = 200, 12
_LEAST = 1e-9
_APART = "what parts a source with right labels from one with random labels, on the test rows"


def expected_errors(counted: SourceValues, cells: SourceCells, rows: int | None) -> dict[str, Expected]:
    """Return the half-width of the values' bands beside what they are to tell apart."""
    layout, test = cells.layout, as_test(counted.test)
    imagined = imagined_counts(layout, test, rows or _REFERENCE_ROWS)
    game = SourceGame(layout, test.thinned(_ROWS), counted.score, counted.noise_std)
    half = float(half_widths(game, imagined, counted.semivalue, counted.normal, _DRAWS).mean())
    size = max(float(np.ptp(game.values(imagined, counted.semivalue))), _LEAST)
    if rows is None:
        return {"value": Expected(half * _REFERENCE_ROWS, size, _APART, unknown="noise")}
    return {"value": Expected(half, size, _APART)}


def imagined_counts(layout: SourceTables, test: TestCells, rows: int) -> FloatArray:
    """Return the flat counts of imagined sources: right labels in the first, random in the last."""
    shares = test.weights / test.weights.sum() * rows / layout.sources
    classes = np.bincount(test.labels, shares, layout.classes)
    right = np.linspace(1.0, 0.0, layout.sources)[:, None, None]
    parts = [(right[:, 0] * classes + (1 - right[:, 0]) * classes.mean()).ravel()]
    for place, count in enumerate(layout.cells):
        joint = np.zeros((layout.classes, count))
        np.add.at(joint, (test.labels, test.cells[:, place]), shares)
        parts.append((right * joint + (1 - right) * joint.mean(axis=0)).ravel())
    return np.concatenate(parts)
