"""The claims about Algorithm 1 of Alissaiei (2026); their evidence is in ``smooth``."""

from __future__ import annotations

from discreet.audit.claims.alissaiei import smooth
from discreet.audit.claims.claim import Claim


def claims() -> list[Claim]:
    """Return what is claimed of smooth sensitivity and its bootstrap."""
    return [
        Claim(
            id="alissaiei-2026-lemma-4",
            paper="alissaiei-2026",
            place="Lemma 4",
            says=(
                "The mean of variables in [0, M] is at most the sample mean + sqrt(2 V ln(2/alpha)"
                " / B) + 7 M ln(2/alpha) / (3 (B - 1)), with chance 1 - alpha."
            ),
            verdict="holds",
            because=(
                "After Maurer and Pontil (2009). For 0/1 variables the chance of failure is far "
                "below alpha."
            ),
            instead=(
                "Hoeffding on the weighted sum where values are sampled; the bootstrap baseline "
                "keeps this."
            ),
            evidence=smooth.empirical_bernstein,
            control=0.3,
            statements=("hoeffding-weighted",),
        ),
        Claim(
            id="alissaiei-2026-theorem-29",
            paper="alissaiei-2026",
            place="Theorem 29, Appendix A.2 step 4, Section 2.4",
            says=(
                "If the scale S is a beta-smooth upper bound of the local sensitivity, as (A1) and"
                " (A2) assume, beta = epsilon / (2 ln(1/delta)), Gaussian noise of S sqrt(2 "
                "ln(1.25/delta)) / epsilon is (epsilon, delta)-private."
            ),
            verdict="false",
            because=(
                "Both assumptions are met and it fails: the classical multiplier spends all of "
                "epsilon on the shift and leaves none for the change of scale. One attribution of "
                "a count suffices, whose scales at neighbours differ by exp(beta). Section 2.4 and"
                " the proof state it; Lemma 31 does not, and says that constants are missing."
            ),
            instead=(
                "No smooth sensitivity for vectors; where it is used, beta and scale share epsilon."
            ),
            evidence=smooth.conditional_guarantee,
            control=4.0,
            statements=("snm-beta", "gauss-analytic"),
        ),
        Claim(
            id="alissaiei-2026-lemma-31",
            paper="alissaiei-2026",
            place="Lemma 31",
            says=(
                "The classical scale is an empirical formula for smooth sensitivity: a guarantee "
                "would need the constants of some theorem on smooth sensitivity."
            ),
            verdict="holds",
            because="At the counterexample of Theorem 29 the formula falls short of it.",
            evidence=smooth.constants_missing,
            control=4.0,
            statements=("snm-beta", "gauss-analytic"),
        ),
        Claim(
            id="alissaiei-2026-theorem-29-dominance",
            paper="alissaiei-2026",
            place="Theorem 29 (A1), Remark 24, Remark 27, Remark 28",
            says=(
                "That the scale of Algorithm 1 is above the smooth sensitivity (A1) is an "
                "assumption: it may be below where the worst neighbour is rare in the data."
            ),
            verdict="holds",
            because=(
                "Swaps within the data never show a record unlike those at hand: on equal records "
                "every swap is zero and only the range term is left, less than a tenth of the true"
                " move."
            ),
            instead=("A certificate for every background; the bootstrap is stamped certified: false."),
            evidence=smooth.dominance,
            control=20.0,
            statements=("shap-contribution",),
        ),
        Claim(
            id="alissaiei-2026-remark-30",
            paper="alissaiei-2026",
            place="Remark 30",
            says=(
                "The scale of Algorithm 1 need not be beta-smooth between neighbours (A2 is not "
                "proved)."
            ),
            verdict="holds",
            because="One outlier among equal records changes it more than tenfold.",
            instead="Noise scales are functions of public facts.",
            evidence=smooth.smoothness,
            control=100.0,
            statements=("snm-beta",),
        ),
        Claim(
            id="alissaiei-2026-proposition-22",
            paper="alissaiei-2026",
            place="Proposition 22, Algorithm 1",
            says="Algorithm 1 is a heuristic and not (epsilon, delta)-private.",
            verdict="holds",
            because=(
                "Two neighbouring backgrounds of 100 records are told apart by the size of the "
                "noise: the true delta is above 0.4."
            ),
            instead="Runs only where the owner allows heuristics, stamped certified: false.",
            evidence=smooth.algorithm_not_private,
            control=1000000.0,
        ),
        Claim(
            id="alissaiei-2026-remark-32",
            paper="alissaiei-2026",
            place="Remark 32",
            says="delta_G + alpha, about 0.01, must not be read as the delta of Algorithm 1.",
            verdict="holds",
            because="Its delta on the same two backgrounds is far above 0.01.",
            evidence=smooth.summed_delta,
            control=100.0,
        ),
        Claim(
            id="alissaiei-2026-lemma-23",
            paper="alissaiei-2026",
            place="Lemma 23",
            says=(
                "The greatest local sensitivity within distance k, discounted by exp(-beta k), is "
                "beta-smooth."
            ),
            verdict="holds",
            because="The triangle inequality of the distance; attained.",
            evidence=smooth.envelope,
            control=0.5,
            statements=("snm-beta",),
        ),
        Claim(
            id="alissaiei-2026-remark-25",
            paper="alissaiei-2026",
            place="Remark 25",
            says=(
                "Projecting the noisy vector onto sum = f(x) - f(mu) is not post-processing and "
                "would publish f(mu)."
            ),
            verdict="holds",
            because="The projected sum is f(x) - f(mu), whatever the noise.",
            instead="Efficiency against a released background, whose f(mu) is public.",
            evidence=smooth.projection,
            control=0.5,
            statements=("background-separator", "feasible"),
        ),
        Claim(
            id="alissaiei-2026-remark-26",
            paper="alissaiei-2026",
            place="Remark 26, Section 8.5",
            says=(
                "The maximum over hops is at hop 0 for all kinds of models and epsilon up to 5, so"
                " that K_max = 0 suffices."
            ),
            verdict="false",
            because=(
                "As a rule: a stump whose mean is a few records away from its threshold has local "
                "sensitivity zero here and one there. As a report of what was run, section 8.5 "
                "itself says above 93 % for networks; Appendix D.3 has K_max = 0, where the "
                "maximum is at hop 0 by construction."
            ),
            instead="Certificates hold for every background, so that there are no hops.",
            evidence=smooth.no_hops,
            control=100.0,
            statements=("stump-margin",),
        ),
        Claim(
            id="alissaiei-2026-appendix-b-2",
            paper="alissaiei-2026",
            place="Appendix B.2",
            says="At epsilon = 1 and delta_G = 1e-5 the smoothing beta is 0.028.",
            verdict="false",
            because="The formula that it is said to come from gives 0.0434, half as much again.",
            evidence=smooth.printed_beta,
            control=1.55,
            statements=("snm-beta",),
        ),
    ]
