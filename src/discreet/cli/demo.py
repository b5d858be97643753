"""``discreet demo``: the whole way on example loans, from sealed rows to a page of pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from discreet.cli.output import JsonOption, print_json, print_table
from discreet.errors import BudgetExhausted
from discreet.explain import (
    accumulated_effects,
    partial_dependence,
    permutation_importance,
    shap_importance,
    shap_ranking,
    shap_values,
)
from discreet.explain import background as background_plan
from discreet.plans import Attribution, Curve, Histogram, Plan, Ranking, Release
from discreet.reporting import report
from discreet.samples import loan_schema, loans
from discreet.session import Session, protect
from discreet.tables import histogram

NUMBERS = ("age", "income", "loan", "credit_score", "years_employed", "late_payments")
APPLICANT = {
    "age": 31,
    "income": 28_000,
    "loan": 24_000,
    "credit_score": 560,
    "years_employed": 2,
    "late_payments": 3,
}
_NOTE = (
    "20,000 example loans, drawn from a seed: they describe nobody, so this page may show the exact "
    "curve (dashed) beside the released one. On real data nobody sees the dashed line. The model was "
    "trained on other records; what is protected are the records it is explained on."
)


def demo_command(
    out: Annotated[Path, typer.Option(help="Folder for the ledger, releases and page.")] = Path(
        "discreet-demo"
    ),
    json: JsonOption = False,
) -> None:
    """Protect example loans with epsilon 3, release what discreet can, write a page to open."""
    out.mkdir(parents=True, exist_ok=True)
    frame, model = loans(), train_model()
    session = protect(
        frame,
        loan_schema(),
        dataset="loans",
        epsilon=3.0,
        delta=1e-6,
        ledger=out / "loans.db",
    )
    forest = train_forest()
    releases = session.release(demo_plans(model))
    releases += explain_forest(session, forest)
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


def explain_forest(session: Session, forest: Any) -> list[Release]:
    """Explain a forest on one applicant and on all: 1.2 of the budget of 3."""
    applicant = {name: APPLICANT[name] for name in NUMBERS}
    background = session.release(background_plan(epsilon=0.2))
    return [
        session.release(shap_ranking(forest, applicant, k=3, mechanism="laplace", epsilon=0.2)),
        session.release(shap_values(forest, applicant, epsilon=0.2, delta=1e-7)),
        background,
        session.release(shap_importance(forest, background=background, epsilon=0.2)),
        session.release(accumulated_effects(forest, "credit_score", intervals=10, epsilon=0.3)),
        session.release(permutation_importance(forest, release="ranking", k=3, epsilon=0.1)),
    ]


def demo_plans(model: Any) -> list[Plan]:
    """Return the questions of the demo: 1.0 of the budget of 3."""
    curves = [("credit_score", True), ("income", True), ("late_payments", False), ("home", False)]
    return [
        histogram("credit_score", bins=22, epsilon=0.1),
        histogram(["home", "purpose"], epsilon=0.1),
        *(partial_dependence(model, name, epsilon=0.2, smooth=smooth) for name, smooth in curves),
    ]


def train_model() -> Any:
    """Return a boosted model of defaults, trained on loans that are not the protected ones."""
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder

    train = loans(5_000, seed=1)
    encode = make_column_transformer((OrdinalEncoder(), ["home", "purpose"]), remainder="passthrough")
    model = make_pipeline(
        encode, HistGradientBoostingClassifier(max_depth=3, max_iter=40, random_state=0)
    )
    return model.fit(train.drop(columns="defaulted"), train["defaulted"])


def train_forest() -> Any:
    """Return a forest of defaults on the numeric columns, trained on loans that are not protected."""
    from sklearn.ensemble import RandomForestClassifier

    train = loans(5_000, seed=1)
    forest = RandomForestClassifier(100, max_depth=4, random_state=0)
    return forest.fit(train[list(NUMBERS)], train["defaulted"])


def draw_truth(release: Release, display: Any, frame: Any, model: Any) -> None:
    """Draw the exact curve; only example records may be shown so."""
    from threadpoolctl import threadpool_limits

    curve = release.value
    if not isinstance(curve, Curve) or release.plan["kind"] != "partial_dependence":
        return
    features = frame.drop(columns="defaulted")
    points = curve.x if curve.labels is None else curve.labels
    with threadpool_limits(1):  # boosted trees spin on idle threads
        exact = [
            model.predict_proba(features.assign(**{curve.feature: p}))[:, 1].mean() for p in points
        ]
    if curve.labels is None:
        display.ax_.plot(curve.x, exact, "--", color="#b0413e", lw=1.2, label="exact")
    else:
        display.ax_.plot(range(len(points)), exact, "x", color="#b0413e", ms=7, label="exact")
    display.ax_.legend(fontsize=8, frameon=False)


def ask_too_much(session: Session, model: Any) -> str:
    """Ask for more than is left and return the refusal."""
    try:
        session.release(partial_dependence(model, "age", epsilon=2.5))
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
    asked = release.plan["arguments"]
    if "columns" in asked or "feature" in asked:
        return ", ".join(map(str, asked.get("columns", []))) or str(asked["feature"])
    if isinstance(release.value, Ranking):
        return " > ".join(release.value.names)
    return "the forest" if "model" in asked else "the table"


def _typical_noise(release: Release) -> str:
    value = release.value
    if isinstance(value, Curve):
        return f"± {float(np.median(np.subtract(value.high, value.low) / 2)):.3g}"
    if isinstance(value, Histogram | Attribution) and value.half_width is not None:
        return f"± {value.half_width:.3g}"
    return "by choice" if isinstance(value, Ranking) else "in its rows"
