"""Top-1 selection: ours against OpenDP's permute-and-flip, calibration included.

Every measured call starts from a vector of whole scores and an epsilon and ends with an index from the
operating system's entropy. OpenDP gets the faster of the two inputs it takes, lists and arrays.
diffprivlib is measured in its own environment, in the same minute; it compares floats and is no exact
sampler.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness import print_table, save_results, seconds, seconds_side_by_side
from benchmarks.peers import ask_peer, missing
from discreet.mechanisms import ExponentialMechanism, NoisyMax
from discreet.mechanisms.smooth.noisy_max import SmoothNoisyMax, score_stability
from discreet.randomness import SystemNoise
from discreet.select.choose.chooser import Chooser
from discreet.select.quantiles.order_statistics import Standing

SIZES = (100, 10_000, 100_000)
SHAPES = ("even", "one leads")
LONGEST = (100_000, "one leads")
EPSILON = 1.0


def main() -> None:
    """Measure all sizes and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repeats")
    options = parser.parse_args()
    repeats = 7 if options.quick else 31
    cases = {(size, shape): make_scores(size, shape) for size in SIZES for shape in SHAPES}
    # Its walk through the candidates takes two minutes where one of 100,000 leads.
    short = {case: scores for case, scores in cases.items() if not options.quick or case != LONGEST}
    theirs = diffprivlib_seconds(short)
    rows = [measure(case, scores, theirs.get(case, {}), repeats) for case, scores in cases.items()]
    print_table("one choice, milliseconds", rows)
    save_results("selection_speed", rows, summarise(rows))


def make_scores(size: int, shape: str) -> Any:
    """Return whole scores: all alike, or one far ahead."""
    scores = np.random.default_rng(0).integers(0, 50, size)
    if shape == "one leads":
        scores[size // 2] = 10_000
    return scores


def measure(case: tuple[int, str], scores: Any, peer: dict[str, float], repeats: int) -> dict[str, Any]:
    """Return the times of one choice among many candidates."""
    (size, shape), listed = case, scores.tolist()
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
    }
    row: dict[str, Any] = {"candidates": size, "scores": shape}
    row |= {"OpenDP": theirs * 1e3, "ours": ours * 1e3, "ratio": round(theirs / ours, 2)}
    few = max(3, repeats // 5)
    for name, work in others.items():
        row[name] = seconds(work, few) * 1e3
    flips = peer.get("PermuteAndFlip", math.nan)
    row |= {"diffprivlib PF": flips * 1e3, "ratio to it": round(flips / ours, 2)}
    return row | {"diffprivlib exponential": peer.get("Exponential", math.nan) * 1e3}


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


def diffprivlib_seconds(cases: dict[Any, Any]) -> dict[Any, dict[str, float]]:
    """Return diffprivlib's times of every case, or none where its environment is not there."""
    for sentence in (absent := missing("diffprivlib")):
        print(sentence)
    if absent:
        return {case: {} for case in cases}
    arrays = {str(place): scores for place, scores in enumerate(cases.values())}
    found = ask_peer("diffprivlib", "top_one", arrays, epsilon=EPSILON, enough=2.0)
    return dict(zip(cases, found.values(), strict=True))


def summarise(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the figures the documentation quotes."""
    summary = {f"{row['candidates']} {row['scores']} ratio": row["ratio"] for row in rows}
    summary["never slower than OpenDP"] = all(row["ratio"] >= 1 for row in rows)
    summary["never slower than diffprivlib"] = not any(row["ratio to it"] < 1 for row in rows)
    print(summary)
    return summary


if __name__ == "__main__":
    main()
