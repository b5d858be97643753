"""Friedman's H-statistic of all pairs of some features by pyartemis, on the models and rows of ours."""

from __future__ import annotations

import time
from typing import Any

from benchmarks.peers.script import serve
from benchmarks.shap_models import fit


def answer(
    arrays: dict[str, Any], kinds: list[str], features: int, repeats: int
) -> list[dict[str, Any]]:
    """Return times and H^2 of the pairs of the first features, for every model."""
    import pandas as pd
    from artemis.interactions_methods.model_agnostic import FriedmanHStatisticMethod

    rows = arrays["rows"]
    names = [f"f{place}" for place in range(rows.shape[1])]
    frame = pd.DataFrame(rows, columns=names)
    found = []
    for kind in kinds:
        model, times = fit(kind, rows.shape[1]), []
        for _ in range(repeats):
            start = time.process_time()
            method = FriedmanHStatisticMethod()
            method.fit(
                model,
                frame,
                predict_function=lambda fitted, moved: fitted.predict_proba(moved.to_numpy())[:, 1],
                features=names[:features],
                calculate_ova=False,
            )
            times.append(time.process_time() - start)
        pairs = [
            [names.index(first), names.index(second), value]
            for first, second, value in method.ovo.to_numpy().tolist()
        ]
        found.append({"model": kind, "seconds": min(times), "pairs": pairs})
    return found


if __name__ == "__main__":
    serve(answer)
