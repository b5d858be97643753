"""One choice among many candidates by diffprivlib, calibration included."""

from __future__ import annotations

import time
from typing import Any

from benchmarks.peers.script import serve


def answer(arrays: dict[str, Any], epsilon: float, enough: float) -> dict[str, dict[str, float]]:
    """Return the least seconds of a choice by every mechanism, for every vector of scores.

    At most five times, and not again after so many seconds are ``enough``.
    """
    from diffprivlib.mechanisms import Exponential, PermuteAndFlip

    found: dict[str, dict[str, float]] = {}
    for name, scores in arrays.items():
        listed, found[name] = scores.tolist(), {}
        for kind in (PermuteAndFlip, Exponential):
            times: list[float] = []
            while sum(times) < enough and len(times) < 5:
                start = time.perf_counter()
                kind(epsilon=epsilon, sensitivity=1, utility=listed).randomise()
                times.append(time.perf_counter() - start)
            found[name][kind.__name__] = min(times)
    return found


if __name__ == "__main__":
    serve(answer)
