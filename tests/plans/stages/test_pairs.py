"""Tables of columns and pairs: bounds over all neighbours, public layouts, one pass over the rows."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.audit.hunting.runs import SimulatedReleaser
from discreet.data import PrivateTable, Summand, add_up
from discreet.data.contributions import TablesContribution, certify_tables
from discreet.errors import ArgumentError
from discreet.mechanisms import GaussianNoise, LaplaceNoise
from discreet.numerics import to_units
from discreet.plans import Setting
from discreet.plans.stages.counts import onto_total
from discreet.plans.stages.marginals import (
    LARGEST_PAIRS,
    LARGEST_TABLES,
    PairTables,
    lay_out,
    tree_stages,
)
from discreet.plans.stages.sums import table_noise
from discreet.privacy.accounting import event_cost, total
from discreet.privacy.certificate import (
    NORMS,
    Certificate,
)
from discreet.privacy.relation import RELATIONS, Relation
from tests.oracles.norms import within
from tests.oracles.selection import ScriptedNoise

TINY = dc.Schema(
    {
        "size": dc.Number(0, 2, step=1, missing=False),
        "kind": dc.Category("a", "b", missing=False, other=False),
        "mass": dc.Number(0, 1, missing=False),
    }
)
ROWS = list(itertools.product([0, 1, 2], ["a", "b"], [0.1, 0.9]))
ORDER = {"l1": 1, "l2": 2, "linf": np.inf}


def raw_counts(contribution: Any, rows: list[Any]) -> np.ndarray:
    table = PrivateTable(pd.DataFrame(rows, columns=list(TINY)), TINY, "add-remove")
    return add_up(table, [Summand(contribution, 1.0)])[0]


def moves(contribution: Any, relation: Relation, places: Any = slice(None)) -> list[np.ndarray]:
    """Return how the counts move between all neighbours among tables of two rows."""
    kept = ROWS[0]
    counts = {row: raw_counts(contribution, [kept, row])[places] for row in ROWS}
    if relation == "add-remove":
        alone = raw_counts(contribution, [kept])[places]
        return [count - alone for count in counts.values()]
    return [counts[a] - counts[b] for a, b in itertools.permutations(ROWS, 2)]


def is_certified(moved: list[np.ndarray], certificate: Certificate, relation: Relation) -> bool:
    return all(within(certificate.bounds[relation], vector.tolist()) for vector in moved)


@pytest.mark.proves("marginals")
@pytest.mark.parametrize("relation", RELATIONS)
def test_no_neighbour_moves_the_tables_further(relation: Relation) -> None:
    contribution = lay_out(TINY, tuple(TINY), 3).contribution
    moved = moves(contribution, relation)
    assert len(contribution.sizes) == 6
    assert is_certified(moved, contribution.certificate, relation)
    for norm in NORMS:
        worst = max(np.linalg.norm(vector.astype(float), ORDER[norm]) for vector in moved)
        assert worst == pytest.approx(contribution.certificate.sensitivity(norm, relation))


@pytest.mark.proves("marginals")
@pytest.mark.parametrize("relation", RELATIONS)
def test_any_so_many_tables_have_the_bound_of_their_number(relation: Relation) -> None:
    layout = lay_out(TINY, tuple(TINY), 3)
    for pairs in itertools.combinations(range(3), 2):
        places = [place for pair in pairs for place in layout.places(pair)]
        moved = moves(layout.contribution, relation, places)
        assert is_certified(moved, certify_tables(2, len(places)), relation)


@pytest.mark.refutes("marginals")
@pytest.mark.parametrize("relation", RELATIONS)
def test_a_table_that_was_not_counted_is_caught(relation: Relation) -> None:
    contribution = lay_out(TINY, tuple(TINY), 3).contribution
    assert not is_certified(
        moves(contribution, relation), certify_tables(5, contribution.size), relation
    )


@pytest.mark.refutes("marginals")
def test_one_cell_per_table_is_too_few_for_a_replacement() -> None:
    contribution = lay_out(TINY, tuple(TINY), 3).contribution
    planted = {"replace-one": contribution.certificate.bounds["add-remove"]}
    certificate = Certificate(("marginals",), contribution.size, planted)
    assert not is_certified(moves(contribution, "replace-one"), certificate, "replace-one")


@pytest.mark.proves("marginals")
def test_a_wild_index_stays_inside_its_own_table() -> None:
    def index(block: Any) -> Any:
        yield np.where(block["kind"] == 0, -9, 9)
        yield np.where(block["kind"] == 0, 10**9, -(10**9))

    wild = TablesContribution(("kind",), (2, 3), index)
    # Too large is the last cell, negative is none.
    assert raw_counts(wild, ROWS).tolist() == [0, 6, 0, 0, 6]
    assert is_certified(moves(wild, "replace-one"), wild.certificate, "replace-one")


@pytest.mark.parametrize("shapes", [((5,),), ((12,),), ((12,), (12,), (12,))])
def test_a_wrong_number_of_tables_or_rows_is_refused(shapes: Any) -> None:
    wrong = TablesContribution(("kind",), (2, 2), lambda block: [np.zeros(s, int) for s in shapes])
    with pytest.raises(ValueError):
        raw_counts(wrong, ROWS)


def test_the_counts_are_those_of_cross_tables() -> None:
    draw = np.random.default_rng(0)
    rows = [ROWS[number] for number in draw.integers(0, len(ROWS), 300)]
    frame, layout = pd.DataFrame(rows, columns=list(TINY)), lay_out(TINY, tuple(TINY), 3)
    counts = raw_counts(layout.contribution, rows)
    cross = pd.crosstab(frame["size"], frame["kind"]).to_numpy()
    assert np.array_equal(counts[list(layout.places(0))].reshape(3, 2), cross)
    assert np.array_equal(counts[:3], cross.sum(axis=1)) and counts.sum() == 6 * 300


@pytest.mark.parametrize(("delta", "kind"), [(0.0, LaplaceNoise), (1e-3, GaussianNoise)])
@pytest.mark.parametrize("rows", [500, None])
def test_noise_is_added_to_the_selected_counts_alone(
    delta: float, kind: type, rows: int | None
) -> None:
    relation: Relation = "replace-one" if rows else "add-remove"
    setting = Setting(TINY, relation, rows)
    noise = table_noise(8, 40, setting, epsilon=0.5, delta=delta)
    assert isinstance(noise.noise, kind) and noise.step == 1.0
    selected = type(noise)(noise.noise, (3, 1))
    source = ScriptedNoise((0, round(2 / noise.noise.step)))
    assert selected.release(np.array([7, 8, 9, 10]), source).tolist() == [10.0, 10.0]
    moved = (16 if delta == 0 else 4) / (1 if rows else 2 if delta == 0 else np.sqrt(2))
    assert source.scales[0] * noise.noise.step >= moved * (2 if delta == 0 else 1)
    assert ("rows" in str(noise.certificate.assumptions)) == (rows is None)


def test_noise_too_large_for_the_lattice_is_refused() -> None:
    with pytest.raises(ArgumentError, match="below 2\\^45 records"):
        table_noise(200, 500, Setting(TINY, "replace-one", 10), epsilon=1e-12)


def many(columns: int, column: Any) -> dc.Schema:
    return dc.Schema({f"c{number}": column for number in range(columns)})


def test_all_pairs_of_two_hundred_columns_with_fewer_bins() -> None:
    schema = many(200, dc.Number(0, 1, missing=False))
    layout = lay_out(schema, tuple(schema), 16)
    assert len(layout.pairs) == LARGEST_PAIRS == 200 * 199 // 2
    assert set(layout.sizes) == {14} and layout.contribution.size <= LARGEST_TABLES


def test_beyond_them_only_near_columns_are_compared() -> None:
    schema = many(1_000, dc.Category(0, 1, missing=False, other=False))
    layout = lay_out(schema, tuple(schema), 16)
    assert len(layout.pairs) <= LARGEST_PAIRS
    assert {b - a for a, b in layout.pairs} == set(range(1, 20))
    noise = tree_stages(layout, Setting(schema, "replace-one", 100), epsilon=1.0).stages[1].noise
    assert noise.picks == 999  # type: ignore[attr-defined]


def test_columns_with_very_many_values_stay_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = dc.Schema(
        {
            "code": dc.Category(*range(3_000), missing=False, other=False),
            "kind": dc.Category("a", "b", missing=False, other=False),
            "place": dc.Category(*range(100), missing=False, other=False),
            "mass": dc.Number(0, 1, missing=False),
        }
    )
    layout = lay_out(schema, tuple(schema), 16)
    assert layout.pairs == ((1, 2), (1, 3), (2, 3))
    crowd = many(
        60, dc.Category(*range(64), missing=False, other=False)
    )  # 1770 pairs of 4096 cells are more than fit
    fewer = lay_out(crowd, tuple(crowd), 16)
    assert 0 < len(fewer.pairs) < 1_770 and fewer.contribution.size <= LARGEST_TABLES
    monkeypatch.setattr("discreet.plans.stages.marginals.LARGEST_TABLES", 3_000)
    with pytest.raises(ArgumentError, match="at most 3000 cells together, got 3118"):
        lay_out(schema, tuple(schema), 16)


def stages_of(schema: dc.Schema, relation: Relation = "replace-one", **options: Any) -> Any:
    setting = Setting(schema, relation, 100 if relation == "replace-one" else None)
    return tree_stages(lay_out(schema, tuple(schema), 4), setting, **{"epsilon": 1.0, **options})


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("columns", [1, 2, 3, 12])
def test_the_stages_cost_no_more_than_the_plan(columns: int, delta: float, relation: Relation) -> None:
    stages = stages_of(
        many(columns, dc.Number(0, 1, missing=False)), relation, epsilon=0.7, delta=delta
    ).stages
    assert len(stages) == min(columns, 3)
    bill = total([stage.cost("basic") for stage in stages])
    assert to_units(0.7) - 3 <= bill.loss <= to_units(0.7)
    assert sum(stage.noise.delta for stage in stages) <= delta * (1 + 1e-12)
    if delta:
        event_cost("zcdp", stages[-1].events, stages[-1].noise.epsilon, stages[-1].noise.delta)


def test_a_tree_that_is_known_costs_nothing() -> None:
    one, two, three = (
        stages_of(many(columns, dc.Number(0, 1, missing=False))) for columns in (1, 2, 3)
    )
    assert one.tree is one.pairs is two.tree is None
    assert [round(stage.noise.epsilon, 6) for stage in one.stages] == [1.0]
    assert [round(stage.noise.epsilon, 6) for stage in two.stages] == [0.25, 0.75]
    assert [round(stage.noise.epsilon, 6) for stage in three.stages] == [0.2, 0.2, 0.6]


def dependent(rows: int = 2_000) -> tuple[dc.Schema, pd.DataFrame]:
    """Return records whose columns a, c and b, d go together."""
    draw = np.random.default_rng(4)
    a, b = draw.random(rows), draw.integers(0, 3, rows)
    frame = pd.DataFrame(
        {
            "a": a,
            "b": np.array(["x", "y", "z"])[b],
            "c": np.clip(a + draw.normal(0, 0.1, rows), 0, 1),
            "d": np.where(draw.random(rows) < 0.9, b, draw.integers(0, 3, rows)),
            "e": draw.random(rows),
        }
    )
    schema = dc.Schema(
        {
            "a": dc.Number(0, 1, missing=False),
            "b": dc.Category("x", "y", "z", missing=False, other=False),
            "c": dc.Number(0, 1, missing=False),
            "d": dc.Number(0, 2, step=1, missing=False),
            "e": dc.Number(0, 1, missing=False),
        }
    )
    return schema, frame


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_tree_finds_what_goes_together(relation: Relation) -> None:
    schema, frame = dependent()
    setting = Setting(schema, relation, len(frame) if relation == "replace-one" else None)
    stages = tree_stages(lay_out(schema, tuple(schema), 8), setting, epsilon=20.0)
    tree = stages.ask(SimulatedReleaser(PrivateTable(frame, schema, relation), seed=1))
    assert {(0, 2), (1, 3)} <= set(tree.edges) and len(tree.edges) == 4
    assert tree.rows == pytest.approx(2_000, abs=20)
    at = tree.edges.index((1, 3))
    assert tree.tables[at] == pytest.approx(pd.crosstab(frame["b"], frame["d"]).to_numpy(), abs=15)


def test_a_column_with_many_values_is_not_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(7)
    a = draw.integers(0, 2, 1_000)
    b = np.where(draw.random(1_000) < 0.3, a, draw.integers(0, 2, 1_000))
    frame = pd.DataFrame({"a": a, "b": b, "code": draw.integers(0, 200, 1_000)})
    two = dc.Category(0, 1, missing=False, other=False)
    schema = dc.Schema(
        {"a": two, "b": two, "code": dc.Category(*range(200), missing=False, other=False)}
    )
    setting = Setting(schema, "replace-one", 1_000)
    stages = tree_stages(lay_out(schema, tuple(schema), 4), setting, epsilon=500.0)

    def found() -> set[Any]:
        return set(stages.ask(SimulatedReleaser(PrivateTable(frame, schema), seed=0)).edges)

    assert (0, 1) in found()
    nothing = "discreet.mechanisms.selection.pairs.pair_scores.chance_deviation"
    monkeypatch.setattr(nothing, lambda expected: 0 * expected)
    assert (0, 1) not in found()


def test_one_pass_serves_all_stages() -> None:
    schema, frame = dependent(300)
    stages = tree_stages(
        lay_out(schema, tuple(schema), 4), Setting(schema, "replace-one", 300), epsilon=1.0
    )
    seen: list[Any] = []

    class Watching(SimulatedReleaser):
        def answer(self, *asked: Any) -> list[np.ndarray]:
            seen.extend((id(stage.contribution), stage.noise.step) for stage in asked)
            return super().answer(*asked)

    stages.ask(Watching(PrivateTable(frame, schema), seed=0))
    assert len(seen) == 3 and len(set(seen)) == 1


@pytest.mark.parametrize("seed", range(20))
def test_projection_is_the_nearest_vector_of_counts(seed: int) -> None:
    draw = np.random.default_rng(seed)
    values, total_ = draw.normal(0, 10.0 ** draw.integers(-2, 6), 7), float(draw.uniform(1, 100))
    found = onto_total(values, total_)
    assert found.min() >= 0 and found.sum() == pytest.approx(total_, rel=1e-9)
    # Nearest: all that is above zero was moved by the same amount, the rest by no more than it.
    moved = values - found
    assert np.ptp(moved[found > 0]) < 1e-9 * (1 + np.abs(values).max())
    assert (moved[found == 0] <= moved[found > 0].max() + 1e-9 * np.abs(values).max()).all()


def test_layouts_are_plain_facts() -> None:
    layout = lay_out(TINY, ("kind",), 4)
    assert isinstance(layout, PairTables) and layout.pairs == () and layout.sizes == (2,)
    for bins in (1, 65, 2.0):
        with pytest.raises(ArgumentError, match="bins must be a whole number"):
            lay_out(TINY, tuple(TINY), bins)  # type: ignore[arg-type]
