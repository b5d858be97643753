"""Releases in words, and in notebooks: the picture first, then what it promises and rests on.

An answer that knows more than one picture or table says so by ``drawings`` or ``views``; shells ask
here what there is by name, so that they need not know what kinds of answers there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from discreet.arguments import shown
from discreet.errors import ArgumentError
from discreet.markup import Html, card, fold, soft, table
from discreet.plans.results.pictures.svg import draw_svg
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.statements import tell_sensitivity
from discreet.schema.conditions import condition_from_json

if TYPE_CHECKING:
    import pandas as pd

    from discreet.plans.release import Release
    from discreet.plans.results.result import Drawing, Result

_SHOWN = 10
PLAIN = "plain"
"""The picture or table that an answer has if nothing is said."""
_NAMED = ("feature", "columns", "column", "target", "features")
_KINDS = {
    "accumulated_effects": "Accumulated effects",
    "additive_model": "Additive model for",
    "cdf": "Distribution",
    "choose": "Choice",
    "data_shapley": "Shapley values of records",
    "decision_tree": "Decision tree for",
    "random_forest": "Random forest for",
    "deniable_rows": "Deniable records",
    "evaluate": "Evaluation",
    "functional_mean": "Mean curve",
    "most_frequent": "Most frequent value",
    "std": "Standard deviation",
    "synthesize": "Synthetic records",
    "total": "Sum",
}
"""How questions are called where their name with spaces would not do."""

_MANY = 4
_GRID = (
    '<div style="display:grid;gap:8px;'
    'grid-template-columns:repeat(auto-fit,minmax(min(100%,420px),1fr))">'
)
"""How several pictures of one answer stand beside each other."""


def release_html(release: Release) -> Html:
    """Return a release for a notebook."""
    by_stage = table(
        ["step", "what was proven", "noise"],
        [(stage["name"], tell_stage(stage, release), noise_of(stage)) for stage in release.stages],
    )
    return card(
        picture_or_table(release),
        soft(f"{release.guarantee} · {release.dataset}{release.paid_by}"),
        fold("what was proven", Html(by_stage + release.guarantee._repr_html_())),
        title=release.title,
    )


def picture_or_table(release: Release, *, annotate: Callable[[Any], None] | None = None) -> Html:
    """Return the pictures, or the first rows where there is none: counts of many columns.

    Of several pictures one that cannot be drawn is told in a sentence; the others are drawn.

    Args:
      release: what is shown.
      annotate: called with the display, to draw more.
    """
    drawn, untold = [], []
    for title, one in release.value.pictures().items():
        try:
            drawn.append(draw_svg(one, title or release.title, title=title, annotate=annotate))
        except ArgumentError as error:
            untold.append(f"{title} is not drawn: {error}" if title else "")
    notes = "".join(soft(said) for said in untold if said)
    if not drawn:
        return Html(_first_rows(release.value) + notes)
    fields = "".join(f'<div style="overflow-x:auto">{picture}</div>' for picture in drawn)
    return Html((fields if len(drawn) == 1 else f"{_GRID}{fields}</div>") + notes)


def _first_rows(value: Result) -> Html:
    frame = value.to_frame()
    rest = len(frame) - _SHOWN
    more = [soft(f"and {rest:,} more rows: .value.to_frame()")] if rest > 0 else []
    return Html("".join([_rows(frame.head(_SHOWN)), *more]))


def _rows(frame: Any) -> Html:
    return table(list(frame.columns), frame.itertuples(index=False))


def tell_stage(stage: Mapping[str, Any], release: Release) -> str:
    """Return how far one record moves what noise was added to, in a sentence."""
    proven = stage["certificate"]
    sentences = [
        tell_sensitivity(proven["size"], bounds, relation)
        for relation, bounds in proven["bounds"].items()
        if relation == release.guarantee.relation
    ]
    return sentences[0] if sentences else "No bound was stored."


def noise_of(stage: Mapping[str, Any]) -> str:
    """Return the mechanism of a step, what it spends and how far it moves an answer."""
    promise = f"epsilon {stage['epsilon']:.4g}" + (
        f", delta {stage['delta']:.4g}" if stage["delta"] else ""
    )
    return f"{stage['mechanism']}, {promise}, standard deviation {stage['noise_std']:.4g}"


def statement_ids(releases: Iterable[Release]) -> tuple[str, ...]:
    """Return the statements that releases rest on, each once."""
    return tuple(dict.fromkeys(name for r in releases for name in r.guarantee.statements))


def columns_of(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the columns that a plan names; empty if it names none."""
    both = [*_listed(arguments.get("first")), *_listed(arguments.get("second"))]
    pair = [name for name in both if isinstance(name, str)]  # not two models
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
    return name + of + (f" given {given}" if given else "") + _some_records(arguments)


def _some_records(arguments: Mapping[str, Any]) -> str:
    """Return of which records something was asked, and by which groups."""
    told = ""
    if isinstance(arguments.get("where"), Mapping):
        told += f" where {_condition_text(arguments['where'])}"
    by = arguments.get("by")
    named = _condition_text(by) if isinstance(by, Mapping) else None
    groups = named or _joined(tuple(map(str, _listed(by))))
    return told + (f" by {groups}" if groups else "")


def _condition_text(plain: Mapping[str, Any]) -> str:
    """Return a condition in words; an edited file may hold something that is none."""
    try:
        return str(condition_from_json(plain))
    except ArgumentError:
        return "something that cannot be read"


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


def drawings_of(value: Result, group: str | Sequence[str] | None = None) -> Mapping[str, Drawing]:
    """Return every picture of an answer by name; of one group, if it knows groups."""
    own = getattr(value, "drawings", None)
    if own is not None:
        return dict(own(group))
    _check_unused(group=group)
    named = {_short(title): one for title, one in value.pictures().items() if title}
    return {PLAIN: value, **named}


def views_of(
    value: Result, *, threshold: float | None = None, group: str | Sequence[str] | None = None
) -> Mapping[str, Callable[[], pd.DataFrame]]:
    """Return every table of an answer by name, made when it is called for.

    Args:
      value: the answer.
      threshold: at which records are selected, if it knows thresholds.
      group: one group, if it knows groups.
    """
    own = getattr(value, "views", None)
    if own is not None:
        return dict(own(threshold=threshold, group=group))
    _check_unused(threshold=threshold, group=group)
    return {PLAIN: value.to_frame}


def chosen(name: str, asked: str, found: Mapping[str, Any]) -> Any:
    """Return what was asked for by name, with hyphens or underscores, or raise a sentence."""
    for known, one in found.items():
        if known.replace("_", "-") == asked.replace("_", "-").lower():
            return one
    known = ", ".join(each.replace("_", "-") for each in found)
    raise ArgumentError(f"{name} must be one that this answer has ({known}), got {shown(asked)}.")


def _check_unused(**asked: Any) -> None:
    for name, value in asked.items():
        if value is not None:
            raise ArgumentError(f"{name} must be left out of an answer without, got {shown(value)}.")


def _short(title: str) -> str:
    return "_".join(title.lower().split())
