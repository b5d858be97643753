"""Releases in notebooks: the picture first, then what it promises and rests on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from discreet.errors import ArgumentError
from discreet.markup import Html, card, fold, soft, table
from discreet.plans.release import Release
from discreet.plans.results.pictures.svg import draw_svg
from discreet.privacy.telling import tell_sensitivity

_SHOWN = 10


def release_html(release: Release) -> Html:
    """Return a release for a notebook."""
    by_stage = table(
        ["step", "what was proven", "noise"],
        [(stage["name"], tell_stage(stage, release), noise_of(stage)) for stage in release.stages],
    )
    return card(
        picture_or_table(release),
        soft(f"{release.guarantee} · {release.dataset}"),
        fold("what was proven", Html(by_stage + release.guarantee._repr_html_())),
        title=release.title,
    )


def picture_or_table(release: Release, *, annotate: Callable[[Any], None] | None = None) -> Html:
    """Return the picture, or the first rows where there is none: counts of many columns.

    Args:
      release: what is shown.
      annotate: called with the display, to draw more.
    """
    try:
        drawn = draw_svg(release.value, release.title, annotate=annotate)
        return Html(f'<div style="overflow-x:auto">{drawn}</div>')
    except ArgumentError:
        frame = release.value.to_frame()
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
