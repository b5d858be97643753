"""Sessions, prices and what is left, in notebooks: amounts as decimals, the history folded away."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache
from typing import TYPE_CHECKING, Any

from discreet.ledger.showing import history_html
from discreet.markup import Html, bar, card, fold, soft, text
from discreet.plans.showing import question_in_words

if TYPE_CHECKING:
    import pandas as pd

    from discreet.ledger import Terms
    from discreet.session.price import PlanPrice, Price, Remaining
    from discreet.session.session import Session


def remaining_html(remaining: Remaining) -> Html:
    """Return what is left for a notebook."""
    return card(f"left: {remaining}")


def price_html(price: Price) -> Html:
    """Return a price for a notebook: each plan with its cost and its error, then whether it fits."""
    together = f"together {price.cost}; left {price.remaining}"
    batch, unit = price.composed_epsilon, price.cost.unit
    return card(
        *(_plan_html(line) for line in price.plans),
        together if len(price.plans) > 1 else soft(f"left {price.remaining}"),
        None if batch is None else soft(f"as one fixed batch: epsilon={batch:.4g}"),
        None if price.affordable else f"NOT affordable: lower {unit} or ask for fewer answers",
        title="Price" if price.affordable else "Price, above what is left",
    )


def _plan_html(line: PlanPrice) -> Html:
    errors = [error.tell(name) for name, error in line.expected_error.items()]
    slow = [line.waiting] if line.waiting is not None else []
    code = Html(f'<code style="white-space:normal">{text(line.plan)}</code>')
    others = [str(strategy) for strategy in line.strategies]
    return card(code, f"costs {line.cost}", *line.reasons, *errors, soft(line.usable), *slow, *others)


def session_html(session: Session, terms: Terms) -> Html:
    """Return a session for a notebook: budget and history; nothing of its rows."""
    balance, left = session.balance, session.remaining
    share = balance.spent.loss / balance.budget.loss if balance.budget.loss else 1.0
    who = "" if session.analyst is None else f", asked by {session.analyst}"
    simulated = "simulation with seeded noise: no privacy" if session.simulation else None
    entries = session.history()
    name = balance.population
    return card(
        simulated,
        None if name is None else f"shares the budget of population {name!r}",
        bar(share, f"{share:.0%} of the budget is spent"),
        f"{share:.0%} spent, left: {left}",
        fold(f"ledger, {len(entries)} entries", frame_html(entries)),
        fold(f"schema, {len(session.schema)} columns", Html(session.schema._repr_html_())),
        soft(f"{terms.neighbours}, accountant {terms.accountant}{who}"),
        None if session.schema.person is None else soft(session.schema.person.unit),
        title=session.dataset,
    )


def frame_html(entries: pd.DataFrame) -> Html:
    """Return the entries of a frame for a notebook."""
    return history_html(map(_named, entries.to_dict("records")), words=_words)


def _named(entry: dict[Hashable, Any]) -> dict[str, Any]:
    return {str(name): value for name, value in entry.items()}


def _words(plan: Any) -> str:
    return question_in_words(plan) if "arguments" in plan else str(plan.get("kind", ""))


@cache
def history_frame() -> type[pd.DataFrame]:
    """Return the class of frames that notebooks show as a history; what is made of them is plain."""
    import pandas as pd

    class HistoryFrame(pd.DataFrame):
        """The entries of a ledger."""

        @property
        def _constructor(self) -> type[pd.DataFrame]:
            return pd.DataFrame

        def _repr_html_(self) -> str:
            return frame_html(self)

    return HistoryFrame
