"""A data set of a server, with a session's verbs: prices, releases, what is left, what happened."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import quote

from discreet.arguments import check_flag, shown
from discreet.cards import Card
from discreet.cards.models import AbsentModel, CardModel
from discreet.client.driving import AwaitedLine, BlockingLine, awaited, blocking
from discreet.client.jobs import read_release, release_steps
from discreet.client.sending import Request, Steps, ask, new_idempotency_key
from discreet.client.wording import as_sent, needs_names
from discreet.errors import AccessDenied, ArgumentError, DiscreetError, ModelError
from discreet.ledger import Balance, Verification
from discreet.numerics import check_whole
from discreet.plans import Plan, Release
from discreet.schema import Schema
from discreet.session import Price, Remaining
from discreet.session.checking import as_list, as_planned
from discreet.session.currency import Currency
from discreet.session.showing import history_frame

if TYPE_CHECKING:
    import pandas as pd


class ModelElsewhere(ModelError):
    """A plan is of a model that only a server has."""


class RemoteModel(AbsentModel):
    """A model of a server: plans can be made of it, and the server prices and answers them."""

    def __repr__(self) -> str:
        return f"RemoteModel({self.name!r}, the server has it)"

    @property
    def name(self) -> str:
        """What the server calls it."""
        return self._known.name

    def bind(self, schema: Schema) -> NoReturn:
        """Refuse: only the server can ask it."""
        raise ModelElsewhere(
            f"model must be at hand to be asked, got {self.name!r}, which only the server has. "
            "Price and release plans of it with a session of the server."
        )


class RemoteDataset:
    """What is known of a data set of a server, and every question to it as steps.

    Attributes:
      card: what is public about it, as it was when it was opened.
      analyst: whose allotment pays; None is the owner.
    """

    def __init__(
        self,
        line: BlockingLine | AwaitedLine,
        card: Card,
        *,
        analyst: str | None = None,
        progress: bool | None = None,
    ) -> None:
        self._line, self.card, self.analyst, self._progress = line, card, analyst, progress

    def __repr__(self) -> str:
        whose = "" if self.analyst is None else f", asked by {self.analyst}"
        return f"{type(self).__name__}({self.dataset!r} at {self._line.address}{whose})"

    def _repr_html_(self) -> str:
        return self.card._repr_html_()

    def __reduce__(self) -> NoReturn:
        raise AccessDenied("A session of a server cannot be copied or saved: it holds a key.")

    @property
    def dataset(self) -> str:
        """The name of the data set."""
        return self.card.dataset

    @property
    def schema(self) -> Schema:
        """The public facts about the table."""
        return self.card.schema

    @property
    def version(self) -> str:
        """The owner's label of the state of the data."""
        return self.card.version

    def model(self, name: str) -> RemoteModel:
        """Return a model of the server, to make plans of."""
        return remote_model(self.card, name)

    def _path(self, *parts: str) -> str:
        return "/".join(["/v1/datasets", *(quote(part, safe="") for part in (self.dataset, *parts))])

    def _sent(self, plans: Plan | Sequence[Plan]) -> Steps[dict[str, Any]]:
        """Return plans as a request holds them, of models that are what they were."""
        asked = as_list(plans)
        names: Mapping[str, str] = {}
        with as_planned(asked):
            if needs_names(asked):
                models = yield from ask(Request("GET", "/v1/models"))
                names = {
                    str(model["fingerprint"]): str(model["name"])
                    for model in models
                    if model["fingerprint"]
                }
            return as_sent(self.dataset, self.schema, asked, names)

    def _price(self, plans: Plan | Sequence[Plan], *, queries: int | None = None) -> Steps[Price]:
        """Return what plans would cost and how large their noise would be; costs nothing.

        Args:
          plans: one plan or several.
          queries: how many questions like a plan's own are wanted for its epsilon.
        """
        if queries is not None:
            check_whole("queries", queries, 1, 10**9)
        body = yield from self._sent(plans)
        body |= {} if queries is None else {"queries": queries}
        return Price.from_json((yield from ask(Request("POST", self._path("price"), body=body))))

    def _release(
        self,
        plans: Plan | Sequence[Plan],
        *,
        fresh: bool = False,
        idempotency_key: str | None = None,
    ) -> Steps[Any]:
        """Answer one plan, or several under one reservation: all of them or none.

        A call that loses its connection is repeated and never charged twice.

        Args:
          plans: one plan or several.
          fresh: pay for new noise even if a plan was answered before.
          idempotency_key: of a call that ended in ``ServerUnreachable``, to go on with it.

        Raises:
          BudgetExhausted: if it costs more than is left; nothing is spent.
          AnswerLost: if the server broke after the charge; only the owner may ask again.
          ServerUnreachable: if the server went away; it says how to go on.
          KeyboardInterrupt: if it is interrupted: what was not charged is cancelled; else it says so.
        """
        check_flag(fresh=fresh)
        body = {**(yield from self._sent(plans)), "fresh": fresh}
        key = new_idempotency_key() if idempotency_key is None else idempotency_key
        found = yield from release_steps(quote(self.dataset, safe=""), body, key, self._progress)
        asked = as_list(plans)
        releases = [_labelled(release, asked) for release in found]
        alone = isinstance(plans, Plan) and len(releases) == 1 and releases[0].plan == plans.describe()
        by_values = (
            isinstance(plans, Plan) and "plan" in body["plans"][0]
        )  # its answer names no plan of ours
        return releases[0] if alone or by_values else releases

    def _balance(self) -> Steps[Balance]:
        """Return what was granted, spent and is left, in exact units: yours, if you have a share."""
        told = yield from ask(Request("GET", self._path("budget")))
        whose = told.get("yours") or told
        parts = {part: Remaining.from_json(whose[part]).amount for part in _PARTS}
        return Balance(**parts, population=told.get("population"))

    def _remaining(self) -> Steps[Remaining]:
        """Return what is left now: of the data set's budget, and of your share of it."""
        balance = yield from self._balance()
        return Remaining(balance.remaining, self.card.accountant, self.card.delta)

    def _budget(self) -> Steps[dict[str, Any]]:
        """Return all that the server tells of the budget: shares and what it was spent on, too."""
        told: dict[str, Any] = yield from ask(Request("GET", self._path("budget")))
        return told

    def _history(self) -> Steps[pd.DataFrame]:
        """Return the entries of the ledger that you may see, oldest first."""
        entries = yield from self._entries()
        currency = Currency(self.card.accountant, self.card.delta)
        return history_frame()([currency.told(entry) for entry in entries])

    def _entries(self) -> Steps[list[dict[str, Any]]]:
        """Return the entries of the ledger that you may see as plain data, oldest first."""
        told: list[dict[str, Any]] = yield from ask(Request("GET", self._path("history")))
        return told

    def _releases(self) -> Steps[pd.DataFrame]:
        """Return which stored releases you may see."""
        import pandas as pd

        return pd.DataFrame((yield from ask(Request("GET", self._path("releases")))))

    def _find(self, id: str) -> Steps[Release]:
        """Return a stored release by its id."""
        _check_id(id)
        return read_release((yield from ask(Request("GET", self._path("releases", id)))))

    def _verify(self, releases: Sequence[Release | str | Path] = ()) -> Steps[Verification]:
        """Let the server check its chain, and compare these releases (or files) with what it stored."""
        told = yield from ask(Request("GET", self._path("verification")))
        problems = [str(problem) for problem in told["problems"]]
        for given in releases:
            mine = given if isinstance(given, Release) else Release.load(given)
            problems += yield from self._compared(mine)
        return Verification(int(told["entries"]), problems)

    def _compared(self, mine: Release) -> Steps[list[str]]:
        try:
            theirs = yield from self._find(mine.id)
        except DiscreetError as error:
            return [f"Release {mine.id} cannot be compared with the server's: {error}"]
        same = json.loads(theirs.dumps()) == json.loads(mine.dumps())
        return [] if same else [f"Release {mine.id} is not as the server has it."]


_PARTS = ("budget", "spent", "remaining")


class RemoteSession(RemoteDataset):
    """A data set of a server: ``price``, ``release``, ``history`` as of a session, without its rows."""

    _line: BlockingLine

    price = blocking(RemoteDataset._price)
    release: Callable[..., Any] = blocking(RemoteDataset._release)
    balance = property(blocking(RemoteDataset._balance))
    remaining = property(blocking(RemoteDataset._remaining))
    budget = blocking(RemoteDataset._budget)
    history = blocking(RemoteDataset._history)
    entries = blocking(RemoteDataset._entries)
    releases = blocking(RemoteDataset._releases)
    find = blocking(RemoteDataset._find)
    verify = blocking(RemoteDataset._verify)

    def close(self) -> None:
        """Close the connection, which is the server's, too."""
        self._line.close()

    def __enter__(self) -> RemoteSession:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


class AsyncRemoteSession(RemoteDataset):
    """A data set of a server, for programs that wait for many things at once."""

    _line: AwaitedLine

    price = awaited(RemoteDataset._price)
    release: Callable[..., Any] = awaited(RemoteDataset._release)
    balance = awaited(RemoteDataset._balance)
    remaining = awaited(RemoteDataset._remaining)
    budget = awaited(RemoteDataset._budget)
    history = awaited(RemoteDataset._history)
    entries = awaited(RemoteDataset._entries)
    releases = awaited(RemoteDataset._releases)
    find = awaited(RemoteDataset._find)
    verify = awaited(RemoteDataset._verify)

    async def close(self) -> None:
        """Close the connection, which is the server's, too."""
        await self._line.close()

    async def __aenter__(self) -> AsyncRemoteSession:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()


def remote_model(card: Card, name: str) -> RemoteModel:
    """Return a model that a server's card names."""
    known: CardModel | None = card.models.get(name)
    if known is None:
        names = ", ".join(card.models) or "none"
        raise ArgumentError(f"name must be one of the server's models ({names}), got {shown(name)}.")
    return RemoteModel(known, card.dataset)


def _labelled(release: Release, plans: Sequence[Plan]) -> Release:
    """Return a release with what its asker calls its rows."""
    asked = [plan for plan in plans if plan.describe() == release.plan]
    return release.for_asker(asked[0]) if asked else release


def _check_id(id: Any) -> None:
    if not isinstance(id, str) or not id:
        raise ArgumentError(f"id must be that of a release, as releases() lists them, got {shown(id)}.")
