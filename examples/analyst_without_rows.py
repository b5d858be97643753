"""An analyst who has no rows: card, offline price, plan file, answer.

The owner of a table writes a card; an analyst prices questions with the card alone and writes a plan
file; the owner answers the file; the analyst reads the answers. Run it anywhere: everything happens in
a new folder.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from sklearn.linear_model import LogisticRegression

import discreet as dc

FEATURES = ["age", "income", "credit_score"]


def owner_writes_a_card(folder: Path) -> str:
    """Protect a table, publish its card, and return the public key, which is told in another way."""
    loans, schema = dc.samples.loans(2_000), dc.samples.loan_schema()
    model = LogisticRegression(max_iter=1_000).fit(loans[FEATURES], loans["defaulted"])
    session = dc.protect(loans, schema, dataset="loans", ledger=folder / "loans.db", epsilon=2.0)
    card = dc.describe(session, models={"risk": model}, files=True)
    card.save(folder / "loans.card.json")
    return card.signature.public_key


def analyst_asks(folder: Path, public_key: str) -> None:
    """Price questions and write them down; there is no row, no ledger and no key here."""
    card = dc.Card.load(folder / "loans.card.json", public_key=public_key)
    print(card)
    plans = [
        dc.histogram("age", bins=6, epsilon=0.25),
        dc.partial_dependence(card.model("risk"), "credit_score", resolution=8, epsilon=0.5),
    ]
    price = card.price(plans)
    print(price)
    assert price.affordable
    card.save_plans(plans, folder / "plans.json")


def owner_answers(folder: Path) -> None:
    """Look at the price, answer the file, and hand the answers on."""
    loans, schema = dc.samples.loans(2_000), dc.samples.loan_schema()
    session = dc.protect(loans, schema, dataset="loans", ledger=folder / "loans.db")
    card = dc.Card.load(folder / "loans.card.json")
    print(session.price(dc.read_plans(session, folder / "plans.json", card=card)).cost)
    for number, release in enumerate(dc.answer(session, folder / "plans.json", card=card)):
        release.save(folder / f"answer-{number}.json")


def analyst_reads(folder: Path) -> None:
    """Read the answers: noisy values, and the guarantee of each."""
    card = dc.Card.load(folder / "loans.card.json")
    for path in sorted(folder.glob("answer-*.json")):
        release = dc.Release.load(path)
        card.check_release(release)
        print(release.guarantee)
        print(release.value.to_frame())


def main() -> None:
    """Walk the whole way."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        public_key = owner_writes_a_card(folder)
        analyst_asks(folder, public_key)
        owner_answers(folder)
        analyst_reads(folder)


if __name__ == "__main__":
    main()
