"""Every question that is recorded: plan, options, and the forms of model it is asked of.

Options are written as the first recorded tree names them; ``record_names`` says what they are called
since. Texts with an ``@`` stand for things of ``record_things``.
"""

from __future__ import annotations

from typing import Any

from record_things import FEW, FORMS, VALUES

Case = tuple[str, dict[str, Any], tuple[str, ...] | None]

ALL = tuple(FORMS)
GAUSS = {"delta": 1e-5, "mechanism": "gaussian"}
DELTA = {"delta": 1e-5}
NOISES = ({}, {"mechanism": "laplace"}, DELTA, GAUSS)
COUNTS = ("laplace", "gaussian")


def _variants(
    plan: str, base: dict[str, Any], forms: tuple[str, ...] | None, *others: dict[str, Any]
) -> list[Case]:
    return [(plan, base | other, forms) for other in others]


def _pdp() -> list[Case]:
    plan, base = "partial_dependence", {"features": "income", "resolution": 6}
    return [
        *_variants(plan, base, ALL, {}),
        *_variants(plan, base, FEW, *NOISES[1:], {"features": "age"}, {"feature": "home"}),
        *_variants(plan, base, FEW, {"grid": "uniform"}, {"grid": "quantile"}, {"rug": False}),
        *_variants(plan, base, FEW, {"curve": "centred"}, {"curve": "auto"}, {"clip": False}),
        *_variants(plan, base, FEW, {"curve": "centred", "shape_clip": 0.1, **DELTA}, {"smooth": True}),
        *_variants(plan, base, FEW, {"features": ("income", "home"), "resolution": 4}),
        *_variants(plan, base, FEW, {"features": ("age", "debt"), "resolution": (3, 4), **DELTA}),
        *_variants(plan, base, VALUES, {"curve": "centred"}),
        *_variants(plan, base, ("linear",), {"resolution": 1}, {"grid": "odd"}, {"kind": "both"}),
        *_variants(plan, base, ("linear",), {"features": "nobody"}, {"mechanism": "odd"}),
        *_variants(plan, base, ("linear",), {"mechanism": "box"}, {"features": "paid"}),
    ]


def _ale() -> list[Case]:
    plan, base = "accumulated_effects", {"features": "income", "intervals": 5}
    return [
        *_variants(plan, base, ALL, {}),
        *_variants(plan, base, FEW, *NOISES[1:], {"features": "age"}, {"feature": "home"}),
        *_variants(plan, base, FEW, {"edges": "uniform"}, {"rug": False}, {"smooth": True}),
        *_variants(plan, base, FEW, {"clip": False}, {"limit": 0.3}, {"limit": None}),
        *_variants(plan, base, FEW, {"features": "home", "order": ["other", "rent", "own"]}),
        *_variants(plan, base, VALUES, {"edges": "uniform", **DELTA}),
        *_variants(plan, base, ("linear",), {"limit": 1e-12}, {"edges": "odd"}, {"order": ["rent"]}),
    ]


def _permutation() -> list[Case]:
    plan, base = "permutation_importance", {"repeats": 2}
    ranked = {"release": "ranking"}
    return [
        *_variants(plan, base, ALL, {}, {"sampling": "marginal"}),
        *_variants(plan, base, FEW, *NOISES[1:], {"scoring": "log_loss"}, {"scoring": "zero_one"}),
        *_variants(plan, base, FEW, {"clip": 0.5}, {"seed": 4}, ranked, {**ranked, "k": 1}),
        *_variants(plan, base, FEW, {"sampling": "marginal", "background": "@public rows"}),
        *_variants(plan, base, FEW, {"sampling": "marginal", "background": "@released background"}),
        *_variants(plan, base, FEW, {**ranked, "sampling": "marginal"}, {**ranked, "k": 2, **DELTA}),
        *_variants(
            plan,
            base | ranked,
            ("linear", "opaque"),
            *({"mechanism": name, "k": 2} for name in ("exponential", "permute-and-flip", "laplace")),
            {"mechanism": "sorted"},
        ),
        *_variants(plan, base, ("linear",), {"scoring": "squared_error"}, {"k": 2}, {"repeats": 0}),
    ]


def _valued() -> list[Case]:
    """Models of a number: asked of the table whose target is one."""
    plan, base = "permutation_importance", {"repeats": 2}
    return [
        *_variants(plan, base, VALUES, {}, {"scoring": "absolute_error"}, {"release": "ranking"}),
        *_variants(plan, base, VALUES, {"sampling": "marginal", "release": "ranking", "clip": 0.2}),
    ]


def _interaction() -> list[Case]:
    plan, base = "feature_interaction", {"subsets": 12, "points": 5}
    return [
        *_variants(plan, base, ALL, {}, {"feature": "income"}),
        *_variants(plan, base, FEW, *NOISES[1:], {"k": 1}, {"k": 2, **DELTA}),
        *_variants(plan, base, ("forest",), {"k": 1, "mechanism": "exponential"}, {"k": 9}),
        *_variants(plan, base, ("forest",), {"k": 1, "mechanism": "permute-and-flip"}),
    ]


def _shap_values() -> list[Case]:
    plan, base = "shap_values", {"x": "@query"}
    sealed = {"protects": "query", "background": "@public rows"}
    return [
        *_variants(plan, base, ALL, {}),
        *_variants(plan, base, FEW, *NOISES[1:], {"x": "@queries"}, {"x": "@queries", **DELTA}),
        *_variants(plan, base, FEW, {"clip": None}, {"clip": 0.2}, {"clip": 0.2, "clip_norm": "linf"}),
        *_variants(
            plan, base, FEW, {"base_value": 0.4}, {"coalitions": 12}, {"base_value": 0.4, **DELTA}
        ),
        *_variants(plan, base, FEW, {"coalitions": 10, "seed": 3}),
        *_variants(plan, base, ("linear", "linear value", "linear margin", "tree"), sealed),
        *_variants(plan, base, ("linear", "linear value"), {**sealed, "radius": 2.0, **DELTA}),
        *_variants(plan, base, ("linear",), {**sealed, "radius": {"age": 3, "home": 1}}),
        *_variants(plan, base, ("linear",), {"clip": -1}, {"x": [1, 2]}, {"protects": "odd"}),
    ]


def _shap_ranking() -> list[Case]:
    plan, base = "shap_ranking", {"x": "@query"}
    names = ("exponential", "permute-and-flip", "laplace", "sorted")
    return [
        *_variants(plan, base, ALL, {}),
        *_variants(plan, base, FEW, {"k": 3}, {"k": 2, **DELTA}, {"magnitudes": True}, {"clip": None}),
        *_variants(plan, base, FEW, {"threshold": 0.02, **DELTA}, {"coalitions": 12}, {"clip": 0.2}),
        *_variants(plan, base, FEW, {"x": "@queries", "k": 2}),
        *_variants(plan, base, ("linear", "tree"), *({"mechanism": name, "k": 2} for name in names)),
        *_variants(plan, base, ("linear",), {"protects": "query", "background": "@public rows"}),
        *_variants(plan, base, ("linear",), {"threshold": 0.1}, {"k": 9}, {"mechanism": "gaussian"}),
    ]


def _shap_means() -> list[Case]:
    spread, mean = {"background": "@public rows", "feature": "income", "bins": 4}, {}
    mean = {"background": "@public rows"}
    released = {"background": "@released background"}
    baseline = {"x": "@query", "clip": 1.0, "coalitions": 16, "resamples": 5, "delta": 1e-5}
    return [
        *_variants("shap_importance", mean, ALL, {}),
        *_variants("shap_importance", mean, FEW, *NOISES[1:], {"clip": 0.3}, {"clip": None}, released),
        *_variants("shap_importance", mean, FEW, {"coalitions": 12, "seed": 2}),
        *_variants("shap_dependence", spread, ALL, {}),
        *_variants("shap_dependence", spread, FEW, *NOISES[1:], {"clip": 0.3}, {"feature": "home"}),
        *_variants("shap_dependence", spread, FEW, released, {"coalitions": 12}, {"feature": "age"}),
        *_variants("shap_baseline", baseline, ALL, {}),
        *_variants("shap_baseline", baseline, FEW, {"method": "bootstrap"}, {"clip": 3.0, "seed": 2}),
        *_variants("shap_baseline", baseline, ("linear",), {"delta": 0.0}, {"method": "odd"}),
    ]


def _own_explainers() -> list[Case]:
    curve = {"explainer": "@mean line", "grid": [0, 1, 2, 3, 4], "bounds": (0, 1), "subsets": 20}
    ranking = {"explainer": "@spread scores", "items": ["age", "income", "debt"], "subsets": 20}
    names = ("exponential", "permute-and-flip")
    return [
        *_variants("any_curve", curve | {"name": "line"}, None, *NOISES, {"smooth": True}),
        *_variants("any_curve", curve | {"name": "line"}, None, {"repeatable": False}, {"subsets": 7}),
        (
            "any_curve",
            {
                "explainer": "@mean pairs",
                "feature": "age",
                "resolution": 6,
                "bounds": (0, 1),
                "subsets": 10,
                "name": "pairs",
            },
            None,
        ),
        *_variants("any_curve", curve | {"name": "line"}, None, {"grid": None}, {"bounds": (1, 0)}),
        *_variants("any_ranking", ranking | {"name": "spread"}, None, *NOISES, {"k": 1}, {"k": 2}),
        *_variants("any_ranking", ranking | {"name": "spread"}, None, {"k": 2, **DELTA}, {"k": 0}),
        *_variants(
            "any_ranking",
            ranking | {"name": "spread"},
            None,
            *({"k": 1, "mechanism": name} for name in names),
            {"repeatable": False},
        ),
    ]


def _tables() -> list[Case]:
    two = {"columns": ["home", "paid"]}
    return [
        *_variants("histogram", {"columns": "income", "bins": 6}, None, *NOISES),
        *_variants("histogram", {"columns": "income", "bins": 6}, None, {"clip": False}),
        *_variants("histogram", {"columns": "income", "bins": 6}, None, {"consistent": False}),
        *_variants("histogram", {"columns": "income", "bins": 6}, None, {"consistent": True}),
        *_variants("histogram", {"columns": "income", "bins": 64, "ranges": True}, None, {}, DELTA),
        *_variants("histogram", {"columns": "income", "bins": 64, "ranges": True}, None, GAUSS),
        *_variants("histogram", two, None, *NOISES, {"columns": ["age", "home"], "bins": {"age": 5}}),
        *_variants("histogram", two, None, {"columns": []}, {"columns": "nobody"}, {"bins": 0}),
        *_variants("histogram", two, None, {"mechanism": "box"}, {"epsilon": -1}, {"epsilon": 1e-9}),
        *_variants("background", {"rows": 6}, None, *NOISES, {"bins": 4, "seed": 2}),
        *_variants("background", {"kind": "mean"}, None, *NOISES, {"clip": 0.5}, {"rows": 4}),
        *_variants("synthesize", {"rows": 8, "bins": 4}, None, *NOISES, {"seed": 3}, {"rows": None}),
        *_variants(
            "synthesize", {"rows": 8, "bins": 4}, None, {"columns": ["age", "home"]}, {"bins": 1}
        ),
        *_variants("deniable_rows", {"attempts": 12, "delta": 1e-2, "epsilon": 3.0}, None, {}),
        *_variants("deniable_rows", {"attempts": 12, "delta": 1e-2}, None, {"proposal": "ball"}),
        *_variants(
            "deniable_rows",
            {"attempts": 9, "delta": 1e-2, "proposal": "ball"},
            None,
            {"radius": 0.3, "gamma": 3.0},
            {"columns": ["age", "income"], "radius": 0.5},
        ),
        *_variants("deniable_rows", {"attempts": 9, "delta": 1e-2}, None, {"resampled": 2, "bins": 4}),
        *_variants("deniable_rows", {"attempts": 9, "delta": 1e-2}, None, {"columns": ["age", "home"]}),
    ]


def _entropies() -> list[Case]:
    methods = tuple({"method": name} for name in ("direct", "narrowed", "histogram"))
    orders = tuple({"order": order} for order in (0.5, 2.0, 3.0, float("inf")))
    both = {"first": "home", "second": "paid"}
    return [
        *_variants("entropy", {"columns": "home"}, None, *NOISES, *methods, *orders, {"base": "nats"}),
        *_variants("entropy", {"columns": ["income", "home"], "bins": 5}, None, {}, DELTA, *methods),
        *_variants("entropy", {"columns": "home", "given": "paid"}, None, *NOISES, *methods),
        *_variants("entropy", {"columns": "home", "order": 2.0}, None, DELTA, *methods),
        *_variants("entropy", {"columns": "home"}, None, {"order": 0.0}, {"given": "home"}),
        *_variants("mutual_information", both, None, *NOISES, {"method": "direct"}, {"base": "nats"}),
        *_variants("mutual_information", both, None, {"method": "histogram"}, {"first": "income"}),
        *_variants("mutual_information", both, None, {"second": "home"}, {"method": "narrowed"}),
    ]


def _functional() -> list[Case]:
    base = {"columns": ["income", "debt", "age"], "delta": 1e-5}
    kernels = tuple({"kernel": name} for name in ("wiener", "exponential", "matern", "gaussian"))
    return [
        *_variants("functional_mean", base, None, {}, *kernels, {"noise": "process"}),
        *_variants("functional_mean", base, None, {"points": [0.0, 1.0, 3.0], "axis": "days"}),
        *_variants("functional_mean", base, None, {"lengthscale": 0.6, "smoothness": 2.5}),
        *_variants("functional_mean", base, None, {"penalty": 0.1}, {"clip": 0.5}, {"terms": 2}),
        *_variants("functional_mean", base, None, {"delta": 0.0}, {"columns": ["home"]}),
    ]


SELECTED = (
    "auto",
    "exponential",
    "permute-and-flip",
    "laplace",
    "stability",
    "smooth-student-t",
    "smooth-laplace",
    "smooth-laplace-log-normal",
)
LOCAL = ("local-dampening", "shifted-local-dampening", "joint-student-t", "joint-laplace")


def _choices() -> list[Case]:
    by_row = {
        "utility": "@right by row",
        "candidates": [10, 30, 50, 70],
        "columns": ["income", "paid"],
        "name": "rule",
    }
    names = {"utility": "balance", "distance": "edits", "local": "near"}
    whole = {
        "utility": "@balance",
        "candidates": [5.0, 20.0, 35.0, 60.0],
        "columns": ["income"],
        "sensitivity": 2.0,
        "name": names,
    }
    known = {"distance": "@edits", "local": "@near"}
    mechanisms = [{"mechanism": name} for name in SELECTED]
    loose = [{**one, **DELTA} for one in mechanisms]
    local = [{"mechanism": name, **known, **DELTA} for name in (*LOCAL, "inverse-sensitivity")]
    pure = [{"mechanism": name, **known} for name in (*LOCAL[:3], "inverse-sensitivity")]
    distant = [{"distance": "@edits", **one} for one in loose[4:]]
    return [
        *_variants("choose", by_row, None, *mechanisms, *loose[4:], {"bounds": (0, 2)}),
        *_variants("choose", whole, None, *mechanisms, *loose[4:], *local, *pure, *distant),
        *_variants("choose", whole, None, {"bounds": (-300, 0)}, {"mechanism": "inverse-sensitivity"}),
        *_variants("choose", by_row, None, {"candidates": [1]}, {"distance": "@edits"}),
        ("choose", whole | known | DELTA | {"mechanism": "joint-laplace-log-normal"}, None),
        *_variants("most_frequent", {"column": "home"}, None, *mechanisms, *loose[4:]),
        *_variants(
            "most_frequent", {"column": "home"}, None, {"column": "income"}, {"mechanism": "odd"}
        ),
    ]


def _order_statistics() -> list[Case]:
    mechanisms = [{"mechanism": name} for name in (*SELECTED, "inverse-sensitivity", "local-dampening")]
    levels = {"column": "income", "levels": [0.25, 0.5, 0.9]}
    cuts = tuple({"mechanism": name} for name in ("permute-and-flip", "exponential"))
    return [
        *_variants("percentile", {"column": "age", "p": 50}, None, *mechanisms, {"p": 90}, DELTA),
        *_variants("percentile", {"column": "income", "p": 50}, None, {}, {"candidates": [1, 30, 60]}),
        *_variants("percentile", {"column": "age", "p": 50}, None, {"p": 101}, {"column": "home"}),
        *_variants("quantiles", levels, None, {}, *cuts, DELTA, {"column": "age"}, {"levels": [0.5]}),
        *_variants("quantiles", levels, None, {"candidates": [10, 20, 40, 80]}, {"levels": [0.9, 0.5]}),
        *_variants("quantiles", levels, None, {"levels": []}, {"mechanism": "laplace"}),
    ]


def _grown() -> list[Case]:
    tree, forest = {"target": "paid", "depth": 2}, {"target": "paid", "depth": 2, "trees": 3}
    splits = tuple({"mechanism": name} for name in (*SELECTED[1:], "dampening"))
    criteria = tuple({"criterion": name} for name in ("max", "gini", "gain"))
    return [
        *_variants("decision_tree", tree, None, {}, *splits, *criteria, {"cuts": "private"}, DELTA),
        *_variants("decision_tree", tree, None, {"target": "home"}, {"features": ["income", "home"]}),
        *_variants("decision_tree", tree, None, {"depth": None}, {"target": "income"}, {"depth": 0}),
        *_variants("decision_tree", tree, None, {"mechanism": "stability", **DELTA}),
        *_variants("random_forest", forest, None, {}, {"method": "chosen"}, {"method": "random"}),
        *_variants("random_forest", forest, None, {"rows": "disjoint"}, {"rows": "whole"}, DELTA),
        *_variants("random_forest", forest, None, {"trees": None}, {"depth": None}, {"seed": 4}),
        *_variants("random_forest", forest, None, {"offered": 5, "method": "chosen"}, *criteria),
        *_variants("random_forest", forest | {"method": "chosen"}, None, *splits),
        *_variants("random_forest", forest, None, {"features": ["income", "home"]}, {"trees": 0}),
    ]


def _values_of_records() -> list[Case]:
    base = {"model": "@logistic", "test": "@test rows", "rounds": 1, "n_jobs": 1}
    shown = base | {"audience": "public"}
    near_by = {"method": "tknn", "test": "@test rows"}
    return [
        *_variants("data_shapley", base | {"records": [0, 7]}, None, *NOISES, {"score": "log-loss"}),
        *_variants("data_shapley", base | {"records": 3}, None, {}, {"clip": 0.05}, {"decay": 1.5}),
        *_variants("data_shapley", base | {"records": 3}, None, {"empty": 0.2}, {"seed": 2}),
        *_variants("data_shapley", base | {"records": 3}, None, {"coreset": "@coreset"}),
        *_variants("data_shapley", base | {"records": 3}, None, {"strength": 0.5, "row_clip": 2.0}),
        *_variants("data_shapley", base | {"records": 3, "model": "@tree"}, None, {}),
        *_variants("data_shapley", shown | {"records": 3}, None, {}, DELTA),
        *_variants("data_shapley", shown, None, {"top": 2}, {"bottom": 2}),
        *_variants("data_shapley", shown, None, {"top": 2, "mechanism": "exponential"}),
        *_variants("data_shapley", base, None, {"top": 2}, {"records": 10**6}, {"score": "odd"}),
        *_variants("data_shapley", near_by, None, *NOISES, {"radius": 0.3}, {"records": 3}),
        *_variants("data_shapley", near_by, None, {"model": "@logistic"}, {"method": "odd"}),
    ]


FAMILIES: dict[str, list[Case]] = {
    "pdp": _pdp(),
    "ale": _ale(),
    "permutation": _permutation(),
    "valued": _valued(),
    "interaction": _interaction(),
    "shap values": _shap_values(),
    "shap ranking": _shap_ranking(),
    "shap means": _shap_means(),
    "own explainers": _own_explainers(),
    "tables": _tables(),
    "entropies": _entropies(),
    "functional": _functional(),
    "choices": _choices(),
    "order statistics": _order_statistics(),
    "grown": _grown(),
    "values of records": _values_of_records(),
}
