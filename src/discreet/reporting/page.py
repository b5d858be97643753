"""One self-contained HTML page: pictures, promises, budget. Opens anywhere, loads nothing."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.errors import ArgumentError, ReleaseError
from discreet.plans import Release
from discreet.session import Session

Annotate = Callable[[Release, Any], None]
_LONGEST = 90


@dataclass(frozen=True)
class Page:
    """A finished page; notebooks show it, ``save`` writes it."""

    html: str

    def save(self, path: str | Path) -> Path:
        """Write the page to a file."""
        return write_text(Path(path), self.html)

    def _repr_html_(self) -> str:
        return self.html


def write_text(target: Path, text: str) -> Path:
    """Write a file, or raise with one sentence."""
    try:
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ReleaseError(f"{target} cannot be written: {error.strerror}.") from None
    return target


def report(
    releases: Release | Sequence[Release],
    *,
    session: Session | None = None,
    title: str = "Private release",
    note: str = "",
    annotate: Annotate | None = None,
) -> Page:
    """Make a page of releases: what was asked, the answer with its noise, what is promised.

    Args:
      releases: one release or several.
      session: adds the budget and the ledger's history.
      title: heading of the page.
      note: a paragraph below the heading.
      annotate: called with every release and its display, to draw on the picture.

    Guarantees:
      - Reads releases and the ledger, never a row. [one-door]
    """
    shown = [releases] if isinstance(releases, Release) else list(releases)
    if not shown or not all(isinstance(release, Release) for release in shown):
        raise ArgumentError("releases must be a release or a non-empty list of releases.")
    html = load_template("page.html").render(
        title=title,
        note=note,
        cards=[_card(release, annotate) for release in shown],
        budget=None if session is None else _budget(session),
    )
    return Page(html)


def _card(release: Release, annotate: Annotate | None) -> dict[str, Any]:
    told = ("model", "feature", "columns", "column", "target")
    asked = {name: value for name, value in release.plan["arguments"].items() if name not in told}
    about = " × ".join(release.about)
    kind = release.plan["kind"].replace("_", " ").capitalize().replace("Shap", "SHAP")
    return {
        "kind": f"{kind} of {about}" if about else kind,
        "asked": ", ".join(f"{n} = {_brief(value)}" for n, value in asked.items() if value is not None),
        "guarantee": str(release.guarantee),
        "simulation": release.guarantee.simulation,
        "grade": release.guarantee.grade,
        "statements": ", ".join(release.guarantee.statements),
        "assumptions": release.guarantee.assumptions,
        "stages": release.stages,
        "picture": _picture(release, annotate),
        "id": release.id,
        "created": release.created,
    }


def _brief(value: Any) -> str:
    """Return an argument that fits on the page: queries and rows by their beginning."""
    text = str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _picture(release: Release, annotate: Annotate | None) -> str:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    display = release.value.plot(figure.add_subplot())
    if annotate is not None:
        annotate(release, display)
    buffer = io.BytesIO()
    FigureCanvasAgg(figure)
    figure.savefig(buffer, format="png", dpi=130)
    return base64.b64encode(buffer.getvalue()).decode("ascii")


def _budget(session: Session) -> dict[str, Any]:
    balance = session.balance
    return {
        "dataset": session.dataset,
        "left": str(session.remaining),
        "share": float(balance.spent.loss / balance.budget.loss),
        "history": [_line(entry) for entry in session.history().to_dict("records")],
    }


def _line(entry: dict[Any, Any]) -> dict[str, Any]:
    plan = entry["note"].get("plan", {})
    return {**entry, "about": plan.get("kind", "").replace("_", " ")}


def load_template(name: str) -> Any:
    """Return a template of this package; whatever is put in is escaped."""
    from jinja2 import Environment, PackageLoader

    environment = Environment(loader=PackageLoader("discreet.reporting", "templates"), autoescape=True)
    return environment.get_template(name)
