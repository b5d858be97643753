"""The claims of sections 6 and 7, figures excepted."""

from __future__ import annotations

from discreet.audit.claims.chaves.trees import (
    budget_is_kept,
    epsilon_for_beta,
    gap_bounds_leaf,
    leaf_is_private,
    max_operator_moves_by_one,
    rows_stay_in_their_chunk,
    smooth_scale_breaks_exponential,
    split_onset,
    winner_is_one,
)
from discreet.audit.claims.claim import Claim

_GAP = "Takes off a record where a rival wins ties, and uses a beta that the whole law allows."


def claims() -> list[Claim]:
    """Return the claims on trees and forests."""
    return [
        Claim(
            id="chaves-2025-algorithm-2",
            paper="chaves-2025",
            place="Algorithm 2",
            says="With epsilon' = epsilon / (2 (d + 1)) for every query the tree is epsilon-private "
            "(quoted from Friedman and Schuster).",
            verdict="holds",
            because="It is spent exactly: two queries on each of d + 1 levels. Printed is epsilon / 2 "
            "* (d + 1), a slip of the pen: read to the letter the tree would spend (d + 1)^2 epsilon. "
            "The stopping rule has sqrt(2) / 2 for sqrt(2) / epsilon', which costs no privacy.",
            instead="Divides the budget over levels and compares no noisy count with the data to stop.",
            evidence=budget_is_kept,
            control=2.0,
            statements=("tree-splits", "tree-leaves"),
        ),
        Claim(
            id="chaves-2025-definition-6-1",
            paper="chaves-2025",
            place="Definition 6.1",
            says="The max operator moves by at most one with a record.",
            verdict="holds",
            because="One count of one value of each attribute changes; an added record never lowers "
            "it.",
            evidence=max_operator_moves_by_one,
            statements=("tree-utility",),
        ),
        Claim(
            id="chaves-2025-definition-6-2",
            paper="chaves-2025",
            place="Definition 6.2, Definition 7.1",
            says="The utility that is 1 for the greatest alone and 0 otherwise has global "
            "sensitivity 1.",
            verdict="holds",
            because="It is 0 or 1. Which of several greatest ones counts is not said, and matters "
            "below.",
            instead="The lowest index wins ties.",
            evidence=winner_is_one,
            statements=("gap-stability",),
        ),
        Claim(
            id="chaves-2025-proposition-6-3",
            paper="chaves-2025",
            place="Proposition 6.3",
            says="With k the gap between the two greatest max operators, LS(T, t) is 1 if t >= k, "
            "else 0.",
            verdict="false",
            because="Where the runner-up wins ties, k edits change the winner and LS is 1 from k - 1 "
            "on; two records suffice. Elsewhere the gap is only a lower bound on the distance.",
            instead=_GAP,
            evidence=split_onset,
            control=0.1,
            statements=("gap-stability", "tree-splits"),
        ),
        Claim(
            id="chaves-2025-proposition-6-4",
            paper="chaves-2025",
            place="Proposition 6.4",
            says="The smooth sensitivity is exp(-k epsilon), to be used with the mechanism's noise.",
            verdict="false",
            because="The exponent has to be the beta that the noise admits. With epsilon in its "
            "place Student's T with nu degrees loses nu epsilon in the limit and more on the way, "
            "with two attributes.",
            instead=_GAP,
            evidence=epsilon_for_beta,
            control=4.0,
            statements=("snm-beta", "snm-exact"),
        ),
        Claim(
            id="chaves-2025-algorithm-3",
            paper="chaves-2025",
            place="Algorithm 3",
            says="The data set is split into c chunks, one for each tree (quoted from Fletcher and "
            "Islam), and the forest is private with the budget of one tree.",
            verdict="not reproducible",
            because="Neither how rows are dealt out nor what a tree may spend is said; the second half "
            "is how we read the evaluation, which names one budget for 32 trees. It is right if a "
            "row's chunk follows from the row alone. If chunks are runs of rows, all of them may move "
            "when a row comes or goes, and c budgets are spent.",
            instead="Deals a row out by a keyed hash of its id under add-remove.",
            evidence=rows_stay_in_their_chunk,
            control=32.0,
            statements=("row-to-subset", "forest-disjoint"),
        ),
        Claim(
            id="chaves-2025-theorem-7-2",
            paper="chaves-2025",
            place="Theorem 7.2",
            says="The exponential mechanism with smooth in place of global sensitivity is not "
            "epsilon-private.",
            verdict="holds",
            because="The paper's own example loses 1.77 epsilon.",
            instead="Never scales an exponential mechanism by the data.",
            evidence=smooth_scale_breaks_exponential,
            control=2.0,
            statements=("snm-exact",),
        ),
        Claim(
            id="chaves-2025-algorithm-4",
            paper="chaves-2025",
            place="Algorithm 4",
            says="Labels of leaves by smooth noisy max with S = exp(-j epsilon) are epsilon-private.",
            verdict="false",
            because="Theorem 7.3 puts epsilon for beta: three labels and at most eight records lose "
            "three times epsilon. (The authors' code takes j from the whole table and adds hardly "
            "any noise.)",
            instead="Releases noisy counts of all leaves and classes, or chooses by counts.",
            evidence=leaf_is_private,
            control=4.0,
            statements=("tree-leaves", "snm-beta", "choose"),
        ),
        Claim(
            id="chaves-2025-theorem-7-3",
            paper="chaves-2025",
            place="Theorem 7.3",
            says="exp(-j epsilon), j the gap between the two most frequent labels, is the smooth "
            "sensitivity.",
            verdict="false",
            because="At gap one a rival that wins ties wins after one edit: local sensitivity 1, S < "
            "1. Besides, epsilon stands for beta (Proposition 6.4).",
            instead=_GAP,
            evidence=gap_bounds_leaf,
            control=0.0,
            statements=("gap-stability", "snm-beta"),
        ),
    ]
