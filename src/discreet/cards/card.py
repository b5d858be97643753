"""A card: what is public about a data set on one day, dated and signed by the owner's ledger.

With it and without a row, a ledger or a key, anybody makes plans, prices them and writes them to a file
that the owner answers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.arguments import shown
from discreet.cards.models import CardModel
from discreet.errors import ArgumentError, CardError, DiscreetError
from discreet.ledger import Head, Signature
from discreet.ledger.checks import check_most_rows
from discreet.markup import card
from discreet.models import Model
from discreet.numerics import check_positive, check_probability, check_whole
from discreet.plain import conform
from discreet.plans import Plan, Release, Setting
from discreet.privacy.accounting import AccountantName, Amount
from discreet.privacy.relation import ROWS_CAP, Relation
from discreet.schema import Schema
from discreet.schema.files import from_plain
from discreet.schema.showing import tell_column
from discreet.session.checking import as_list, planned_parts
from discreet.session.price import Price, Remaining, price_plans

FORMAT = 1
"""Version of the JSON shape. A reader refuses what it does not know."""

_FIELDS = {
    "format",
    "dataset",
    "version",
    "created",
    "schema",
    "relation",
    "rows",
    "accountant",
    "epsilon",
    "delta",
    "remaining",
    "models",
    "head",
}
_LATER = {"most_rows", "population"}
"""Fields that cards of earlier versions had not, and that not every card has."""

_SIGNATURE = {"public_key", "signature"}
_LARGEST = 2**30


@dataclass(frozen=True)
class Card:
    """What is public about a data set; made by ``describe``, read by ``Card.load``.

    Attributes:
      dataset: the name under which the ledger knows it.
      version: the owner's label of the state of the data.
      created: when the card was made, UTC, by the owner's clock.
      schema: the public facts about the columns.
      relation: how neighbouring tables differ.
      rows: the number of records, where it is public; else None.
      accountant: how losses add up.
      epsilon: the whole budget.
      delta: see ``epsilon``.
      remaining: what was left that day.
      population: whose budget it is, if data sets about the same persons share one; else None.
      models: the models that may be asked about, by name.
      head: the newest entry of the ledger that day; only the owner can check it.
      signature: over all of it, and the public key that checks it.
      most_rows: how many records there may be, where their number is private.
    """

    dataset: str
    version: str
    created: str
    schema: Schema
    relation: Relation
    rows: int | None
    accountant: AccountantName
    epsilon: float
    delta: float
    remaining: Remaining
    models: Mapping[str, CardModel]
    head: Head
    signature: Signature
    most_rows: int | None = None
    population: str | None = None

    def __repr__(self) -> str:
        return f"Card({self.dataset!r} of {self.created[:10]}, {self.remaining} left)"

    def __str__(self) -> str:
        private = f"number of records private, at most {self.setting.most_rows:,}"
        count = private if self.rows is None else f"{self.rows:,} records"
        person = self.schema.person
        promise = f"epsilon={self.epsilon:g}" + (f", delta={self.delta:g}" if self.delta else "")
        whose = "" if self.population is None else f" of population {self.population}"
        lines = [
            f"{self.dataset}, version {self.version}, as of {self.created}",
            f"  {count}, {self.relation}, accountant {self.accountant}",
            *([] if person is None else [f"  {person.unit}"]),
            f"  budget{whose} {promise}; left that day {self.remaining}",
            *(f"  {name}: {', '.join(tell_column(self.schema[name]))}" for name in self.schema),
            *(self._told(model) for model in self.models.values()),
            f"  signed with the public key {self.signature.public_key}",
        ]
        return "\n".join(lines)

    @property
    def setting(self) -> Setting:
        """What plans need to know of the data set."""
        cap = ROWS_CAP if self.most_rows is None else self.most_rows
        return Setting(self.schema, self.relation, self.rows, cap)

    def _repr_html_(self) -> str:
        title, *lines = str(self).splitlines()
        return card(*lines, title=title)

    @staticmethod
    def _told(model: CardModel) -> str:
        (low, high), kind = model.written["bounds"], model.written["kind"]
        held = "not in the card: the owner prices it" if model.file is None else "in the card"
        return f"  model {model.name}: {kind} ({model.form}), {low:g} to {high:g}, {held}"

    def model(self, name: str) -> Model:
        """Return a model of the card, to be named in plans.

        If the card does not hold its file, plans of it can be written and not priced.
        """
        if name not in self.models:
            known = ", ".join(self.models) or "none"
            raise ArgumentError(f"name must be one of the card's models ({known}), got {shown(name)}.")
        return self.models[name].open(self.dataset)

    def price(self, plans: Plan | Sequence[Plan], *, queries: int | None = None) -> Price:
        """Return what plans would cost and how large their noise would be, without the owner.

        ``remaining`` and ``affordable`` are of the day of the card.

        Args:
          plans: one plan or several.
          queries: how many questions like a plan's own are wanted for its epsilon.

        Raises:
          ModelError: if a plan needs a model whose file the card does not hold: the owner prices it.
        """
        if queries is not None:
            check_whole("queries", queries, 1, 10**9)
        with planned_parts(plans, self.schema) as asked:
            return price_plans(
                asked,
                self.setting,
                accountant=self.accountant,
                remaining=self.remaining,
                delta=self.delta,
                queries=queries,
            )

    def save_plans(self, plans: Plan | Sequence[Plan], path: str | Path) -> Path:
        """Write plans to a file that the owner answers with ``dc.answer``; see ``plan_files``."""
        from discreet.cards.plan_files import PlanFile

        return PlanFile.of(self.dataset, self.schema, as_list(plans)).save(path)

    def check_release(self, release: Release) -> None:
        """Raise unless a release says it is of this data set, under this schema.

        It cannot be told from the card whether a release is genuine: the owner's ``verify`` tells.
        """
        if (release.dataset, release.schema_digest) != (self.dataset, self.schema.digest):
            raise CardError(
                f"release must be of the data set {self.dataset!r} under the card's schema, got one of "
                f"{shown(release.dataset)} or of another schema. Ask the owner for a new card."
            )

    def to_json(self) -> dict[str, Any]:
        """Return the card as plain data, with its signature."""
        signature = {"public_key": self.signature.public_key, "signature": self.signature.value}
        return {**self.unsigned(), **signature}

    def unsigned(self) -> dict[str, Any]:
        """Return what the signature is over."""
        later = {"most_rows": self.most_rows, "population": self.population}
        return {
            "format": FORMAT,
            "dataset": self.dataset,
            "version": self.version,
            "created": self.created,
            "schema": self.schema.to_json(),
            "relation": str(self.relation),
            "rows": self.rows,
            "accountant": self.accountant,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "remaining": self.remaining.amount.to_json(),
            "models": {name: model.to_json() for name, model in self.models.items()},
            "head": self.head.to_json(),
            **{name: value for name, value in later.items() if value is not None},
        }

    def save(self, path: str | Path) -> Path:
        """Write the card to a JSON file."""
        return write_json(Path(path), self.to_json())

    @classmethod
    def load(cls, path: str | Path, *, public_key: str | None = None) -> Card:
        """Read a card and check its signature.

        Args:
          path: of the card's file.
          public_key: the owner's, as you got it from the owner in another way. Without it you know
            that the card is whole, not whose it is.

        Raises:
          CardError: if it is no card, was edited, or is signed with another key.
        """
        return cls.from_json(read_json(Path(path), "a card"), public_key=public_key)

    @classmethod
    def from_json(cls, plain: Any, *, public_key: str | None = None) -> Card:
        """Read a card from plain data and check its signature; see ``load``."""
        if not isinstance(plain, dict) or set(plain) - _LATER != _FIELDS | _SIGNATURE:
            raise CardError("The file must be a card that discreet wrote, got other fields.")
        if plain["format"] != FORMAT:
            raise CardError(f"format must be {FORMAT}, got {shown(plain['format'])}. Update discreet.")
        signature = _check_signature(plain, public_key)
        try:
            return cls._read(plain, signature)
        except (DiscreetError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise CardError(f"The card cannot be used, got a fault at {error}.") from None

    @classmethod
    def _read(cls, plain: dict[str, Any], signature: Signature) -> Card:
        texts = {name: conform(plain[name], str, name) for name in ("dataset", "version", "created")}
        accountant = conform(plain["accountant"], AccountantName, "accountant")
        left = conform_mapping(plain["remaining"], "remaining")
        amount = Amount.from_json(left)
        models = conform_mapping(plain["models"], "models")
        check_positive("epsilon", plain["epsilon"])
        check_probability("delta", plain["delta"])
        if plain["rows"] is not None:
            check_whole("rows", plain["rows"], 1)
        most_rows = plain.get("most_rows")
        check_most_rows(plain["relation"], most_rows)
        return cls(
            **texts,
            schema=from_plain(conform_mapping(plain["schema"], "schema")),
            relation=Relation(plain["relation"]),
            rows=plain["rows"],
            accountant=accountant,
            epsilon=float(plain["epsilon"]),
            delta=float(plain["delta"]),
            remaining=Remaining(amount, accountant, float(plain["delta"])),
            models={name: CardModel.from_json(name, entry) for name, entry in models.items()},
            head=Head.from_json(plain["head"]),
            signature=signature,
            most_rows=most_rows,
            population=conform(plain.get("population"), str | None, "population"),
        )


def _check_signature(plain: dict[str, Any], public_key: str | None) -> Signature:
    known, value = plain["public_key"], plain["signature"]
    signature = Signature(*(text if isinstance(text, str) else "" for text in (known, value)))
    signed = {name: entry for name, entry in plain.items() if name not in _SIGNATURE}
    if not signature.is_of(signed):
        raise CardError(
            "The card was edited after it was signed, or its signature is not one. "
            "Ask the owner for the card again."
        )
    if public_key is not None and public_key.strip().lower() != signature.public_key:
        raise CardError(
            f"public_key must be the one the card is signed with, {signature.public_key}, got "
            f"{shown(public_key)}: the card is another's, or the owner has a new ledger."
        )
    return signature


def conform_mapping(value: Any, name: str) -> dict[str, Any]:
    """Return an object of a file, or raise if it is something else."""
    if not isinstance(value, dict):
        raise ValueError(f"field {name!r}, which holds {shown(value)}")
    return value


def read_json(path: Path, what: str) -> Any:
    """Return what a JSON file holds, or raise one sentence."""
    try:
        if path.stat().st_size > _LARGEST:
            raise CardError(
                f"{path} must be {what} of at most {_LARGEST // 2**20} MB, got a larger one."
            )
        return json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse_constant)
    except OSError as error:
        raise CardError(f"{path} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError):
        raise CardError(f"{path} must be {what} that discreet wrote, got no JSON.") from None


def write_json(path: Path, plain: Mapping[str, Any]) -> Path:
    """Write plain data to a JSON file."""
    try:
        path.write_text(json.dumps(plain, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise CardError(f"{path} cannot be written: {error.strerror}.") from None
    return path


def _refuse_constant(name: str) -> None:
    raise ValueError(name)
