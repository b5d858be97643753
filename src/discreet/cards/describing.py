"""``describe``: from a session to the card of its data set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from discreet.arguments import check_flag, shown
from discreet.cards.card import Card
from discreet.cards.models import CardModel, ModelFile
from discreet.errors import ArgumentError, ModelError
from discreet.ledger import Signature
from discreet.models import Model, as_model
from discreet.models.files import read_model
from discreet.plans.held import as_written
from discreet.schema import Schema
from discreet.session import Session
from discreet.session.checking import check_owner


def describe(session: Session, *, models: Mapping[str, Any] | None = None, files: bool = False) -> Card:
    """Return the public card of a session's data set: dated, and signed by its ledger.

    Reads no row and spends nothing; the owner's call. ``card.save(path)`` writes it.

    Args:
      session: the owner's session.
      models: models that may be asked about, by a name of yours: fitted models, ``dc.Model``, or the
        paths of their files.
      files: put the models' files into the card, so that anybody can price plans of them. They are
        then published, with whatever they remember of the rows they were trained on.

    Guarantees:
      - Holds public facts alone: the number of records only where the relation makes it public, the
        budget and what is left, never a release. [price-free]

    Raises:
      AccessDenied: if an analyst asks.
      ModelError: if a model cannot be used with the schema, or has no file that can be published.
    """
    check_flag(files=files)
    check_owner(session.analyst, "describe", "A card speaks for the owner.")
    facts = session.facts()
    known = {} if models is None else _named(models)
    card = Card(
        dataset=session.dataset,
        version=session.version,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        schema=session.schema,
        relation=facts.setting.relation,
        rows=facts.setting.rows,
        accountant=facts.terms.accountant,
        epsilon=facts.terms.epsilon,
        delta=facts.terms.delta,
        remaining=session.remaining,
        models={name: _described(name, model, session.schema, files) for name, model in known.items()},
        head=facts.head,
        signature=Signature("", ""),
        most_rows=None if facts.setting.rows is not None else facts.setting.most_rows,
        population=facts.terms.population,
    )
    return replace(card, signature=session.sign(card.unsigned()))


def _named(models: Mapping[str, Any]) -> Mapping[str, Any]:
    wrong = not isinstance(models, Mapping) or not all(
        isinstance(name, str) and name for name in models
    )
    if wrong:
        raise ArgumentError(
            f"models must map names of yours to models, got {shown(models)}. Use {{'risk': model}}."
        )
    return models


def _described(name: str, given: Any, schema: Schema, files: bool) -> CardModel:
    is_path = isinstance(given, str | Path)
    model = as_model(read_model(Path(given)) if is_path else given)
    file = None
    if files:
        file = _read_file(Path(given)) if is_path else _skops_file(name, model.wrapped)
        model = _as_published(name, file, model)
    return CardModel(name, model.bind(schema).kind, model.describe(), file)


def _as_published(name: str, file: ModelFile, model: Model) -> Model:
    """Return the model of a file: it may be made of other parts than what was written to it."""
    try:
        return as_written(file.read(), model.describe())
    except ModelError as error:
        raise ModelError(f"model {name!r} cannot be put into a card. {error}") from None


def _read_file(path: Path) -> ModelFile:
    return ModelFile(path.name, path.read_bytes())


def _skops_file(name: str, model: Any) -> ModelFile:
    from skops.io import dumps

    try:
        return ModelFile(f"{name}.skops", dumps(model))
    except Exception as error:  # skops raises many kinds; the model is the caller's
        raise ModelError(
            f"model {name!r} must be one that skops can write to be put into a card, got "
            f"{type(model).__name__} ({type(error).__name__}). Give the path of its file instead."
        ) from None
