"""``discreet card``: what an owner tells about a data set, and answers to plans made without rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cards import Card, describe
from discreet.cards.plan_files import PlanFile, models_by_fingerprint
from discreet.cli.asking import price_plan, release_plan, tell_price
from discreet.cli.files import load_model
from discreet.cli.output import JsonOption, print_json, say
from discreet.cli.project import (
    DEFAULT_PROJECT,
    AnalystOption,
    DatasetOption,
    ProjectOption,
    open_session,
)
from discreet.cli.writing import check_file
from discreet.errors import ArgumentError
from discreet.plans import Plan
from discreet.schema import Schema
from discreet.session.project import Project

CardArgument = Annotated[Path, typer.Argument(help="The card's file.")]
PlansArgument = Annotated[
    Path, typer.Argument(help="A plan file, as 'discreet price --save' writes it.")
]
KeyOption = Annotated[
    str | None, typer.Option(help="The owner's public key, as you know it from elsewhere.")
]


def card_command() -> None:
    """Publish what is public about a data set, and answer plans that were made with it."""


def write(
    out: Annotated[Path, typer.Option(help="Where to write the card.")],
    model: Annotated[
        list[str] | None,
        typer.Option(
            help="A model that may be asked about, as NAME=FILE; may be repeated.",
            metavar="<name=file>",
        ),
    ] = None,
    files: Annotated[
        bool, typer.Option("--files", help="Publish the models' files in the card.")
    ] = False,
    project: ProjectOption = DEFAULT_PROJECT,
    dataset: DatasetOption = None,
    json: JsonOption = False,
) -> None:
    """Write the card of a data set: public, dated and signed. Spends nothing."""
    check_file("--out", out)
    models = dict(_named(word) for word in model or [])
    card = describe(open_session(project, dataset), models=models, files=files)
    card.save(out)
    _tell(card, json)


def show(card: CardArgument, public_key: KeyOption = None, json: JsonOption = False) -> None:
    """Show a card, and check its signature. Needs no table and no ledger."""
    _tell(Card.load(card, public_key=public_key), json)


def price(
    card: CardArgument, plans: PlansArgument, public_key: KeyOption = None, json: JsonOption = False
) -> None:
    """Say what the plans of a file would cost, by a card alone."""
    known = Card.load(card, public_key=public_key)
    asked = PlanFile.load(plans).read(known.dataset, known.schema, models_by_fingerprint((), [known]))
    tell_price(_numbered(asked), known.price(asked), json)


def answer(
    plans: PlansArgument,
    model: Annotated[
        list[Path] | None, typer.Option(help="A model's file that plans may name; may be repeated.")
    ] = None,
    card: Annotated[
        Path | None, typer.Option(help="A card whose models plans may name, if it holds their files.")
    ] = None,
    price: Annotated[
        bool, typer.Option("--price", help="Say what it would cost, and spend nothing.")
    ] = False,
    project: ProjectOption = DEFAULT_PROJECT,
    dataset: DatasetOption = None,
    analyst: AnalystOption = None,
    out: Annotated[Path | None, typer.Option(help="Write the releases to this folder.")] = None,
    fresh: Annotated[bool, typer.Option(help="Pay for new noise even if it was asked before.")] = False,
    json: JsonOption = False,
) -> None:
    """Answer the plans of a file, all of them or none, and spend their budget."""
    known = Project.load(project)
    name, entry = known.choose(dataset)
    cards = [] if card is None else [Card.load(card)]
    found = models_by_fingerprint([load_model(path) for path in model or []], cards)
    schema = Schema.load(known.resolve(entry.schema))
    asked = _numbered(PlanFile.load(plans).read(name, schema, found))
    if price:
        price_plan(asked, project, name, analyst, json=json)
    else:
        release_plan(asked, project, name, analyst, out, fresh=fresh, json=json)


def _numbered(plans: list[Plan]) -> dict[str, Plan]:
    return {f"plan-{number}": plan for number, plan in enumerate(plans, start=1)}


def _named(word: str) -> tuple[str, str]:
    name, mark, path = word.partition("=")
    if not (name and mark and path):
        raise ArgumentError(f"--model must be a name and a file, as risk=model.skops, got {word!r}.")
    return name, path


def _tell(card: Card, json: bool) -> None:
    if json:
        print_json(card.to_json())
    else:
        say(str(card))
