"""Quantiles of columns by diffprivlib, many times."""

from __future__ import annotations

from typing import Any

from benchmarks.peers.script import serve


def answer(
    arrays: dict[str, Any], bounds: dict[str, list[float]], ps: list[float], epsilon: float, draws: int
) -> dict[str, list[list[float]]]:
    """Return the released percentiles of every column, one list per release."""
    from diffprivlib.tools import percentile

    return {
        name: [
            percentile(
                values, ps, epsilon=epsilon, bounds=tuple(bounds[name]), random_state=draw
            ).tolist()
            for draw in range(draws)
        ]
        for name, values in arrays.items()
    }


if __name__ == "__main__":
    serve(answer)
