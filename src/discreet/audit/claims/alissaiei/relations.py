"""Who is a neighbour of whom in Alissaiei (2026), and what follows from it."""

from __future__ import annotations

import itertools

import numpy as np

from discreet.audit.claims.alissaiei.published import at_mean, singletons
from discreet.audit.claims.claim import Claim, Evidence, decided
from discreet.engines.shapley.coalitions import BoolArray, all_masks
from discreet.schema import FloatArray


def replaced_records(twist: float) -> Evidence:
    """Compare the symmetric difference of tables that differ in one record with ``twist`` times one."""
    tables = list(itertools.product(range(3), repeat=3))
    sizes = {
        sum(abs(first.count(kind) - second.count(kind)) for kind in range(3))
        for first, second in itertools.product(tables, repeat=2)
        if sum(a != b for a, b in zip(first, second, strict=True)) == 1
    }
    return Evidence(
        decided(sizes == {round(twist)}),
        f"three records of three kinds: replacing one gives symmetric differences {sorted(sizes)}; a "
        "difference of 1 is an added or removed record",
        {"least": float(min(sizes)), "greatest": float(max(sizes))},
    )


def single_feature(twist: float) -> Evidence:
    """Move a query by at most ``twist`` in L1, along one feature and along two, and compare."""
    masks = all_masks(3)

    def both_high(rows: FloatArray) -> FloatArray:
        return np.asarray(np.maximum(rows[:, :2].min(axis=1) - 0.4, 0.0))

    def moved(step: FloatArray) -> float:
        return float(np.abs(at_mean(both_high, step, np.zeros(3), masks)).max())  # zero at step 0

    share = np.linspace(0.0, 1.0, 21)
    single = max(moved(twist * t * axis) for t in share for axis in np.eye(3))
    several = max(moved(twist * np.array([t, 1 - t, 0.0])) for t in share)
    return Evidence(
        decided(several <= single + 1e-12),
        f"f(u) = (min(u_1, u_2) - 0.4)+: moves of {twist:g} along one feature change attributions by "
        f"{single:.3f}, along two by {several:.3f}",
        {"one feature": single, "several": several},
    )


def stable_support(twist: float) -> Evidence:
    """Replace a record of a linear model of two features and count the attributions that cross tau."""
    weights, masks, query, tau, rows = np.ones(2), singletons(2), np.full(2, 0.5), 0.5, 10

    def support(record: FloatArray) -> BoolArray:
        values = at_mean(lambda u: u @ weights, query, record / rows, masks)
        return np.asarray(np.abs(values) > tau)

    crossed = int((support(np.array([0.1, 0.1])) != support(np.array([-0.1, -0.1]))).sum())
    return Evidence(
        decided(crossed <= twist),
        f"f(u) = u_1 + u_2: one replaced record moves {crossed} attributions across the threshold",
        {"crossings": float(crossed)},
    )


def claims() -> list[Claim]:
    """Return what is claimed of neighbours."""
    return [
        Claim(
            id="alissaiei-2026-definition-1",
            paper="alissaiei-2026",
            place="Definition 1",
            says="Backgrounds that differ in exactly one record have a symmetric difference of 1.",
            verdict="false",
            because=(
                "Replacing a record changes the symmetric difference by 2; 1 is the add-remove "
                "relation, under which n is private and every bound of the paper with 1/n in it "
                "reads n."
            ),
            instead="Names the relation, replace-one or add-remove, in every certificate.",
            evidence=replaced_records,
            control=2.0,
            statements=("mean-replace", "sum-addremove"),
        ),
        Claim(
            id="alissaiei-2026-definition-2",
            paper="alissaiei-2026",
            place="Definition 2, Table 1",
            says="Under L1 adjacency, the sum of |x_j - x'_j| at most 1, one feature changes.",
            verdict="false",
            because=(
                "The ball holds moves of all features at once. A bound for moves of one feature, "
                "as Lemmas 9 and 11 prove, is none for it unless the attributions are linear: "
                "smallest counterexample with two features that matter."
            ),
            instead=(
                "Says in the certificate that one coordinate of the query moves, and by how much."
            ),
            evidence=single_feature,
            control=0.5,
            statements=("shap-linear-query",),
        ),
        Claim(
            id="alissaiei-2026-section-4-5",
            paper="alissaiei-2026",
            place="Section 4.5",
            says=(
                "In linear and additive settings neighbours change the set of attributions above a"
                " threshold by at most one."
            ),
            verdict="false",
            because=(
                "True of one moved coordinate of the query. A replaced record moves all "
                "coordinates of the mean, and so all attributions."
            ),
            instead=(
                "Propose-test-release with the distance to instability, whatever the support does."
            ),
            evidence=stable_support,
            control=2.0,
            statements=("ptr",),
        ),
    ]
