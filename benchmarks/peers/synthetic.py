"""MST and AIM, as OpenDP ships them over mbi: synthetic codes and the time they took."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.peers.script import serve


def synthesize(arrays: dict[str, Any], epsilon: float, delta: float, algorithm: str) -> dict[str, Any]:
    """Return rows drawn by MST or AIM from a table of codes (one record added or removed)."""
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    codes, sizes = arrays["codes"], arrays["sizes"]
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
            algorithm={"MST": dp.mbi.MST, "AIM": dp.mbi.AIM}[algorithm](),
        )
        .release()
    )
    drawn = table.synthesize()
    took = time.perf_counter() - start
    rows = np.column_stack([np.asarray(drawn[name], dtype=np.int64) for name in names])
    return {"codes": rows.tolist(), "seconds": took, "epsilon": epsilon}


if __name__ == "__main__":
    serve(synthesize)
