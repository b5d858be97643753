"""What goes into the ledger and what comes out: small frozen values, no database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from discreet.errors import ArgumentError
from discreet.ledger.showing import balance_html
from discreet.privacy.accounting.filters import AccountantName, Amount
from discreet.privacy.relation import ROWS_CAP, Relation


@dataclass(frozen=True, slots=True)
class Terms:
    """What is promised for a data set, from when it is registered until its owner changes it.

    The relation and the accountant never change.

    Attributes:
        dataset: The name the owner gave; never derived from rows.
        relation: ``replace-one`` or ``add-remove``.
        accountant: ``basic`` (sums of epsilon and delta) or ``zcdp`` (sums of rho).
        epsilon: The promised epsilon.
        delta: The promised delta.
        budget: What may be spent, in the accountant's units.
        schema_digest: The fingerprint of the public schema.
        most_rows: How many rows the table may have, under add-remove; 2^24 if nobody said.
        population: The account that pays, if data sets about the same persons share a budget; then
            epsilon, delta and budget are the population's. Of a population itself, its own name.
    """

    dataset: str
    relation: Relation
    accountant: AccountantName
    epsilon: float
    delta: float
    budget: Amount
    schema_digest: str
    most_rows: int | None = None
    population: str | None = None

    @property
    def rows_cap(self) -> int:
        """The most rows the table may have where their number is private."""
        return ROWS_CAP if self.most_rows is None else self.most_rows

    @property
    def neighbours(self) -> str:
        """The relation in words, with the most rows there may be where their number is private."""
        if Relation(self.relation).rows_public:
            return str(self.relation)
        return f"{self.relation}, at most {self.rows_cap:,} rows"


@dataclass(frozen=True, slots=True)
class State:
    """What is public of one state of the data, under the owner's label of it: how many records, say."""

    version: str
    facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Account:
    """A registered data set: its terms now, and when it was registered (ISO 8601, UTC)."""

    terms: Terms
    created: str

    @property
    def is_population(self) -> bool:
        """Say whether it is a budget that data sets share, and no data set."""
        return self.terms.population == self.terms.dataset


@dataclass(frozen=True, slots=True)
class Head:
    """The end of a data set's chain when a release was made; the release carries it.

    ``Ledger.verify`` compares heads with the chain and so finds a ledger that was cut short.
    """

    dataset: str
    sequence: int
    digest: str

    def to_json(self) -> dict[str, Any]:
        """Return the head as a JSON object."""
        return {"dataset": self.dataset, "sequence": self.sequence, "digest": self.digest}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Head:
        """Return the head that ``to_json`` wrote.

        >>> Head.from_json(Head("adult", 3, "ab").to_json())
        Head(dataset='adult', sequence=3, digest='ab')
        """
        wanted = {"dataset": str, "sequence": int, "digest": str}
        if not isinstance(data, Mapping) or not all(
            isinstance(data.get(name), kind) for name, kind in wanted.items()
        ):
            raise ArgumentError(
                f"A head must be an object with dataset, sequence and digest, got {data!r}."
                " Take it from a release as it was saved."
            )
        return cls(data["dataset"], data["sequence"], data["digest"])


@dataclass(frozen=True, slots=True)
class Order:
    """A charge that is asked for: what it costs, which plan and version it is for, public facts."""

    charge: Amount
    plan_key: str
    note: Mapping[str, Any]
    version: str = ""


@dataclass(frozen=True, slots=True)
class Reservation:
    """A charge that is already spent, of its data set or of a population, waiting for its release."""

    id: str
    dataset: str
    charge: Amount
    plan_key: str
    analyst: str | None
    head: Head
    population: str | None = None


@dataclass(frozen=True, slots=True)
class StoredRelease:
    """A settled release: the JSON text as it was stored, and the head it carries."""

    body: str
    head: Head
    reservation: str
    version: str
    plan_key: str


@dataclass(frozen=True, slots=True)
class Balance:
    """What was granted, what was spent and what can still be spent.

    ``population`` names whose budget it is, if data sets share one: all of them spent ``spent``.
    """

    budget: Amount
    spent: Amount
    remaining: Amount
    population: str | None = None

    def _repr_html_(self) -> str:
        return balance_html(self)


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a data set's history.

    Attributes:
        kind: ``register``, ``change`` (of terms), ``allot``, ``reserve``, ``settle``, ``state`` (of a
            version that is new), ``join`` (a population); of a population ``admit`` (a data set) and
            ``draw`` (a data set's charge).
        id: Its own id; a settlement and a draw have the id of their reservation.
        amount: The budget (register, change, allot, join), the charge (reserve, draw) or what a data
            set had spent before (admit); zero for a settlement.
        settled: For a reservation, whether its release was stored; ``None`` for other kinds. A
            reservation whose process died stays ``False``, and stays spent.
    """

    dataset: str
    sequence: int
    kind: str
    id: str
    analyst: str | None
    amount: Amount
    plan_key: str
    version: str
    note: Mapping[str, Any]
    time: str
    digest: str
    settled: bool | None

    def __repr__(self) -> str:
        about = self.note.get("plan", {})
        asked = about.get("kind", "") if isinstance(about, Mapping) else about
        said = f"{self.sequence}, {self.kind}, {self.amount}" + (f", {asked}" if asked else "")
        return f"Entry({said})"

    @property
    def head(self) -> Head:
        """Return this entry as a head that ``verify`` can check later."""
        return Head(self.dataset, self.sequence, self.digest)

    def to_json(self) -> dict[str, Any]:
        """Return the line as plain data: amounts as exact decimal texts."""
        return {
            "sequence": self.sequence,
            "time": self.time,
            "kind": self.kind,
            "id": self.id,
            "analyst": self.analyst,
            **self.amount.to_json(),
            "settled": self.settled,
            "version": self.version,
            "note": dict(self.note),
            "digest": self.digest,
        }


@dataclass(frozen=True, slots=True)
class Verification:
    """What ``verify`` found: one sentence per problem, and how many entries it checked."""

    entries: int
    problems: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Say whether nothing was found."""
        return not self.problems
