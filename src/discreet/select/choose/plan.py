"""Choose one of several public candidates by the sum of what every record says of them.

A record's utilities are clipped and measured from the middle of their bounds, which changes no
difference: so a score moves by half the range when a record comes or goes, and by the range when one is
replaced.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY
from typing import Annotated, Any, cast

import numpy as np

from discreet.arguments import as_list
from discreet.errors import ArgumentError
from discreet.models.fingerprint import Kept
from discreet.numerics import check_choice
from discreet.plans import Program, Releaser, Setting, Stage, kinds
from discreet.plans.expected import of_summed_choice
from discreet.plans.held import Function
from discreet.plans.kinds import UNSAID, Columns, Delta, Epsilon, Interval, Positive, Text, Values
from discreet.plans.parts import WherePlan
from discreet.plans.results.choice import Choice
from discreet.privacy.certificate import Box
from discreet.privacy.relation import ROWS_CAP
from discreet.schema import Schema
from discreet.select.choose.chooser import CHOICES, build_choice, score_choice
from discreet.select.choose.table import TABLE_CHOICES, TableChoice, TableChoiceName, check_needs
from discreet.select.choose.utilities import GuardedUtility, Utility, utility_contribution
from discreet.select.choose.whole_table import GuardedFunction, TableClaim, TableFunction

Names = str | Mapping[str, str] | None

_MOST_CANDIDATES = 2**20
_MOVED = "It is how far one record moves a score at most."


def _candidates(name: str, candidates: Any) -> tuple[Any, ...]:
    given = as_list("candidates", candidates)
    listed = tuple(entry.item() if isinstance(entry, np.generic) else entry for entry in given)
    plain = all(isinstance(entry, str | int | float | bool) and entry == entry for entry in listed)
    if not plain or not 2 <= len(listed) <= _MOST_CANDIDATES or len(set(listed)) < len(listed):
        raise ArgumentError(
            f"candidates must be 2 to {_MOST_CANDIDATES} different texts, numbers or truth values, "
            f"got {len(listed)}."
        )
    return listed


def _named_parts(name: Names) -> dict[str, str | None]:
    """Return the name of every function; a single name is the utility's."""
    given = {"utility": name} if name is None or isinstance(name, str) else name
    parts = ("utility", "distance", "local")
    known = isinstance(given, Mapping) and set(given) <= set(parts)
    if not known or not all(n is None or (isinstance(n, str) and n) for n in given.values()):
        raise ArgumentError(
            f"name must be a text, or texts for {', '.join(parts)}, got {name!r}. "
            "Give every function its own."
        )
    return {part: given.get(part) for part in parts}


def _names(name: str, given: Any) -> Any:
    named = {part: text for part, text in _named_parts(given).items() if text is not None}
    return named.get("utility") if set(named) <= {"utility"} else named


def _name_of(given: Mapping[str, Any], part: str) -> str | None:
    return _named_parts(given["name"])[part]


def _function(*, optional: bool = False) -> Function:
    return Function(_name_of, optional=optional, hint=" of rows and candidates")


class choose(WherePlan):
    """Plan the candidate with the greatest utility: a sum over records, or your own of the whole table.

    Args:
      utility: ``utility(block, candidates)`` returns a matrix, rows x candidates; ``block[name]`` are
        the values of a column. It must treat every row by itself. With ``sensitivity`` it is called
        once with all rows and returns one score per candidate.
      candidates: public texts, numbers or truth values, at least two.
      bounds: public bounds of one record's utility (0 and 1 if left out), or of a score of the whole
        table; others are clipped to them.
      sensitivity: your claim how far one record moves a score of the whole table, under the session's
        relation. It is an assumption of the guarantee: nothing checks it.
      distance: for ``inverse-sensitivity``, and better for ``stability`` and ``smooth-...``: one whole
        number per candidate, the edits until it would be the answer; zero for the answer alone.
      local: for ``local-dampening`` and ``joint-...``: how far one record moves a score of this table,
        then of any table one edit away, two edits away, ...; one list for all candidates or one each.
      columns: the columns the functions read; all if left out.
      name: a name by which the ledger knows the utility again; without it no two are taken for equal.
        ``distance`` and ``local`` have names of their own: ``{"utility": ..., "distance": ...}``.
      epsilon: the whole budget of the plan.
      delta: zero for a pure guarantee; of use for mechanisms on stability, ``joint-laplace...`` alone
        (with ``-log-normal`` it is a baseline without a proof, refused unless the owner allows it).
      mechanism: ``exponential``, ``permute-and-flip``, ``laplace`` (also gives a noisy gap for free);
        ``stability`` and ``smooth-...``, right more often where one candidate is best by far and
        arbitrary where none does; those that need ``distance`` or ``local``; or ``auto``: the least
        expected error in the worst case.

    Guarantees:
      - Scores move by half the range of a utility under add-remove, by the range under replace-one.
        [choose]
      - A utility of the whole table is as private as the claim is true. [claimed-utility]
      - Every mechanism keeps (epsilon, delta) with that bound. [exponential] [permute-and-flip]
        [free-gap] [gap-stability] [snm-exact] [dampening] [snm-joint]

    >>> plan = choose(lambda block, kinds: None, ["a", "b"], columns=["kind"], epsilon=1.0)
    >>> plan.candidates, plan.bounds.limits
    (('a', 'b'), (0.0, 1.0))
    """

    utility: Annotated[Utility | TableFunction, _function()]
    candidates: Annotated[Sequence[Any], Values(by=_candidates)]
    _: KW_ONLY
    bounds: Annotated[tuple[float, float] | None, Interval(optional=True)] = None
    sensitivity: Annotated[float | None, Positive(optional=True, hint=_MOVED)] = None
    distance: Annotated[TableFunction | None, _function(optional=True)] = None
    local: Annotated[TableFunction | None, _function(optional=True)] = None
    columns: Annotated[Sequence[str] | None, Columns(optional=True)] = None
    name: Annotated[Names, Text(by=_names, optional=True)] = None
    epsilon: Epsilon = UNSAID
    delta: Delta = 0.0
    mechanism: Annotated[TableChoiceName, kinds.OneOf(TABLE_CHOICES, by=kinds.checked_later)] = "auto"

    def settle(self) -> dict[str, Any]:
        """Check what a sum over records, and a utility of the whole table, need of the others."""
        if self.sensitivity is not None:
            if self.where is not None:
                raise ArgumentError(
                    "where must be left out of a utility of the whole table, got a condition. Put it "
                    "into the function."
                )
            check_choice("mechanism", self.mechanism, TABLE_CHOICES)
            check_needs(self.mechanism, self.distance, self.local)
            return {}
        if self.distance is not None or self.local is not None:
            raise ArgumentError(
                "sensitivity must be given with distance or local, got None. Say how far one record "
                "moves a score of the whole table."
            )
        check_choice("mechanism", self.mechanism, CHOICES)
        return {"bounds": Box(0.0, 1.0) if self.bounds is None else self.bounds}

    def prepare_whole(self, setting: Setting) -> Program:
        """Try the functions on public rows, certify the scores and pick a mechanism."""
        if self.sensitivity is None:
            return self._by_sums(setting)
        claim = TableClaim(
            self._guard("utility", setting.schema),
            self.sensitivity,
            self._bounds(setting),
            self._guard("distance", setting.schema) if self.distance else None,
            self._guard("local", setting.schema) if self.local else None,
        )
        return TableChoice(claim, setting, self.mechanism, self.epsilon, self.delta).program()

    def _bounds(self, setting: Setting) -> Box:
        """Where a utility lies; scores of a whole table that nothing is said of lie anywhere."""
        box: Any = self.bounds
        farthest = max(setting.most_rows, ROWS_CAP) * (self.sensitivity or 0.0)
        return Box(-farthest, farthest) if box is None else box

    def _columns(self, schema: Schema) -> tuple[str, ...]:
        return tuple(self.columns or schema)

    def _guard(self, label: str, schema: Schema) -> GuardedFunction:
        function = getattr(self, label).value
        return GuardedFunction(label, function, tuple(self.candidates), self._columns(schema), schema)

    def _by_sums(self, setting: Setting) -> Program:
        """Return the choice by what every record adds to the scores."""
        kept, columns = cast(Kept, self.utility), self._columns(setting.schema)
        bounds = self._bounds(setting)
        guarded = GuardedUtility(kept.value, tuple(self.candidates), columns, setting.schema)
        code = guarded.try_out(bounds, kept.known)
        contribution = utility_contribution(guarded, bounds, code)
        promise = {"epsilon": self.epsilon, "delta": self.delta}
        noise = score_choice(contribution, setting, mechanism=self.mechanism, **promise)
        stage = Stage("choice", contribution, noise)
        unit = "of the summed utility"

        def finish(releaser: Releaser) -> Choice:
            (drawn,) = releaser.answer(stage)
            return build_choice(self.candidates, drawn, noise.errors, self.mechanism, noise.name, unit)

        most = "what all records can add"
        error = of_summed_choice(noise.std, setting.rows, bounds.width, most)
        return Program((stage,), finish, {f"error {unit}": error})
