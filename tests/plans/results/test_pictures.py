"""Pictures answer the question, keep their letters apart and inside, and are read on dark pages."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from itertools import pairwise
from typing import Any

import matplotlib
import numpy as np
import pytest

import discreet as dc
from discreet.plans.results.pictures.canvas import GREY, INK, LIGHT_INK, LINE, Paper, ink
from discreet.plans.results.pictures.svg import draw_svg
from discreet.plans.results.pictures.tree import TreeDisplay

matplotlib.use("agg")


def counts(labels: tuple[str, ...], edges: tuple[float, ...] | None = None) -> dc.Histogram:
    found = tuple(float(10 + i) for i in range(len(labels)))
    return dc.Histogram(("job",), (labels,), (edges,), found, 1.0, 2.0, 0.95)


def ranking(**changes: Any) -> dc.Ranking:
    facts: dict[str, Any] = {
        "features": ("age", "income", "home"),
        "order": (("income", "age"),),
        "gaps": ((0.5, 0.02),),
        "values": None,
        "half_width": None,
        "level": 0.95,
        "expected_loss": None,
        "mechanism": "laplace",
    }
    return dc.Ranking(**facts | changes)


CHOICE = dc.Choice("car", 0, 5, "permute-and-flip", "why", 10.8, "records fewer", None, (("x", 3.0),))
NUMBER = dc.Scalar(
    "entropy of home", 1.5075, 0.0014, 0.95, 0.001, "bits", (0.0, 2.0), "direct", "why", ()
)
QUANTILES = dc.Quantiles("income", (25.0, 50.0), (1e4, 4e4), "x", "why", 55.0, "records", 9.0, 0.3)


def drawn(result: Any, **options: Any) -> Any:
    return result.plot(Paper(), **options)


def sizes(display: Any) -> dict[str, float]:
    return {text.get_text(): text.get_fontsize() for text in display.ax_.texts}


def test_a_ranking_is_a_numbered_list_without_lengths() -> None:
    display = drawn(ranking())
    assert len(display.ax_.patches) == 0
    assert {"1.", "2.", "income", "age", "gap 0.5", "gap 0.02"} <= set(sizes(display))
    plain = sizes(drawn(ranking(gaps=None)))
    assert any("order alone" in text for text in plain) and not any("gap" in text for text in plain)


def test_a_ranking_with_values_has_bars_of_true_length() -> None:
    display = drawn(ranking(values=((0.4, -0.1),), half_width=0.05))
    assert [bar.get_width() for bar in display.ax_.patches] == [0.4, -0.1]
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == ["1. income", "2. age"]


@pytest.mark.parametrize(("order", "words"), [((None,), "not stable"), (((),), "above the threshold")])
def test_a_ranking_without_an_answer_says_so(order: Any, words: str) -> None:
    assert any(words in text for text in sizes(drawn(ranking(order=order, gaps=None))))


@pytest.mark.parametrize(("result", "answer"), [(CHOICE, "car"), (NUMBER, "1.5075 ± 0.0014 bits")])
def test_the_answer_is_the_largest_text(result: Any, answer: str) -> None:
    found = sizes(drawn(result))
    assert max(found, key=lambda text: found[text]) == answer
    assert found[answer] > 1.5 * max(size for text, size in found.items() if text != answer)


def test_the_errors_of_other_mechanisms_are_a_footnote() -> None:
    assert any("at most 10.8 records" in text and "3 by x" in text for text in sizes(drawn(CHOICE)))


def test_quantiles_have_their_uncertainty() -> None:
    (points,) = drawn(QUANTILES).ax_.containers
    (bars,) = points[2]
    ends = [segment[:, 1].tolist() for segment in bars.get_segments()]
    assert ends == [pytest.approx([24.7, 25.3]), pytest.approx([49.7, 50.3])]
    private = dc.Quantiles("income", (25.0,), (1e4,), "x", "why", 55.0, "records", 9.0)
    texts = drawn(private).ax_.get_legend().get_texts()
    assert "55 records" in texts[0].get_text()


@pytest.mark.parametrize("count", [3, 12, 40, 300])
@pytest.mark.parametrize("length", [2, 14, 60])
def test_labels_keep_apart(count: int, length: int) -> None:
    labels = tuple(f"{i:03d}{'x' * length}"[:length] for i in range(count))
    display = drawn(counts(labels))
    display.figure_.draw_without_rendering()
    ticks = display.ax_.get_xticklabels()
    if ticks[0].get_rotation() == 0:
        boxes = [tick.get_window_extent() for tick in ticks]
        assert all(one.x1 < other.x0 for one, other in pairwise(boxes))
    else:  # slanted: the feet of two lines are at least a line's height apart
        feet = [tick.get_position()[0] for tick in ticks]
        pixels = display.ax_.transData.transform([(x, 0) for x in feet])[:, 0]
        height = ticks[0].get_fontsize() * display.figure_.dpi / 72
        assert np.diff(pixels).min(initial=np.inf) > height


def test_numbers_on_an_axis_keep_apart() -> None:
    edges = tuple(np.linspace(0, 2e5, 41).tolist())
    display = drawn(counts(tuple(map(str, range(40))), edges))
    display.figure_.draw_without_rendering()
    boxes = [tick.get_window_extent() for tick in display.ax_.get_xticklabels() if tick.get_text()]
    assert "100,000" in [tick.get_text() for tick in display.ax_.get_xticklabels()]
    assert all(one.x1 < other.x0 for one, other in pairwise(boxes))


@pytest.mark.parametrize("edges", [None, tuple(float(i) for i in range(31))])
def test_reserved_cells_stand_apart_in_grey(edges: tuple[float, ...] | None) -> None:
    labels = (*(f"v{i}" for i in range(30)), "(missing)")
    display = drawn(counts(labels, edges))
    *inside, last = display.ax_.patches
    right = inside[-1].get_x() + inside[-1].get_width()
    assert last.get_x() - right > 2 * (inside[1].get_x() - inside[0].get_x() - inside[0].get_width())
    tones = [matplotlib.colors.to_hex(bar.get_facecolor()) for bar in (inside[-1], last)]
    assert tones == [LINE, GREY]
    assert display.ax_.get_xticklabels()[-1].get_text() == "(missing)" or edges is None


class Tree:
    """A tree of one split with names that are far too long."""

    target = "whether the loan was paid back in full and in time"
    classes_ = ("a class with a name that goes on and on", "b")
    left = (1, 1, 2)
    counts = ((2e7, 1e7), (5.0, 1.0), (3.0, 9.0))
    shares = ((0.6, 0.4), (0.8, 0.2), (0.25, 0.75))
    noise_std = 3.0

    def split_text(self, node: int) -> str:
        return "an_extraordinarily_long_name_of_a_column ≤ 1234567.891"


@pytest.mark.parametrize("paper", [True, False])
def test_the_text_of_a_tree_stays_inside_its_boxes(paper: bool) -> None:
    from matplotlib.figure import Figure

    ax = Paper() if paper else Figure(figsize=(3.0, 2.0)).add_axes((0, 0, 1, 1))
    display = TreeDisplay(Tree()).plot(ax)
    display.figure_.draw_without_rendering()
    boxes = [patch.get_window_extent() for patch in display.ax_.patches if not patch.get_facecolor()[3]]
    texts = [text for text in display.ax_.texts if text.get_text() not in ("yes", "no")]
    assert len(boxes) == 3 and len(texts) == 6
    for text in texts:
        extent = text.get_window_extent()
        assert any(box.x0 <= extent.x0 and extent.x1 <= box.x1 for box in boxes), text.get_text()


def test_ink_is_light_on_dark_figures() -> None:
    from matplotlib.figure import Figure

    assert ink(Figure(facecolor="#111111").add_subplot()) == LIGHT_INK
    assert ink(Figure(facecolor="white").add_subplot()) == INK
    assert ink(Figure(facecolor="none").add_subplot()) == INK


def test_a_vector_picture_takes_the_colour_of_the_page() -> None:
    import matplotlib.pyplot as plt

    before = plt.get_fignums()
    plain = draw_svg(counts(("a", "b")), "Counts of <b> & co")
    with matplotlib.style.context("dark_background"):
        assert draw_svg(counts(("a", "b")), "Counts of <b> & co") == plain
    root = ElementTree.fromstring(plain)
    assert root.get("role") == "img" and root.get("aria-label") == "Counts of <b> & co"
    assert "currentColor" in plain and INK not in plain and "<b>" not in plain
    assert plt.get_fignums() == before


def test_letters_on_the_colours_of_a_matrix_stay_dark_on_a_dark_page() -> None:
    entries = ((1.0, 0.1), (0.1, 1.0))
    shown = dc.Matrix(("a", "b"), entries, entries, entries, 0.95, 0.1, "correlation", 9.0)
    written = drawn(shown).ax_.texts
    assert len(written) == 4 and INK not in {text.get_color() for text in written}


def test_vector_pictures_on_one_page_share_no_id() -> None:
    pictures = [draw_svg(counts(("a", "b")), words) for words in ("one", "two")]
    ids = [{e.get("id") for e in ElementTree.fromstring(p).iter() if e.get("id")} for p in pictures]
    assert ids[0] and not ids[0] & ids[1]
    links = [
        e.get("{http://www.w3.org/1999/xlink}href") for e in ElementTree.fromstring(pictures[0]).iter()
    ]
    assert {link[1:] for link in links if link} <= ids[0]


def test_ticks_of_days_are_first_days_of_months_or_years() -> None:
    from discreet.plans.results.pictures.canvas import _first_days

    def dates(low: str, high: str, most: int) -> list[str]:
        ends = [np.datetime64(day).astype(float) for day in (low, high)]
        return [str(np.datetime64(int(day), "D")) for day in _first_days(*ends, most)]

    assert dates("2019-01-01", "2023-12-31", 5) == [f"{year}-01-01" for year in range(2019, 2024)]
    assert dates("2019-01-02", "2019-03-31", 5) == ["2019-02-01", "2019-03-01"]
    assert len(dates("1900-01-01", "2100-01-01", 3)) <= 3


LONG = "mean probability of a thing with a rather long name"
GRID = ((0.1, 0.2), (0.3, 0.4))
MAPS = {
    "surface": dc.Surface(
        ("a", "b"), (0.0, 1.0), (0.0, 1.0), (None, None), GRID, GRID, GRID, 0.95, 0.1, LONG
    ),
    "counts": dc.Histogram(
        ("a", "b"), (("u", "v"), ("x", "y")), (None, None), (2_400.0, 10.0, 5.0, 0.0), 1.0, 2.0, 0.95
    ),
    "counts of columns with long names": dc.Histogram(
        (LONG.replace(" ", "_") * 2, LONG * 2), (("u", "v"), ("x", "y")), (None, None),
        (2_400.0, 10.0, 5.0, 0.0), 1.0, 2.0, 0.95,
    ),
    "covariance": dc.Matrix(
        ("a", "b"), ((1.0, 0.1), (0.1, 1.0)), GRID, GRID, 0.95, 0.1, LONG, 10.0
    ),
    "importances": dc.Attribution(
        ("a", "b"), ((0.4, 0.1),), (0.0,), (0.0,), None, None, 0.95, None, LONG
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", MAPS)
@pytest.mark.parametrize("paper", [True, False])
def test_what_is_written_along_axes_and_scales_stays_inside(kind: str, paper: bool) -> None:
    figure = MAPS[kind].plot(Paper() if paper else None).figure_
    figure.canvas.draw()
    labels = [
        axis.label for ax in figure.axes for axis in (ax.xaxis, ax.yaxis) if axis.label.get_text()
    ]
    assert labels
    for label in labels:
        box = label.get_window_extent()
        assert box.x0 >= 0 <= box.y0, label.get_text()
        assert box.x1 <= figure.bbox.x1 and box.y1 <= figure.bbox.y1, label.get_text()


def test_the_scale_of_a_map_writes_thousands_apart() -> None:
    figure = drawn(MAPS["counts"]).figure_
    figure.canvas.draw()
    told = [label.get_text() for label in figure.axes[1].get_yticklabels()]
    assert "2,000" in told and "2000" not in told


def test_a_group_of_which_nothing_is_known_is_grey_and_no_dot() -> None:
    def mean(low: float, high: float) -> Any:
        facts = {"value": (low + high) / 2, "half_width": 1.0, "level": 0.95, "noise_std": 1.0}
        told = {"unit": "", "range": (0.0, 100.0), "method": "laplace", "why": "", "compared": ()}
        return dc.Statistic(name="mean", **facts, **told, ends=(low, high))  # type: ignore[arg-type]

    labels = (("many",), ("none",))
    ax = drawn(dc.Groups(("a",), labels, (mean(40, 50), mean(0, 100)), None, None)).ax_
    marks = [(line.get_color(), line.get_marker()) for line in ax.lines if len(line.get_xdata()) == 1]
    assert marks == [(LINE, "o"), (GREY, "|")] and "too few records" in ax.get_xlabel()
    sure = drawn(dc.Groups(("a",), labels[:1], (mean(40, 50),), None, None)).ax_
    assert sure.get_xlabel() == "mean"


def grouped(one: Any, labels: tuple[str, ...] = ("rent", "own")) -> Any:
    groups = tuple((label,) for label in labels)
    return dc.Groups(("home",), groups, (one,) * len(labels), None, None)


def test_what_groups_chose_is_written_beside_their_names() -> None:
    ax = grouped(CHOICE).plot().ax_
    assert [text.get_text() for text in ax.texts] == ["car", "car"]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["rent", "own"]
    assert "10.8 records fewer on average" in " ".join(ax.get_xlabel().split())


def test_small_matrices_have_no_bar_and_write_what_there_is_room_for() -> None:
    def matrix(size: int) -> dc.Matrix:
        entries = tuple(map(tuple, np.eye(size).tolist()))
        names = tuple(f"c{place}" for place in range(size))
        shown = dc.Matrix(names, entries, entries, entries, 0.95, 0.1, "correlation", 9.0)
        return replace(shown, ends_all=(entries, entries))

    alone = matrix(4).plot()
    assert alone.colorbar_ is not None and len(alone.ax_.texts) == 16
    for size, written in ((2, 4), (6, 0)):
        figure = grouped(matrix(size), ("rent", "own", "both")).plot().figure_
        assert [len(ax.texts) for ax in figure.axes[1:]] == [written] * 3


def test_long_names_of_small_pictures_are_wrapped() -> None:
    long = "mortgage and renovation, and more than there is room for"
    figure = grouped(ranking(), (long, "own", "rent")).plot().figure_
    assert "\n" in figure.axes[1].get_title(loc="left")


FORMULAS = ("$x$", "$\\frac{$", "a $b$ c", "one $", "\\alpha $_$")


def test_names_with_dollars_are_written_as_they_are() -> None:
    """One that is no formula ended the drawing, and one that is lost its dollars."""
    from matplotlib.text import Text

    wrong = FORMULAS[1]
    for display in (
        drawn(counts(FORMULAS), title=wrong),
        drawn(ranking(features=FORMULAS[:3], order=((FORMULAS[0], wrong),))),
        drawn(replace(CHOICE, winner=wrong)),
        drawn(replace(QUANTILES, column=wrong)),
    ):
        display.figure_.canvas.draw()
        texts = [text for text in display.figure_.findobj(Text) if "$" in text.get_text()]
        assert any(wrong in text.get_text() for text in texts)
        assert not any(text.get_parse_math() for text in texts)
    assert "<svg" in draw_svg(counts(FORMULAS), "words", title=wrong)
