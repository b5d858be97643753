"""The claims of section III: tables and figures on errors of curves."""

from __future__ import annotations

from discreet.audit.claims.claim import Claim
from discreet.audit.claims.lange.curves import (
    budget_hardly_matters,
    budget_sets_resolution,
    capital_overtakes,
    education_overtakes,
    finer_edges_help_ale_more,
    quantiles_repeat,
    rare_categories_drown,
    resolution_repairs,
    specific_is_better,
)

_GRIDS = "Takes a grid from the feature's steps, from the model's own cuts or from private quantiles."


def claims() -> list[Claim]:
    """Return the claims on errors of curves."""
    return [
        Claim(
            id="lange-2024-table-i",
            paper="lange-2024",
            place="Table I, Figure 2, Figure 11, Figure 12, Figure 13",
            says="DP PDP has a lower mean integrated squared error than the generic design at all "
            "budgets, but for features that 20 even points do not suit (36 of 38 features).",
            verdict="holds",
            because="Its noise is smaller by l / n, 200 subsets to tens of thousands of records. "
            "Tried on drawn columns of the sizes and shapes described; the table itself needs the "
            "data and models.",
            instead=_GRIDS,
            evidence=specific_is_better,
            control=0.1,
            statements=("pdp", "generic-plots"),
        ),
        Claim(
            id="lange-2024-figure-3",
            paper="lange-2024",
            place="Figure 3",
            says="Over hours DP PDP hardly improves with the budget, because 20 points cannot show "
            "24 hours; 50 points improve it.",
            verdict="holds",
            because="Noise is a tenth of the error at epsilon .5 already; the rest is bias of the "
            "grid.",
            instead=_GRIDS,
            evidence=budget_hardly_matters,
            control=0.8,
            statements=("pdp", "pdp-tree-grid"),
        ),
        Claim(
            id="lange-2024-figure-4",
            paper="lange-2024",
            place="Figure 4",
            says="For capital gain the generic design is better at epsilon 10, because even points "
            "miss the slope and interpolation smooths the curve.",
            verdict="holds",
            because="So it is for a curve that rises just after a point of the grid; for one that "
            "rises halfway between two points DP PDP stays ahead.",
            instead=_GRIDS,
            evidence=capital_overtakes,
            control=2.0,
            statements=("pdp-tree-grid", "quantiles"),
        ),
        Claim(
            id="lange-2024-figure-5",
            paper="lange-2024",
            place="Figure 5",
            says="For years of education the generic design is better at epsilon 10, because DP PDP "
            "asks a forest for 20 points that are no whole numbers.",
            verdict="holds",
            because="The forest answers with the nearest whole number and the curve lags; 16 points, "
            "all whole, have no bias at all.",
            instead=_GRIDS,
            evidence=education_overtakes,
            control=2.0,
            statements=("pdp-tree-grid",),
        ),
        Claim(
            id="lange-2024-figure-6",
            paper="lange-2024",
            place="Figure 6",
            says="With a larger budget DP PDP profits from more points; the generic design is worse "
            "with more.",
            verdict="holds",
            because="Noise grows with the square of the number of points, bias falls with its fourth "
            "power.",
            instead="Chooses the number of points from public numbers.",
            evidence=budget_sets_resolution,
            control=1e-4,
            statements=("pdp", "generic-plots"),
        ),
        Claim(
            id="lange-2024-figure-7",
            paper="lange-2024",
            place="Figure 7",
            says="Over capital gain DP PDP loses to the generic design with 20 points and beats it "
            "with 50 and 100.",
            verdict="holds",
            because="More points remove the bias that 20 even ones have; noise is still small at "
            "epsilon 10.",
            instead=_GRIDS,
            evidence=resolution_repairs,
            control=10.0,
            statements=("pdp", "pdp-tree-grid"),
        ),
        Claim(
            id="lange-2024-figure-8",
            paper="lange-2024",
            place="Figure 8",
            says="More points show the beginning of capital gain better, in DP ALE far more so than "
            "in DP PDP.",
            verdict="holds",
            because="With 20 quantiles, two lie above zero; with 100, eight.",
            instead="Private quantiles of the records outside a heap, on a public grid.",
            evidence=finer_edges_help_ale_more,
            control=0.01,
            statements=("quantiles", "ale"),
        ),
        Claim(
            id="lange-2024-figure-9",
            paper="lange-2024",
            place="Figure 9, Section III-C",
            says="With 92 % zeros the vast majority of 20 quantiles lies at zero, so that DP ALE has "
            "few points for the rest.",
            verdict="holds",
            because="Quantiles at even shares repeat a heap of equal values.",
            instead="A cell with more than a part of the records takes one cut or two.",
            evidence=quantiles_repeat,
            control=0.5,
            statements=("quantiles", "ale"),
        ),
        Claim(
            id="lange-2024-figure-10",
            paper="lange-2024",
            place="Figure 10",
            says="Rare categories are dominated by noise in DP ALE, not in DP PDP and not with "
            "quantiles.",
            verdict="holds",
            because="Noise of one scale is divided by a category's number of records. The authors' "
            "code divides by the noisy number, unguarded, which may be zero or negative.",
            instead="Gives steps with too few records no quotient of their own, and wider bands.",
            evidence=rare_categories_drown,
            control=1e-4,
            statements=("ale",),
        ),
        Claim(
            id="lange-2024-figures-14-16",
            paper="lange-2024",
            place="Figure 14, Figure 15, Figure 16, Section III-C",
            says="DP ALE has a lower error than Generic DP ALE but for capital gain, capital loss "
            "and native country.",
            verdict="not reproducible",
            because="The algorithm of DP ALE is in the main paper, not in the supplement; the "
            "figures need three data sets and their trained models, of which Heart Disease is not "
            "the table of that name at UCI.",
            instead="benchmarks.curves_paper reruns what the authors' code does, on data that is "
            "given to it.",
            statements=("ale", "generic-plots"),
        ),
        Claim(
            id="lange-2024-section-ii-a-3",
            paper="lange-2024",
            place="Section II-A3a",
            says="Points by a private density estimate need much of the budget and do not improve "
            "the plot.",
            verdict="not reproducible",
            because="Preliminary experiments are mentioned, without estimate, budget or number.",
            instead="A private quantile grid is one of the grids to choose from.",
            statements=("quantiles",),
        ),
    ]
