"""Accumulated effects of one feature by PyALE and effector, on the models and rows of ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.peers.script import serve
from benchmarks.shap_models import cpu_seconds, fit


def answer(
    arrays: dict[str, Any], kinds: list[str], sizes: list[int], intervals: int, repeats: int
) -> list[dict[str, Any]]:
    """Return times and steps of both peers, for every model and the first rows of every size."""
    rows = arrays["rows"]
    found = []
    for size in sizes:
        for kind in kinds:
            model = fit(kind, rows.shape[1])
            jobs = {
                "PyALE": pyale_job(model, rows[:size], intervals),
                "effector": effector_job(model, rows[:size], intervals),
            }
            times = cpu_seconds(*jobs.values(), repeats=repeats)
            for (peer, job), seconds in zip(jobs.items(), times, strict=True):
                edges, curve = job()
                steps = np.diff(curve).tolist()
                found.append(
                    {
                        "peer": peer,
                        "model": kind,
                        "rows": size,
                        "seconds": seconds,
                        "edges": np.asarray(edges).tolist(),
                        "steps": steps,
                    }
                )
    return found


def pyale_job(model: Any, rows: Any, intervals: int) -> Callable[[], tuple[Any, Any]]:
    """Return the work of PyALE, which asks for a frame and an object that predicts."""
    import pandas as pd
    from PyALE import ale

    class Probability:
        def predict(self, frame: Any) -> Any:
            return model.predict_proba(frame.to_numpy())[:, 1]

    frame = pd.DataFrame(rows, columns=[f"f{place}" for place in range(rows.shape[1])])

    def work() -> tuple[Any, Any]:
        options = {"feature_type": "continuous", "include_CI": False, "plot": False}
        curve = ale(X=frame, model=Probability(), feature=["f0"], grid_size=intervals, **options)["eff"]
        return curve.index, curve.to_numpy()

    return work


def effector_job(model: Any, rows: Any, intervals: int) -> Callable[[], tuple[Any, Any]]:
    """Return the work of effector, whose accumulated effects have intervals of equal width."""
    from effector import ALE
    from effector.axis_partitioning import Fixed

    def work() -> tuple[Any, Any]:
        effects = ALE(rows, lambda moved: model.predict_proba(moved)[:, 1], nof_instances="all")
        effects.fit(0, binning_method=Fixed(intervals), centering=False)
        edges = np.linspace(rows[:, 0].min(), rows[:, 0].max(), intervals + 1)
        return edges, effects.eval(0, edges, centering=False)

    return work


if __name__ == "__main__":
    serve(answer)
