"""Accumulated effects of one feature beside PyALE and effector, in their own environment."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.curves_cases import KINDS, TREES, Rows, bind, mean_of, row, rows_of, sizes
from benchmarks.peers import ask_peer, missing
from benchmarks.shap_models import cpu_seconds

PEERS = ("PyALE", "effector")
INTERVALS = 20
REPEATS = 5


def measure_effects(quick: bool) -> Rows:
    """Return accumulated effects, with the intervals each peer lays: quantiles, or of equal width."""
    if missing(*PEERS):
        return []
    rows = np.ascontiguousarray(rows_of(max(sizes(quick)))[0])
    options = {"kinds": KINDS, "sizes": sizes(quick), "intervals": INTERVALS, "repeats": REPEATS}
    found = []
    for theirs in ask_peer("PyALE", "accumulated", {"rows": rows}, **options):
        kind, size, peer = theirs["model"], theirs["rows"], theirs["peer"]
        values = rows_of(size)[0]
        (ours,) = cpu_seconds(
            lambda k=kind, v=values, p=peer: effects(k, v, lay_edges(v[:, 0], p)), repeats=REPEATS
        )
        steps = effects(kind, values, np.array(theirs["edges"]))
        differs = float(np.nanmax(np.abs(steps - theirs["steps"])))
        least = 3 if kind in TREES else 1
        met = theirs["seconds"] >= least * ours
        more = {"peer": peer, "differs": differs}
        found.append(row(kind, size, theirs["seconds"], ours, f">= {least}", met, **more))
    return found


def lay_edges(values: Any, peer: str) -> Any:
    """Return the ends of the intervals as the peer lays them."""
    if peer == "effector":
        return np.linspace(values.min(), values.max(), INTERVALS + 1)
    return np.quantile(values, np.linspace(0, 1, INTERVALS + 1), method="inverted_cdf")


def effects(kind: str, rows: Any, edges: Any) -> Any:
    """Return the mean move of the model over each interval, exact, by what our plans add up."""
    from discreet.explain.ale.contribution import interval_effects

    means = mean_of(interval_effects(bind(kind), "f0", edges, INTERVALS, 1.0), rows)
    moves, counts = means[:INTERVALS], means[INTERVALS:]
    return np.divide(moves, counts, out=np.full(INTERVALS, np.nan), where=counts > 0)
