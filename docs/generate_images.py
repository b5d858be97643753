"""Draw the README's pictures from the demo's own data: released answers beside the exact ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import discreet as dc
from discreet.cli.demo import draw_truth
from discreet.cli.demo_questions import APPLICANT, NUMBERS, train_forest, train_model
from discreet.engines.shapley.trees import tree_values
from discreet.models import tree_ensemble

IMAGES = Path(__file__).parent / "images"


def main() -> None:
    """Release a curve and the SHAP values of one applicant, and draw them."""
    frame, model = dc.samples.loans(), train_model()
    session = dc.protect(
        frame, dc.samples.loan_schema(), dataset="loans", epsilon=1.0, ledger=":memory:", seed=2027
    )
    release = session.release(dc.partial_dependence(model, "income", epsilon=0.1))
    figure = Figure(figsize=(7.0, 3.8), layout="constrained")
    FigureCanvasAgg(figure)
    display = release.value.plot(figure.add_subplot())
    draw_truth(release, display, frame, model)
    IMAGES.mkdir(exist_ok=True)
    figure.savefig(IMAGES / "income.png", dpi=110)
    draw_applicant(frame, session)


def draw_applicant(frame: Any, session: dc.Session) -> None:
    """Draw released SHAP values with their bands and the exact ones as crosses."""
    forest = train_forest()
    applicant = {name: APPLICANT[name] for name in NUMBERS}
    released = session.release(dc.shap_values(forest, applicant, epsilon=0.1)).value
    trees = tree_ensemble(forest, "probability", 1)
    rows = frame[list(NUMBERS)].to_numpy(dtype=float)
    exact = tree_values(trees, np.array([list(applicant.values())], dtype=float), rows)[0]
    figure = Figure(figsize=(7.0, 3.2), layout="constrained")
    FigureCanvasAgg(figure)
    display = released.plot(figure.add_subplot())
    order = np.argsort(-np.abs(released.to_array()[0]), kind="stable")
    display.ax_.plot(exact[order], range(len(order)), "x", color="#b0413e", ms=7, label="exact")
    display.ax_.legend(fontsize=8, frameon=False, loc="lower right")
    figure.savefig(IMAGES / "applicant.png", dpi=110)


if __name__ == "__main__":
    main()
