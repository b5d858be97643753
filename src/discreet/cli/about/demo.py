"""``discreet demo``: the whole way on example loans, from sealed rows to a page of pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from discreet.cli.about.demo_questions import ask_all, train_forest, train_model
from discreet.cli.output import JsonOption, print_json, print_table
from discreet.errors import BudgetExhausted
from discreet.explain.pdp.plan import partial_dependence
from discreet.explain.shap.background import Background
from discreet.models import as_model
from discreet.plans import Attribution, Curve, Histogram, Ranking, Release, Surface
from discreet.plans.results.choice import Choice, Quantiles
from discreet.plans.results.groups import Groups
from discreet.plans.results.pictures.canvas import LOSS, add_legend
from discreet.plans.results.scalar import Scalar
from discreet.plans.results.synthetic_rows import SyntheticRows
from discreet.reporting import report
from discreet.samples import loan_schema, loans
from discreet.session import Session, protect
from discreet.trees.result import DecisionTree
from discreet.value.private_neighbours import NeighbourCounts

_NOTE = (
    "20,000 example loans, drawn from a seed: they describe nobody, so this page may show the exact "
    "curve (dashed) beside the released one. On real data nobody sees the dashed line. The models that "
    "are explained first were trained on other records; the tree and the forest at the end on these, "
    "privately. What is protected are these records."
)


def demo_command(
    out: Annotated[Path, typer.Option(help="Folder for the ledger, releases and page.")] = Path(
        "discreet-demo"
    ),
    json: JsonOption = False,
) -> None:
    """Protect example loans with epsilon 8, release what discreet can, write a page to open."""
    out.mkdir(parents=True, exist_ok=True)
    frame, model = loans(), train_model()
    session = protect(
        frame,
        loan_schema(),
        dataset="loans",
        epsilon=8.0,
        delta=1e-6,
        ledger=out / "loans.db",
    )
    releases = ask_all(session, model, train_forest())
    for number, release in enumerate(releases, 1):
        release.save(out / f"{number}-{release.plan['kind']}.json")
    page = report(
        releases,
        session=session,
        title="What discreet released about 20,000 loans",
        note=_NOTE,
        annotate=lambda release, display: draw_truth(release, display, frame, model),
    )
    page.save(out / "report.html")
    refusal = ask_too_much(session, model)
    _show(session, releases, refusal, out, json)


def draw_truth(release: Release, display: Any, frame: Any, model: Any) -> None:
    """Draw the exact curve; only example records may be shown so."""
    from threadpoolctl import threadpool_limits

    curve = release.value
    if not isinstance(curve, Curve) or release.plan["kind"] != "partial_dependence":
        return
    if release.plan["arguments"]["model"] != as_model(model).describe():
        return
    features = frame.drop(columns="defaulted")
    points = curve.x if curve.labels is None else curve.labels
    with threadpool_limits(1):  # boosted trees spin on idle threads
        exact = [
            model.predict_proba(features.assign(**{curve.feature: p}))[:, 1].mean() for p in points
        ]
    if curve.labels is None:
        display.ax_.plot(curve.x, exact, "--", color=LOSS, lw=1.2, label="exact")
    else:
        display.ax_.plot(range(len(points)), exact, "x", color=LOSS, ms=7, label="exact")
    add_legend(display.ax_)


def ask_too_much(session: Session, model: Any) -> str:
    """Ask for more than is left and return the refusal."""
    try:
        session.release(partial_dependence(model, "age", epsilon=3.5))
    except BudgetExhausted as refusal:
        return str(refusal)
    raise AssertionError("the ledger accepted more than the budget")


def _show(session: Session, releases: list[Release], refusal: str, out: Path, json: bool) -> None:
    verified = session.verify(releases)
    if json:
        print_json(
            {
                "releases": [release.to_json() for release in releases],
                "remaining": session.remaining.to_json(),
                "verified": verified.ok,
                "refusal": refusal,
                "page": str(out / "report.html"),
            }
        )
        return
    rows = [
        [
            release.plan["kind"],
            _about(release),
            f"{release.plan['epsilon']:g}",
            _typical_noise(release),
        ]
        for release in releases
    ]
    print_table("released", ["plan", "of", "epsilon", "noise (95 %)"], rows)
    typer.echo(f"left: {session.remaining}")
    typer.echo(f"asked for more than is left: {refusal}")
    typer.echo(
        f"ledger: {verified.entries} entries, the chain {'holds' if verified.ok else 'is BROKEN'}"
    )
    typer.echo(f"open {out / 'report.html'}")


def _about(release: Release) -> str:
    if isinstance(release.value, Ranking):
        return " > ".join(release.value.names)
    asked = release.plan["arguments"]
    model = "the forest" if asked.get("model") is not None else "the table"
    return ", ".join(release.about) or ("both models" if "second" in asked else model)


def _typical_noise(release: Release) -> str:
    value = release.value
    if isinstance(value, Curve | Surface):
        return f"± {float(np.median(np.subtract(value.high, value.low) / 2)):.3g}"
    if isinstance(value, Histogram | Attribution | Scalar) and value.half_width is not None:
        return f"± {value.half_width:.3g}"
    if isinstance(value, Background | SyntheticRows):
        return "in its rows"
    if isinstance(value, Groups):
        return "by group"
    if isinstance(value, Choice | Quantiles | Ranking):
        return "by choice"
    return "in its counts" if isinstance(value, DecisionTree | NeighbourCounts) else "in its parts"
