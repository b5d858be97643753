"""The ledger remembers what was spent on each data set, and cannot be overdrawn.

    ledger = Ledger.open("census.db")
    ledger.register(terms)                                # once per data set
    reservation = ledger.reserve("census", charge, plan_key=key, note={})   # before rows are read
    head = ledger.settle(reservation, version="2024", body=release_json)    # with the answer

A reservation is refused, or recorded and spent; there is nothing in between. What is recorded is
chained under a key, so that ``Ledger.verify`` finds what was changed behind the ledger's back.
"""

from discreet.ledger.ledger import Ledger
from discreet.ledger.publication import Signature
from discreet.ledger.records import (
    Account,
    Balance,
    Entry,
    Head,
    Order,
    Reservation,
    State,
    StoredRelease,
    Terms,
    Verification,
)
from discreet.ledger.under_way import Answered
from discreet.ledger.unsettled import Unsettled
from discreet.ledger.verify import Copy

__all__ = [
    "Account",
    "Answered",
    "Balance",
    "Copy",
    "Entry",
    "Head",
    "Ledger",
    "Order",
    "Reservation",
    "Signature",
    "State",
    "StoredRelease",
    "Terms",
    "Unsettled",
    "Verification",
]
