"""Pictures of answers for browsers; to be drawn one at a time: Matplotlib's settings are global."""

from __future__ import annotations

import io
from typing import Literal

from discreet.plans import Release
from discreet.plans.results.pictures.canvas import INK, LIGHT_INK, Paper
from discreet.plans.results.pictures.svg import INKED

_WIDTH, _DOTS = 5.2, 180
_PAPER, _SLATE = "#ffffff", "#1a202c"


def draw(release: Release, form: Literal["svg", "png"], *, dark: bool = False) -> bytes:
    """Return the picture of an answer, on a light or a dark ground."""
    import matplotlib.style

    ground, ink = (_SLATE, LIGHT_INK) if dark else (_PAPER, INK)
    look = {**dict.fromkeys(INKED, ink), "axes.facecolor": ground}
    target = io.BytesIO()
    with matplotlib.style.context(["default", look]):
        figure = release.plot(Paper(_WIDTH, ground)).figure_
        figure.savefig(target, format=form, dpi=_DOTS, facecolor=ground)
    return target.getvalue()
