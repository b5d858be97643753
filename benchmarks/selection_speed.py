"""Top-1 selection: ours against OpenDP's permute-and-flip, calibration included.

Every measured call starts from a vector of whole scores and an epsilon and ends with an index from the
operating system's entropy. OpenDP gets the faster of the two inputs it takes, lists and arrays.
diffprivlib is measured where it can be imported; it compares floats and is no exact sampler.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness import print_table, save_results, seconds, seconds_side_by_side
from discreet.mechanisms import ExponentialMechanism, NoisyMax
from discreet.mechanisms.smooth_max import SmoothNoisyMax, score_stability
from discreet.randomness import SystemNoise
from discreet.select.chooser import Chooser
from discreet.select.order_statistics import Standing

SIZES = (100, 10_000, 100_000)
EPSILON = 1.0


def main() -> None:
    """Measure all sizes and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repeats")
    options = parser.parse_args()
    repeats = 7 if options.quick else 31
    rows = [measure(size, shape, repeats) for size in SIZES for shape in ("even", "one leads")]
    print_table("one choice, milliseconds", rows)
    save_results("selection_speed", rows, summarise(rows))


def measure(size: int, shape: str, repeats: int) -> dict[str, Any]:
    """Return the times of one choice among ``size`` candidates."""
    scores = np.random.default_rng(0).integers(0, 50, size)
    if shape == "one leads":
        scores[size // 2] = 10_000
    listed = scores.tolist()
    by_list, by_array = (seconds(lambda s=s: opendp_choice(s), repeats) for s in (listed, scores))
    fastest = listed if by_list < by_array else scores
    theirs, ours = seconds_side_by_side(
        lambda: opendp_choice(fastest), lambda: our_choice(scores), repeats
    )
    others: dict[str, Callable[[], object]] = {
        "exponential": lambda: ExponentialMechanism(1, EPSILON).release(scores, SystemNoise()),
        "noisy max + gap": lambda: NoisyMax(1, EPSILON).release(scores, SystemNoise()),
        "stability": lambda: SmoothNoisyMax(size, EPSILON).release(
            *score_stability(scores, 2), SystemNoise()
        ),
        "diffprivlib": diffprivlib_choice(listed),
    }
    row: dict[str, Any] = {"candidates": size, "scores": shape}
    row |= {"OpenDP": theirs * 1e3, "ours": ours * 1e3, "ratio": round(theirs / ours, 2)}
    few = max(3, repeats // 5)
    for name, work in others.items():
        row[name] = seconds(work, few) * 1e3 if work is not None else "not installed"
    return row


def our_choice(scores: Any) -> int:
    """Choose by permute-and-flip, as the plans do."""
    chooser = Chooser("permute-and-flip", len(scores), EPSILON, 0.0, 1)
    return int(chooser.draw(Standing(scores, 0, 0), SystemNoise())[0])


def opendp_choice(scores: Any) -> int:
    """Choose by OpenDP's permute-and-flip, built anew as its users build it."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64")
    choose = dp.m.make_noisy_max(*space, dp.max_divergence(), scale=2 / EPSILON)
    return int(choose(scores))


def diffprivlib_choice(scores: Any) -> Callable[[], object] | None:
    """Return a choice by diffprivlib, if it is there."""
    try:
        from diffprivlib.mechanisms import PermuteAndFlip as Theirs
    except ImportError:
        return None
    return lambda: Theirs(epsilon=EPSILON, sensitivity=1, utility=scores).randomise()


def summarise(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the figures the documentation quotes."""
    summary = {f"{row['candidates']} {row['scores']} ratio": row["ratio"] for row in rows}
    summary["never slower"] = all(row["ratio"] >= 1 for row in rows)
    print(summary)
    return summary


if __name__ == "__main__":
    main()
