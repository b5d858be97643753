"""The picture has every box, no arrow through a box, and the text is Mermaid."""

from __future__ import annotations

import itertools

import matplotlib
import pytest
from matplotlib.figure import Figure

from discreet.explain.dataflow import BUILTINS, Dataflow, Step, builtin
from discreet.explain.dataflow.drawing import NOISY

matplotlib.use("agg")


@pytest.mark.parametrize("name", BUILTINS)
def test_boxes_and_arrows(name: str) -> None:
    flow = builtin(name)
    chosen = flow.enabling_sets()[-1]
    axes = Figure().add_subplot()
    display = flow.plot(axes, highlight=chosen)
    assert display.ax_ is axes and display.figure_ is axes.figure
    boxes = {text.get_gid(): text for text in axes.texts if text.get_gid()}
    assert set(boxes) == set(flow.steps)
    coloured = {
        n
        for n, box in boxes.items()
        if matplotlib.colors.to_hex(box.get_bbox_patch().get_facecolor()) == NOISY
    }
    assert coloured == set(chosen)
    assert len(axes.texts) - len(boxes) == flow.graph.number_of_edges()
    assert axes.get_title(loc="left").startswith(f"{name}: noise on")
    axes.figure.canvas.draw()


def test_no_two_stops_share_a_place() -> None:
    """An arrow past a layer has a stop of its own there."""
    flow = builtin("ale")
    places = flow.plot(Figure().add_subplot()).places_
    assert len(set(places.values())) == len(places) > len(flow.steps)
    for source, target in flow.graph.edges:
        assert places[source][0] < places[target][0]


def test_new_axes_if_none_are_given() -> None:
    import matplotlib.pyplot as plt

    display = builtin("pdp").plot(title="where noise goes")
    assert display.ax_.get_title(loc="left") == "where noise goes"
    plt.close(display.figure_)


def test_mermaid_has_every_step_and_arrow() -> None:
    flow = builtin("pdp")
    assert flow.to_mermaid().splitlines() == [
        "flowchart LR",
        '    s0["input"]',
        '    s1["x values"]',
        '    s2["y values"]',
        '    s3["output"]',
        "    s0 --> s1",
        "    s0 --> s2",
        "    s1 --> s2",
        "    s1 --> s3",
        "    s2 --> s3",
    ]
    assert flow.to_mermaid(["y values", "x values"]).splitlines()[-1] == "    class s1,s2 noise"


def test_mermaid_escapes_names() -> None:
    flow = Dataflow("odd", [Step('a "b" #1'), Step("<i>\n& `x`", ['a "b" #1'])])
    lines = flow.to_mermaid().splitlines()
    assert lines[1] == '    s0["a #34;b#34; #35;1"]'
    assert lines[2] == '    s1["#60;i#62; #38; #96;x#96;"]'
    assert not any(sign in line.split('"')[1] for line, sign in itertools.product(lines[1:3], "<>`&"))
