"""Pictures for pages and notebooks: vectors that take the colour of the text around them.

Axes and letters are drawn in one ink, which becomes ``currentColor``: the same picture is read on a
light and on a dark page. Nothing of the caller's matplotlib style comes in, and no figure stays open.
"""

from __future__ import annotations

import hashlib
import html
import io
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from discreet.plans.results.pictures.canvas import INK, Paper

if TYPE_CHECKING:
    from discreet.plans.results.result import Drawing

INKED = ("axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color", "text.color")
"""Settings of matplotlib for whatever is drawn in ink."""

_STYLE = {"svg.fonttype": "path", "axes.labelsize": 8.5, "font.size": 9, "axes.linewidth": 0.7}

_LEAST = 1.0
"""Pixels of a point below which a picture is not shrunk: it is scrolled instead."""

_MOST = 1.75
"""Pixels of a point above which it is not blown up."""


def draw_svg(
    result: Drawing, words: str, *, title: str = "", annotate: Callable[[Any], None] | None = None
) -> str:
    """Return a result's picture as an SVG element.

    Args:
      result: what is drawn.
      words: the picture in words, for those who do not see it.
      title: what is written above it.
      annotate: called with the display, to draw more.
    """
    import matplotlib as mpl
    import matplotlib.style

    with mpl.style.context(["default", dict.fromkeys(INKED, INK) | _STYLE]):
        display = result.plot(Paper(), title=title or None)
        if annotate is not None:
            annotate(display)
        buffer = io.StringIO()
        salt = hashlib.sha256(words.encode()).hexdigest()[:12]
        with mpl.rc_context({"svg.hashsalt": salt}):
            display.figure_.savefig(buffer, format="svg", metadata={"Date": None}, transparent=True)
    return _inline(buffer.getvalue(), words, display.figure_.get_figwidth() * 72)


def _inline(svg: str, words: str, points: float) -> str:
    """Return the drawing as part of a page: sized by it, in its ink, with ids of its own."""
    body = svg[svg.index("<defs>", svg.index("</metadata>")) :]
    box = re.search(r'viewBox="([^"]+)"', svg)
    assert box is not None  # matplotlib writes it
    body = body.replace(INK, "currentColor")
    mark = "d" + hashlib.sha256((words + body).encode()).hexdigest()[:8]
    body = re.sub(r'id="', f'id="{mark}-', body)
    body = re.sub(r'href="#', f'href="#{mark}-', body)
    body = re.sub(r"url\(#", f"url(#{mark}-", body)
    label = html.escape(words, quote=True)
    sizes = f"width:100%;min-width:{_LEAST * points:.0f}px;max-width:{_MOST * points:.0f}px;height:auto"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'viewBox="{box[1]}" role="img" aria-label="{label}" style="{sizes}">'
        f"<title>{label}</title>{body}"
    )
