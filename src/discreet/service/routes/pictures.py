"""Pictures of answers for browsers; one is drawn at a time: Matplotlib's settings are global."""

from __future__ import annotations

import io
import threading
from typing import Literal

from discreet.plans import Release

_DRAWING = threading.Lock()
_SIZE = (6.4, 4.2)
_PAPER, _SLATE = "#ffffff", "#14171c"


def draw(release: Release, form: Literal["svg", "png"], *, dark: bool = False) -> bytes:
    """Return the picture of an answer, on a light or a dark ground."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    ground, target = _SLATE if dark else _PAPER, io.BytesIO()
    with _DRAWING:
        figure = Figure(figsize=_SIZE, layout="constrained", facecolor=ground)
        FigureCanvasAgg(figure)
        release.plot(figure.add_subplot(facecolor=ground))
        figure.savefig(target, format=form, dpi=150, facecolor=ground)
    return target.getvalue()
