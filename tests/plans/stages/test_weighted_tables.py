"""Weighted tables: no record moves them further than the limit says, whichever tables they are."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.errors import ArgumentError, CertificateError
from discreet.mechanisms.lattice import LARGEST_SUM, SHARE
from discreet.plans import Setting
from discreet.plans.stages.weighted_tables import (
    HEAVIEST,
    UNIT,
    LimitNorm,
    Weighted,
    WeightedNoise,
    certify_weighted,
    weighted_noise,
    weighted_rho_noise,
    weights_for,
)
from discreet.privacy.relation import RELATIONS, Relation
from tests.oracles.norms import within
from tests.oracles.selection import ScriptedNoise

TWO = dc.Category(0, 1, missing=False, other=False)
SCHEMA = dc.Schema({"a": TWO, "b": TWO, "c": TWO})
CELLS = (range(0, 2), range(2, 4), range(4, 6))
RECORDS = list(itertools.product((0, 1), repeat=3))
NORMS: tuple[LimitNorm, ...] = ("l1", "l2", "linf")


def counts(record: tuple[int, ...]) -> np.ndarray:
    """Return the counts of one record in the tables of three columns of two values."""
    moved = np.zeros(6, dtype=np.int64)
    moved[[2 * place + value for place, value in enumerate(record)]] = 1
    return moved


def moves(weights: tuple[int, ...], relation: Relation) -> list[list[float]]:
    """Return how far all neighbours move the weighted counts of the first tables."""
    factor = np.repeat(np.array((*weights, 0, 0))[:3], 2)
    if relation == "add-remove":
        return [(counts(record) * factor).tolist() for record in RECORDS]
    pairs = itertools.permutations(RECORDS, 2)
    return [((counts(a) - counts(b)) * factor).tolist() for a, b in pairs]


def made(norm: LimitNorm, relation: Relation, tables: int = 3) -> WeightedNoise:
    setting = Setting(SCHEMA, relation, 50 if relation == "replace-one" else None)
    if norm == "l2":
        return weighted_rho_noise(tables, 6, setting, rho=0.1, delta=1e-6)
    mechanism: Any = {"l1": "laplace", "linf": "linf"}[norm]
    return weighted_noise(tables, 6, setting, epsilon=1.0, mechanism=mechanism)


def measured(weights: tuple[int, ...]) -> tuple[Weighted, ...]:
    return tuple(Weighted(cells, weight) for cells, weight in zip(CELLS, weights, strict=False))


WEIGHTS = [(64, 64, 64), (1, 1, 1), (110, 1, 1), (100, 40, 20), (90, 60), (192,), (188, 2, 2), (193, 1)]


@pytest.mark.proves("weighted-tables")
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("norm", NORMS)
def test_weights_that_are_allowed_move_no_further(norm: LimitNorm, relation: Relation) -> None:
    noise, allowed = made(norm, relation), []
    bounds = certify_weighted(3, 6, norm).bounds[relation]
    for weights in WEIGHTS:
        try:
            replace(noise, measured=measured(weights))
        except CertificateError:
            continue
        allowed.append(weights)
        assert all(within(bounds, vector) for vector in moves(weights, relation)), weights
    assert (64, 64, 64) in allowed and len(allowed) < len(WEIGHTS)


@pytest.mark.refutes("weighted-tables")
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("norm", NORMS)
def test_as_many_tables_of_any_weight_are_caught(norm: LimitNorm, relation: Relation) -> None:
    bounds = certify_weighted(3, 6, norm).bounds[relation]
    assert not all(within(bounds, vector) for vector in moves((200, 64, 64), relation))


@pytest.mark.refutes("weighted-tables")
def test_weights_that_keep_the_other_limit_are_caught() -> None:
    # The sum of these is that of three units, that of their squares is not.
    uneven = (190, 1, 1)
    bounds = certify_weighted(3, 6, "l2").bounds["replace-one"]
    assert not all(within(bounds, vector) for vector in moves(uneven, "replace-one"))
    replace(made("l1", "replace-one"), measured=measured(uneven))
    with pytest.raises(CertificateError, match="limit of 3 tables"):
        replace(made("l2", "replace-one"), measured=measured(uneven))


@pytest.mark.parametrize("wrong", [(0, 64), (HEAVIEST + 1,), (-64,)])
def test_weights_are_whole_and_not_too_heavy(wrong: tuple[int, ...]) -> None:
    with pytest.raises(CertificateError):
        replace(made("l1", "add-remove", tables=1_000), measured=measured(wrong))


def test_more_cells_than_were_certified_are_refused() -> None:
    wide = (Weighted(range(0, 7), UNIT),)
    with pytest.raises(CertificateError):
        replace(made("l2", "replace-one"), measured=wide)


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("sizes", [(2, 2, 2), (4, 400, 32), (2, 4096), (9,), (16,) * 5])
def test_chosen_weights_keep_the_limit_and_use_it(norm: LimitNorm, sizes: tuple[int, ...]) -> None:
    tables = max(3, len(sizes))
    weights = weights_for(sizes, tables, norm)
    spent = sum(weights) if norm == "l1" else sum(weight**2 for weight in weights)
    limit = tables * (UNIT if norm == "l1" else UNIT**2)
    assert 0.9 * limit <= spent <= limit
    assert sorted(weights) == [weights[place] for place in np.argsort(sizes, kind="stable")]


def test_heavier_tables_have_less_noise() -> None:
    setting = Setting(SCHEMA, Relation("replace-one"), 50)
    noise = weighted_noise(2, 6, setting, epsilon=1.0, mechanism="laplace")
    noise = replace(noise, measured=measured((96, 32)))
    assert noise.std_of(0) == pytest.approx(noise.std * 64 / 96)
    assert noise.std_of(1) == pytest.approx(noise.std * 2)
    one = round(64 / noise.noise.step)  # noise of one record in a table of weight 64
    source = ScriptedNoise((0, 96 * one // 64, 32 * one // 64, 0))
    assert noise.release(np.array([5, 6, 7, 8, 9, 9]), source).tolist() == [5.0, 7.0, 8.0, 8.0]


def test_parts_of_records_are_weighted_alike() -> None:
    shared = Relation("replace-one").shared
    noise = weighted_rho_noise(2, 6, Setting(SCHEMA, shared, 50), rho=0.5, delta=1e-6)
    noise = replace(noise, measured=measured((64, 64)))
    assert noise.step == SHARE == noise.noise.step
    found = noise.release(np.array([3, 0, 1, 2, 0, 0]) * round(1 / SHARE), ScriptedNoise((0, 0, 0, 0)))
    assert found.tolist() == [3.0, 0.0, 1.0, 2.0]


@pytest.mark.proves("weighted-tables")
def test_a_product_never_wraps() -> None:
    noise = replace(made("l1", "add-remove", tables=16), measured=measured((HEAVIEST,)))
    huge = np.array([int(LARGEST_SUM), 0, 0, 0, 0, 0])
    assert noise.release(huge, ScriptedNoise((0, 0)))[0] > 0


def test_noise_too_large_for_the_lattice_is_refused() -> None:
    with pytest.raises(ArgumentError, match="below 2\\^38 records"):
        weighted_noise(200, 500, Setting(SCHEMA, Relation("replace-one"), 10), epsilon=1e-12)
