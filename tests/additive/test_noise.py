"""Contrasts of counts and corrections move no farther than certificates say; faults are caught."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from discreet.additive.coding import Feature
from discreet.additive.contrasts import (
    Contrasts,
    feature_contrasts,
    top_down,
    tree_contrasts,
    whole_contrasts,
)
from discreet.additive.noise import MappedNoise, Purse, certify_counts, certify_sums, check_columns
from discreet.errors import ArgumentError, CertificateError
from discreet.plans import Setting
from discreet.privacy.accounting.joint import joint_delta
from discreet.privacy.certificate import NORMS, Certificate, Norm
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE, Relation
from discreet.randomness import SimulatedNoise
from discreet.samples import loan_schema
from discreet.schema import Bins

UNIT = 2.0**-20
ORDER = {"l1": 1, "l2": 2, "linf": np.inf}


def feature(ordered: int, own: int) -> Feature:
    return Feature("f", Bins(tuple(map(str, range(ordered + own)))), ordered)


FEATURES = [feature(5, 0), feature(0, 4), feature(3, 1), feature(1, 1), feature(0, 2)]


def setting(relation: Relation = ADD_REMOVE) -> Setting:
    return Setting(loan_schema(), relation, 100 if Relation(relation).rows_public else None)


def purse(norm: str, relation: Relation = ADD_REMOVE) -> Purse:
    return Purse.of(setting(relation), 1.0, 0.0 if norm == "l1" else 1e-6, 40)


def cells(blocks: list[Contrasts], classes: int) -> list[np.ndarray]:
    """Return what every record of a tiny domain adds to the contrasts, and last what none does."""
    sizes = [range(block.whole.shape[1]) for block in blocks]
    found = []
    for kind in range(classes):
        channel = np.eye(classes)[kind]
        for bins in itertools.product(*sizes):
            columns = [
                np.outer(b.matrix[:, place], channel).ravel()
                for b, place in zip(blocks, bins, strict=True)
            ]
            found.append(np.concatenate(columns))
    return [*found, np.zeros_like(found[0])]


def farthest(vectors: list[np.ndarray], relation: Relation, norm: Norm) -> float:
    if relation is ADD_REMOVE:
        return max(float(np.linalg.norm(one, ORDER[norm])) for one in vectors)
    table = np.array(vectors)
    return max(float(np.linalg.norm(table - one, ORDER[norm], axis=1).max()) for one in vectors)


def broken(certificate: Certificate, vectors: list[np.ndarray]) -> list[tuple[str, str]]:
    """Return the relations and norms in which records move farther than certified."""
    return [
        (relation, norm)
        for relation in (ADD_REMOVE, REPLACE_ONE)
        for norm in NORMS
        if farthest(vectors, relation, norm) > certificate.sensitivity(norm, relation)
    ]


@pytest.mark.proves("additive-counts")
@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("classes", [1, 2, 3])
@pytest.mark.parametrize("asked", [(feature(1, 0),), *itertools.combinations(FEATURES, 2)])
def test_no_record_moves_contrasts_of_counts_farther(
    asked: tuple[Feature, ...], classes: int, norm: str
) -> None:
    """Of one cell, as totals are, another class is the farthest; of several mostly another bin."""
    blocks = [feature_contrasts(one, 2.0, UNIT, norm=norm) for one in asked]  # type: ignore[arg-type]
    check_columns(blocks, norm)  # type: ignore[arg-type]
    certificate = certify_counts(blocks, classes)
    vectors = cells(blocks, classes)
    assert broken(certificate, vectors) == []
    tight = farthest(vectors, REPLACE_ONE, "l2")  # all pairs are tried, so little is given away
    assert certificate.sensitivity("l2", REPLACE_ONE) <= max(tight, 1.0) * (1 + 1e-6)


@pytest.mark.refutes("additive-counts")
def test_columns_that_were_not_brought_to_length_one_are_caught() -> None:
    rows = np.arange(1, 6)[:, None] ** -1.0 * np.cos(np.pi * np.arange(1, 6)[:, None] * np.arange(6))
    block = Contrasts(np.trunc(rows / UNIT).astype(np.int64), UNIT)
    with pytest.raises(CertificateError, match="one long"):
        check_columns([block], "l2")
    assumed = certify_counts([whole_contrasts(rows, UNIT, "l2")], 2)
    assert (ADD_REMOVE, "l2") in broken(assumed, cells([block], 2))


@pytest.mark.refutes("additive-counts")
def test_a_replacement_priced_as_a_record_that_comes_or_goes_is_caught() -> None:
    blocks = [feature_contrasts(FEATURES[0], 2.0, UNIT, norm="l2")]
    honest = certify_counts(blocks, 2)
    cheap = Certificate(
        honest.statements, honest.size, dict.fromkeys(honest.bounds, honest.bounds[ADD_REMOVE])
    )
    assert (REPLACE_ONE, "l2") in broken(cheap, cells(blocks, 2))


def ball(channels: int, norm: str, draws: int = 400) -> np.ndarray:
    """Return vectors of the unit ball, its corners among them."""
    generator = np.random.default_rng(0)
    drawn = generator.normal(size=(draws, channels))
    drawn /= np.linalg.norm(drawn, 1 if norm == "l1" else 2, axis=1, keepdims=True)
    return np.concatenate([drawn, np.eye(channels), -np.eye(channels), np.zeros((1, channels))])


@pytest.mark.proves("additive-corrections")
@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("one", FEATURES)
def test_no_record_moves_a_correction_farther(one: Feature, channels: int, norm: str) -> None:
    block = feature_contrasts(one, 2.0, UNIT, norm=norm, total=True)  # type: ignore[arg-type]
    certificate = certify_sums([block], channels, purse(norm), step=2.0**-18)
    vectors = [np.outer(c, u).ravel() for c in block.matrix.T for u in ball(channels, norm)[::7]]
    assert broken(certificate, vectors) == []


@pytest.mark.refutes("additive-corrections")
def test_vectors_that_leave_the_ball_are_caught() -> None:
    block = feature_contrasts(FEATURES[0], 2.0, UNIT, norm="l2", total=True)
    certificate = certify_sums([block], 2, purse("l2"), step=2.0**-18)
    corners = [np.outer(c, (1.0, 1.0)).ravel() for c in block.matrix.T]
    assert farthest(corners, ADD_REMOVE, "l2") > certificate.sensitivity("l2", ADD_REMOVE)


def test_persons_pay_for_the_rounding_of_all_their_rows() -> None:
    block = [feature_contrasts(FEATURES[0], 2.0, UNIT, norm="l2", total=True)]
    whole, shared = (
        certify_sums(block, 1, purse("l2", r), step=2.0**-18) for r in (ADD_REMOVE, ADD_REMOVE.shared)
    )
    extra = shared.sensitivity("l2", ADD_REMOVE) - whole.sensitivity("l2", ADD_REMOVE)
    assert extra >= 1024 * 2.0**-18


@pytest.mark.proves("additive-pooled")
@pytest.mark.parametrize("times", [1, 2, 7])
def test_pooled_noise_loses_what_its_parts_do(times: int) -> None:
    purse, blocks = (
        Purse.of(setting(), 1.0, 1e-6, 40),
        [feature_contrasts(FEATURES[0], 2.0, UNIT, norm="l2")],
    )
    noise = purse.noise(certify_counts(blocks, 2), blocks, 2, 1.0, share=0.05, times=times)
    assert len(noise.events) == times
    assert noise.noise.event.rho <= math.fsum(event.rho for event in noise.events) * (1 + 1e-12)  # type: ignore[attr-defined]
    for epsilon in (0.05, 0.3):
        alone = joint_delta(noise.noise.events, epsilon)
        assert alone <= joint_delta(noise.events, epsilon) * (1 + 1e-6) + 1e-11
    assert joint_delta(noise.events, noise.epsilon) <= 1e-6


@pytest.mark.refutes("additive-pooled")
def test_noise_divided_by_the_number_instead_of_its_root_is_caught() -> None:
    purse, blocks = (
        Purse.of(setting(), 1.0, 1e-6, 40),
        [feature_contrasts(FEATURES[0], 2.0, UNIT, norm="l2")],
    )
    one, four = (
        purse.noise(certify_counts(blocks, 2), blocks, 2, 1.0, share=0.05, times=times)
        for times in (1, 4)
    )
    assert math.isclose(four.std, one.std / 2, rel_tol=1e-6)
    too_little = purse.noise(certify_counts(blocks, 2), blocks, 2, 1.0, share=0.05, times=16)
    assert joint_delta(too_little.noise.events, 0.3) > joint_delta(four.events, 0.3)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_all_parts_of_a_purse_keep_its_promise(delta: float) -> None:
    purse = Purse.of(setting(), 0.7, delta, 50)
    events = [purse.event(0.02 * (1 - 1e-9))] * 50
    assert joint_delta(events, 0.7) <= delta


def test_contrasts_are_exact_and_come_back_table_by_table() -> None:
    purse = Purse.of(setting(), 1e6, 0.0, 4)
    blocks = [feature_contrasts(one, 2.0, purse.unit(1.0), norm="l1") for one in FEATURES[:2]]
    noise = purse.noise(certify_counts(blocks, 2), blocks, 2, 1.0, share=1.0)
    counts = np.arange(2 * (5 + 4))
    exact = [
        b.matrix @ part.reshape(-1, 2) for b, part in zip(blocks, np.split(counts, [10]), strict=True)
    ]
    found = noise.split(noise.release(counts, SimulatedNoise(0)))
    for one, other in zip(exact, found, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-3)
    assert isinstance(noise, MappedNoise)


def test_a_lattice_too_coarse_for_delta_is_refused() -> None:
    wide = Setting(loan_schema(), ADD_REMOVE, None, cap=2**38)
    purse = Purse.of(wide, 1.0, 1e-12, 1000)
    blocks = [feature_contrasts(FEATURES[0], 2.0, purse.unit(1.0), norm="l2")]
    with pytest.raises(ArgumentError, match="delta must leave room"):
        purse.noise(certify_counts(blocks, 2), blocks, 2, 1.0, share=0.5)


@pytest.mark.parametrize("epsilon", [3.0, 20.0, 60.0, 700.0])
@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE_ONE])
def test_of_a_large_epsilon_as_much_is_spent_as_a_lattice_has_room_for(
    epsilon: float, relation: Relation
) -> None:
    purse = Purse.of(setting(relation), epsilon, 1e-6, 48, size=16)
    blocks = [feature_contrasts(FEATURES[0], 2.0, purse.unit(1.0), norm="l2")]
    noise = purse.noise(certify_counts(blocks, 2), blocks, 2, 1.0, share=1 / 48, times=48)
    assert joint_delta(noise.events, purse.epsilon) <= 1e-6
    assert purse.epsilon == epsilon if epsilon < 4 else 4 < purse.epsilon <= epsilon


@pytest.mark.parametrize("cells", [3, 33, 100, 256])
def test_ranges_are_parts_of_each_other_and_divide_what_is_above(cells: int) -> None:
    block, sizes = tree_contrasts(feature(cells, 1))
    assert block.whole.sum(axis=0).tolist() == [len(sizes)] * cells + [1]
    counts = np.random.default_rng(0).integers(0, 9, cells + 1)
    exact = (block.whole @ counts).astype(float)
    np.testing.assert_allclose(top_down(exact, sizes, 0.0) * counts[:-1].sum(), counts[:-1], atol=1e-9)
    np.testing.assert_allclose(top_down(np.zeros(len(exact)), sizes, 1.0).sum(), 1.0)
