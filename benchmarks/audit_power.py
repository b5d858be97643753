"""How much audits by samples see: faults, true losses, and the same scores given to jax-privacy.

Three tables. *Faults*: the fewest runs per side, of a few sizes, at which a planted fault is caught by
its own check, and the seconds that takes. *Mechanisms*: the best lower bound over the epsilon that is
promised (one) on the neighbours that the audit names, with the product's own samplers. *Peers*: bounds
on equal scores by ``discreet.audit.sample`` and by jax-privacy's auditor, and how often each is above
the truth, which at 95 % confidence may happen one time in twenty.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from benchmarks.audit_pairs import PAIRS, Pair, Replay
from benchmarks.harness import print_table, save_results
from benchmarks.peers import ask_peer, missing
from discreet.audit.faults.fault import Fault
from discreet.audit.faults.registry import FAULTS
from discreet.audit.finding import Effort
from discreet.audit.sampling.auditing import sample
from discreet.audit.sampling.checks import SURE, audit_of
from discreet.audit.sampling.plan_subjects import plans
from discreet.audit.sampling.subjects import RunSubject, noises, selections

SIZES = (250, 1_000, 4_000, 20_000)
"""Runs per side at which faults are tried, in this order, until they are caught."""

CONFIDENCE = 0.95
_MOST_SCORES = 400_000


def main() -> None:
    """Measure all three tables and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer runs and repeats")
    quick = parser.parse_args().quick
    faults = [fault_row(fault) for fault in FAULTS.values()]
    print_table(
        "planted faults: fewest runs per side, of those tried, at which they are caught", faults
    )
    subjects = [*noises(), *selections(), *plans()]
    runs, seconds = (100_000, 3.0) if quick else (1_000_000, 120.0)
    mechanisms = [mechanism_row(subject, runs, seconds) for subject in subjects]
    print_table(f"best lower bound over epsilon = 1, up to {runs} runs per side", mechanisms)
    peers = list(peer_rows((1_000, 10_000, 100_000), 20 if quick else 200))
    print_table("the same scores, to jax-privacy's auditor and to ours", peers)
    save_results("audit_power", faults + mechanisms + peers, summarise(faults, mechanisms, peers))


def fault_row(fault: Fault) -> dict[str, Any]:
    """Return the fewest runs that catch a fault; of checks that draw nothing, the tries they needed."""
    for size in SIZES:
        found = fault.check.run(Effort(seconds=15.0, samples=size))
        if not found.held:
            break
    return {
        "fault": fault.name,
        "check": fault.check.kind,
        "caught": "no" if found.held else "yes",
        "runs per side": found.tries // 2,
        "seconds": found.seconds,
        "found": found.found,
        "promised": found.promised,
    }


def mechanism_row(subject: RunSubject, runs: int, seconds: float) -> dict[str, Any]:
    """Return the lower bound on the loss of a true mechanism."""
    audit = audit_of(subject, samples=runs, seconds=seconds, confidence=CONFIDENCE)
    return {
        "mechanism": subject.name,
        "neighbours": subject.pair,
        "delta": subject.delta,
        "runs per side": audit.samples,
        "bound / epsilon": audit.epsilon / subject.epsilon,
        "seconds": audit.seconds,
        "held": "yes" if audit.bound_at(SURE) <= subject.epsilon else "no",
    }


def peer_rows(sizes: Iterable[int], repeats: int) -> Iterable[dict[str, Any]]:
    """Yield both sides' bounds for every pair and size."""
    absent = missing("jax-privacy")
    for sentence in (*absent, "dp-auditorium needs TensorFlow (2.3 GB) and is left out."):
        print(sentence)
    for size in sizes:
        scores = {pair.name: pair.scores(min(repeats, _MOST_SCORES // size), size) for pair in PAIRS}
        theirs = {} if absent else ask_jax_privacy(scores)
        for pair in PAIRS:
            bounds, seconds = our_bounds(pair, *scores[pair.name])
            row: dict[str, Any] = {"pair": pair.name, "delta": pair.delta, "truth": pair.epsilon}
            row |= {"runs per side": size, "repeats": len(bounds)}
            row |= described("ours", bounds, seconds, pair.epsilon)
            them = theirs.get(pair.name, {"bounds": [math.nan], "seconds": [math.nan]})
            yield row | described("jax-privacy", them["bounds"], them["seconds"], pair.epsilon)


def our_bounds(pair: Pair, first: Any, second: Any) -> tuple[list[float], list[float]]:
    """Return our bounds on every repeat's scores, and the seconds."""
    audits = [
        sample(
            Replay(),
            one,
            other,
            samples=len(one),
            delta=pair.delta,
            confidence=CONFIDENCE,
            batched=True,
            progress=False,
        )
        for one, other in zip(first, second, strict=True)
    ]
    return [audit.epsilon for audit in audits], [audit.seconds for audit in audits]


def ask_jax_privacy(scores: dict[str, tuple[Any, Any]]) -> dict[str, dict[str, list[float]]]:
    """Return the peer's bounds on the same scores."""
    arrays = {
        f"{name} {side}": values
        for name, sides in scores.items()
        for side, values in zip(("first", "second"), sides, strict=True)
    }
    deltas = [pair.delta for pair in PAIRS]
    names = [pair.name for pair in PAIRS]
    found: dict[str, dict[str, list[float]]] = ask_peer(
        "jax-privacy", "auditor", arrays, pairs=names, deltas=deltas, error=1 - CONFIDENCE
    )
    return found


def described(who: str, bounds: list[float], seconds: list[float], truth: float) -> dict[str, float]:
    """Return the median bound, the median time, and how often the bound is above the truth."""
    known = np.array(bounds)
    above = float(np.mean(known > truth)) if not np.isnan(known).any() else math.nan
    return {
        f"{who}: bound": float(np.median(known)),
        f"{who}: seconds": float(np.median(seconds)),
        f"{who}: above": above,
    }


def summarise(
    faults: list[dict[str, Any]], mechanisms: list[dict[str, Any]], peers: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return what is quoted: faults caught, the least bound, and ratios to the peer."""
    bounds = np.array([[row["ours: bound"], row["jax-privacy: bound"]] for row in peers])
    times = np.array([[row["ours: seconds"], row["jax-privacy: seconds"]] for row in peers])
    summary = {
        "faults": len(faults),
        "faults caught": sum(row["caught"] == "yes" for row in faults),
        "mechanisms": len(mechanisms),
        "promises broken": sum(row["held"] == "no" for row in mechanisms),
        "bounds of at least 0.8": sum(row["bound / epsilon"] >= 0.8 for row in mechanisms),
        "median ratio of bounds, ours over jax-privacy's": float(
            np.median(bounds[:, 0] / bounds[:, 1])
        ),
        "median ratio of seconds, ours over jax-privacy's": float(np.median(times[:, 0] / times[:, 1])),
        "most often above the truth, ours": max(row["ours: above"] for row in peers),
        "most often above the truth, jax-privacy's": max(row["jax-privacy: above"] for row in peers),
    }
    print(summary)
    return summary


if __name__ == "__main__":
    main()
