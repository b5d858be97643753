"""Which model ``dc.fit`` should take: ``python -m benchmarks.glass_box_rule [results.json]``.

Rules of public facts (a model, and another one where a fact holds) are compared on what
``benchmarks.glass_box`` found. Each table is judged by the rule that is best on all the others, by how
far its model is behind the best of ours, in AUC and in log loss, cell by cell.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.glass_box_data import table
from benchmarks.harness import RESULTS, print_table
from discreet.fitting.rule import MODELS

NEAR = 0.01
FACT = 0.002
"""What a fact must gain in the mean over all cells: less is what one table alone may bring."""

MOST = 0.1
"""What a cell counts at most: one odd table must not decide alone."""

Cell = tuple[str, float]
Losses = dict[Cell, dict[str, tuple[float, float]]]
"""How far every model is behind the best one in a cell, in AUC and in log loss."""


@dataclass(frozen=True)
class Facts:
    """What a rule might go by: the classes, and how many features are numbers or categories."""

    classes: int
    numbers: int
    categories: int


WHERE: dict[str, Callable[[Facts, float], bool]] = {
    "no numbers": lambda facts, epsilon: facts.numbers == 0,
    "no categories": lambda facts, epsilon: facts.categories == 0,
    "more than two classes": lambda facts, epsilon: facts.classes > 2,
    "at most eight columns": lambda facts, epsilon: facts.numbers + facts.categories <= 8,
    "epsilon below 0.3": lambda facts, epsilon: epsilon < 0.3,
    "epsilon above 3": lambda facts, epsilon: epsilon > 3,
    "more than four classes": lambda facts, epsilon: facts.classes > 4,
    "epsilon below 0.3 or more than four classes": lambda facts, epsilon: (
        epsilon < 0.3 or facts.classes > 4
    ),
}


@dataclass(frozen=True)
class Rule:
    """A model, and another one where something is true of public facts."""

    model: str
    fact: str = ""
    other: str = ""

    def __str__(self) -> str:
        return f"{self.model}; {self.other} if {self.fact}" if self.fact else self.model

    def take(self, facts: Facts, epsilon: float) -> str:
        """Return the model for a table and an epsilon."""
        return self.other if self.fact and WHERE[self.fact](facts, epsilon) else self.model


RULES = [
    *map(Rule, MODELS),
    *(Rule(one, fact, other) for one, fact, other in product(MODELS, WHERE, MODELS) if one != other),
]


def main() -> None:
    """Print the rule and what it loses on every table, and on all of them."""
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else RESULTS / "glass_box.json"
    losses = behind(json.loads(path.read_text())["rows"])
    names = list(dict.fromkeys(name for name, _ in losses))
    facts = {name: facts_of(name) for name in names}
    rows = [judge(name, names, facts, losses) for name in names]
    print_table("left out, and judged by the rule of all others", rows)
    print(f"on all tables: {best(names, facts, losses)}")
    for score in ("auc", "log loss"):
        met, cells = (sum(row[key] for row in rows) for key in (f"{score} near", "cells"))
        print(
            f"{score}: within {NEAR} of the best of ours in {met} of {cells} cells ({met / cells:.0%})"
        )


def behind(rows: list[dict[str, Any]]) -> Losses:
    """Return what every model loses in the cells in which all of ours were run on classes."""
    found: dict[Cell, dict[str, tuple[float, float]]] = {}
    for row in rows:
        if row["model"] in MODELS and row.get("auc", float("nan")) == row.get("auc"):
            found.setdefault((row["table"], row["epsilon"]), {})[row["model"]] = (
                -row["auc"],
                row["log loss"],
            )
    whole = {cell: told for cell, told in found.items() if len(told) == len(MODELS)}
    least = {cell: np.min(list(told.values()), axis=0) for cell, told in whole.items()}
    return {
        cell: {name: tuple(np.array(pair) - least[cell]) for name, pair in told.items()}
        for cell, told in whole.items()
    }


def facts_of(name: str) -> Facts:
    """Return the public facts about a table."""
    task = table(name)
    categories = sum(width > 0 for width in task.widths)
    return Facts(task.count, len(task.widths) - categories, categories)


def best(names: list[str], facts: dict[str, Facts], losses: Losses) -> Rule:
    """Return the rule that loses least on some tables; a fact has its price."""
    return min(RULES, key=lambda rule: _lost(rule, names, facts, losses))


def _lost(rule: Rule, names: list[str], facts: dict[str, Facts], losses: Losses) -> float:
    own = [
        min(sum(told[rule.take(facts[name], epsilon)]), MOST)
        for (name, epsilon), told in losses.items()
        if name in names
    ]
    return float(np.mean(own)) + (FACT if rule.fact else 0.0)


def judge(name: str, names: list[str], facts: dict[str, Facts], losses: Losses) -> dict[str, Any]:
    """Return what the rule of all other tables loses on a table."""
    rule = best([other for other in names if other != name], facts, losses)
    own = np.array(
        [
            told[rule.take(facts[name], epsilon)]
            for (other, epsilon), told in losses.items()
            if other == name
        ]
    )
    return {
        "table": name,
        "rule": str(rule),
        "cells": len(own),
        "auc near": int(np.sum(own[:, 0] <= NEAR)),
        "log loss near": int(np.sum(own[:, 1] <= NEAR)),
        "auc behind": round(float(own[:, 0].mean()), 4),
        "log loss behind": round(float(own[:, 1].mean()), 4),
    }


if __name__ == "__main__":
    main()
