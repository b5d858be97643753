"""A question in words: "Partial dependence of income, 20 points, epsilon 0.2"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.privacy.guarantee import Guarantee

_NAMED = ("feature", "columns", "column", "target", "features")
_KINDS = {
    "accumulated_effects": "Accumulated effects",
    "choose": "Choice",
    "data_shapley": "Shapley values of records",
    "decision_tree": "Decision tree for",
    "random_forest": "Random forest for",
    "deniable_rows": "Deniable records",
    "functional_mean": "Mean curve",
    "most_frequent": "Most frequent value",
    "synthesize": "Synthetic records",
}
"""How questions are called where their name with spaces would not do."""

_MANY = 4


def columns_of(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the columns that a plan names; empty if it names none."""
    pair = [*_listed(arguments.get("first")), *_listed(arguments.get("second"))]
    found = [_listed(arguments[key]) for key in _NAMED if arguments.get(key)]
    return tuple(str(name) for name in (pair or (found or [[]])[0]))


def question_in_words(plan: Mapping[str, Any]) -> str:
    """Return what a plan asks for, from its plain form.

    >>> question_in_words({"kind": "entropy", "arguments": {"columns": ["job"], "given": ["home"]}})
    'Entropy of job given home'
    >>> question_in_words({"kind": "percentile", "arguments": {"column": "income", "p": 50.0}})
    'Percentile 50 of income'
    """
    kind, arguments = str(plan["kind"]), plan["arguments"]
    words = kind.replace("_", " ").replace("shap", "SHAP")
    name = _KINDS.get(kind, words[:1].upper() + words[1:])
    if kind == "percentile" and isinstance(arguments.get("p"), float):
        name += f" {arguments['p']:g}"
    about = _joined(columns_of(arguments))
    given = _joined(tuple(map(str, _listed(arguments.get("given")))))
    of = "" if not about else f" {about}" if name.endswith(" for") else f" of {about}"
    return name + of + (f" given {given}" if given else "")


def promise_in_words(plan: Mapping[str, Any], guarantee: Guarantee) -> str:
    """Return what a release promises, as short as a title has it."""
    if guarantee.simulation:
        return "a simulation without privacy"
    said = f"epsilon {guarantee.epsilon:.6g}"
    rho = plan.get("rho")
    if isinstance(rho, float) and rho:
        said = f"rho {rho:.6g}"
    elif guarantee.delta:
        said += f", delta {guarantee.delta:.6g}"
    return said if guarantee.certified else f"{said}, NOT certified"


def _listed(named: Any) -> list[Any]:
    if named is None:
        return []
    return list(named) if isinstance(named, list | tuple) else [named]


def _joined(names: tuple[str, ...]) -> str:
    if len(names) > _MANY:
        return f"{names[0]}, {names[1]} and {len(names) - 2} more columns"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
