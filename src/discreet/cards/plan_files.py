"""Plan files: questions written without the rows, and answered by who has them.

A file holds plans as ``plan.to_json()`` writes them, the public rows they were given, the data set's
name and the digest of the schema they were made for. It is read as anything that strangers send is: it
names questions of the registry and values, and nothing in it is imported or run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.arguments import shown
from discreet.cards.card import Card, conform_mapping, read_json, write_json
from discreet.errors import ArgumentError, CardError
from discreet.models import as_model
from discreet.plain import conform
from discreet.plans import Plan, Release
from discreet.plans.declaration import DeclaredPlan, kinds_of
from discreet.plans.held import Rows
from discreet.plans.registry import plan_from_json
from discreet.schema import Schema
from discreet.session import Session

FORMAT = 1
_FIELDS = {"format", "dataset", "schema_digest", "plans", "rows"}
_MOST_PLANS = 1_000


@dataclass(frozen=True)
class PlanFile:
    """Plans for a data set.

    Attributes:
      dataset: whose rows are asked.
      schema_digest: of the schema the plans were made for.
      plans: the questions, as plain data.
      rows: public rows that plans were given, under the digests by which plans name them.
    """

    dataset: str
    schema_digest: str
    plans: tuple[dict[str, Any], ...]
    rows: Mapping[str, Any]

    @classmethod
    def of(cls, dataset: str, schema: Schema, plans: Sequence[Plan]) -> PlanFile:
        """Return plans as they are written."""
        undeclared = [plan for plan in plans if not isinstance(plan, DeclaredPlan)]
        if undeclared:
            raise ArgumentError(
                f"plans must be questions of discreet to be written, got {undeclared[0].plan_name}."
            )
        rows = {key: value for plan in plans for key, value in _public_rows(plan)}
        return cls(dataset, schema.digest, tuple(plan.describe() for plan in plans), rows)

    def save(self, path: str | Path) -> Path:
        """Write the plans to a JSON file."""
        plain = {
            "format": FORMAT,
            "dataset": self.dataset,
            "schema_digest": self.schema_digest,
            "plans": list(self.plans),
            "rows": dict(self.rows),
        }
        return write_json(Path(path), plain)

    @classmethod
    def load(cls, path: str | Path) -> PlanFile:
        """Read a plan file."""
        plain = read_json(Path(path), "a plan file")
        if not isinstance(plain, dict) or set(plain) != _FIELDS:
            raise CardError(f"{path} must be a plan file that discreet wrote, got other fields.")
        if plain["format"] != FORMAT:
            raise CardError(f"format must be {FORMAT}, got {shown(plain['format'])}. Update discreet.")
        try:
            texts = [conform(plain[name], str, name) for name in ("dataset", "schema_digest")]
            rows = {key: _rows(entry) for key, entry in conform_mapping(plain["rows"], "rows").items()}
            plans = tuple(conform_mapping(plan, "plans") for plan in _listed(plain["plans"]))
        except ValueError as error:
            raise CardError(f"{path} cannot be used, got a fault at {error}.") from None
        return cls(texts[0], texts[1], plans, rows)

    def read(self, dataset: str, schema: Schema, objects: Mapping[str, Any]) -> list[Plan]:
        """Return the plans, made of these objects, for a data set that they must be written for."""
        if self.dataset != dataset:
            raise CardError(f"dataset must be {dataset!r}, got plans for {shown(self.dataset)}.")
        if self.schema_digest != schema.digest:
            raise CardError(
                f"The plans were made for another schema of {dataset!r} than is registered now: it was "
                "corrected, or the card is old. Make them again with a new card."
            )
        return [plan_from_json(plan, {**self.rows, **objects}) for plan in self.plans]


def answer(
    session: Session,
    plans: str | Path,
    *,
    models: Iterable[Any] = (),
    card: Card | None = None,
    objects: Mapping[str, Any] | None = None,
    fresh: bool = False,
) -> list[Release]:
    """Answer a plan file, all of it under one reservation or none; the releases come in its order.

    ``session.price(dc.read_plans(...))`` tells beforehand what it will cost. Open the session with
    ``analyst=`` to let an allotment pay.

    Args:
      session: who pays, and the rows.
      plans: the path of a plan file.
      models: the models that plans may name.
      card: whose models plans may name as well, if it holds their files.
      objects: tables and functions that plans name, by their fingerprints.
      fresh: pay for new noise even if a plan was answered before.

    Raises:
      CardError: if it is no plan file, or is of another data set or schema; nothing is spent.
      ArgumentError: if a plan is none, or names a model that was not given; nothing is spent.
    """
    return session.release(
        read_plans(session, plans, models=models, card=card, objects=objects), fresh=fresh
    )


def read_plans(
    of: Session | Card,
    plans: str | Path,
    *,
    models: Iterable[Any] = (),
    card: Card | None = None,
    objects: Mapping[str, Any] | None = None,
) -> list[Plan]:
    """Return the plans of a file, made for a session's data set or for a card's; see ``answer``."""
    cards = [one for one in (card, of) if isinstance(one, Card)]
    found = {**models_by_fingerprint(models, cards), **(objects or {})}
    return PlanFile.load(plans).read(of.dataset, of.schema, found)


def models_by_fingerprint(models: Iterable[Any], cards: Iterable[Card]) -> dict[str, Any]:
    """Return models, and those of cards, as plans name them."""
    named = [card.model(name) for card in cards for name in card.models]
    # An estimator as it is serves every output and class of it that plans name.
    given = {as_model(model).fingerprint: model for model in models}
    return {model.fingerprint: model for model in named} | given


def _rows(entry: Any) -> list[Any]:
    # Rows as they are, never a text: it could name a file of whoever answers.
    if not isinstance(entry, list) or not all(isinstance(row, dict | list) for row in entry):
        raise ValueError("field 'rows', which must hold lists of rows")
    return entry


def _listed(plans: Any) -> list[Any]:
    if not isinstance(plans, list) or not 1 <= len(plans) <= _MOST_PLANS:
        raise ValueError(f"field 'plans', which must hold 1 to {_MOST_PLANS} plans")
    return plans


def _public_rows(plan: Plan) -> Iterable[tuple[str, Any]]:
    """Return public rows that the plan knows by their digest, under which a reader finds them."""
    assert isinstance(plan, DeclaredPlan)
    for name, kind in kinds_of(type(plan)).items():
        value = getattr(plan, name)
        if isinstance(kind, Rows) and not kind.inline and value is not None:
            yield kind.plain(value), value.to_json()
