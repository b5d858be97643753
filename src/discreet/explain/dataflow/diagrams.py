"""Diagrams of well-known explainers, with the bounds that hold for sizes you name.

Features are scaled to [0, 1] by the schema's bounds; predictions are clipped to an interval of width
r. A step that is shown last can be released by a generic design: explain disjoint subsets of the
records one by one and average curves, or add up Borda points; one record touches one subset.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from discreet.explain.dataflow.diagram_bounds import (
    any_attributions,
    anywhere,
    importances,
    permuted_losses,
    public_value,
    record_numbers,
    subset_curves,
    subset_points,
)
from discreet.explain.dataflow.graph import Dataflow
from discreet.explain.dataflow.steps import Step
from discreet.explain.shap.bounds.records import bound_exact
from discreet.numerics import check_choice, check_positive, check_whole
from discreet.privacy.certificate import Ball, Box, certify_cells

_MOST_COALITIONS = 2048
_LOCAL = "noise on every record"
_SCHEMA = "a public value from the schema takes its place"
_SUBSETS = "explain subsets one by one, average"
_BORDA = "explain subsets one by one, add up Borda points"


def builtin(
    name: str,
    *,
    features: int = 10,
    grid: int = 20,
    output_range: float = 1.0,
    subsets: int = 200,
) -> Dataflow:
    """Return the diagram of an explainer with its bounds.

    Args:
      name: one of ``BUILTINS``: ``pdp``, ``ale``, ``pfi``, ``kernel-shap``, ``kernel-shap-mean``,
        ``shap-dependence``, ``h-statistic``.
      features: number of features, d.
      grid: points or intervals of a curve, m.
      output_range: r, the width of the interval that holds all predictions.
      subsets: number of subsets for a generic design.

    Guarantees:
      - Every certificate bounds what one record of the table moves in the step, given the released
        steps it names. [diagram-bounds]
    """
    check_choice("name", name, BUILTINS)
    check_whole("features", features, 2, 10_000)
    check_whole("grid", grid, 2, 10_000)
    check_positive("output_range", output_range)
    check_whole("subsets", subsets, 2)
    return _DIAGRAMS[name](_Sizes(features, grid, float(output_range), subsets))


@dataclass(frozen=True)
class _Sizes:
    features: int
    grid: int
    output_range: float
    subsets: int

    @property
    def table(self) -> Step:
        """The private table, every number of every record with noise of its own."""
        bound = record_numbers(self.features, 1.0)
        return Step("input", certificate=bound, kind="records", how=_LOCAL)

    @property
    def box(self) -> Box:
        """Where a prediction lies, measured from the middle."""
        return Box(-self.output_range / 2, self.output_range / 2)

    @property
    def coalitions(self) -> int:
        return min(int(2**self.features) - 2, _MOST_COALITIONS)


def _pdp(sizes: _Sizes) -> Dataflow:
    m, r = sizes.grid, sizes.output_range
    return Dataflow(
        "pdp",
        [
            sizes.table,
            Step("x values", ["input"], public_value(m), how=_SCHEMA),
            Step(
                "y values",
                ["input", "x values"],
                sizes.box.certify(m),
                kind="mean",
                width=r,
                given=["x values"],
            ),
            Step(
                "output",
                ["x values", "y values"],
                subset_curves(m, r, sizes.subsets),
                width=r,
                how=_SUBSETS,
            ),
        ],
        plans={"partial_dependence": ["x values", "y values"]},
    )


def _ale(sizes: _Sizes) -> Dataflow:
    # An interval holds about one in m of the records: that is what a sum over it spans.
    m, r = sizes.grid, sizes.output_range
    return Dataflow(
        "ale",
        [
            sizes.table,
            Step("edges", ["input"], public_value(m + 1), how=_SCHEMA),
            Step(
                "differences",
                ["input", "edges"],
                Ball(r, "l1").certify(m),
                kind="sum",
                width=2 * r / m,
                given=["edges"],
            ),
            Step(
                "counts", ["input", "edges"], certify_cells(m), kind="sum", width=1 / m, given=["edges"]
            ),
            Step("curve", ["differences", "counts"], size=m),
            Step(
                "output",
                ["edges", "curve"],
                subset_curves(sizes.grid, 2 * r, sizes.subsets),
                width=2 * r,
                how=_SUBSETS,
            ),
        ],
        plans={"accumulated_effects": ["edges", "differences", "counts"]},
    )


def _pfi(sizes: _Sizes) -> Dataflow:
    d, loss = sizes.features, sizes.output_range**2
    return Dataflow(
        "pfi",
        [
            sizes.table,
            Step("base loss", ["input"], Box(-loss / 2, loss / 2).certify(1), kind="mean", width=loss),
            Step(
                "permuted losses",
                ["input"],
                permuted_losses(d, loss),
                kind="mean",
                width=loss,
            ),
            Step(
                "importances",
                ["base loss", "permuted losses"],
                importances(d, loss),
                kind="mean",
                width=2 * loss,
            ),
            Step("ranking", ["importances"], subset_points(d, sizes.subsets), width=d - 1, how=_BORDA),
        ],
        plans={"permutation_importance": ["importances"]},
    )


def _kernel_shap(sizes: _Sizes) -> Dataflow:
    d, r = sizes.features, sizes.output_range
    return Dataflow(
        "kernel-shap",
        [
            sizes.table,
            Step(
                "predictions",
                ["input"],
                record_numbers(sizes.coalitions, r),
                kind="records",
                width=r,
                how=_LOCAL,
            ),
            Step(
                "coalition values",
                ["predictions"],
                sizes.box.certify(sizes.coalitions),
                kind="mean",
                width=r,
            ),
            Step(
                "attributions",
                ["coalition values"],
                bound_exact(d, sizes.box, centred=True),
                kind="mean",
                width=2 * r,
            ),
        ],
        plans={"shap_values": ["attributions"], "shap_ranking": ["attributions"]},
    )


def _kernel_shap_mean(sizes: _Sizes) -> Dataflow:
    d, r, k = sizes.features, sizes.output_range, sizes.coalitions
    return Dataflow(
        "kernel-shap-mean",
        [
            sizes.table,
            Step("mean", ["input"], Box(-0.5, 0.5).certify(d), kind="mean"),
            Step("coalition values", ["mean"], anywhere(k, r), width=r),
            Step("attributions", ["coalition values"], any_attributions(d, sizes.box), width=2 * r),
        ],
        plans={"background": ["mean"]},
    )


def _shap_dependence(sizes: _Sizes) -> Dataflow:
    d, m, r = sizes.features, sizes.grid, sizes.output_range
    return Dataflow(
        "shap-dependence",
        [
            sizes.table,
            Step("background", ["input"], Box(-0.5, 0.5).certify(d), kind="mean"),
            Step("x values", ["input"], record_numbers(1, 1.0), kind="records", how=_LOCAL),
            Step(
                "attributions",
                ["input", "background"],
                record_numbers(1, 2 * r),
                kind="records",
                width=2 * r,
                given=["background"],
                how=_LOCAL,
            ),
            Step(
                "cell sums",
                ["x values", "attributions"],
                Ball(r, "l1").certify(m),
                kind="sum",
                width=2 * r / m,
                given=["background"],
            ),
            Step("cell counts", ["x values"], certify_cells(m), kind="sum", width=1 / m),
            Step(
                "output",
                ["cell sums", "cell counts"],
                subset_curves(m, 2 * r, sizes.subsets),
                width=2 * r,
                how=_SUBSETS,
            ),
        ],
        plans={"shap_dependence": ["background", "cell sums", "cell counts"]},
    )


def _h_statistic(sizes: _Sizes) -> Dataflow:
    d, r = sizes.features, sizes.output_range
    return Dataflow(
        "h-statistic",
        [
            sizes.table,
            Step("predictions", ["input"], record_numbers(1, r), kind="records", width=r, how=_LOCAL),
            Step("single dependence", ["input"], size=d, kind="records", width=r),
            Step("other dependence", ["input"], size=d, kind="records", width=r),
            Step("statistics", ["predictions", "single dependence", "other dependence"], size=d),
            Step("ranking", ["statistics"], subset_points(d, sizes.subsets), width=d - 1, how=_BORDA),
        ],
        plans={"feature_interaction": ["ranking"]},
    )


_DIAGRAMS: dict[str, Callable[[_Sizes], Dataflow]] = {
    "pdp": _pdp,
    "ale": _ale,
    "pfi": _pfi,
    "kernel-shap": _kernel_shap,
    "kernel-shap-mean": _kernel_shap_mean,
    "shap-dependence": _shap_dependence,
    "h-statistic": _h_statistic,
}

BUILTINS = tuple(_DIAGRAMS)
"""Names of the diagrams that ``builtin`` knows."""
