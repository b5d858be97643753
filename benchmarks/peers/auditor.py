"""Lower bounds on epsilon by jax-privacy's auditor, from scores of two sides."""

from __future__ import annotations

import time
from typing import Any

from benchmarks.peers.script import serve


def answer(
    arrays: dict[str, Any], pairs: list[str], deltas: list[float], error: float
) -> dict[str, dict[str, list[float]]]:
    """Return the bound and the seconds of every repeat of every pair.

    Args:
      arrays: ``<pair> first`` and ``<pair> second``, a row of scores per repeat.
      pairs: their names.
      deltas: of each pair.
      error: one minus the confidence.
    """
    from jax_privacy.auditing import CanaryScoreAuditor

    found: dict[str, dict[str, list[float]]] = {}
    for pair, delta in zip(pairs, deltas, strict=True):
        bounds, seconds = [], []
        CanaryScoreAuditor([1.0, 2.0], [0.0, 1.0]).epsilon_clopper_pearson(error)  # warm
        rows = zip(arrays[f"{pair} first"], arrays[f"{pair} second"], strict=True)
        for out_scores, in_scores in rows:
            start = time.perf_counter()
            auditor = CanaryScoreAuditor(in_scores, out_scores)
            bounds.append(float(auditor.epsilon_clopper_pearson(error, delta, one_sided=False)))
            seconds.append(time.perf_counter() - start)
        found[pair] = {"bounds": bounds, "seconds": seconds}
    return found


if __name__ == "__main__":
    serve(answer)
