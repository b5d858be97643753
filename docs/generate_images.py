"""Draw the README's pictures from the demo's own data: released answers beside the exact ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import discreet as dc
from discreet.audit.attacks import scenes
from discreet.audit.attacks.ceiling import Ceiling
from discreet.audit.attacks.membership import attack_membership
from discreet.audit.attacks.scoring import Rate
from discreet.audit.attacks.targets import exact_target
from discreet.cli.about.demo import draw_truth
from discreet.cli.about.demo_questions import APPLICANT, NUMBERS, train_forest, train_model
from discreet.engines.shapley.trees import tree_values
from discreet.models import tree_ensemble
from discreet.plans.results.pictures.canvas import GREY, INK, LINE, LOSS, add_legend, tidy

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
    draw_additive(frame)
    draw_pair()
    draw_attacks()


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
    display.ax_.plot(exact[order], range(len(order)), "x", color=LOSS, ms=7, label="exact")
    add_legend(display.ax_)
    figure.savefig(IMAGES / "applicant.png", dpi=110)


def draw_additive(frame: Any) -> None:
    """Draw the shape functions of a private additive model."""
    session = dc.protect(
        frame, dc.samples.loan_schema(), dataset="loans", epsilon=1.0, delta=1e-6, ledger=":memory:",
        seed=2027,
    )  # fmt: skip
    model = session.release(dc.additive_model("defaulted", epsilon=1.0, delta=1e-6)).value
    figure = Figure(figsize=(7.0, 6.6), layout="constrained")
    FigureCanvasAgg(figure)
    model.plot(figure.add_subplot())
    figure.savefig(IMAGES / "additive.png", dpi=110)


def draw_pair() -> None:
    """Draw what hour and day add together to rides that are taken."""
    draw = np.random.default_rng(1)
    hour, weekend = draw.integers(0, 24, 20_000), draw.random(20_000) < 2 / 7
    busy = np.where(weekend, np.exp(-(((hour - 14) / 4) ** 2)), np.exp(-(((hour - 8) / 2) ** 2)))
    days = np.where(weekend, "weekend", "weekday")
    rides = pd.DataFrame({"hour": hour, "day": days, "taken": draw.poisson(20 + 200 * busy)})
    columns = {
        "hour": dc.Number(0, 24, step=1, missing=False),
        "day": dc.Category("weekday", "weekend", missing=False, other=False),
        "taken": dc.Number(0, 400, missing=False),
    }
    schema = dc.Schema(columns, target="taken")
    terms: Any = {"epsilon": 1.0, "delta": 1e-6}
    session = dc.protect(rides, schema, dataset="rides", ledger=":memory:", seed=2027, **terms)
    model = session.release(dc.additive_model("taken", interactions=1, **terms)).value
    figure = Figure(figsize=(7.0, 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    model.shape("hour", "day").plot(figure.add_subplot())
    figure.savefig(IMAGES / "pair.png", dpi=110)


EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0)
TRIALS = 4_000


def draw_attacks() -> None:
    """Draw how often membership is guessed rightly: exact answers, ours, and the ceiling."""
    figure = Figure(figsize=(7.0, 3.8), layout="constrained")
    FigureCanvasAgg(figure)
    ax = figure.add_subplot()
    grid = np.geomspace(0.08, 10.0, 200)
    roof = [Ceiling(epsilon).accuracy for epsilon in grid]
    ax.fill_between(grid, roof, 1.04, color=LOSS, alpha=0.08, lw=0)
    ax.plot(grid, roof, color=LOSS, label="ceiling: no attack on an epsilon-private release is better")
    series = {"histogram": ("o", LINE), "SHAP values": ("s", INK)}
    for shift, (name, (marker, colour)) in zip((0.97, 1.03), series.items(), strict=True):
        plan = scenes.PLANS[name](1.0)
        exact = exact_target(plan, scenes.neighbours(), scenes.SCHEMA)
        bare = attack_membership(exact, attack="threshold", trials=400).accuracy.value
        at = np.multiply(EPSILONS, shift)
        ax.plot(at, [bare] * len(at), marker, mfc="none", color=colour, label=f"exact {name}")
        rates = [best_attack(name, epsilon) for epsilon in EPSILONS]
        middle = np.array([rate.value for rate in rates])
        ends = [middle - [r.low for r in rates], [r.high for r in rates] - middle]
        label = f"released {name}, 95 % interval"
        ax.errorbar(at, middle, yerr=ends, fmt=marker, ms=5, color=colour, capsize=3, label=label)
    ax.axhline(0.5, color=GREY, lw=1, zorder=0)
    ax.set_xscale("log")
    ax.set_xticks(EPSILONS, [f"{epsilon:g}" for epsilon in EPSILONS])
    ax.minorticks_off()
    ax.set(xlabel="epsilon", ylabel="membership guessed rightly", xlim=(0.08, 10), ylim=(0.46, 1.04))
    ax.legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(0.0, 0.93))
    tidy(ax)
    figure.savefig(IMAGES / "attacks.png", dpi=110)


def best_attack(name: str, epsilon: float) -> Rate:
    """Return the better of a likelihood ratio and a learned threshold."""
    target = scenes.sums_scene(name, epsilon)
    tried = [
        attack_membership(target, attack=attack, trials=TRIALS, seed=2027).accuracy
        for attack in ("likelihood ratio", "threshold")
    ]
    return max(tried, key=lambda rate: rate.value)


if __name__ == "__main__":
    main()
