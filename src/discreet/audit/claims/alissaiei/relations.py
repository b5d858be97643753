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
    """Try all moves in the L1 ball between nine cells of a model that is constant on each.

    The cells are 0.4 wide and the mean is in the first, so that any two are at most 0.9 apart in L1,
    and all moves of one feature are tried from all queries.
    """
    cells = np.array([[0.5, 1.0, 0.0], [0.0, 0.0, 0.5], [1.0, 1.0, 1.0]])

    def steps(rows: FloatArray) -> FloatArray:
        first, second = np.searchsorted([0.0, 0.4], rows).T
        return np.asarray(cells[first, second])

    places = np.array(list(itertools.product((-0.01, 0.2, 0.44), repeat=2)))
    values = [at_mean(steps, place, np.full(2, -0.01), all_masks(2)) for place in places]
    moves = np.abs(np.subtract.outer(values, values).diagonal(axis1=1, axis2=3)).max(axis=2)
    single = float(moves[(places[:, None] != places).sum(axis=2) == 1].max())
    several = float(moves.max())
    return Evidence(
        decided(several <= twist * single + 1e-12),
        f"two features, three cells each: no move of one feature changes an attribution by more than "
        f"{single:.2f}, a move of both within the ball by {several:.2f}",
        {"one feature": single, "several": several},
    )


def stable_support(twist: float) -> Evidence:
    """Count the attributions of a linear model that cross tau if one coordinate of the query moves."""
    weights, masks, query, tau, rows = np.ones(2), singletons(2), np.full(2, 0.5), 0.5, 10

    def support(point: FloatArray, record: FloatArray) -> BoolArray:
        values = at_mean(lambda u: u @ weights, point, record / rows, masks)
        return np.asarray(np.abs(values) > tau)

    def crossings(first: BoolArray, second: BoolArray) -> int:
        return int((first != second).sum())

    low, high = np.full(2, -0.1), np.full(2, 0.1)
    start = support(query, high)
    moved = max(crossings(start, support(query + 0.9 * axis, high)) for axis in np.eye(2))
    replaced = crossings(start, support(query, low))
    return Evidence(
        decided(moved <= twist),
        f"f(u) = u_1 + u_2: one moved coordinate of the query takes {moved} attribution across the "
        f"threshold, one replaced record {replaced}",
        {"moved query": float(moved), "replaced record": float(replaced)},
    )


def claims() -> list[Claim]:
    """Return what is claimed of neighbours."""
    return [
        Claim(
            id="alissaiei-2026-definition-1",
            paper="alissaiei-2026",
            place="Definition 1",
            says="Backgrounds of which one record is replaced have a symmetric difference of 1.",
            verdict="false",
            because=(
                "A slip of notation: it is 2. The definition's name, Table 1 and all proofs mean "
                "replacement, so that nothing else in the paper depends on it. Read as it is "
                "printed it is the add-remove relation, under which n is private, and bounds with "
                "1/n in them read n."
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
            says=(
                "Under single-feature L1 adjacency, which is that the sum of |x_j - x'_j| is at "
                "most 1, one feature changes."
            ),
            verdict="false",
            because=(
                "The formula allows moves of all features at once, and a bound for moves of one "
                "feature is none for it: two features of three cells each suffice. It is one if it "
                "is a rate per unit of the move, as a Lipschitz constant is. If the name is part "
                "of the definition, the formula leaves out that one feature changes and no "
                "more. Lemmas 9 and 11 say so and are not concerned."
            ),
            instead=(
                "Says in the certificate that one coordinate of the query moves, and by how much."
            ),
            evidence=single_feature,
            control=2.0,
            statements=("shap-linear-query",),
        ),
        Claim(
            id="alissaiei-2026-section-4-5",
            paper="alissaiei-2026",
            place="Section 4.5",
            says=(
                "In linear and additive settings, where an adjacent input moves one attribution, "
                "neighbours change the set of attributions above a threshold by at most one."
            ),
            verdict="holds",
            because=(
                "One moved coordinate of the query moves one attribution. It must not be read for "
                "a replaced record, which moves all coordinates of the mean and so all "
                "attributions."
            ),
            instead=(
                "Propose-test-release with the distance to instability, whatever the support does."
            ),
            evidence=stable_support,
            control=0.5,
            statements=("ptr",),
        ),
    ]
