"""What each analyst spent on a data set, and the allotment that may bind them.

The row of the data set is locked by whoever writes here, so these rows need no lock of their own.
An analyst who spent before anyone had an allotment has a row without a budget.
"""

from __future__ import annotations

from sqlalchemy import Connection, exists, insert, select, update

from discreet.ledger.books import Row, budget_of, check_charge, spent_of
from discreet.ledger.chain import Chain
from discreet.ledger.checks import allotment_too_small, no_allotment, tampered
from discreet.ledger.store.tables import analysts
from discreet.privacy.accounting.filters import Amount


def find_share(connection: Connection, dataset: str, analyst: str) -> Row | None:
    """Return an analyst's row, if there is one."""
    own = (analysts.c.dataset == dataset) & (analysts.c.analyst == analyst)
    row = connection.execute(select(analysts).where(own)).first()
    return None if row is None else row._asdict()


def is_shared(connection: Connection, dataset: str) -> bool:
    """Say whether anyone has an allotment of this data set."""
    granted = (analysts.c.dataset == dataset) & analysts.c.budget_loss.is_not(None)
    return bool(connection.execute(select(exists().where(granted))).scalar())


def has_allotment(share: Row | None) -> bool:
    """Say whether a row grants an allotment."""
    return share is not None and share["budget_loss"] is not None


def check_share(connection: Connection, chain: Chain, dataset: str, analyst: str) -> None:
    """Raise if others have an allotment of this data set and this analyst has none."""
    share = _find_sealed(connection, chain, dataset, analyst)
    if not has_allotment(share) and is_shared(connection, dataset):
        raise no_allotment(dataset, analyst)


def carry_shares(
    connection: Connection, chain: Chain, dataset: str, population: Row
) -> dict[str, tuple[int, int]]:
    """Add what analysts spent on a data set to their rows of a population; return it by analyst.

    Raises:
        LedgerConflict: An analyst has an allotment of the population that does not hold it.
    """
    own = analysts.c.dataset == dataset
    names = connection.execute(select(analysts.c.analyst).where(own)).scalars().all()
    carried = {}
    for analyst in sorted(names):
        before = spent_of(_open_share(connection, chain, dataset, analyst))
        share = _open_share(connection, chain, population["dataset"], analyst)
        spent = spent_of(share) + before
        if has_allotment(share) and not spent.fits(budget_of(share)):
            raise allotment_too_small(
                population["accountant"], population["dataset"], analyst, budget_of(share), spent
            )
        share.update(spent_loss=spent.loss, spent_delta=spent.delta)
        _save_share(connection, chain, share)
        carried[analyst] = (before.loss, before.delta)
    return carried


def spend_share(
    connection: Connection, chain: Chain, account: Row, analyst: str, charge: Amount
) -> None:
    """Add a charge to an analyst's row, or raise if the analyst may not spend it."""
    share = _open_share(connection, chain, account["dataset"], analyst)
    if share["budget_loss"] is not None:
        check_charge(account, charge, share)
    elif is_shared(connection, account["dataset"]):
        raise no_allotment(account["dataset"], analyst)
    spent = spent_of(share) + charge
    _save_share(connection, chain, {**share, "spent_loss": spent.loss, "spent_delta": spent.delta})


def set_share(connection: Connection, chain: Chain, account: Row, analyst: str, budget: Amount) -> None:
    """Set an analyst's allotment, or raise if more was already spent."""
    share = _open_share(connection, chain, account["dataset"], analyst)
    spent = spent_of(share)
    if not spent.fits(budget):
        raise allotment_too_small(account["accountant"], account["dataset"], analyst, budget, spent)
    share.update(budget_loss=budget.loss, budget_delta=budget.delta)
    _save_share(connection, chain, share)


def _open_share(connection: Connection, chain: Chain, dataset: str, analyst: str) -> Row:
    share = _find_sealed(connection, chain, dataset, analyst)
    return _add_share(connection, dataset, analyst) if share is None else share


def _find_sealed(connection: Connection, chain: Chain, dataset: str, analyst: str) -> Row | None:
    share = find_share(connection, dataset, analyst)
    if share is not None and not chain.is_sealed("analyst", share):
        raise tampered(f"The allotment of analyst {analyst!r} for dataset {dataset!r}")
    return share


def _add_share(connection: Connection, dataset: str, analyst: str) -> Row:
    share: Row = {
        "dataset": dataset,
        "analyst": analyst,
        "budget_loss": None,
        "budget_delta": None,
        "spent_loss": 0,
        "spent_delta": 0,
        "seal": "",
    }
    connection.execute(insert(analysts), share)
    return share


def _save_share(connection: Connection, chain: Chain, share: Row) -> None:
    share = {**share, "seal": chain.seal("analyst", share)}
    own = (analysts.c.dataset == share["dataset"]) & (analysts.c.analyst == share["analyst"])
    changed = {name: value for name, value in share.items() if not analysts.c[name].primary_key}
    connection.execute(update(analysts).where(own).values(**changed))
