"""Draw the README's picture from the demo's own data: a released curve beside the exact one."""

from __future__ import annotations

from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import discreet as dc
from discreet.cli.demo import draw_truth, train_model

IMAGES = Path(__file__).parent / "images"


def main() -> None:
    """Release one curve of the example loans and draw it."""
    frame, model = dc.samples.loans(), train_model()
    session = dc.protect(
        frame, dc.samples.loan_schema(), dataset="loans", epsilon=1.0, ledger=":memory:", seed=2026
    )
    release = session.release(dc.partial_dependence(model, "income", epsilon=0.1))
    figure = Figure(figsize=(7.0, 3.8), layout="constrained")
    FigureCanvasAgg(figure)
    display = release.value.plot(figure.add_subplot())
    draw_truth(release, display, frame, model)
    IMAGES.mkdir(exist_ok=True)
    figure.savefig(IMAGES / "income.png", dpi=110)


if __name__ == "__main__":
    main()
