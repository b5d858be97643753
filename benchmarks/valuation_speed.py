"""Data Shapley values of logistic regression: ours against pyDVL and a bare scikit-learn loop.

Rows are normal, five of fifty columns matter, scores are accuracies on 1,000 test rows. pyDVL runs some
random orders in its own environment; ours then runs as many as give the *same standard error*, and both
times are compared. The loop refits scikit-learn for the same orders as ours: its estimates, and so
its errors, are ours. Truncation stops an order where it is within 1 % of the whole, by each one's own
rule. All times are processor seconds on one thread.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness import print_table, save_results
from benchmarks.peers import ask_peer, missing

COLUMNS, TESTS, NEIGHBOURS = 50, 1000, 5
TRUNCATION = 0.01
NOBODY = 0.5
"""The accuracy of nobody, and of a coalition with one class, for everyone."""

SIZES = (100, 1000)
LARGEST = 3000


def main() -> None:
    """Measure all sizes and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer orders")
    options = parser.parse_args()
    orders = (12, 3) if options.quick else (100, 20)
    data = make_data(LARGEST)
    compile_first(data)
    peers = pydvl_answers(data, orders)
    rows = [
        row
        for size, count in zip(SIZES, orders, strict=True)
        for row in compare(data, size, count, peers.get(size))
    ]
    print_table("all values, processor seconds", rows)
    growth = [cost(data, size) for size in (100, 300, 1000, *(() if options.quick else (LARGEST,)))]
    print_table("cost in n", growth)
    save_results("valuation_speed", rows + growth, summarise(rows))


def make_data(rows: int) -> dict[str, Any]:
    """Return training and test rows whose labels follow five of the columns."""
    draw = np.random.default_rng(2026)
    x = draw.normal(size=(rows + TESTS, COLUMNS))
    margins = 1.5 * x[:, :5].sum(axis=1)
    y = (draw.random(len(x)) < 1 / (1 + np.exp(-margins))).astype(int)
    return {"x": x[TESTS:], "y": y[TESTS:], "test_x": x[:TESTS], "test_y": y[:TESTS]}


def make_game(data: dict[str, Any], size: int, **options: Any) -> Any:
    """Return the game of the first ``size`` records."""
    from sklearn.linear_model import LogisticRegression

    from discreet.value.engines.utilities import Utility

    model = LogisticRegression(solver="liblinear")
    utility = Utility(model, data["test_x"], data["test_y"], **{"empty": NOBODY} | options)
    return utility.on(data["x"][:size], data["y"][:size])


def compile_first(data: dict[str, Any]) -> None:
    """Run everything compiled once, so that no measured time compiles."""
    from discreet.value.engines.shapley import permutation_shapley

    permutation_shapley(make_game(data, 30), permutations=1)
    our_nearest(data, 30)


def pydvl_answers(data: dict[str, Any], orders: tuple[int, ...]) -> dict[int, dict[str, Any]]:
    """Return what pyDVL measured by size, or nothing where its environment is not there."""
    for sentence in (absent := missing("pyDVL")):
        print(sentence)
    if absent:
        return {}
    found = ask_peer(
        "pyDVL",
        "valuation",
        data,
        sizes=list(SIZES),
        orders=list(orders),
        truncation=TRUNCATION,
        neighbours=NEIGHBOURS,
    )
    return {answer["n"]: answer for answer in found}


def compare(
    data: dict[str, Any], size: int, count: int, peer: dict[str, Any] | None
) -> list[dict[str, Any]]:
    """Return rows of one size: random orders against the loop and pyDVL, and neighbours."""
    few = max(2, count // 6)
    loop_seconds, theirs = timed(lambda: bare_loop(data, size, few))
    ours_few, same = timed(lambda: our_orders(data, size, few))
    rows = [
        {"n": size, "task": "random orders", "peer": "scikit-learn loop", "orders": few}
        | {"error": float(same.errors.mean()), "our error": float(same.errors.mean())}
        | {"peer seconds": loop_seconds, "ours": ours_few, "ratio": loop_seconds / ours_few}
        | {"difference": float(np.abs(same.values - theirs).max())}
    ]
    if peer is None:
        return rows
    for task, truncate in (("permutation", None), ("truncated", TRUNCATION)):
        rows.append(to_the_same_error(data, size, task, peer[task], truncate))
    values, spent = peer["nearest"]["values"], peer["nearest"]["seconds"]
    own, found = timed(lambda: our_nearest(data, size))
    rows.append(
        {"n": size, "task": f"{NEIGHBOURS} nearest", "peer": "pyDVL", "orders": 0}
        | {"error": 0.0, "our error": 0.0, "peer seconds": spent, "ours": own, "ratio": spent / own}
        | {"difference": float(np.abs(found.values - values).max())}
    )
    return rows


def to_the_same_error(
    data: dict[str, Any], size: int, task: str, peer: dict[str, Any], truncate: float | None
) -> dict[str, Any]:
    """Return a row: more orders are added to ours until its mean standard error is pyDVL's or less."""

    def work() -> Any:
        found = None
        orders = max(2, int(peer["orders"]))
        while found is None or found.errors.mean() > peer["error"]:
            orders = orders if found is None else orders + max(1, orders // 10)
            found = our_orders(data, size, orders, truncate, found)
        return found

    spent, found = timed(work)
    return (
        {"n": size, "task": task, "peer": "pyDVL", "orders": int(peer["orders"])}
        | {"error": peer["error"], "our error": float(found.errors.mean())}
        | {"peer seconds": peer["seconds"], "ours": spent, "ratio": peer["seconds"] / spent}
        | {"difference": float(np.abs(found.values - peer["values"]).max())}
    )


def our_orders(
    data: dict[str, Any], size: int, orders: int, truncate: float | None = None, earlier: Any = None
) -> Any:
    """Return our estimates from random orders."""
    from discreet.value.engines.shapley import permutation_shapley

    return permutation_shapley(
        make_game(data, size),
        permutations=orders,
        truncate=truncate,
        continue_from=earlier,
        progress=False,
    )


def our_nearest(data: dict[str, Any], size: int) -> Any:
    """Return our values of nearest neighbours."""
    from discreet.value.engines.neighbours import knn_shapley

    return knn_shapley(data["x"][:size], data["y"][:size], data["test_x"], data["test_y"], k=NEIGHBOURS)


def bare_loop(data: dict[str, Any], size: int, count: int) -> Any:
    """Return values from the orders that ours takes, refitted one by one as anybody would."""
    from sklearn.linear_model import LogisticRegression

    from discreet.value.engines.shapley import random_order

    x, y, tests, truth = (data[name] for name in ("x", "y", "test_x", "test_y"))
    values = np.zeros(size)
    for place in range(count):
        order, before = random_order(size, 0, place, antithetic=False), NOBODY
        for joined, player in enumerate(order, start=1):
            members = order[:joined]
            after = NOBODY
            if 0 < y[members].sum() < joined:
                model = LogisticRegression(solver="liblinear").fit(x[members], y[members])
                after = model.score(tests, truth)
            values[player] += (after - before) / count
            before = after
    return values


def cost(data: dict[str, Any], size: int) -> dict[str, Any]:
    """Return what one order costs, and one record's value with a stated error of 0.01."""
    from discreet.value.engines.layered import layer_clips, layer_rounds, layered_shapley

    spent, found = timed(lambda: our_orders(data, size, 2))
    options = {"score": "log-loss", "l2_penalty": 1.0, "row_clip": 1.0, "empty": -float(np.log(2))}
    game = make_game(data, size, **options)
    clips = layer_clips(size, game.utility.width, game.utility.certificate())
    rounds = layer_rounds(clips, 0.01, 0.05)
    one, value = timed(
        lambda: layered_shapley(game, clips=clips, rounds=rounds, records=[0], balanced=False)
    )
    return {
        "n": size,
        "task": "cost",
        "seconds per order": spent / 2,
        "microseconds per coalition": spent / found.evaluations * 1e6,
        "layered coalitions, one value": value.evaluations // 2,
        "layered seconds, one value": one,
        "stated error": value.stated[0],
    }


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return processor seconds and the answer."""
    start = time.process_time()
    found = work()
    return time.process_time() - start, found


def summarise(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the figures the documentation quotes."""
    summary: dict[str, Any] = {
        f"n={row['n']} {row['task']} {row['peer']} ratio": round(row["ratio"], 1) for row in rows
    }
    summary["at least 10 times"] = all(row["ratio"] >= 10 for row in rows)
    print(summary)
    return summary


if __name__ == "__main__":
    main()
