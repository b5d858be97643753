"""A session: the one place where plans meet rows, noise and the ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, overload

from discreet.data import Summand, add_up
from discreet.data.quality import TableCheck, check_table
from discreet.data.state import own_state
from discreet.errors import (
    AccessDenied,
    AnswerLost,
    ArgumentError,
    SettlementFailed,
)
from discreet.ledger import (
    Answered,
    Balance,
    Order,
    Signature,
    Verification,
)
from discreet.numerics import check_whole
from discreet.plans import (
    Diagnosis,
    Perturbation,
    Plan,
    Program,
    Release,
    Stage,
    copy_of,
)
from discreet.privacy.accounting import budget_amount
from discreet.progress import tell_of_compiling
from discreet.randomness import IntArray
from discreet.schema import Schema
from discreet.session.checking import (
    as_planned,
    check_owner,
    check_programs,
    owners_call,
    planned_parts,
)
from discreet.session.desk import Desk, PublicFacts, Watch
from discreet.session.price import Price, Remaining, price_plans
from discreet.session.settling import settle_later, settle_or_keep
from discreet.session.showing import history_frame, session_html
from discreet.session.warming import before_the_charge, compile_ahead

if TYPE_CHECKING:
    import pandas as pd

_FOR_OWNERS = (
    'Every value is for the owner of its record alone; ask with audience="public" for values that '
    "all may see."
)


class Session(Desk):
    """Sealed rows, a budget, and the only call that spends it.

    Made by ``protect``. Inside ``release`` the order is fixed: check, price, compile, reserve, compute,
    perturb, settle.

    Guarantees:
      - A plan that is refused, or asked wrongly, reads no row and leaves no trace. [reserve-first]
      - A release that fails after its reservation stays paid for. [reserve-first]
    """

    def __repr__(self) -> str:
        terms, balance = self._account.terms, self.balance
        whose = "" if balance.population is None else f" of population {balance.population!r}"
        left = self._as_remaining(balance.remaining)
        return f"Session({terms.dataset!r}, {terms.relation}, {left} left{whose})"

    def _repr_html_(self) -> str:
        return session_html(self, self._account.terms)

    def __reduce__(self) -> NoReturn:
        raise AccessDenied("A session cannot be copied or saved: its rows are sealed.")

    @property
    def remaining(self) -> Remaining:
        """What is left of the data set's budget, or its population's (and of the analyst's share)."""
        return self._as_remaining(self.balance.remaining)

    @property
    def balance(self) -> Balance:
        """What was granted, spent and is left, in exact units."""
        return self._ledger.balance(self.dataset, self.analyst)

    def history(self) -> pd.DataFrame:
        """Return every entry of the ledger about this data set, oldest first.

        Where rho is counted, ``epsilon_worth`` is what an entry's rho is worth by itself at the data
        set's delta. What all of them keep together is the registered budget.
        """
        entries = self._ledger.history(self.dataset)
        return history_frame()([self._currency.told(entry.to_json()) for entry in entries])

    def verify(self, releases: Sequence[Release | str | Path] = ()) -> Verification:
        """Check the ledger's chain, and that these releases (or files) are those that were settled."""
        return self._ledger.verify(self.dataset, copies=[copy_of(release) for release in releases])

    @owners_call("Shares are the owner's to give.")
    def allot(self, analyst: str, *, epsilon: float, delta: float = 0.0) -> None:
        """Give an analyst a part of the budget to spend on this data set; the owner's call.

        Once a data set has a share, analysts without one are denied, stored releases included.

        Under the accountant zcdp, ``epsilon`` and ``delta`` are converted to the rho that keeps them.
        """
        accountant = self._account.terms.accountant
        self._ledger.allot(self.dataset, analyst, budget_amount(accountant, epsilon, delta))

    @owners_call("Terms are the owner's to change.")
    def change_terms(
        self,
        *,
        reason: str,
        epsilon: float | None = None,
        delta: float | None = None,
        schema: Schema | str | Path | None = None,
        most_rows: int | None = None,
    ) -> None:
        """Change the budget, or correct the schema, as an entry of the ledger; the owner's call.

        Releases keep the terms under which they were made, and what was spent stays spent. The session
        goes on with a new budget; with a new schema open another one, by ``protect``.

        Args:
          reason: why, for everybody who reads the history. It must not come from looking at rows.
          epsilon: the whole budget from now on, what was spent included. A population's is changed for
            all its data sets, by its own name: ``Ledger.change_terms``.
          delta: the whole delta from now on.
          schema: the public facts from now on, or the path of their TOML file.
          most_rows: how many rows the table may have from now on, under add-remove; open another
            session for more.

        Raises:
          LedgerConflict: if more was already spent.
        """
        public = None if schema is None else Schema.of(schema)
        self._ledger.change_terms(
            self.dataset,
            reason=reason,
            epsilon=epsilon,
            delta=delta,
            schema=public,
            most_rows=most_rows,
        )

    def facts(self) -> PublicFacts:
        """Return what may be told to everybody about the data set now; no row is read."""
        self._ledger.check_schema(self.dataset, self.schema)
        terms = self._ledger.account(self.dataset).terms
        return PublicFacts(self._setting, terms, self._ledger.head(self.dataset))

    @owners_call("The ledger's signature is the owner's.")
    def sign(self, plain: Mapping[str, Any]) -> Signature:
        """Return the ledger's signature, which everybody can check; the owner's call."""
        return self._ledger.sign(plain)

    @owners_call("Its facts are exact.")
    @own_state()
    def diagnose(self, plan: Plan) -> Diagnosis:
        """Return exact facts about a plan on this table: for the curator, never for an analyst.

        It is not a release: no noise, no charge, no trace. It tells how likely a private answer is to
        be right here (the gap between the best features, say) and must not leave the curator's desk.
        """
        if not isinstance(plan, Plan):
            raise ArgumentError(f"plan must be one plan to be diagnosed, got {type(plan).__name__}.")
        with as_planned([plan]):
            answering, _ = self._ready(plan)
            return answering.diagnose(self._setting, self._exact_sums)

    @owners_call("Its facts are exact.")
    @own_state()
    def check(self) -> TableCheck:
        """Return how the table fits its schema: for the curator, never for an analyst.

        Per column the share of values that are missing, not listed, outside the bounds, between steps,
        and whether there is one value only; how many rows persons have. Exact, free, no trace, and not
        a release: a schema that is corrected because of it tells of the records.
        """
        return check_table(self._table, self._cluster)

    def _exact_sums(self, *stages: Stage[Perturbation]) -> list[IntArray]:
        summands = [Summand(stage.contribution, stage.noise.step) for stage in stages]
        return add_up(self._table, summands, workers=self._workers, cluster=self._cluster)

    @own_state()
    def price(self, plans: Plan | Sequence[Plan], *, queries: int | None = None) -> Price:
        """Return what plans would cost and how large their noise would be; costs nothing.

        Args:
          plans: one plan or several; one that asks for several answers has a line for each.
          queries: how many questions like a plan's own are wanted for its epsilon. The price then
            compares the strategies to answer them all, and recommends one.

        Guarantees:
          - Touches no row, and not even their number under add-remove. [price-free]
        """
        if queries is not None:
            check_whole("queries", queries, 1, 10**9)
        self._ledger.check_schema(self.dataset, self.schema)
        with planned_parts(plans, self.schema) as asked, tell_of_compiling(self._progress):
            return price_plans(
                asked,
                self._setting,
                accountant=self._account.terms.accountant,
                remaining=self.remaining,
                delta=self._ledger.account(self.dataset).terms.delta,
                queries=queries,
            )

    @overload
    def release(self, plans: Plan, *, fresh: bool = False) -> Release: ...
    @overload
    def release(self, plans: Sequence[Plan], *, fresh: bool = False) -> list[Release]: ...
    @own_state()
    def release(self, plans: Plan | Sequence[Plan], *, fresh: bool = False) -> Release | list[Release]:
        """Answer one plan, or several under one reservation: all of them or none.

        Several releases are a list, also those of one plan that asks for several answers.

        A plan that was answered before on the same declared version of the data set is returned
        as it was, at no cost, unless ``fresh`` asks for new noise.

        Guarantees:
          - What the caller has set (NumPy's error state, a decimal context, warning filters) decides
            nothing about it. [own-state]

        Raises:
          BudgetExhausted: if it costs more than is left; nothing is spent.
          UnderWay: if another process is answering the same question right now; nothing is spent.
            ``fresh`` goes past it.
          SettlementFailed: if the ledger cannot store the answer within a minute. It holds the answer;
            the charge stays, and ``settle`` stores it later.
          KeyboardInterrupt: if it is interrupted; if the charge was taken by then, it says so.
        """
        answers: dict[str, Release] | None = None
        with planned_parts(plans, self.schema) as asked:
            self._ledger.check_schema(self.dataset, self.schema)
            self._check_reader(asked)  # what is stored already must not come to a wrong reader either
            while answers is None:  # again if another process answered one since we looked
                answers = self._find_or_answer(asked, fresh)
        releases = [answers[self._key(plan)].for_asker(plan) for plan in asked]
        alone = isinstance(plans, Plan) and plans is asked[0]
        return releases[0] if alone else releases

    def stored(self, plans: Plan | Sequence[Plan]) -> list[Release] | None:
        """Return the answers of plans that were all answered before, at no cost; None if one was not.

        Raises:
          AccessDenied: if this analyst may not see them.
        """
        with planned_parts(plans, self.schema) as asked:
            self._ledger.check_schema(self.dataset, self.schema)
            self._check_reader(asked)
            found = [self._stored(self._key(plan)) for plan in asked]
        known = [release for release in found if release is not None]
        if len(known) < len(asked):
            return None
        return [release.for_asker(plan) for release, plan in zip(known, asked, strict=True)]

    def check_not_lost(self, plans: Plan | Sequence[Plan]) -> None:
        """Raise if a plan was paid for on this version and its answer is lost.

        To draw it again could tell of the record on which it was lost, so that a service lets nobody
        do it but the owner.

        Raises:
          AnswerLost: with the reservation that stays spent.
        """
        with planned_parts(plans, self.schema) as asked:
            keys = {self._key(plan): plan.plan_name for plan in asked}
        for key, name in keys.items():
            lost = self._ledger.lost_reservation(self.dataset, version=self.version, plan_key=key)
            if lost is not None:
                raise AnswerLost(
                    f"{name} was paid for with reservation {lost} and its answer is lost; it "
                    "stays spent. Only the owner may ask it again, for another charge.",
                    reservations=[lost],
                )

    @owners_call("Whoever sits at the owner's desk is let in by the owner.")
    def seat(
        self, analyst: str | None, *, watch: Watch | None = None, noted: Mapping[str, Any] | None = None
    ) -> Session:
        """Return a session of an analyst on the same rows; the owner's call.

        Args:
          analyst: who asks; None is the owner.
          watch: told the phases of a release.
          noted: public facts that every reservation's entry in the ledger gets, too.
        """
        return Session(
            self._table,
            self._ledger,
            self._account,
            version=self.version,
            analyst=analyst,
            noise=self._noise,
            workers=self._workers,
            cluster=self._cluster,
            progress=self._progress,
            heuristics=self._heuristics and analyst is None,
            watch=watch,
            noted=noted,
        )

    def _find_or_answer(self, plans: list[Plan], fresh: bool) -> dict[str, Release] | None:
        keys = {self._key(plan): plan for plan in plans}
        known = {} if fresh else {key: self._stored(key) for key in keys}
        new = {key: plan for key, plan in keys.items() if known.get(key) is None}
        found = {key: release for key, release in known.items() if release is not None}
        try:
            return found | self._answer(list(new.values()), fresh)
        except Answered:
            return None

    def _answer(self, plans: list[Plan], fresh: bool) -> dict[str, Release]:
        if not plans:
            return {}
        self._table.check_unchanged()
        self._watch("preparing", ())
        with before_the_charge(self._progress):
            answering, programs = self._made_ready(plans)
        orders = [
            Order(self._cost(program), self._key(plan), self._note(plan), self.version)
            for plan, program in zip(plans, programs, strict=True)
        ]
        self._watch("reserving", ())
        with self._ledger.at_work() as work:
            reservations = self._ledger.reserve_all(
                self.dataset,
                orders,
                analyst=self.analyst,
                fresh=fresh,
                work=work,
                schema=self.schema,
                check=lambda: self._watch("charging", ()),
            )
            self._watch("answering", reservations)
            releases = [
                self._run(plan, by, program, reservation)
                for plan, by, program, reservation in zip(
                    plans, answering, programs, reservations, strict=True
                )
            ]
            self._watch("storing", reservations)
            settled = settle_or_keep(self._ledger, reservations, releases, progress=self._progress)
        return {self._key(plan): release for plan, release in zip(plans, settled, strict=True)}

    def _made_ready(self, plans: list[Plan]) -> tuple[Sequence[Plan], Sequence[Program]]:
        """Return what answers the plans, checked and with what it needs compiled; no row is read."""
        answering, programs = zip(*map(self._ready, plans), strict=True)
        check_programs(
            plans,
            programs,
            most_rows=self._summed,
            heuristics=self._heuristics,
            cluster=self._cluster,
            in_parts=self._table.in_parts,
        )
        if self._cluster is None:  # workers compile for themselves
            compile_ahead(programs, self.schema)
        return answering, programs

    def settle(self, failed: SettlementFailed | str | Path) -> Release | list[Release]:
        """Store the answer of a ``SettlementFailed``, or of the file it was saved to; costs nothing.

        Settling twice is allowed: it is stored once. Several answers that were asked together come as
        a list.
        """
        releases = settle_later(self._ledger, failed)
        return releases[0] if len(releases) == 1 else releases

    def _check_reader(self, plans: Sequence[Plan]) -> None:
        """Refuse an analyst without a share, and any analyst what only the curator may hand on."""
        self._ledger.check_reader(self.dataset, self.analyst)
        for plan in plans:
            if plan.curator_only:
                check_owner(self.analyst, plan.plan_name, _FOR_OWNERS)
