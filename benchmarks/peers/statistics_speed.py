"""Seconds of plain statistics by OpenDP and diffprivlib, from an array of numbers to an answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.peers.script import serve


def answer(
    arrays: dict[str, Any], epsilon: float, bins: int, candidates: int, repeats: int
) -> dict[str, dict[str, float]]:
    """Return the least seconds of several runs by peer and statistic; values are between 0 and 1."""
    values = arrays["values"]
    jobs = {
        "OpenDP": opendp_jobs(values, epsilon, bins, candidates),
        "diffprivlib": diffprivlib_jobs(values, epsilon, bins),
    }
    return {
        peer: {name: least_seconds(job, repeats) for name, job in own.items()}
        for peer, own in jobs.items()
    }


def least_seconds(job: Callable[[], object], repeats: int) -> float:
    """Return the least wall time of several runs, after one that warms up."""
    times = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        job()
        times.append(time.perf_counter() - start)
    return min(times)


def opendp_jobs(values: Any, epsilon: float, bins: int, candidates: int) -> dict[str, Any]:
    """Return its pipelines, built beforehand, on the array, which is faster for it than a list."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    t, m, rows = dp.t, dp.m, len(values)
    atoms = dp.atom_domain(bounds=(0.0, 1.0), nan=False)
    sized = dp.vector_domain(atoms, size=rows), dp.symmetric_distance()
    plain = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()

    def noisy(transformation: Any) -> Any:
        # Bounds are a promise of the domain: somebody has to clip the values to them first.
        return clamp >> transformation >> m.then_laplace(transformation.map(2) / epsilon)

    clamp = (dp.vector_domain(dp.atom_domain(T=float, nan=False), size=rows), sized[1]) >> t.then_clamp(
        (0.0, 1.0)
    )
    cells = plain >> t.then_find_bin(edges=np.linspace(0, 1, bins + 1)[1:-1].tolist())
    counts = cells >> t.then_count_by_categories(
        categories=list(range(bins)), null_category=False, TOA="i64"
    )
    points = np.linspace(0, 1, candidates).tolist()
    jobs = {
        "sum": noisy(sized >> t.then_sum()),
        "mean": noisy(sized >> t.then_mean()),
        "variance": noisy(sized >> t.then_variance()),
        "histogram": counts >> m.then_laplace(2 / epsilon),
        "median": plain
        >> m.then_private_quantile(
            dp.max_divergence(), candidates=points, alpha=0.5, scale=2 / epsilon
        ),
    }
    return {name: lambda job=job: job(values) for name, job in jobs.items()}


def diffprivlib_jobs(values: Any, epsilon: float, bins: int) -> dict[str, Any]:
    """Return its tools on the array."""
    from diffprivlib import tools

    terms: Any = {"epsilon": epsilon, "bounds": (0.0, 1.0)}
    return {
        "sum": lambda: tools.sum(values, **terms),
        "mean": lambda: tools.mean(values, **terms),
        "variance": lambda: tools.var(values, **terms),
        "histogram": lambda: tools.histogram(values, epsilon=epsilon / 2, bins=bins, range=(0.0, 1.0)),
        "median": lambda: tools.quantile(values, 0.5, **terms),
    }


if __name__ == "__main__":
    serve(answer)
