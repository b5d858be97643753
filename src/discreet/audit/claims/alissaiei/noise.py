"""Gaussian noise on the whole vector in Alissaiei (2026): the calibration, and Mechanism A."""

from __future__ import annotations

import math

import numpy as np

from discreet.audit.claims.alissaiei.curved import crossed_move, random_network
from discreet.audit.claims.alissaiei.published import (
    CLIP,
    DELTA,
    FEATURES,
    RECORDS,
    additive_weights,
    at_mean,
    classical_multiplier,
    in_ball,
    lipschitz_bound,
    naive_bound,
    published_masks,
    singletons,
)
from discreet.audit.claims.alissaiei.ranges import naive_range
from discreet.audit.claims.claim import Claim, Evidence, decided, judged
from discreet.engines.shapley.kernel import kernel_values
from discreet.models import NetworkForm
from discreet.privacy.accounting import gaussian_multiplier
from discreet.privacy.accounting.conversion import gaussian_delta
from discreet.randomness import public_generator
from discreet.schema import FloatArray

EPSILONS_OF_TABLE_8 = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)


def classical_below_one(twist: float) -> Evidence:
    """Compare the classical multiplier with the least that is enough, for epsilon below one."""
    shares = [
        twist * classical_multiplier(epsilon, delta) / gaussian_multiplier(epsilon, delta)
        for epsilon in (0.05, 0.3, 0.7, 0.999)
        for delta in (1e-9, 1e-5, 1e-2, 0.3)
    ]
    least = min(shares)
    return Evidence(
        judged(least, 1.0),
        f"the classical sigma is {least:.2f} to {max(shares):.2f} times the least that is enough",
        {"least": least, "greatest": max(shares)},
    )


def classical_everywhere(twist: float) -> Evidence:
    """Compute the true delta of the classical sigma at the epsilons that the paper uses it for."""
    deltas = {
        epsilon: gaussian_delta(epsilon, twist * classical_multiplier(epsilon))
        for epsilon in EPSILONS_OF_TABLE_8
    }
    worst = max(deltas, key=lambda epsilon: deltas[epsilon])
    grid = np.arange(1.0, 16.0, 0.01)
    failing = [e for e in grid if gaussian_delta(e, twist * classical_multiplier(e)) > DELTA]
    first = float(failing[0]) if failing else math.nan
    return Evidence(
        judged(DELTA, deltas[worst], loose_from=math.inf),
        f"delta = 1e-5: the true delta is {deltas[worst]:.1e} at epsilon = {worst:g}; the formula "
        f"first fails at epsilon = {first:.2f}",
        {"delta": deltas[worst], "first epsilon": first},
    )


def range_baseline(twist: float) -> Evidence:
    """Compute the true delta of Mechanism A with the range form, on the longest change there is."""
    form = naive_range(1.0).figures
    sigma = twist * form["published"] * classical_multiplier(1.0)
    delta = gaussian_delta(1.0, sigma / form["attained"])
    return Evidence(
        judged(DELTA, delta, loose_from=math.inf),
        f"epsilon = 1, delta_G = 1e-5, d = 20, K = 400: the true delta of the longest change found is "
        f"{delta:.1e}",
        {"delta": delta},
    )


def lipschitz_baseline(twist: float) -> Evidence:
    """Compute the true delta of Mechanism A with the Lipschitz form on the counterexample."""
    move, bound = crossed_move()
    sigma = twist * bound * classical_multiplier(1.0)
    delta = gaussian_delta(1.0, sigma / float(np.linalg.norm(move)))
    return Evidence(
        judged(DELTA, delta, loose_from=math.inf),
        f"epsilon = 1, delta_G = 1e-5: the true delta on two backgrounds of 1,000 is {delta:.1e}; a "
        f"tanh network of two units moves by {_network_share():.3f} of the form with |W_2|_2 |W_1|_2",
        {"delta": delta, "share of a network": _network_share()},
    )


def _network_share() -> float:
    """Return how far a network moves, as a share of the Lipschitz form with the product of norms.

    At the mean its first unit is steep; at (x_1, mu_2) the second is, and the first is saturated.
    """
    inner, outer = 50.0 * np.array([[1.0, 1.0], [1.0, -1.0]]), np.array([0.966, 0.259])
    network = NetworkForm(inner, np.array([0.0, -50.0]), outer, 0.0, "tanh", False)
    masks, query, end, rows = singletons(2), np.ones(2), np.full(2, math.sqrt(0.5)), 10**6
    before, after = (at_mean(network.predict, query, mean, masks) for mean in (-end / rows, end / rows))
    slope = float(np.linalg.norm(outer) * np.linalg.norm(inner, 2))
    return float(np.linalg.norm(after - before)) / lipschitz_bound(masks, slope, 1.0, rows)


def no_operating_point(twist: float) -> Evidence:
    """Compute signal over noise at epsilon = 10 of a network, with both forms of Mechanism A."""
    draw, masks = public_generator(0), published_masks()
    rows = in_ball(draw.normal(size=(RECORDS + 15, FEATURES)))
    network, background, queries = random_network(), rows[:RECORDS], rows[RECORDS:]
    signal = _size(kernel_values(network, queries, background, masks, value="mean"))
    slope = float(np.linalg.norm(network.outer) * np.linalg.norm(network.weights, 2))
    bounds = (
        lipschitz_bound(masks, slope, CLIP, RECORDS),
        naive_bound(masks, float(np.abs(network.outer).sum())),
    )
    ratios = [signal / (bound * classical_multiplier(10.0)) for bound in bounds]
    linear = [_linear_ratio(rows, epsilon) for epsilon in (1.0, 10.0)]
    return Evidence(
        decided(max(ratios) < 0.5 * twist),
        f"random tanh network of the paper's shape, epsilon = 10: signal over noise is {ratios[0]:.3f} "
        f"with the Lipschitz form and {ratios[1]:.4f} with the range form; of a linear model with "
        f"Proposition 6 it is {linear[0]:.2f} at epsilon = 1 and {linear[1]:.2f} at 10",
        {"Lipschitz form": ratios[0], "range form": ratios[1], "linear at 10": linear[1]},
    )


def _size(values: FloatArray) -> float:
    """Return the root of the mean square."""
    return float(np.sqrt(np.mean(values**2)))


def _linear_ratio(rows: FloatArray, epsilon: float) -> float:
    """Return signal over noise of a linear model by Proposition 6, with the least valid sigma."""
    weights = additive_weights()
    signal = _size(weights * (rows[RECORDS:] - rows[:RECORDS].mean(axis=0)))
    bound = 2 * CLIP * float(np.linalg.norm(weights)) / RECORDS
    return signal / (bound * gaussian_multiplier(epsilon, DELTA))


def claims() -> list[Claim]:
    """Return what is claimed of Gaussian noise."""
    return [
        Claim(
            id="alissaiei-2026-theorem-19",
            paper="alissaiei-2026",
            place="Theorem 19",
            says=(
                "Gaussian noise of sigma = Delta_2 sqrt(2 ln(1.25/delta)) / epsilon is (epsilon, "
                "delta)-private for epsilon below 1."
            ),
            verdict="holds",
            because=(
                "The classical calibration; 1.3 times as much noise as is needed near epsilon = 1,"
                " more below."
            ),
            instead="The least sigma that meets the exact condition.",
            evidence=classical_below_one,
            control=0.5,
            statements=("gauss-analytic",),
        ),
        Claim(
            id="alissaiei-2026-proposition-39",
            paper="alissaiei-2026",
            place="Proposition 39, Section 2.3",
            says=(
                "The same sigma is a sufficient calibration for (epsilon, delta)-privacy, stated "
                "without the condition of Theorem 19 that epsilon is below 1."
            ),
            verdict="false",
            because=(
                "Below 1 it is. At delta = 1e-5 it first fails near epsilon = 8.4; Table 8 uses it"
                " at 16."
            ),
            instead="The least sigma that meets the exact condition, for any epsilon.",
            evidence=classical_everywhere,
            control=1.3,
            statements=("gauss-analytic",),
        ),
        Claim(
            id="alissaiei-2026-table-2",
            paper="alissaiei-2026",
            place="Table 2",
            says=(
                "The full-vector Gaussian baseline of Theorem 19 and Lemma 20 is (epsilon, "
                "delta)-private; so are the selections, and the bootstrap is not."
            ),
            verdict="holds",
            because=(
                "With the range form, below epsilon = 1. The rows on selections and on the "
                "bootstrap are tried at Theorems 14 and 16 and Proposition 22, and hold."
            ),
            instead="The operator bound with the centering term.",
            evidence=range_baseline,
            control=0.1,
            statements=("shap-operator", "gauss-analytic"),
        ),
        Claim(
            id="alissaiei-2026-section-5-1",
            paper="alissaiei-2026",
            place="Section 5.1, Section 8.1, Lipschitz form",
            says=(
                "For Lipschitz models the baseline may take the tighter Lipschitz form (Equation "
                "2) instead of Lemma 20 and stays certified."
            ),
            verdict="false",
            because=(
                "It is no bound: on the counterexample of Equation 2 delta is 14 times 1e-5. That "
                "model is Lipschitz but no network. With the product of norms as its constant a "
                "tanh network of two units exceeds the form by 3 %, which the slack of the "
                "classical sigma makes up for at epsilon = 1."
            ),
            instead="The operator bound with the centering term.",
            evidence=lipschitz_baseline,
            control=1.5,
            statements=("shap-operator", "gauss-analytic"),
        ),
        Claim(
            id="alissaiei-2026-section-10-vector",
            paper="alissaiei-2026",
            place="Section 10, first finding",
            says=(
                "No setting that was tested has both epsilon up to 10 and a signal-to-noise ratio "
                "of 0.5 for the full vector with Gaussian noise; others might."
            ),
            verdict="holds",
            because=(
                "Rerun with a network of the paper's shape and both forms of the baseline, which "
                "were made for networks and trees. It is due to these forms: of linear models, "
                "which section 3 analyses and section 8 does not test, the ratio is above 0.5 from"
                " about epsilon = 1 on with Proposition 6 as it is published."
            ),
            instead=(
                "Vectors of any bounded model with a 1/n certificate, or a background released once."
            ),
            evidence=no_operating_point,
            control=0.01,
            statements=("shap-linear-background", "shap-l2", "background-separator"),
        ),
    ]
