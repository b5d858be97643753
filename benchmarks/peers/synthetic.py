"""MST and AIM, as OpenDP ships them over mbi: synthetic codes and the time they took.

Settings differ from the defaults so that they may end. MST divides its budget for choices by their
number and leaves one last digit for rounding, which is too little from some ten columns on: here it
leaves 1e-12 of it. AIM fits its model anew in every one of 16 rounds per column: here it has two rounds
per column to begin with, tables of pairs (which is what all are measured by) and a model of at most
10 MB, and may still take more than a quarter of an hour. Both have a cell for values that are not
listed, which noise may fill: such records are dropped.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.peers.script import serve

_LEFT = 1 - 1e-12
_ROUNDS_PER_COLUMN = 2
_MODEL_MB = 10.0


def synthesize(arrays: dict[str, Any], epsilon: float, delta: float, algorithm: str) -> dict[str, Any]:
    """Return rows drawn by MST or AIM from a table of codes (one record added or removed)."""
    import opendp.prelude as dp
    import polars as pl
    from opendp.extras.mbi import _mst

    dp.enable_features("contrib")
    _mst.prior = lambda budget: budget * _LEFT
    codes, sizes = arrays["codes"], arrays["sizes"]
    rounds = _ROUNDS_PER_COLUMN * len(sizes)
    algorithms = {
        "MST": dp.mbi.MST(),
        "AIM": dp.mbi.AIM(queries=2, max_size=_MODEL_MB, rounds=rounds),
    }
    names = [f"c{place}" for place in range(len(sizes))]
    frame = pl.LazyFrame({name: codes[:, place] for place, name in enumerate(names)})
    start = time.perf_counter()
    context = dp.Context.compositor(
        data=frame,
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(rho=float(arrays["rho"]), delta=delta),
        split_evenly_over=1,
    )
    table = (
        context.query()
        .contingency_table(
            keys={name: list(range(int(size))) for name, size in zip(names, sizes, strict=True)},
            algorithm=algorithms[algorithm],
        )
        .release()
    )
    drawn = table.synthesize().drop_nulls()
    took = time.perf_counter() - start
    rows = np.column_stack([np.asarray(drawn[name], dtype=np.int64) for name in names])
    return {"codes": rows.tolist(), "seconds": took, "epsilon": epsilon}


if __name__ == "__main__":
    serve(synthesize)
