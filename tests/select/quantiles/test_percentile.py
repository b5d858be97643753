"""Private percentiles: exact laws over all small tables, both relations, every mechanism."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.audit.hunting.runs import SimulatedReleaser
from discreet.audit.laws.neighbours import neighbouring_tables, small_tables
from discreet.errors import ArgumentError
from discreet.plans import Setting
from discreet.select.quantiles.percentile import PERCENTILE_CHOICES, list_values, percentile, value_grid
from tests.laws.examples import Example
from tests.oracles.goodness import fits
from tests.oracles.laws import as_law, max_divergence

SCHEMA = dc.Schema(
    {
        "size": dc.Number(0, 3, step=1, missing=False),
        "mass": dc.Number(0, 1, missing=False),
        "kind": dc.Category("a", "b", missing=False, other=False),
    }
)
RELATIONS = ("add-remove", "replace-one")


def noise_of(p: float, relation: str, **options: Any) -> Any:
    rows = 6 if relation == "replace-one" else None
    plan = percentile("size", p, **{"epsilon": 1.0, **options})
    return plan.prepare(Setting(SCHEMA, relation, rows)).stages[0].noise  # type: ignore[arg-type]


@pytest.mark.proves("signed-distance", "percentile-distance", "value-sensitivity")
@pytest.mark.parametrize("mechanism", [m for m in PERCENTILE_CHOICES if m != "laplace"])
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("p", [0, 10, 50, 90])
def test_no_neighbouring_tables_exceed_epsilon(p: float, relation: str, mechanism: str) -> None:
    noise = noise_of(p, relation, mechanism=mechanism)
    laws = {c: as_law(noise.law(np.array(c))) for c in small_tables(4, 6)}
    for counts, law in laws.items():
        assert sum(law.values()) == pytest.approx(1.0, abs=1e-9)
        for other in neighbouring_tables(counts, relation):
            if other in laws and (sum(counts) or relation == "add-remove"):
                assert max_divergence(law, laws[other]) <= 1.0 + 1e-9


@pytest.mark.refutes("signed-distance")
def test_add_remove_distances_under_replacing_are_caught() -> None:
    """Priced for the other relation, replacing a record costs up to twice as much."""
    noise = noise_of(50, "add-remove", mechanism="exponential")
    laws = {c: as_law(noise.law(np.array(c))) for c in small_tables(4, 6)}
    worst = max(
        max_divergence(laws[c], laws[o])
        for c in laws
        for o in neighbouring_tables(c, "replace-one")
        if sum(c) == 6
    )
    assert worst > 1.3


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("p", [0, 5, 50, 77.7, 100])
def test_a_release_without_much_noise_is_the_percentile(p: float, relation: str) -> None:
    frame = pd.DataFrame({"size": np.random.default_rng(1).choice(4, 500, p=[0.1, 0.3, 0.4, 0.2])})
    terms = {"dataset": "d", "epsilon": 1e6, "ledger": ":memory:", "seed": 0, "workers": 1}
    schema = dc.Schema({"size": dc.Number(0, 3, step=1, missing=False)})
    value = dc.protect(frame, schema, relation=relation, **terms).release(  # type: ignore[arg-type]
        percentile("size", p, epsilon=1e4)
    )
    rank = max(1, int(np.ceil(round(p * 5, 6))))
    assert value.value.winner == np.sort(frame["size"])[rank - 1]
    assert "records from the percentile" in value.value.why


@pytest.mark.parametrize(
    "mechanism",
    ["permute-and-flip", "stability", "exponential", "local-dampening", "inverse-sensitivity"],
)
def test_releases_follow_the_law(mechanism: str) -> None:
    noise = noise_of(50, "add-remove", mechanism=mechanism)
    counts = np.array([1, 3, 1, 0])
    source = SimulatedReleaser(None, 3).source  # type: ignore[arg-type]
    sample = [int(noise.release(counts, source)[0]) for _ in range(1500)]
    assert fits(sample, dict(enumerate(noise.law(counts).tolist())))


def test_an_empty_table_has_an_answer() -> None:
    for relation in RELATIONS:
        for mechanism in ("auto", "stability"):
            noise = noise_of(50, relation, mechanism=mechanism)
            assert noise.law(np.zeros(4, int)).sum() == pytest.approx(1.0)


def test_grids() -> None:
    setting = Setting(SCHEMA, "replace-one", 10)
    assert value_grid("size", None, setting).values.tolist() == [0, 1, 2, 3]
    assert len(value_grid("mass", None, setting, even=True).values) == 1024
    assert list_values("candidates", [0.5, 0.1, 0.5, 0.9]) == (0.1, 0.5, 0.9)
    assert value_grid("mass", (0.1, 0.5), setting).values.tolist() == [0.1, 0.5]
    with pytest.raises(ArgumentError, match="candidates must lie between 0 and 1"):
        percentile("mass", 50, candidates=[0.5, 2], epsilon=1.0).prepare(setting)
    with pytest.raises(ArgumentError, match=r"column must be numeric, got 'kind'\. Use choose"):
        percentile("kind", 50, epsilon=1.0).prepare(setting)


def test_wrong_arguments() -> None:
    with pytest.raises(ArgumentError, match="p must be from 0 to 100"):
        percentile("mass", -1, epsilon=1.0)
    for share in (0.5, 0.999999, 1e-6):
        with pytest.raises(ArgumentError, match="p must be a percent, 0 or from 1 to 100"):
            percentile("mass", share, epsilon=1.0)
    with pytest.raises(ArgumentError, match=r"0\.5 percent itself ask quantiles\(column, \[0\.005\]\)"):
        percentile("mass", 0.5, epsilon=1.0)
    with pytest.raises(ArgumentError, match="candidates must be 2 to"):
        percentile("mass", 50, candidates=[0.5], epsilon=1.0)
    with pytest.raises(ArgumentError, match="A candidate must be a finite number"):
        percentile("mass", 50, candidates=[0.5, float("nan")], epsilon=1.0)
    with pytest.raises(ArgumentError, match="column must be the name"):
        percentile(["mass"], 50, epsilon=1.0)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="mechanism must be one of"):
        percentile("mass", 50, epsilon=1.0, mechanism="em")  # type: ignore[arg-type]


def test_certificates_name_their_statements() -> None:
    certificate = noise_of(50, "add-remove").certificate
    assert certificate.statements == ("percentile-distance", "signed-distance")
    assert certificate.sensitivity("linf", "add-remove") == 1.0


EXAMPLES = [
    Example("percentile", lambda _: dc.percentile("age", 50, epsilon=1.0)),
    Example("percentile", lambda _: dc.percentile("income", 90, candidates=[1, 30, 60], epsilon=1.0)),
]
