"""The diagram of an explainer, drawn with matplotlib or written as Mermaid text."""

from __future__ import annotations

import textwrap
from itertools import pairwise
from statistics import fmean
from typing import TYPE_CHECKING, Any

import networkx as nx

from discreet.plans.results.pictures.canvas import INK, LINE, Display, axes_or_new, ink, write_title

if TYPE_CHECKING:
    from discreet.explain.dataflow.graph import Dataflow

_ACROSS, _DOWN = 1.9, 1.1
NOISY = "#9ed0e6"
_Path = list[Any]


def draw_mermaid(flow: Dataflow, highlight: tuple[str, ...]) -> str:
    """Return the diagram as Mermaid text."""
    ids = {name: f"s{at}" for at, name in enumerate(flow.steps)}
    lines = ["flowchart LR"]
    lines += [f'    {ids[name]}["{_escaped(name)}"]' for name in flow.steps]
    lines += [
        f"    {ids[source]} --> {ids[name]}" for name in ids for source in flow.steps[name].inputs
    ]
    if highlight:
        lines.append(f"    classDef noise fill:{NOISY},stroke:{LINE},stroke-width:2px,color:{INK}")
        lines.append(f"    class {','.join(ids[name] for name in highlight)} noise")
    return "\n".join(lines) + "\n"


def _escaped(name: str) -> str:
    """Return a name as Mermaid shows it between quotes."""
    for sign in '#&<>"`':
        name = name.replace(sign, f"\0{ord(sign)};")
    return " ".join(name.split()).replace("\0", "#")


class DataflowDisplay(Display):
    """Draws a ``Dataflow``; after ``plot`` it has ``ax_``, ``figure_`` and ``places_``."""

    def __init__(self, flow: Dataflow, highlight: tuple[str, ...] = ()) -> None:
        self.flow, self.highlight = flow, highlight
        self.places_: dict[Any, tuple[float, float]] = {}

    def plot(self, ax: Any = None, *, title: str | None = None) -> DataflowDisplay:
        """Draw on ``ax`` or on new axes; never calls ``show``."""
        paths, layers = _routes(self.flow.graph)
        self.places_ = _places(layers, paths)
        tallest = max(len(layer) for layer in layers)
        self.ax_ = axes_or_new(ax, width=1.7 * len(layers), height=0.9 + 0.7 * tallest)
        boxes = {name: self._draw_box(name) for name in self.flow.steps}
        for path in paths:
            self._draw_arrow(path, boxes)
        self.ax_.set_xlim(-0.6 * _ACROSS, (len(layers) - 0.4) * _ACROSS)
        self.ax_.set_ylim(-_DOWN * tallest / 2, _DOWN * tallest / 2)
        self.ax_.set_axis_off()
        write_title(self.ax_, title or self._caption())
        return self

    def _caption(self) -> str:
        noise = f": noise on {', '.join(self.highlight)}" if self.highlight else ""
        return f"{self.flow.name}{noise}"

    def _draw_box(self, name: str) -> Any:
        chosen = name in self.highlight
        colours = {"facecolor": NOISY if chosen else "white", "edgecolor": LINE if chosen else INK}
        label = self.ax_.text(
            *self.places_[name],
            textwrap.fill(name, 14),
            ha="center",
            va="center",
            fontsize=9,
            color=INK,
            gid=name,
            bbox={"boxstyle": "round,pad=0.45", "linewidth": 2 if chosen else 1, **colours},
        )
        return label.get_bbox_patch()

    def _draw_arrow(self, path: _Path, boxes: dict[str, Any]) -> None:
        corners = [self.places_[stop] for stop in path]
        self.ax_.plot(*zip(*corners[:-1], strict=True), color=ink(self.ax_), lw=1, zorder=1)
        self.ax_.annotate(
            "",
            corners[-1],
            corners[-2],
            arrowprops={
                "arrowstyle": "-|>",
                "color": INK,
                "patchA": boxes.get(path[-2]),
                "patchB": boxes[path[-1]],
                "shrinkA": 0,
            },
            zorder=4,  # after the boxes, which know their size only once they are drawn
        )


def _routes(graph: Any) -> tuple[list[_Path], list[list[Any]]]:
    """Return the stops of every arrow, and the layers of steps and of stops between them.

    An arrow that goes past a layer has a stop of its own there, so that it meets no box.
    """
    layers: list[list[Any]] = [list(layer) for layer in nx.topological_generations(graph)]
    level = {name: at for at, layer in enumerate(layers) for name in layer}
    paths = []
    for source, target in graph.edges:
        between = [(source, target, at) for at in range(level[source] + 1, level[target])]
        for stop in between:
            layers[stop[2]].append(stop)
        paths.append([source, *between, target])
    return paths, layers


def _places(layers: list[list[Any]], paths: list[_Path]) -> dict[Any, tuple[float, float]]:
    """Return where each stop goes: layer by layer, each near the middle of what leads to it."""
    before: dict[Any, list[Any]] = {}
    for path in paths:
        for start, stop in pairwise(path):
            before.setdefault(stop, []).append(start)
    places: dict[Any, tuple[float, float]] = {}
    for across, layer in enumerate(layers):
        heights = {s: [places[start][1] for start in before.get(s, ())] or [0.0] for s in layer}
        for at, stop in enumerate(sorted(layer, key=lambda stop: -fmean(heights[stop]))):
            places[stop] = (_ACROSS * across, _DOWN * ((len(layer) - 1) / 2 - at))
    return places
