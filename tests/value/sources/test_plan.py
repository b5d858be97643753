"""``source_values`` from plan to release: exact below its noise, bands that hold, clear refusals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.audit.hunting.runs import SimulatedReleaser
from discreet.data import PrivateTable
from discreet.errors import ArgumentError
from discreet.plans import Release, Setting
from discreet.value.sources.game import SourceGame
from discreet.value.sources.plan import source_values
from discreet.value.sources.result import SourceCells, SourceValues, as_test
from tests.laws.examples import Example
from tests.laws.world import labelled_rows

SITES = ("north", "south", "east", "west")
SCHEMA = dc.Schema(
    {
        "site": dc.Category(*SITES),
        "a": dc.Number(-1.0, 1.0),
        "b": dc.Number(-1.0, 1.0, missing=False),
        "noise": dc.Category("p", "q", "r"),
        "ill": dc.Category(0, 1),
    },
    target="ill",
)


def records(rows: int, seed: int) -> pd.DataFrame:
    """Return records: labels of later sites are more and more often drawn by chance."""
    draw = np.random.default_rng(seed)
    site = draw.integers(0, 4, rows)
    frame = pd.DataFrame({"site": np.array(SITES)[site], "a": draw.uniform(-1, 1, rows)})
    frame["b"], frame["noise"] = draw.uniform(-1, 1, rows), draw.choice(["p", "q", "r"], rows)
    right = (frame["a"] + 0.5 * frame["b"] + 0.2 * draw.normal(size=rows) > 0).astype(int)
    wrong = draw.random(rows) < site / 3
    frame["ill"] = np.where(wrong, draw.integers(0, 2, rows), right)
    return frame


TEST = records(400, 1).query("site == 'north'")
TABLE = records(6_000, 0)


def plan(**options: Any) -> source_values:
    return source_values("site", **{"test": TEST, "epsilon": 1.0, "delta": 1e-6} | options)


def ask(asked: source_values, table: pd.DataFrame = TABLE, seed: int = 0) -> SourceValues:
    """Return a simulated release."""
    setting = Setting(SCHEMA, "replace-one", len(table))
    value = asked.prepare(setting).finish(SimulatedReleaser(PrivateTable(table, SCHEMA), seed))
    assert isinstance(value, SourceValues)
    return value


def exact_values(like: SourceValues, table: pd.DataFrame = TABLE) -> np.ndarray:
    """Return the values of exact counts in the game of a release."""
    cells = SourceCells.of(SCHEMA, like.source, like.features, like.bins)
    asked = plan(features=list(like.features), bins=dict(zip(like.features, like.bins, strict=True)))
    counts = np.array(ask(replace_terms(asked, 1e7), table).counts)
    game = SourceGame(cells.layout, as_test(like.test), like.score, like.noise_std)
    return game.values(np.rint(counts), like.semivalue)


def replace_terms(asked: source_values, epsilon: float) -> source_values:
    return source_values("site", test=TEST, features=asked.features, bins=asked.bins, epsilon=epsilon)


def test_counts_are_those_of_the_table_and_records_of_no_source_are_nobodys() -> None:
    table = TABLE.astype(object)
    table.loc[:9, "site"] = None
    table.loc[10:19, "site"] = "elsewhere"
    table.loc[20:29, "ill"] = None
    table.loc[30:39, "a"] = None
    value = ask(plan(features="a", epsilon=1e7, delta=0.0), table)
    kept = table[table["site"].isin(SITES) & table["ill"].notna()]
    counts = np.rint(value.counts)
    by_class = kept.groupby(["site", "ill"]).size()
    expected = [by_class[site, label] for site in SITES for label in (0, 1)]
    assert counts[:8].tolist() == expected
    column = counts[8:].reshape(4, 2, 5)  # four bins and one for missing numbers
    assert column.sum() == len(kept) and column[..., 4].sum() == kept["a"].isna().sum() == 10


def test_sources_with_better_labels_are_worth_more() -> None:
    value = ask(plan())
    assert value.ranking() == SITES and value.values[0] > 0.02
    assert np.all(np.array(value.low) < value.values) and value.level == 0.95
    assert np.abs(np.array(value.values) - exact_values(value)).max() < 0.02
    assert value.utility(SITES) - value.utility() == pytest.approx(sum(value.values))
    assert value.utility("north") > value.utility("west")


@pytest.mark.once_per()
@pytest.mark.parametrize("given", [{}, {"delta": 0.0}], ids=["gaussian", "laplace"])
def test_bands_hold_the_values_of_exact_counts(given: Any) -> None:
    """Of 40 releases with four bands each; loosely, for there are few of them."""
    asked = plan(**given)
    values = [ask(asked, seed=seed) for seed in range(40)]
    exact = exact_values(values[0])
    held = np.array([(v.low <= exact) & (exact <= v.high) for v in values])
    assert held.mean() > 0.92
    narrow = np.array([np.abs(exact - v.values) <= (np.array(v.high) - v.values) / 4 for v in values])
    assert narrow.mean() < 0.8


def test_other_test_rows_scores_and_values_are_free() -> None:
    value = ask(plan())
    other = records(300, 9)
    again = value.for_test(other)
    assert again.counts == value.counts and again.test != value.test
    assert again.values == ask(plan(test=other, features=list(value.features))).values
    assert value.for_test(TEST) == value and value.shapley() == value
    assert value.banzhaf().semivalue == "banzhaf" and value.banzhaf().values != value.values
    for score in ("accuracy", "log-loss"):
        scored = value.scored(score)  # type: ignore[arg-type]
        assert scored.score == score and scored.ranking()[-1] == "west"
        assert scored.scored("brier") == value


def test_it_takes_the_columns_that_tell_most_in_the_public_test_rows() -> None:
    schema = dc.Schema(
        {"site": SCHEMA["site"]}
        | {f"x{i}": dc.Number(-1.0, 1.0) for i in range(9)}
        | {"ill": SCHEMA["ill"]},
        target="ill",
    )
    draw = np.random.default_rng(0)
    frame = pd.DataFrame(draw.uniform(-1, 1, (500, 9)), columns=[f"x{i}" for i in range(9)])
    frame["site"], frame["ill"] = "north", (frame[["x2", "x7"]].sum(axis=1) > 0).astype(int)
    stage = plan(test=frame).prepare(Setting(schema, "replace-one", 100)).stages[0]
    assert len(stage.contribution.columns) == 2 + 6  # the source, the target and six features
    assert {"x2", "x7"} <= set(stage.contribution.columns)


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_noise_does_not_depend_on_the_number_of_sources(relation: str) -> None:
    rows = 1_000 if relation == "replace-one" else None
    schema = dc.Schema(
        {
            "site": SCHEMA["site"],
            "region": dc.Category("n", "s"),
            "a": SCHEMA["a"],
            "ill": SCHEMA["ill"],
        },
        target="ill",
    )
    test = TEST.assign(region="n")
    noise = [
        source_values(name, test=test, features="a", epsilon=1.0)
        .prepare(Setting(schema, relation, rows))
        .stages[0]
        .noise
        for name in ("site", "region")
    ]
    assert noise[0].std == pytest.approx(noise[1].std)
    assert noise[0].certificate.sensitivity("l1", relation) == pytest.approx(4.0 if rows else 2.0)


def test_the_price_says_when_nothing_will_be_learned() -> None:
    asked = plan()
    few, many = (
        asked.prepare(Setting(SCHEMA, "replace-one", n)).expected_error["value"].relative()
        for n in (300, 30_000)
    )
    assert few > 0.5 > 0.1 > many
    # The rehearsal is on imagined sources; the band that comes back is about as wide.
    value = ask(asked)
    told = asked.prepare(Setting(SCHEMA, "replace-one", len(TABLE))).expected_error["value"].error
    assert 0.3 < told / max(np.array(value.high) - value.values) < 3


def test_a_release_is_saved_drawn_and_tabled() -> None:
    session = dc.protect(TABLE, SCHEMA, dataset="d", epsilon=3, delta=1e-5, ledger=":memory:")
    release = session.release(plan())
    read = Release.loads(release.dumps())
    assert read == release and read.value.banzhaf() == release.value.banzhaf()
    frame = release.value.to_frame()
    assert frame.index.name == "site" and list(frame.columns) == ["value", "low", "high"]
    display = release.plot()
    assert len(display.ax_.patches) == 4 and "Shapley" in display.ax_.get_xlabel()
    assert "4 sources" in release.title and "marginals" in release.guarantee.statements
    told = release.value.to_json()
    for fault in ({"counts": told["counts"][1:]}, {"values": []}, {"utilities": [0.0]}):
        assert not replace(release.value, **{k: tuple(v) for k, v in fault.items()}).fits_together()


WRONG = [
    ({"source": "a"}, "source must be a category of 2 to 12 values, got a number"),
    ({"source": "nobody"}, "source must be one of"),
    ({"source": "ill"}, "schema must have a target besides the source"),
    ({"features": ["a", "ill"]}, "features must be columns besides the source and the target"),
    ({"features": ["c"]}, "features must be among"),
    ({"bins": 65}, "bins must be at most 64, got 65"),
    ({"mechanism": "linf"}, "mechanism must draw every count's noise by itself"),
    ({"test": TEST.assign(ill=None)}, "test must have a listed 'ill' in every row"),
    ({"test": TEST.drop(columns="ill")}, "test must have a column 'ill'"),
    ({"test": TEST[:0]}, "test must have at least one row"),
]


@pytest.mark.parametrize(("given", "sentence"), WRONG, ids=[text for _, text in WRONG])
def test_what_cannot_be_asked_is_refused_and_costs_nothing(given: Any, sentence: str) -> None:
    session = dc.protect(TABLE[:50], SCHEMA, dataset="d", epsilon=3, delta=1e-3, ledger=":memory:")
    with pytest.raises((ArgumentError, dc.errors.SchemaError), match=sentence):
        session.release(source_values(**{"source": "site", "test": TEST, "epsilon": 1.0} | given))
    assert session.remaining.loss == 3


def test_too_many_sources_and_no_classes_are_refused() -> None:
    thirteen = dc.Category(*(f"s{i}" for i in range(13)))
    many = dc.Schema({"site": thirteen, "a": SCHEMA["a"], "ill": SCHEMA["ill"]}, target="ill")
    with pytest.raises(ArgumentError, match="2 to 12 values, got 13 values in 'site'"):
        plan().prepare(Setting(many, "replace-one", 10))
    number = dc.Schema({"site": SCHEMA["site"], "a": SCHEMA["a"]}, target="a")
    with pytest.raises(ArgumentError, match="target must be a category"):
        plan().prepare(Setting(number, "replace-one", 10))
    bare = dc.Schema({"site": SCHEMA["site"], "ill": SCHEMA["ill"]}, target="ill")
    with pytest.raises(ArgumentError, match="a column besides the source and the target"):
        plan().prepare(Setting(bare, "replace-one", 10))


def test_questions_to_a_result_are_checked() -> None:
    value = ask(plan())
    with pytest.raises(ArgumentError, match="score must be one of"):
        value.scored("f1")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="sources must be among north, south, east, west, got 'up'"):
        value.utility(["north", "up"])


EXAMPLES = [
    Example("source_values", lambda _: dc.source_values("home", test=labelled_rows(), epsilon=1.0)),
    Example(
        "source_values",
        lambda _: dc.source_values(
            "home", test=labelled_rows(), features="income", bins=8, epsilon=1.0, delta=1e-6
        ),
    ),
]
