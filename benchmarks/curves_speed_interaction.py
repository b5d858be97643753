"""Friedman's H-statistic: all pairs beside pyartemis, rankings by subsets beside a call for each."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.curves_cases import KINDS, TREES, WIDTH, Rows, bind, row, rows_of
from benchmarks.peers import ask_peer, missing
from benchmarks.shap_models import cpu_seconds, fit

SUBSETS = 200


def measure_pairs(quick: bool) -> Rows:
    """Return H^2 of all pairs on 100 rows; in a quick run, of the pairs of eight features."""
    from discreet.engines.interact import all_pairs, pair_scores

    if missing("pyartemis"):
        return []
    rows, features = rows_of(10_000)[0][:100], 8 if quick else WIDTH
    options = {"kinds": KINDS, "features": features, "repeats": 1 if quick else 2}
    found = []
    for theirs in ask_peer("pyartemis", "friedman", {"rows": np.ascontiguousarray(rows)}, **options):
        kind, pairs = theirs["model"], all_pairs(features)
        means = dependences(kind)

        def ours(d: Any = means, p: Any = pairs) -> Any:
            return next(pair_scores(d, [rows], p))

        (mine,) = cpu_seconds(ours, repeats=2 if quick else 5)
        scores = {tuple(pair): score for pair, score in zip(pairs.tolist(), ours(), strict=True)}
        differs = max(abs(scores[min(j, k), max(j, k)] - value) for j, k, value in theirs["pairs"])
        least = 1_000 if kind in TREES else 10
        met = theirs["seconds"] >= least * mine
        more = {"pairs": len(pairs), "differs": float(differs)}
        found.append(row(kind, len(rows), theirs["seconds"], mine, f">= {least}", met, **more))
    return found


def measure_ranking(quick: bool) -> Rows:
    """Return interactions of 200 subsets together; others call the model for each subset, or more."""
    from discreet.engines.interact import mixed_rows
    from discreet.explain.interaction.plan import SubsetInteractions

    sampled, repeats, found = 2, 1 if quick else 3, []
    parts = [np.asfortranarray(part) for part in np.split(rows_of(10_000)[0], SUBSETS)]
    for kind in KINDS:
        together, model = SubsetInteractions(dependences(kind), None, len(parts[0])), fit(kind, WIDTH)

        def per_subset(m: Any = model) -> None:
            for part in parts[:sampled]:
                m.predict_proba(np.concatenate([mixed_rows(part, (f,)) for f in range(WIDTH)]))

        def per_feature(m: Any = model) -> None:
            for part in parts[:sampled]:
                for place in range(WIDTH):
                    m.predict_proba(mixed_rows(part, (place,)))

        *theirs, ours = cpu_seconds(
            per_subset, per_feature, lambda t=together: list(t(parts)), repeats=repeats
        )
        for calls, seconds in zip((SUBSETS, SUBSETS * WIDTH), theirs, strict=True):
            scaled = seconds * SUBSETS / sampled
            found.append(row(kind, 10_000, scaled, ours, ">= 50", scaled >= 50 * ours, calls=calls))
    return found


def dependences(kind: str) -> Any:
    """Return what our plans make of a model for this purpose."""
    from discreet.engines.table import engine_for

    return engine_for("interact", bind(kind))
