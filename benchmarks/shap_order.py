"""Which way to the first k features is best, and does the public rule of ``mechanism="auto"`` find it?

Three ways with the same budget: peeling with permute-and-flip, one shot of Gumbel noise (which is
peeling with the exponential mechanism), and sorting noisy values. Every table is left out in turn: the
factor of the rule is tuned on the others, and judged on the one left out. Measures: recall of the true
first k, attribution lost, and how often the first is right.

``python -m benchmarks.shap_order [--quick]``; all tables need the folder named by ``DISCREET_DATA``,
``--quick`` takes those of scikit-learn alone.
"""

from __future__ import annotations

import argparse
import math
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import discreet as dc
from benchmarks.harness import print_table, save_results
from discreet.data import PrivateTable, Summand, add_up
from discreet.mechanisms import GaussianNoise, LaplaceNoise, ranking_noise, sum_noise
from discreet.mechanisms.selection.ranking import SORTED_WEIGHT
from discreet.plans import Setting

WAYS = ("permute-and-flip", "exponential", "sorted")
PLACES = (1, 2, 3, 5, 8)
PROMISES = tuple((epsilon, delta) for epsilon in (0.1, 0.3, 1.0, 3.0) for delta in (0.0, 1e-6))
FACTORS = (0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3)
STEP = 2.0**-40


@dataclass(frozen=True)
class Query:
    """One query of a model: exact attributions as every way sees them, and their certificates."""

    table: str
    model: str
    rows: int
    truth: Any
    scores: Any
    values: Any
    of_scores: Any
    of_values: Any


def tables(quick: bool) -> Iterator[tuple[str, pd.DataFrame, Any, bool]]:
    """Yield name, features, target and whether the target is a class."""
    from sklearn import datasets

    cancer = datasets.load_breast_cancer(as_frame=True)
    yield "breast cancer", cancer.data, cancer.target, True
    diabetes = datasets.load_diabetes(as_frame=True)
    yield "diabetes", diabetes.data, diabetes.target, False
    wine = datasets.load_wine(as_frame=True)
    yield "wine", wine.data, (wine.target == 0) * 1, True
    if quick:
        return
    folder = Path(os.environ["DISCREET_DATA"])
    heart = pd.read_csv(folder / "heart_cleveland.data", header=None, na_values="?")
    yield "heart", heart.iloc[:, :13], (heart[13] > 0) * 1, True
    pima = pd.read_csv(folder / "pima_diabetes.csv", header=None)
    yield "pima", pima.iloc[:, :8], pima[8], True
    german = pd.read_csv(folder / "german.csv", header=None, sep=None, engine="python")
    yield "german", german.iloc[:, :20], (german[20] == 2) * 1, True
    adult = pd.read_csv(folder / "adult_full.csv", na_values="?").sample(4000, random_state=0)
    yield "adult", adult.drop(columns="income"), adult["income"].str.contains(">50K") * 1, True
    credit = pd.read_csv(folder / "default_credit_card.csv").sample(4000, random_state=0)
    yield "credit", credit.drop(columns=["ID", "class"]), credit["class"], True
    quality = pd.read_csv(folder / "winequality-white.csv", header=None)
    yield "quality", quality.iloc[:, :11], quality[11], False
    bike = pd.read_csv(folder / "bike_hour.csv").sample(4000, random_state=0)
    known = ["instant", "dteday", "cnt", "casual", "registered"]
    yield "bike", bike.drop(columns=known), bike["cnt"], False


def as_numbers(frame: pd.DataFrame) -> pd.DataFrame:
    """Return standardised numbers: categories by code, missing ones at the median."""
    codes = {
        str(name): own if pd.api.types.is_numeric_dtype(own) else pd.factorize(own, sort=True)[0]
        for name, own in frame.items()
    }
    numbers = pd.DataFrame(codes).astype(float).reset_index(drop=True)
    numbers = numbers.fillna(numbers.median())
    return (numbers - numbers.mean()) / numbers.std()


def models(is_class: bool, quick: bool) -> dict[str, Any]:
    """Return unfitted models; a logistic model of many features takes its time."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
    from sklearn.linear_model import LogisticRegression

    kind = RandomForestClassifier if is_class else RandomForestRegressor
    found: dict[str, Any] = {"forest": kind(50, max_depth=5, random_state=0)}
    return found | ({"logistic": LogisticRegression(max_iter=500)} if is_class and not quick else {})


def queries(quick: bool, count: int) -> Iterator[Query]:
    """Yield all queries of all models of all tables."""
    for name, frame, target, is_class in tables(quick):
        numbers = as_numbers(frame)
        schema = dc.Schema(
            {c: dc.Number(float(v.min()), float(v.max()), missing=False) for c, v in numbers.items()}
        )
        setting = Setting(schema, "replace-one", len(numbers))
        table = PrivateTable(numbers, schema)
        rows = np.random.default_rng(1).choice(len(numbers), count, replace=False)
        for kind, model in models(is_class, quick).items():
            model.fit(numbers.to_numpy(), np.asarray(target))
            for row in rows:
                yield explained(name, kind, model, numbers.iloc[[row]], setting, table)


def explained(
    name: str, kind: str, model: Any, query: pd.DataFrame, setting: Setting, table: PrivateTable
) -> Query:
    """Return a query with what every way adds up, without noise."""

    def exact(centred: bool, **options: Any) -> tuple[Any, Any]:
        plan = dc.shap_values(model, query, epsilon=1.0, **options)
        found = plan.measured.explain(setting, centred=centred)
        (raw,) = add_up(table, [Summand(found.contribution, STEP)])
        return raw * STEP / setting.rows + found.centres[0], found.contribution.certificate

    scores, of_scores = exact(False, clip_norm="linf")
    values, of_values = exact(True)
    truth, _ = exact(True, clip=None)
    return Query(
        name, kind, setting.rows or 1, np.abs(truth), np.abs(scores), values, of_scores, of_values
    )


def measure(query: Query, draws: int, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Yield one row per promise and k: recall, loss and noise of every way."""
    for epsilon, delta in PROMISES:
        for k in (k for k in PLACES if k < len(query.truth)):
            row = {"table": query.table, "model": query.model, "features": len(query.truth)}
            row |= {"epsilon": epsilon, "delta": delta, "k": k}
            for way in WAYS:
                order, spread = draw(query, way, k, epsilon, delta, draws, rng)
                row |= judged(query.truth, order, way) | {f"noise {way}": spread}
            yield row


def draw(
    query: Query, way: str, k: int, epsilon: float, delta: float, draws: int, rng: np.random.Generator
) -> tuple[Any, float]:
    """Return many draws of the first k, by the continuous laws, and the noise on a score."""
    terms: dict[str, Any] = {"relation": "replace-one", "epsilon": epsilon, "delta": delta}
    terms["largest_sum"] = 10.0 * query.rows
    size = (draws, len(query.truth))
    if way == "sorted":
        noise = sum_noise(query.of_values, **terms)
        noisy = np.abs(query.values + drawn(noise, size, rng) / query.rows)
        return np.argsort(-noisy, axis=1)[:, :k], noise.std / query.rows
    picks = ranking_noise(query.of_scores, k=k, mechanism=way, **terms)  # type: ignore[arg-type]
    scale = picks.step * picks.pick.scale / query.rows
    if way == "exponential":
        noisy = query.scores + scale * rng.gumbel(size=size)
        return np.argsort(-noisy, axis=1)[:, :k], picks.spread / query.rows
    left, order = np.zeros(size), np.empty((draws, k), dtype=int)
    for place in range(k):  # permute-and-flip is the greatest score with exponential noise
        order[:, place] = np.argmax(query.scores + left + rng.exponential(scale, size), axis=1)
        left[np.arange(draws), order[:, place]] = -np.inf
    return order, picks.spread / query.rows


def drawn(noise: Any, size: tuple[int, int], rng: np.random.Generator) -> Any:
    """Return noise by its continuous law."""
    if isinstance(noise, GaussianNoise):
        return rng.normal(scale=noise.std, size=size)
    assert isinstance(noise, LaplaceNoise)
    return rng.laplace(scale=noise.std / math.sqrt(2), size=size)


def judged(truth: Any, order: Any, way: str) -> dict[str, float]:
    """Return the three measures of one way."""
    k = order.shape[1]
    best = np.argsort(-truth)[:k]
    lost = 1 - truth[order].sum(axis=1) / truth[best].sum()
    return {
        f"recall {way}": float(np.isin(order, best).mean()),
        f"lost {way}": float(lost.mean()),
        f"first {way}": float((order[:, 0] == best[0]).mean()),
    }


def by_rule(rows: pd.DataFrame, factor: float, measured: str) -> Any:
    """Return the measure of the way the rule takes, query by query."""
    noise = rows[[f"noise {way}" for way in WAYS]].to_numpy() * [1.0, 1.0, factor]
    values = rows[[f"{measured} {way}" for way in WAYS]].to_numpy()
    return values[np.arange(len(rows)), noise.argmin(axis=1)]


def shortfalls(rows: pd.DataFrame, factor: float) -> pd.Series:
    """Return how far the rule's recall is below that of the best way, setting by setting."""
    settings = ["table", "model", "epsilon", "delta", "k"]
    both = rows.assign(rule=by_rule(rows, factor, "recall")).groupby(settings).mean(numeric_only=True)
    return both[[f"recall {way}" for way in WAYS]].max(axis=1) - both["rule"]


def leave_one_out(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Return, for every table, the factor the others would take and what it gives there."""
    found = []
    for table in rows["table"].unique():
        own, others = rows[rows["table"] == table], rows[rows["table"] != table]
        tuned = min(FACTORS, key=lambda factor: shortfalls(others, factor).mean())
        short = shortfalls(own, tuned)
        found.append(
            {"table left out": table, "factor of the others": tuned}
            | {f"recall {way}": float(own[f"recall {way}"].mean()) for way in WAYS}
            | {"recall by the rule": float(by_rule(own, tuned, "recall").mean())}
            | {"below the best, mean": float(short.mean()), "worst": float(short.max())}
            | {"lost by the rule": float(by_rule(own, tuned, "lost").mean())}
            | {"least lost by one way": float(own[[f"lost {w}" for w in WAYS]].mean().min())}
        )
    return found


def by_places(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Return, for every k, how much less noise a pick needs than noise on all values."""
    found = []
    for (k, delta), own in rows.groupby(["k", "delta"]):
        less = own["noise sorted"] / own["noise permute-and-flip"]
        found.append(
            {"k": int(k), "delta": float(delta), "noise of values over that of picks": less.median()}
            | {"picks taken": float((less * SORTED_WEIGHT >= 1).mean())}
            | {f"recall {way}": float(own[f"recall {way}"].mean()) for way in WAYS}
            | {"recall by the rule": float(by_rule(own, SORTED_WEIGHT, "recall").mean())}
        )
    return found


def main() -> None:
    """Measure all ways on all tables, print both tables and save the rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    if not quick and "DISCREET_DATA" not in os.environ:
        raise SystemExit("Set DISCREET_DATA to the folder with the tables, or use --quick.")
    warnings.filterwarnings("ignore")
    rng = np.random.default_rng(5)
    count, draws = (4, 400) if quick else (8, 1000)
    rows = pd.DataFrame([row for query in queries(quick, count) for row in measure(query, draws, rng)])
    left_out, places = leave_one_out(rows), by_places(rows)
    print_table("Every table left out in turn", left_out)
    print_table("By the number of places", places)
    short = shortfalls(rows, SORTED_WEIGHT)
    summary = {"factor": SORTED_WEIGHT, "below the best, mean": float(short.mean())}
    summary |= {"worst of all settings": float(short.max()), "settings": len(short)}
    print(summary)
    save_results("shap_order", [*left_out, *places], summary)


if __name__ == "__main__":
    main()
