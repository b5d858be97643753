"""Means over seeds, and what was aimed at against what was reached."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.glass_box_data import BINARY, SYNTHETIC, table

SCORES = ("auc", "log loss", "accuracy", "calibration", "rmse", "seconds")
OURS, PEER, PLAIN = "additive", "DP-EBM", "EBM, not private"
LARGE = 30_000
Row = dict[str, Any]
Pair = tuple[Row, Row]


def mean_rows(name: str, rows: list[Row]) -> list[Row]:
    """Return one row per model and epsilon: means over seeds, and how far AUC spreads between them."""
    groups: dict[tuple[str, Any], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["model"], row.get("epsilon")), []).append(row)
    known = [score for score in SCORES if any(score in row for row in rows)]
    return [
        {
            "table": name,
            "model": model,
            "epsilon": "" if epsilon is None else epsilon,
            **_means(own, known),
        }
        for (model, epsilon), own in groups.items()
    ]


def _means(rows: list[Row], known: list[str]) -> dict[str, float]:
    return {
        score: float(np.mean([row.get(score, float("nan")) for row in rows])).__round__(4)
        for score in known
    }


def judge(rows: list[Row]) -> list[Row]:
    """Return every aim, in how many cells or tables it is met, and where it is missed most."""
    by = {(row["table"], row["model"], row["epsilon"]): row for row in rows}
    binary = [row for row in rows if row["table"] in BINARY | SYNTHETIC and row["model"] == OURS]

    def against(model: str, *, noisy: bool = True) -> list[Pair]:
        found = [
            (row, by.get((row["table"], model, row["epsilon"] if noisy else ""))) for row in binary
        ]
        return [(own, other) for own, other in found if other is not None]

    peers, plain = against(PEER), against(PLAIN, noisy=False)
    large = [(a, b) for a, b in plain if a["epsilon"] == 1.0 and _rows(a["table"]) >= LARGE]
    linear = [(a, b) for a, b in against("logistic") if a["table"] == "linear"]
    constant = against("constant", noisy=False)
    aims = [
        _aim("AUC above DP-EBM at every epsilon, 90 % of tables", peers, _auc, 0.0, 0.9, by_table=True),
        _aim(
            "log loss below DP-EBM at every epsilon, 90 % of tables",
            peers,
            _loss,
            0.0,
            0.9,
            by_table=True,
        ),
        _aim("AUC never more than .01 below DP-EBM", peers, _auc, -0.01, 1.0),
        _aim("log loss never above the constant's", constant, _loss, 0.0, 1.0),
        _aim("10 times faster than DP-EBM", peers, _faster, 10.0, 1.0),
        _aim("AUC within .02 of the additive EBM, epsilon 1, 30,000 rows", large, _auc, -0.02, 1.0),
        _aim("AUC not below diffprivlib's regression on a linear table", linear, _auc, 0.0, 1.0),
    ]
    return [aim for aim in aims if aim is not None]


def _auc(own: Row, other: Row) -> float:
    return float(own["auc"] - other["auc"])


def _loss(own: Row, other: Row) -> float:
    return float(other["log loss"] - own["log loss"])


def _faster(own: Row, other: Row) -> float:
    return float(other["seconds"] / max(own["seconds"], 1e-3))


def _rows(name: str) -> int:
    return len(table(name).split(0)[0])


def _aim(
    text: str,
    pairs: list[Pair],
    gain: Callable[[Row, Row], float],
    least: float,
    share: float,
    *,
    by_table: bool = False,
) -> Row | None:
    """Return whether enough cells, or tables in all their cells, gain at least so much."""
    if not pairs:
        return None
    gains: dict[Any, list[float]] = {}
    for own, other in pairs:
        key = own["table"] if by_table else (own["table"], own["epsilon"])
        gains.setdefault(key, []).append(gain(own, other))
    met = sum(min(own) >= least for own in gains.values())
    worst = min(pairs, key=lambda pair: gain(*pair))
    return {
        "aim": text,
        "met": f"{met} of {len(gains)}",
        "reached": "yes" if met >= share * len(gains) else "no",
        "median": round(float(np.median([one for own in gains.values() for one in own])), 4),
        "worst": round(gain(*worst), 4),
        "where": f"{worst[0]['table']}, epsilon {worst[0]['epsilon']}",
    }
