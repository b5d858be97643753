"""Partial dependence, accumulated effects, permutation importance, H: how fast, on one thread.

Processor times, side by side with scikit-learn on 20 features. Ours are the exact computations behind
the plans, without noise; the last part says what a private release costs beyond them.

1. Partial dependence, 20 points, against ``partial_dependence(method="brute")``: one feature, and all
   20. For models that are only called the limit is one call with all rows stacked.
2. Permutation importance, 5 repeats, against ``permutation_importance``.
3. Accumulated effects, 20 intervals, against PyALE where it is installed.
4. H-statistic of one feature with all others on 100 rows, against a call per point, as common packages
   work; the calls of some points are timed and scaled.
5. Rankings by 200 subsets of 50 rows, asked together, against a call per subset and feature; some
   subsets are timed and scaled.
6. A private release of a prepared plan of partial dependence beside the mean of the same contributions,
   encoding of the table included in both; ``ratio`` is exact over private.
"""

from __future__ import annotations

import argparse
import importlib.util
import logging
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

import discreet as dc
from benchmarks.harness import print_table, save_results
from benchmarks.shap_models import cpu_seconds, fit, make_rows

Rows = list[dict[str, Any]]
WIDTH = 20
NAMES = [f"f{place}" for place in range(WIDTH)]
KINDS = ("forest", "boosting", "logistic", "network")
TREES = ("forest", "boosting")
SCHEMA = dc.Schema({name: dc.Number(-6, 6) for name in NAMES} | {"y": dc.Category(0, 1)}, target="y")


def main() -> None:
    """Run all parts and write the results."""
    import joblib
    from threadpoolctl import threadpool_limits

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="10,000 rows, fewer repeats")
    quick = parser.parse_args().quick
    warnings.simplefilter("ignore")
    logging.disable(logging.INFO)
    found: Rows = []
    with threadpool_limits(1), joblib.parallel_config(backend="sequential"):
        for title, measure in PARTS.items():
            rows = measure(quick)
            if rows:
                print_table(title, rows)
            found += [{"part": title, **row} for row in rows]
    summary = summarise(found)
    print(summary)
    save_results("curves_speed", found, summary)


def summarise(rows: Rows) -> dict[str, Any]:
    """Return the figures the documentation quotes."""
    missed = [row for row in rows if not row["met"]]
    return {
        "rows": len(rows),
        "targets met": len(rows) - len(missed),
        "missed": [
            f"{row['part']}: {row['model']}, {row['rows']} rows: {row['ratio']:.3g} ({row['target']})"
            for row in missed
        ],
        "skipped": [] if has_pyale() else ["PyALE is not installed: effects stand alone"],
    }


def sizes(quick: bool) -> tuple[int, ...]:
    """Return numbers of rows."""
    return (10_000,) if quick else (10_000, 100_000)


@cache
def rows_of(size: int) -> tuple[Any, Any]:
    """Return encoded rows, column by column in memory, and their classes."""
    values, classes = make_rows(WIDTH, size, 1)
    return np.asfortranarray(np.clip(values, -6, 6)), classes


@cache
def bind(kind: str, output: str = "probability") -> Any:
    """Return a model as plans see it."""
    return model_of(kind, output).bind(SCHEMA)


def model_of(kind: str, output: str = "probability") -> dc.Model:
    """Return a fitted model; the margin of boosting is a sum of trees."""
    return dc.Model(fit(kind, WIDTH), output=output)  # type: ignore[arg-type]


def output_of(kind: str) -> str:
    """Return the output that is additive, if there is one."""
    return "margin" if kind == "boosting" else "probability"


def row(
    model: str, size: int, theirs: float, ours: float, target: str, met: bool, **more: Any
) -> dict[str, Any]:
    """Return what a comparison found; ``ratio`` is how many times theirs is slower."""
    return {
        "model": model,
        "rows": size,
        **more,
        "theirs ms": theirs * 1e3,
        "ours ms": ours * 1e3,
        "ratio": theirs / ours,
        "target": target,
        "met": bool(met),
    }


def dependence(kind: str, rows: Any, feature: str) -> Any:
    """Return partial dependence of one feature, exact, by what our plans add up."""
    from discreet.explain.pdp_contributions import curve_contribution

    bound = bind(kind, output_of(kind))
    contribution = curve_contribution(bound, feature, SCHEMA[feature].grid(20))
    return bound.fill + mean_of(contribution, rows)


def mean_of(contribution: Any, rows: Any) -> Any:
    """Return the mean of what the rows add, without privacy."""
    from discreet.data.blocks import BLOCK_ROWS, Block

    total = np.zeros(contribution.size)
    for start in range(0, len(rows), BLOCK_ROWS):
        block = Block(start, contribution.columns, rows[start : start + BLOCK_ROWS])
        total += contribution.compute(block).sum(axis=0)
    return total / len(rows)


def measure_dependence(quick: bool) -> Rows:
    """Return one feature, all features, and the limit of models that are called."""
    from sklearn.inspection import partial_dependence

    found = []
    for size in sizes(quick):
        rows, grid = rows_of(size)[0], {0: np.linspace(-6, 6, 20)}
        for kind in KINDS:
            model = fit(kind, WIDTH)
            method = "decision_function" if kind == "boosting" else "predict_proba"
            brute = {"method": "brute", "response_method": method, "custom_values": grid}
            stacked = np.tile(rows, (20, 1))
            stacked[:, 0] = np.repeat(grid[0], size)
            few = 1 if size > 10_000 else 2
            theirs, limit, ours = cpu_seconds(
                lambda m=model, r=rows, b=brute: partial_dependence(m, r, [0], **b),
                lambda m=model, s=stacked, f=method: getattr(m, f)(s),
                lambda k=kind, r=rows: dependence(k, r, "f0"),
                repeats=few,
            )
            values = partial_dependence(model, rows[:500], [0], **brute)["average"][0]
            differs = float(np.abs(values - dependence(kind, rows[:500], "f0")).max())
            more = {"features": 1, "stacked ms": limit * 1e3, "differs": differs}
            if kind in TREES:
                found.append(row(kind, size, theirs, ours, ">= 15", theirs >= 15 * ours, **more))
                (every,) = cpu_seconds(
                    lambda k=kind, r=rows: [dependence(k, r, name) for name in NAMES], repeats=few
                )
                more = {"features": WIDTH, "stacked ms": limit * WIDTH * 1e3, "differs": differs}
                met = WIDTH * theirs >= 50 * every
                found.append(row(kind, size, WIDTH * theirs, every, ">= 50", met, **more))
            else:
                met = ours <= 1.2 * limit
                found.append(row(kind, size, theirs, ours, "<= 1.2 stacked", met, **more))
    return found


def measure_importance(quick: bool) -> Rows:
    """Return permutation importance of all features."""
    from sklearn.inspection import permutation_importance

    from discreet.explain.permutation_losses import permutation_losses
    from discreet.explain.permutation_scores import choose_scorer

    found = []
    targets = {"forest": 15, "boosting": 15, "logistic": 5, "network": 3}
    for size in sizes(quick):
        rows, classes = rows_of(size)
        for kind in KINDS:
            bound, model = bind(kind), fit(kind, WIDTH)
            scorer = choose_scorer(bound, SCHEMA)
            options = {"scoring": "neg_brier_score", "n_repeats": 5, "random_state": 0}
            theirs, ours = cpu_seconds(
                lambda m=model, r=rows, c=classes, o=options: permutation_importance(m, r, c, **o),
                lambda b=bound, r=rows, c=classes, s=scorer: permutation_losses(
                    b, SCHEMA, r, c, scorer=s, repeats=5
                ),
                repeats=1,
            )
            least = targets[kind]
            found.append(row(kind, size, theirs, ours, f">= {least}", theirs >= least * ours))
    return found


def has_pyale() -> bool:
    """Say whether the peer of accumulated effects is there."""
    return importlib.util.find_spec("PyALE") is not None


def measure_effects(quick: bool) -> Rows:
    """Return accumulated effects of one feature; without the peer, beside two calls of the model."""
    from discreet.explain.ale_steps import interval_effects

    found = []
    for size in sizes(quick):
        rows = rows_of(size)[0]
        edges = np.quantile(rows[:, 0], np.linspace(0, 1, 21))
        for kind in KINDS:
            model, twice = fit(kind, WIDTH), np.concatenate([rows, rows])
            contribution = interval_effects(bind(kind), "f0", edges, 20, 0.25)

            def ours(c: Any = contribution, r: Any = rows) -> None:
                mean_of(c, r)

            def limit(m: Any = model, t: Any = twice) -> None:
                m.predict_proba(t)

            peer = pyale_job(kind, rows) if has_pyale() else limit
            theirs, mine = cpu_seconds(peer, ours, repeats=2 if quick else 3)
            least = 3 if kind in TREES else 1
            name = "PyALE" if has_pyale() else "two calls of the model"
            target = f">= {least}" if has_pyale() else "none"
            met = not has_pyale() or theirs >= least * mine
            found.append(row(kind, size, theirs, mine, target, met, peer=name))
    return found


def pyale_job(kind: str, rows: Any) -> Callable[[], object]:
    """Return accumulated effects by the peer."""
    import pandas as pd
    from PyALE import ale

    class Probability:
        def predict(self, frame: Any) -> Any:
            return fit(kind, WIDTH).predict_proba(frame.to_numpy())[:, 1]

    frame, options = pd.DataFrame(rows, columns=NAMES), {"include_CI": False, "plot": False}
    return lambda: ale(X=frame, model=Probability(), feature=["f0"], grid_size=20, **options)


def measure_interaction(quick: bool) -> Rows:
    """Return H^2 of one feature with all others on 100 rows."""
    from discreet.explain.h_statistic import pair_designs, pair_scores, predict_all
    from discreet.explain.interaction import own_row_predictor

    size, sampled = 100, 5
    rows, found = rows_of(10_000)[0][:size], []
    calls = (1 + 2 * (WIDTH - 1)) * size
    for kind in KINDS:
        bound, model = bind(kind), fit(kind, WIDTH)
        predict = own_row_predictor(bound) or bound.predict

        def per_point(m: Any = model) -> None:
            for point in rows[:sampled]:
                moved = rows.copy()
                moved[:, 0] = point[0]
                m.predict_proba(moved)

        theirs, ours = cpu_seconds(
            per_point,
            lambda p=predict: pair_scores(predict_all(p, pair_designs(rows, 0)), rows, 0),
            repeats=2 if quick else 5,
        )
        theirs *= calls / sampled
        least = 1_000 if kind in TREES else 10
        found.append(row(kind, size, theirs, ours, f">= {least}", theirs >= least * ours, calls=calls))
    return found


def measure_ballots(quick: bool) -> Rows:
    """Return interactions of 200 subsets, batched."""
    from discreet.explain.h_statistic import exchanged
    from discreet.explain.interaction import SubsetInteractions

    subsets, sampled, found = 200, 2, []
    rows = rows_of(10_000)[0]
    parts = [np.asfortranarray(part) for part in np.split(rows, subsets)]
    parts = [part[:20] for part in parts] if quick else parts
    for kind in KINDS:
        batched, model = SubsetInteractions(bind(kind), None, len(parts[0])), fit(kind, WIDTH)

        def per_call(m: Any = model) -> None:
            for part in parts[:sampled]:
                for place in range(WIDTH):
                    m.predict_proba(exchanged(part, (place,)))

        theirs, ours = cpu_seconds(per_call, lambda b=batched: list(b(parts)), repeats=1)
        theirs *= subsets / sampled
        more = {"subsets": subsets, "rows each": len(parts[0])}
        found.append(row(kind, 10_000, theirs, ours, ">= 50", theirs >= 50 * ours, **more))
    return found


def measure_overhead(quick: bool) -> Rows:
    """Return what a release of partial dependence costs beyond the same means."""
    from benchmarks.curves_releases import Once
    from discreet.data import PrivateTable
    from discreet.plans import Setting

    found = []
    for size in sizes(quick):
        rows, classes = rows_of(size)
        raw = np.column_stack([rows, classes])
        for kind in KINDS:
            plan = dc.partial_dependence(
                model_of(kind, output_of(kind)), "f0", resolution=20, rug=False, epsilon=1.0
            )
            program = plan.prepare(Setting(SCHEMA, "replace-one", size))

            def plain(c: Any = program.stages[0].contribution, r: Any = raw) -> None:
                encoded = [SCHEMA[name].encode(r[:, place]) for place, name in enumerate(NAMES)]
                mean_of(c, np.stack(encoded).T)

            exact, private = cpu_seconds(
                plain,
                lambda p=program, r=raw: p.finish(Once(PrivateTable(r, SCHEMA))),
                repeats=5 if quick else 9,
            )
            aimed = kind != "logistic"
            target = "<= 1.05 ours" if aimed else "none"
            met = not aimed or private <= 1.05 * exact
            found.append(row(kind, size, exact, private, target, met))
    return found


PARTS: dict[str, Callable[[bool], Rows]] = {
    "partial dependence beside scikit-learn": measure_dependence,
    "permutation importance beside scikit-learn": measure_importance,
    "accumulated effects": measure_effects,
    "H-statistic, one feature with 19, beside a call per point": measure_interaction,
    "ranking by 200 subsets beside a call per subset and feature": measure_ballots,
    "private beside our own exact computation (theirs: exact)": measure_overhead,
}


if __name__ == "__main__":
    main()
