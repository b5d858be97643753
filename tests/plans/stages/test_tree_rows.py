"""Rows drawn from noisy tables: they follow the tables, and hold nothing the tables do not."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as dc
from discreet.plans.stages.marginals import NoisyTree, lay_out
from discreet.plans.stages.tree_rows import draw_quota, draw_rows, fit_margins, fit_pair
from discreet.randomness import public_generator

SCHEMA = dc.Schema(
    {
        "mass": dc.Number(-1, 3, missing=False),
        "size": dc.Number(0, 5, step=1, missing=False),
        "kind": dc.Category("a", "b", "c", missing=False, other=False),
        "alone": dc.Number(10, 20, missing=False),
    }
)
COLUMNS = [SCHEMA[name] for name in SCHEMA]


def exact_tree(rows: int = 1_000) -> NoisyTree:
    """Return a tree whose tables have no noise: mass - size - kind, and a column alone."""
    by_size = np.diag([100.0, 200.0, 300.0, 400.0]) * rows / 1_000  # four bins of mass, four of size
    by_kind = np.outer(by_size.sum(axis=0), [0.5, 0.0, 0.5])
    by_kind[0] = [0.0, 100.0 * rows / 1_000, 0.0]
    layout = lay_out(SCHEMA, tuple(SCHEMA), 4)
    alone = np.array([0.0, 0.0, 1.0, 0.0]) * rows
    margins = (by_size.sum(axis=1), by_size.sum(axis=0), by_kind.sum(axis=0), alone)
    return NoisyTree(layout, float(rows), margins, 1e-9, ((0, 1), (1, 2)), (by_size, by_kind), 1e-9)


def drawn(tree: NoisyTree, rows: int = 400, seed: int = 0) -> np.ndarray:
    return draw_rows(tree, COLUMNS, rows, public_generator(seed))


def test_rows_follow_margins_and_pairs() -> None:
    tree, rows = exact_tree(), drawn(exact_tree())
    cells = [part.index(rows[:, place]) for place, part in enumerate(tree.layout.cells)]
    for place, margin in enumerate(tree.margins):
        shares = np.bincount(cells[place], minlength=len(margin)) / len(rows)
        assert shares == pytest.approx(margin / margin.sum(), abs=0.01)
    agree = np.mean(cells[0] == cells[1])
    assert agree > 0.98
    first = cells[1] == 0
    assert np.mean(cells[2][first] == 1) > 0.95 and np.mean(cells[2][~first] == 1) < 0.02


def test_values_lie_in_their_range_and_on_their_step_grid() -> None:
    rows = drawn(exact_tree(), 2_000)
    assert rows[:, 0].min() >= -1 and rows[:, 0].max() <= 3
    assert set(rows[:, 1]) == {0.0, 1.0, 2.0, 3.0, 4.0, 5.0}
    assert set(rows[:, 2]) == {0.0, 1.0, 2.0}
    assert rows[:, 3].min() >= 15 and rows[:, 3].max() <= 17.5
    assert len(set(rows[:, 0])) == len(rows)  # spread inside the cell, no value twice
    found = rows[:, 1][exact_tree().layout.cells[1].index(rows[:, 1]) == 1]
    assert set(found) == {1.0, 2.0}  # a cell with two points holds both, about as often
    assert 0.4 < np.mean(found == 1.0) < 0.6


def test_the_seed_decides_and_nothing_else() -> None:
    assert np.array_equal(drawn(exact_tree()), drawn(exact_tree()))
    assert not np.array_equal(drawn(exact_tree()), drawn(exact_tree(), seed=1))


def test_one_row_and_one_column() -> None:
    assert drawn(exact_tree(), rows=1).shape == (1, 4)
    layout = lay_out(SCHEMA, ("kind",), 4)
    tree = NoisyTree(layout, 10.0, (np.array([10.0, -4.0, 3.0]),), 1.0, (), (), 0.0)
    rows = draw_rows(tree, [SCHEMA["kind"]], 100, public_generator(0))
    assert np.bincount(rows[:, 0].astype(int), minlength=3).tolist() == [85, 0, 15]


@pytest.mark.parametrize("seed", range(5))
def test_tables_full_of_noise_still_give_rows(seed: int) -> None:
    draw, clean = np.random.default_rng(seed), exact_tree(20)
    noisy = NoisyTree(
        clean.layout,
        1.0,
        tuple(m + draw.laplace(0, 1e6, m.shape) for m in clean.margins),
        1e6,
        clean.edges,
        tuple(t + draw.laplace(0, 1e6, t.shape) for t in clean.tables),
        1e6,
    )
    rows = drawn(noisy)
    assert np.isfinite(rows).all() and rows.shape == (400, 4)


def test_margins_known_twice_are_better_known() -> None:
    draw, clean, errors = np.random.default_rng(0), exact_tree(), []
    for _ in range(200):
        noisy = NoisyTree(
            clean.layout,
            clean.rows,
            tuple(m + draw.normal(0, 20, m.shape) for m in clean.margins),
            20.0,
            clean.edges,
            tuple(t + draw.normal(0, 6, t.shape) for t in clean.tables),
            6.0,
        )
        alone = NoisyTree(clean.layout, clean.rows, noisy.margins, 20.0, (), (), 0.0)
        errors.append([np.sum((fit_margins(t)[1] - clean.margins[1]) ** 2) for t in (noisy, alone)])
    both, own = np.mean(errors, axis=0)
    assert both < 0.4 * own


def test_a_pair_has_the_margins_it_is_given() -> None:
    draw = np.random.default_rng(1)
    a, b = np.array([100.0, 0.0, 300.0]), np.array([250.0, 150.0])
    table = fit_pair(np.outer(a, b) / 400 + draw.normal(0, 30, (3, 2)), a, b, 10.0, 400.0)
    assert table.sum(axis=1) == pytest.approx(a, abs=1e-6)
    assert table.sum(axis=0) == pytest.approx(b, abs=1e-6)
    assert table.min() >= 0 and not table[1].any()


def test_noise_alone_leaves_columns_independent_and_signal_survives() -> None:
    draw = np.random.default_rng(2)
    margin = np.full(8, 125.0)
    independent = np.outer(margin, margin) / 1_000
    kept, lost = [], []
    for _ in range(50):
        noise = draw.normal(0, 40, (8, 8))
        fitted = fit_pair(independent + noise, margin, margin, 40.0, 1_000.0)
        plain = fit_pair(independent + noise, margin, margin, 1e-6, 1_000.0)
        kept.append([np.abs(fitted - independent).sum(), np.abs(plain - independent).sum()])
        signal = fit_pair(np.diag(margin) + noise / 10, margin, margin, 4.0, 1_000.0)
        lost.append(np.trace(signal) / 1_000)
    shrunk, plain_error = np.mean(kept, axis=0)
    assert shrunk < 0.4 * plain_error
    assert min(lost) > 0.9


def test_quotas_are_met_to_the_nearest_whole_and_on_average_exactly() -> None:
    shares = np.array([0.31, 0.0, 0.07, 0.62])
    totals = np.zeros(4)
    for seed in range(2_000):
        found = np.bincount(draw_quota(shares, 10, public_generator(seed)), minlength=4)
        assert np.abs(found - 10 * shares).max() < 1 and found[1] == 0
        totals += found
    assert totals / 20_000 == pytest.approx(shares, abs=0.005)
