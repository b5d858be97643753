"""One self-contained HTML page: pictures, promises, budget. Opens anywhere, loads nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from discreet.errors import ArgumentError
from discreet.ledger import Balance
from discreet.plain import write_text
from discreet.plans import Release
from discreet.plans.showing import (
    noise_of,
    picture_or_table,
    promise_in_words,
    question_in_words,
    statement_ids,
    tell_stage,
)
from discreet.privacy.statements import known_statements
from discreet.schema import Schema
from discreet.session import Remaining
from discreet.session.showing import frame_html


class Accounted(Protocol):
    """Whatever knows a data set's budget: a session, or its ledger alone."""

    @property
    def dataset(self) -> str:
        """The name of the data set."""

    @property
    def schema(self) -> Schema | None:
        """The public facts, which say who a record is; None if they were not kept."""

    @property
    def balance(self) -> Balance:
        """What was granted, spent and is left, in exact units."""

    @property
    def remaining(self) -> Remaining:
        """What is left."""

    def history(self) -> Any:
        """Return every entry of the ledger as a frame, oldest first."""


Annotate = Callable[[Release, Any], None]
_LONGEST = 60


@dataclass(frozen=True)
class Page:
    """A finished page; notebooks show it, ``save`` writes it."""

    html: str

    def save(self, path: str | Path) -> Path:
        """Write the page to a file."""
        return write_text(Path(path), self.html)

    def _repr_html_(self) -> str:
        return self.html


def report(
    releases: Release | Sequence[Release],
    *,
    session: Accounted | None = None,
    title: str = "Private release",
    note: str = "",
    annotate: Annotate | None = None,
) -> Page:
    """Make a page of releases: what was asked, the answer with its noise, what is promised.

    Args:
      releases: one release or several.
      session: adds the budget and the ledger's history, of a session or of whatever knows both.
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
        statements=known_statements(statement_ids(shown)),
    )
    return Page(html)


def _card(release: Release, annotate: Annotate | None) -> dict[str, Any]:
    draw_more = None if annotate is None else partial(annotate, release)
    return {
        "question": question_in_words(release.plan),
        "told": ", ".join(part for part in (release.value.extent, _epsilon(release)) if part),
        "asked": _call(release),
        "guarantee": str(release.guarantee),
        "simulation": release.guarantee.simulation,
        "grade": release.guarantee.grade,
        "assumptions": release.guarantee.assumptions,
        "statements": release.guarantee.statements,
        "stages": [_stage(stage, release) for stage in release.stages],
        "picture": picture_or_table(release, annotate=draw_more),
        "wide": len(release.value.pictures()) > 1,
        "id": release.id,
        "created": release.created,
    }


def _epsilon(release: Release) -> str:
    return promise_in_words(release.plan, release.guarantee)


def _stage(stage: dict[str, Any], release: Release) -> dict[str, Any]:
    return {
        "name": stage["name"],
        "proven": tell_stage(stage, release),
        "noise": noise_of(stage),
        "statements": [one.id for one in known_statements(tuple(stage["certificate"]["statements"]))],
    }


def _call(release: Release) -> str:
    """Return how it was asked, for those who want to ask again: long arguments by their beginning."""
    asked = release.plan["arguments"].items()
    told = [f"{name}={_brief(value)}" for name, value in asked if value is not None]
    return f"{release.plan['kind']}({', '.join(told)})"


def _brief(value: Any) -> str:
    if isinstance(value, dict) and "kind" in value:
        return str(value["kind"])
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _budget(session: Accounted) -> dict[str, Any]:
    balance, history, schema = session.balance, session.history(), session.schema
    person = None if schema is None else schema.person
    return {
        "dataset": session.dataset,
        "population": balance.population,
        "left": str(session.remaining),
        "unit": None if person is None else person.unit,
        "share": float(balance.spent.loss / balance.budget.loss),
        "entries": len(history),
        "history": frame_html(history),
    }


def load_template(name: str) -> Any:
    """Return a template of this package; whatever is put in is escaped."""
    from jinja2 import Environment, PackageLoader

    environment = Environment(loader=PackageLoader("discreet.reporting", "templates"), autoescape=True)
    return environment.get_template(name)
