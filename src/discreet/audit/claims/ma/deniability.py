"""Mechanism F: a proposed record passes if enough records of the table could have proposed it.

All laws are exact: the noise L is discrete Laplace with parameter q = exp(-epsilon0), so that
P(L >= m) = q^m / (1 + q) for m >= 1, and tables are few groups of equal records.
"""

from __future__ import annotations

import math

from discreet.audit.claims.claim import Claim, Evidence, decided, judged


def claims() -> list[Claim]:
    """Return the claims on Mechanism F."""
    return [
        Claim(
            "ma-2026-lemma-1",
            "ma-2026",
            "Lemma 1",
            "The mechanism puts out y with the mean over seeds of the chance to propose y and pass.",
            "false",
            "That is the chance of one attempt. As specified in Appendix A the mechanism tries until "
            "one passes, and its law is the quotient by the chance to pass, which depends on the "
            "data.",
            "One attempt is one release, charged whether it passes or not.",
            _one_attempt,
            control=3.0,
            statements=("deniability",),
        ),
        Claim(
            "ma-2026-lemma-2",
            "ma-2026",
            "Lemma 2",
            "A table with one record less passes at most e^epsilon0 times as often.",
            "loose",
            "It passes less often, so that the factor is 1. What the theorem needs is the other "
            "direction, which the proof does not show.",
            "Both directions, checked over all counts.",
            _fewer_seeds,
            control=0.3,
            statements=("deniability",),
        ),
        Claim(
            "ma-2026-lemma-3",
            "ma-2026",
            "Lemma 3",
            "With one record more the test passes at most as often as before.",
            "false",
            "One more plausible seed raises the chance to pass, by up to e^epsilon0: from one seed "
            "to two with k above two. Appendix A also assumes the inequality of L; only a test that "
            "does not depend on the number of seeds has it. That q grows is right (Corollary 1).",
            "The direction that holds: pt(D') <= e^epsilon0 pt(D).",
            _more_seeds,
            control=3.0,
            statements=("deniability",),
        ),
        Claim(
            "ma-2026-corollary-1",
            "ma-2026",
            "Corollary 1",
            "The weight of a partition does not fall when a record is added.",
            "holds",
            "Although its proof rests on Lemma 3: seeds and the chance to pass both grow.",
            "",
            _weights,
            statements=("deniability",),
        ),
        Claim(
            "ma-2026-lemma-4",
            "ma-2026",
            "Lemma 4",
            "The chances of an output of neighbours are within e^epsilon and a small term, epsilon = "
            "epsilon0 + ln(1 + gamma/t).",
            "holds",
            "For one attempt. The printed proof loses the factor 1 + gamma/t in its last line; a "
            "table with t equal seeds and a newcomer gamma times as likely comes near it.",
            "The same epsilon, half the delta over the number of records.",
            _attempts,
            statements=("deniability",),
        ),
        Claim(
            "ma-2026-theorem-4",
            "ma-2026",
            "Theorem 4",
            "Mechanism F is (epsilon, delta)-private with epsilon = epsilon0 + ln(1 + gamma/t) and "
            "delta = e^(-epsilon0 (k - t)).",
            "false",
            "Trying until one passes divides by the chance to pass. 200 different records, one of them "
            "doubled, epsilon0 1, k 10, t 2, gamma 1.001, L discrete Laplace: delta 0.006 is needed, "
            "0.0003 is claimed. If the lemmas are taken as conditions on L, as Appendix A words it, no "
            "test that depends on the number of seeds meets them, and nothing is claimed of any.",
            "One attempt with a forced failure, so that no output is covered as well.",
            _until_it_passes,
            control=30.0,
            statements=("deniability", "approximate-composition"),
        ),
    ]


def at_least(needed: int, epsilon: float) -> float:
    """Return P(L >= needed) of discrete Laplace noise with scale 1 / epsilon.

    >>> round(at_least(0, 1.0) + at_least(1, 1.0), 12)
    1.0
    """
    q = math.exp(-epsilon)
    return q**needed / (1 + q) if needed > 0 else 1 - q ** (1 - needed) / (1 + q)


def _one_attempt(twist: float) -> Evidence:
    """Records a and b propose themselves; epsilon0 ln 2, k 2: an attempt passes in 1 of 3 cases."""
    passed = at_least(2 - 1, math.log(2))
    lemma = twist * passed / 2
    law = (passed / 2) / (2 * passed / 2)
    said = f"Record a is put out with probability {law:.4f}; {lemma:.4f} is claimed."
    return Evidence(decided(math.isclose(law, lemma)), said, {"law": law, "claimed": lemma})


def _fewer_seeds(twist: float) -> Evidence:
    epsilon, k = 1.0, 10
    ratio = max(at_least(k - c, epsilon) / at_least(k - c - 1, epsilon) for c in range(60))
    said = f"One seed less passes at most {ratio:.6f} times as often; e^epsilon0 is {math.e:.3f}."
    return Evidence(judged(twist * math.exp(epsilon), ratio), said, {"ratio": ratio})


def _more_seeds(twist: float) -> Evidence:
    epsilon, k = 1.0, 10
    ratio = max(at_least(k - c - 1, epsilon) / at_least(k - c, epsilon) for c in range(60))
    said = f"One seed more passes up to {ratio:.4f} times as often."
    return Evidence(judged(twist, ratio, loose_from=4), said, {"ratio": ratio})


def _weights(twist: float) -> Evidence:
    epsilon, k, p = 1.0, 10, 0.2
    worst = max(
        at_least(k - c, epsilon) * c * p / (at_least(k - c - 1, epsilon) * (c + 1) * p)
        for c in range(1, 400)
    )
    said = f"A record less leaves at most {worst:.4f} of a partition's weight."
    return Evidence(judged(twist, worst), said, {"share": worst})


def _attempts(twist: float) -> Evidence:
    """Equal seeds propose y with p, the newcomer with nearly gamma p, 10,000 others never."""
    epsilon0, k, t, gamma, others, p = 1.0, 12, 3, 2.0, 10_000, 0.25
    epsilon = epsilon0 + math.log1p(gamma / t)
    rows = others + t
    before = at_least(k - t, epsilon0) * t * p / rows
    after = at_least(k - t - 1, epsilon0) * (t * p + 0.999 * gamma * p) / (rows + 1)
    ratio = after / (math.exp(epsilon) * before)
    said = f"The chance of y grows to {ratio:.4f} of what is allowed."
    return Evidence(judged(twist, ratio), said, {"share of what is allowed": ratio})


def _until_it_passes(twist: float) -> Evidence:
    """Different records, n of them, that propose themselves; the neighbour has one of them twice."""
    epsilon0, k, t, gamma, n = 1.0, 10, 2, 1.001, 200
    epsilon, delta = epsilon0 + math.log1p(gamma / t), math.exp(-epsilon0 * (k - t))
    single, double = at_least(k - 1, epsilon0), 2 * at_least(k - 2, epsilon0)
    before, after = 1 / n, double / (double + (n - 1) * single)
    needed = max(0.0, after - math.exp(epsilon) * before)
    said = f"Delta {needed:.5f} is needed at epsilon {epsilon:.3f}; {twist * delta:.5f} is claimed."
    return Evidence(
        judged(twist * delta, needed, loose_from=3), said, {"needed": needed, "claimed": delta}
    )
