"""Partial dependence, accumulated effects, permutation importance, H: how fast, on one thread.

Processor times, side by side with others on 20 features. Ours are the exact computations behind the
plans, without noise; the last part says what a private release costs beyond them.

1. Partial dependence, 20 points, against ``partial_dependence(method="brute")``: one feature, and all
   20 (theirs: 20 times one). For models that are only called the limit is one call with all rows
   stacked.
2. Permutation importance, 5 repeats, against ``permutation_importance``.
3. Accumulated effects, 20 intervals, against PyALE and effector, each with the intervals it lays.
4. H-statistic of all pairs on 100 rows, against pyartemis.
5. Rankings by 200 subsets of 50 rows, asked together, against a call of the model for each subset, and
   for each subset and feature; their statistics are not counted, some subsets are timed and scaled.
6. A private release of a prepared plan of partial dependence beside the mean of the same contributions,
   encoding of the table included in both; ``ratio`` is exact over private.

Peers of parts 3 and 4 have environments of their own (``make bench-envs``) and are timed there, on the
same rows, with models fitted alike; ``differs`` is how far answers lie apart.
"""

from __future__ import annotations

import argparse
import logging
import warnings
from collections.abc import Callable
from typing import Any

from benchmarks.curves_cases import Rows
from benchmarks.curves_speed_effects import measure_effects
from benchmarks.curves_speed_interaction import measure_pairs, measure_ranking
from benchmarks.curves_speed_overhead import measure_overhead
from benchmarks.curves_speed_sklearn import measure_dependence, measure_importance
from benchmarks.harness import print_table, save_results
from benchmarks.peers import missing

PARTS: dict[str, Callable[[bool], Rows]] = {
    "partial dependence beside scikit-learn": measure_dependence,
    "permutation importance beside scikit-learn": measure_importance,
    "accumulated effects beside PyALE and effector": measure_effects,
    "H-statistic of all pairs beside pyartemis": measure_pairs,
    "ranking by 200 subsets beside a call per subset": measure_ranking,
    "private beside our own exact computation (theirs: exact)": measure_overhead,
}


def main() -> None:
    """Run all parts and write the results."""
    import joblib
    from threadpoolctl import threadpool_limits

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="10,000 rows, fewer repeats, no peer that is not there"
    )
    quick, absent = parser.parse_args().quick, missing("PyALE", "effector", "pyartemis")
    if absent and not quick:
        parser.error("; ".join(absent))
    warnings.simplefilter("ignore")
    logging.disable(logging.INFO)
    found: Rows = []
    with threadpool_limits(1), joblib.parallel_config(backend="sequential"):
        for title, measure in PARTS.items():
            rows = measure(quick)
            if rows:
                print_table(title, rows)
            found += [{"part": title, **row} for row in rows]
    summary = summarise(found, absent)
    print(summary)
    save_results("curves_speed", found, summary)


def summarise(rows: Rows, absent: list[str]) -> dict[str, Any]:
    """Return the figures the documentation quotes."""
    missed = [row for row in rows if not row["met"]]
    return {
        "rows": len(rows),
        "targets met": len(rows) - len(missed),
        "missed": [
            f"{row['part']}: {row['model']}, {row['rows']} rows: {row['ratio']:.3g} ({row['target']})"
            for row in missed
        ],
        "skipped": absent,
    }


if __name__ == "__main__":
    main()
