"""Pictures of an additive model: what they show, on any axes, as vectors and as pixels."""

from __future__ import annotations

import io
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest

from discreet.errors import ArgumentError
from discreet.plans.results.pictures.canvas import Paper
from discreet.plans.results.pictures.svg import draw_svg
from tests.additive.hand import model


@pytest.fixture(autouse=True)
def close() -> Any:
    yield
    plt.close("all")


def test_steps_stand_on_their_bins_between_their_bands() -> None:
    made = model()
    display = made.shape("age").plot(title="of age")
    (steps,) = [patch for patch in display.ax_.patches if hasattr(patch, "get_data")]
    np.testing.assert_allclose(steps.get_data().values, made.term("age").scores[0][:4])
    np.testing.assert_allclose(steps.get_data().edges, made.term("age").bins[0].edges)
    assert "years" in display.ax_.get_xlabel() and "log-odds" in display.ax_.get_ylabel()
    heights = [bar.get_height() * bar.get_width() for bar in display.rug_ax_.patches]
    np.testing.assert_allclose(heights, np.maximum(made.term("age").counts, 0.0), atol=1e-9)
    labels = display.ax_.get_legend_handles_labels()[1]
    assert any("noise, each value by itself, 95%" in label for label in labels)
    assert any(
        "at once" in t for t in made.shape("age").plot(band="all").ax_.get_legend_handles_labels()[1]
    )


def test_categories_and_missing_values_are_points() -> None:
    display = model().shape("job").plot()
    assert [tick.get_text() for tick in display.ax_.get_xticklabels()][:3] == [
        "clerk",
        "nurse",
        "smith",
    ]
    assert "(missing)" in [t.get_text() for t in model().shape("age").plot().ax_.get_xticklabels()]


def test_a_pair_is_a_map_that_states_its_noise() -> None:
    made = model()
    display = made.shape("income", "job").plot()
    np.testing.assert_allclose(
        display.ax_.images[0].get_array(),
        np.array(made.term("income", "job").scores[0]).reshape(2, 5).T,
    )
    assert "noise ±" in display.colorbar_.ax.get_ylabel()


@pytest.mark.parametrize("classes", [0, 2, 3])
def test_a_model_is_a_grid_of_its_terms_on_one_scale(classes: int) -> None:
    made = model(classes)
    display = made.plot(title="all terms")
    titles = [ax.get_title(loc="left") for ax in display.figure_.axes]
    for name in ("age (years)", "income", "job", "income × job"):
        assert name in titles
    assert len({ax.get_ylim() for ax in display.axes_}) == 1
    text = " ".join(t.get_text() for t in display.ax_.texts)
    assert "all terms" in text


def test_of_several_classes_all_are_drawn_or_one() -> None:
    made = model(3)
    legend = made.plot().ax_.get_legend()
    assert [t.get_text() for t in legend.get_texts()][:3] == ["a", "b", "c"]
    assert "bad = b" in " ".join(t.get_text() for t in made.plot(class_="b").ax_.texts)


def test_more_terms_than_there_is_room_for_are_told_of() -> None:
    from discreet.plans.results.pictures.additive import AdditiveDisplay

    display = AdditiveDisplay({"": model().shapes()}, most=2).plot()
    assert "2 more terms" in " ".join(t.get_text() for t in display.ax_.texts)


def test_pages_and_files_can_have_them() -> None:
    for title, one in model().pictures().items():
        assert draw_svg(one, title).startswith("<svg")
    figure = model().plot(Paper()).figure_
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    assert buffer.getvalue()[:4] == b"\x89PNG"
    _, own = plt.subplots()
    assert model().plot(own).figure_ is own.figure
    with pytest.raises(ArgumentError, match="axes of a grid"):
        model().plot(plt.figure().add_axes((0, 0, 1, 1)))
