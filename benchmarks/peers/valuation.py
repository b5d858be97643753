"""Data Shapley values by pyDVL: random orders, truncated ones, nearest neighbours; one thread."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.peers.script import serve


def answer(
    arrays: dict[str, Any], sizes: list[int], orders: list[int], truncation: float, neighbours: int
) -> list[dict[str, Any]]:
    """Return processor times and mean standard errors for the first records of every size."""
    from pydvl.valuation import Dataset
    from sklearn.neighbors import KNeighborsClassifier

    test = Dataset(arrays["test_x"], arrays["test_y"])
    found = []
    for size, count in zip(sizes, orders, strict=True):
        train = Dataset(arrays["x"][:size], arrays["y"][:size])
        row: dict[str, Any] = {"n": size}
        row["permutation"] = _orders(train, test, count, None)
        row["truncated"] = _orders(train, test, count, truncation)
        model = KNeighborsClassifier(n_neighbors=neighbours)
        row["nearest"] = _nearest(model, train, test)
        found.append(row)
    return found


def _orders(train: Any, test: Any, count: int, truncation: float | None) -> dict[str, Any]:
    from joblib import parallel_config
    from pydvl.valuation import ModelUtility, SupervisedScorer
    from pydvl.valuation.methods import ShapleyValuation, TMCShapleyValuation
    from pydvl.valuation.samplers import PermutationSampler
    from pydvl.valuation.samplers.truncation import RelativeTruncation
    from pydvl.valuation.stopping import MaxUpdates
    from sklearn.linear_model import LogisticRegression

    scorer = SupervisedScorer("accuracy", test, default=0.5, range=(0, 1))
    utility = ModelUtility(LogisticRegression(solver="liblinear"), scorer)
    done = MaxUpdates(count)
    if truncation is None:
        sampler = PermutationSampler(seed=0, batch_size=1)
        valuation: Any = ShapleyValuation(utility, sampler, is_done=done, progress=False)
    else:
        cut = RelativeTruncation(rtol=truncation)
        valuation = TMCShapleyValuation(utility, truncation=cut, is_done=done, seed=0, progress=False)
    with parallel_config(n_jobs=1):
        start = time.process_time()
        valuation.fit(train)
        spent = time.process_time() - start
    result = valuation.result
    return {
        "seconds": spent,
        "orders": float(result.counts.mean()),
        # Where a record's marginals are all alike its variance comes out as minus a rounding.
        "error": float(np.nan_to_num(result.stderr).mean()),
        "values": result.values[result.indices.argsort()].tolist(),
    }


def _nearest(model: Any, train: Any, test: Any) -> dict[str, Any]:
    from pydvl.valuation.methods import KNNShapleyValuation

    valuation = KNNShapleyValuation(model, test, progress=False)
    start = time.process_time()
    valuation.fit(train)
    spent = time.process_time() - start
    result = valuation.result
    return {"seconds": spent, "values": result.values[result.indices.argsort()].tolist()}


if __name__ == "__main__":
    serve(answer)
