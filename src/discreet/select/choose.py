"""Choose one of several public candidates by the sum of what every record says of them.

A record's utilities are clipped and measured from the middle of their bounds, which changes no
difference: so a score moves by half the range when a record comes or goes, and by the range when one is
replaced.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.arguments import as_list, shown, some_names
from discreet.certificates import Box
from discreet.errors import ArgumentError
from discreet.mechanisms.lattice import given_box, lattice_step
from discreet.models.fingerprint import Kept
from discreet.models.probe import Found
from discreet.numerics import check_choice
from discreet.parts import sum_terms
from discreet.plans import Plan, Program, Releaser, Setting, Stage
from discreet.plans.expected import of_summed_choice
from discreet.select.choices import ScoreChoice, build_choice
from discreet.select.choose_table import ChooseTablePlan, Names, TableChoiceName, named_parts
from discreet.select.chooser import CHOICES, ChoiceName, decide
from discreet.select.results import Choice
from discreet.select.utilities import GuardedUtility, Utility, utility_contribution
from discreet.select.whole_table import TableFunction

_MOST_CANDIDATES = 2**20


class ChoosePlan(Plan):
    """See ``choose``."""

    kind = "choose"

    def __init__(
        self,
        utility: Utility,
        candidates: tuple[Any, ...],
        bounds: Box,
        columns: tuple[str, ...] | None,
        name: Names,
        epsilon: float,
        delta: float,
        mechanism: ChoiceName,
    ) -> None:
        super().__init__(epsilon, delta)
        check_choice("mechanism", mechanism, CHOICES)
        self.utility, self.candidates, self.bounds = utility, candidates, bounds
        self.columns, self.mechanism = columns, mechanism
        self.kept = Kept("utility", utility, named_parts(name)["utility"])
        self._found: dict[str, Found] = {}

    def arguments(self) -> dict[str, Any]:
        """Return the question as plain data."""
        return {
            "utility": {"kind": "function", "fingerprint": self.kept.fingerprint},
            "candidates": list(self.candidates),
            "bounds": [self.bounds.low, self.bounds.high],
            "columns": None if self.columns is None else list(self.columns),
            "mechanism": self.mechanism,
        }

    def prepare(self, setting: Setting) -> Program:
        """Try the utility on public rows, certify the sums and pick a mechanism."""
        columns = self.columns or tuple(setting.schema)
        guarded = GuardedUtility(self.utility, self.candidates, columns, setting.schema)
        company = guarded.try_out(self.bounds, self._found)
        contribution = utility_contribution(guarded, self.bounds, company)
        certificate, terms = sum_terms(contribution, setting, statement="choose")
        linf = certificate.sensitivity("linf", terms["relation"])
        step = lattice_step(2 * linf / self.epsilon, terms["largest_sum"])
        rounded = certificate.widen(step * (1 + terms["companions"]), "lattice")
        moved = math.ceil(rounded.sensitivity("linf", setting.relation) / step)
        chooser, errors = decide(
            self.mechanism,
            len(self.candidates),
            self.epsilon,
            self.delta,
            moved,
            2 * terms["largest_sum"] / step,
        )
        noise = ScoreChoice(
            rounded,
            chooser,
            step,
            {name: error * step for name, error in errors.items()},
        )
        stage = Stage("choice", contribution, noise)
        unit = "of the summed utility"

        def finish(releaser: Releaser) -> Choice:
            (drawn,) = releaser.answer(stage)
            return build_choice(self.candidates, drawn, noise.errors, self.mechanism, noise.name, unit)

        most = "what all records can add"
        error = of_summed_choice(noise.std, setting.rows, self.bounds.width, most)
        return Program((stage,), finish, {f"error {unit}": error})


def choose(
    utility: Utility | TableFunction,
    candidates: Sequence[Any],
    *,
    bounds: tuple[float, float] | None = None,
    sensitivity: float | None = None,
    distance: TableFunction | None = None,
    local: TableFunction | None = None,
    columns: Sequence[str] | None = None,
    name: Names = None,
    epsilon: float,
    delta: float = 0.0,
    mechanism: TableChoiceName = "auto",
) -> ChoosePlan | ChooseTablePlan:
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
      mechanism: ``exponential``, ``permute-and-flip``, ``laplace`` (also gives a noisy lead for free);
        ``stability`` and ``smooth-...``, right more often where one candidate leads by far and
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
    listed = _list_candidates(candidates)
    if not callable(utility):
        raise ArgumentError(f"utility must be a function of rows and candidates, got {shown(utility)}.")
    named = some_names("columns", columns)
    if sensitivity is not None:
        box = None if bounds is None else given_box(bounds)
        return ChooseTablePlan(
            utility, listed, sensitivity, box, distance, local, named, name, epsilon, delta, mechanism
        )
    if distance is not None or local is not None:
        raise ArgumentError(
            "sensitivity must be given with distance or local, got None. Say how far one record "
            "moves a score of the whole table."
        )
    box = given_box((0.0, 1.0) if bounds is None else bounds)
    # Names of mechanisms for whole tables are refused there, with a sentence.
    return ChoosePlan(utility, listed, box, named, name, epsilon, delta, mechanism)  # type: ignore[arg-type]


def _list_candidates(candidates: Sequence[Any]) -> tuple[Any, ...]:
    given = as_list("candidates", candidates)
    listed = tuple(entry.item() if isinstance(entry, np.generic) else entry for entry in given)
    plain = all(isinstance(entry, str | int | float | bool) and entry == entry for entry in listed)
    if not plain or not 2 <= len(listed) <= _MOST_CANDIDATES or len(set(listed)) < len(listed):
        raise ArgumentError(
            f"candidates must be 2 to {_MOST_CANDIDATES} different texts, numbers or truth values, "
            f"got {len(listed)}."
        )
    return listed
