"""What a session works with: sealed rows, noise, an account; and how one program is run on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from discreet.data import PrivateTable
from discreet.data.blocks import KeptRows
from discreet.data.workers.cluster import Cluster
from discreet.errors import DataChanged, ReleaseFailed
from discreet.ledger import Account, Head, Ledger, Reservation, Terms
from discreet.plans import Perturbation, Plan, Program, Release, Result, Setting, Stage
from discreet.privacy.accounting import Amount, Filter
from discreet.privacy.accounting.joint import JointEvents
from discreet.privacy.relation import Relation
from discreet.progress import progress_bar
from discreet.randomness import NoiseSource
from discreet.schema import Schema
from discreet.session.checking import check_owner
from discreet.session.currency import Currency
from discreet.session.price import Remaining
from discreet.session.releaser import PaidReleaser, promise_of
from discreet.session.settling import failure


@dataclass(frozen=True)
class PublicFacts:
    """What is public about a data set: the setting of plans, the terms, the newest entry."""

    setting: Setting
    terms: Terms
    head: Head


Watch = Callable[[str, Sequence[Reservation]], None]
"""Told the phases of a release, which follow from no row: ``preparing`` and ``reserving`` before the
charge, and ``charging`` when nobody else can charge the data set until it is done: raising ends it for
nothing; ``answering`` and ``storing`` after it, with its charges."""


def _unwatched(phase: str, reservations: Sequence[Reservation]) -> None:
    """Tell nobody."""


class Desk:
    """Rows, noise and an account on one desk; what is asked of them is ``Session``'s to say."""

    def __init__(
        self,
        table: PrivateTable,
        ledger: Ledger,
        account: Account,
        *,
        version: str,
        analyst: str | None,
        noise: NoiseSource,
        workers: int,
        cluster: Cluster | None = None,
        progress: bool | None,
        heuristics: bool = False,
        watch: Watch | None = None,
        noted: Mapping[str, Any] | None = None,
    ) -> None:
        ledger.check_reader(account.terms.dataset, analyst)
        if heuristics:
            check_owner(analyst, "heuristics", "Only the owner may allow noise that nobody proved.")
        self._table = table
        self._ledger = ledger
        self._account = account
        self._noise = noise
        self._workers = workers
        self._cluster = cluster
        self._progress = progress
        self._heuristics = heuristics
        self._analyst = analyst
        self._watch: Watch = watch or _unwatched
        self._noted = dict(noted or {})
        self.version = version

    @property
    def dataset(self) -> str:
        """The name of the data set in the ledger."""
        return self._account.terms.dataset

    @property
    def analyst(self) -> str | None:
        """Who asks; None is the owner."""
        return self._analyst

    @property
    def schema(self) -> Schema:
        """The public facts about the table."""
        return self._table.schema

    @property
    def simulation(self) -> bool:
        """Whether noise comes from a seed, so that nothing released is private."""
        return self._noise.simulation

    def _run(self, plan: Plan, by: Plan, program: Program, reservation: Reservation) -> Release:
        asked: list[Stage[Perturbation]] = []
        value = self._finish(plan, program, reservation, asked)
        if isinstance(value, type):  # raised here, where no frame holds a row
            raise failure(value, reservation)
        return Release(
            value=value.dressed(self.schema),
            guarantee=promise_of(
                plan,
                by,
                program,
                asked,
                self._currency,
                relation=self._setting.relation,
                simulation=self.simulation,
            ),
            plan=plan.describe(),
            stages=tuple(stage.describe() for stage in asked),
            dataset=self.dataset,
            version=self.version,
            id=reservation.id,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            schema_digest=self.schema.digest,
            population=reservation.population,
            charged=reservation.charge,
        )

    def _finish(
        self,
        plan: Plan,
        program: Program,
        reservation: Reservation,
        asked: list[Stage[Perturbation]],
    ) -> Result | type[KeyboardInterrupt | ReleaseFailed]:
        """Return the result, or what to raise: the text and the frames of an error could hold a row."""
        kept = KeptRows() if len(program.stages) > 1 else None
        releaser = PaidReleaser(
            self._table,
            self._noise,
            self._account.terms.accountant,
            Filter(reservation.charge),
            workers=self._workers,
            cluster=self._cluster,
            most_rows=self._summed,
            kept=kept,
            asked=asked,
            joint=None if program.joint is None else JointEvents(program.events, *program.joint),
        )
        title = plan.plan_name.replace("_", " ")
        try:
            with progress_bar(title, self._shown_rows, self._progress) as releaser.progress:
                found = program.finish(releaser)
                return DataChanged if self._table.has_changed() else found
        except KeyboardInterrupt:
            return KeyboardInterrupt
        except BaseException:  # whatever it was
            return DataChanged if self._table.has_changed() else ReleaseFailed
        finally:
            if self._cluster is not None and kept is not None:
                self._cluster.forget(kept)

    def _key(self, plan: Plan) -> str:
        return plan.key_on(self.schema)

    def _note(self, plan: Plan) -> dict[str, Any]:
        """Return what an entry of the ledger says besides the charge: all of it is public."""
        return {"plan": plan.describe(), "data": self._table.facts, **self._noted}

    def _stored(self, key: str) -> Release | None:
        stored = self._ledger.find_release(self.dataset, version=self.version, plan_key=key)
        if stored is None:
            return None
        return replace(Release.loads(stored.body), head=stored.head, charged=Amount())

    def _ready(self, plan: Plan) -> tuple[Plan, Program]:
        """Return what answers a plan here, and it made ready."""
        return self._currency.ready(plan, self._setting)

    @property
    def _currency(self) -> Currency:
        terms = self._ledger.account(self.dataset).terms
        return Currency(terms.accountant, terms.delta)

    def _cost(self, program: Program) -> Amount:
        return program.cost(self._account.terms.accountant)

    def _as_remaining(self, amount: Amount) -> Remaining:
        currency = self._currency
        return Remaining(amount, currency.accountant, currency.delta)

    @property
    def _summed(self) -> int:
        """How many rows are added up as ones, at the most."""
        person = self.schema.person
        each = person.kept if person is not None and person.rows == "capped" else 1
        return each * self._setting.most_rows

    @property
    def _shown_rows(self) -> int | None:
        """How many rows are read, for a progress bar; None where that is private."""
        return self._setting.rows if self.schema.person is None else None

    @property
    def _setting(self) -> Setting:
        relation = Relation(self._account.terms.relation)
        rows = self._table.count() if relation.rows_public else None
        cap = self._account.terms.rows_cap
        return Setting(self.schema, relation, rows, cap, self._table.keeps_places)
