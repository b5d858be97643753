"""Order statistics of the records that have a value: how many they are is private."""

from __future__ import annotations

from collections import Counter
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.plans import Setting
from discreet.privacy.relation import ADD_REMOVE
from discreet.select.quantiles.order_statistics import PercentileDistances, read_percentile
from discreet.select.quantiles.percentile import PercentileChoice, decide_percentile
from tests.oracles.laws import as_law, max_divergence

ROWS, CELLS = 5, 3
SCHEMA = dc.Schema({"size": dc.Number(0, CELLS - 1, step=1)})
TABLES = list(combinations_with_replacement(range(-1, CELLS), ROWS))
"""All tables of so many records; -1 has no value."""

Law = dict[Any, float]


def counts_of(table: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(table.count(cell) for cell in range(CELLS))


def neighbours(table: tuple[int, ...]) -> set[tuple[int, ...]]:
    """Return the tables in which one record is another, with or without a value."""
    gone = (Counter(table) - Counter([one]) for one in set(table))
    return {tuple(sorted([*rest.elements(), new])) for rest in gone for new in range(-1, CELLS)}


def worst(laws: dict[tuple[int, ...], Law]) -> float:
    """Return the greatest divergence of neighbouring tables."""
    return max(
        max_divergence(laws[counts_of(table)], laws[counts_of(other)])
        for table in TABLES
        for other in neighbours(table)
    )


def percentile_laws(noise: Any) -> dict[tuple[int, ...], Law]:
    return {c: as_law(noise.law(np.array(c))) for c in map(counts_of, TABLES)}


@pytest.mark.proves("percentile-part")
@pytest.mark.parametrize("p", [0, 10, 50, 90])
@pytest.mark.parametrize("mechanism", ["exponential", "permute-and-flip", "inverse-sensitivity"])
def test_a_percentile_of_a_part_keeps_epsilon(p: float, mechanism: str) -> None:
    plan = dc.percentile("size", p, epsilon=1.0, mechanism=mechanism)  # type: ignore[arg-type]
    noise = plan.prepare(Setting(SCHEMA, "replace-one", ROWS)).stages[0].noise  # type: ignore[arg-type]
    assert worst(percentile_laws(noise)) <= 1.0 + 1e-9
    assert "percentile-part" in noise.certificate.statements


@pytest.mark.proves("percentile-part")
@pytest.mark.parametrize("mechanism", ["stability", "smooth-student-t"])
def test_its_stability_moves_by_one(mechanism: str) -> None:
    options: Any = {"mechanism": mechanism, "delta": 1e-3}
    plan = dc.percentile("size", 50, epsilon=1.0, **options)
    noise = plan.prepare(Setting(SCHEMA, "replace-one", ROWS)).stages[0].noise  # type: ignore[arg-type]
    laws = percentile_laws(noise)
    for table in TABLES:
        for other in neighbours(table):
            here, there = laws[counts_of(table)], laws[counts_of(other)]
            over = sum(max(0.0, share - np.e * there.get(key, 0.0)) for key, share in here.items())
            assert over <= 1e-3 + 1e-12


@pytest.mark.refutes("percentile-part")
def test_distances_of_another_relation_are_caught() -> None:
    """To replace a record of the part is two edits of add-remove, priced as one."""
    chooser, errors = decide_percentile("exponential", CELLS, 1.0, 0.0, ROWS)
    measure = PercentileDistances(read_percentile(50), ADD_REMOVE)
    certificate = dc.percentile("size", 50, epsilon=1.0).prepare(Setting(SCHEMA, ADD_REMOVE, None))
    proven = certificate.stages[0].noise.certificate  # type: ignore[attr-defined]
    fault = PercentileChoice(proven, chooser, 1.0, errors, measure, "exponential")
    assert worst(percentile_laws(fault)) > 1.05


@pytest.mark.proves("several-quantiles")
@pytest.mark.parametrize("mechanism", ["permute-and-flip", "exponential"])
def test_quantiles_of_a_part_keep_epsilon(mechanism: str) -> None:
    """The bounds of replaced records hold for those that come or go without another."""
    plan = dc.quantiles("size", [0.3, 0.6], epsilon=1.0, mechanism=mechanism)  # type: ignore[arg-type]
    noise: Any = plan.prepare(Setting(SCHEMA, "replace-one", ROWS)).stages[0].noise  # type: ignore[arg-type]
    cuts = [(a, b) for b in range(noise.starts[-1] + 1) for a in range(b + 1)][::97]
    laws = {
        c: {cut: noise.probability(np.array(c), cut) for cut in cuts}
        for c in map(counts_of, TABLES[::4])
    }
    for table in TABLES[::4]:
        for other in neighbours(table):
            there = laws.get(counts_of(other))
            for cut, share in laws[counts_of(table)].items():
                assert there is None or share <= np.exp(1.0 + 1e-9) * there[cut]


def test_records_without_a_value_are_not_counted() -> None:
    frame = __import__("pandas").DataFrame({"size": [0.0, 2, 2, 2] + [None] * 40})
    session = dc.protect(frame, SCHEMA, dataset="d", epsilon=500, ledger=":memory:", seed=1)
    assert session.release(dc.percentile("size", 50, epsilon=100)).value.winner == 2
    assert session.release(dc.quantiles("size", [0.1, 0.9], epsilon=100)).value.values == (0, 2)


def test_distances_in_value_are_refused() -> None:
    session = dc.protect(np.zeros((3, 1)), SCHEMA, dataset="d", epsilon=5, ledger=":memory:", seed=1)
    with pytest.raises(dc.errors.ArgumentError, match="where values of 'size' may be missing"):
        session.price(dc.percentile("size", 50, epsilon=1, mechanism="local-dampening"))
