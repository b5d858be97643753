"""One fit as a question of its own, about rows that are not the whole table of a session.

An estimator cannot know where the rows of ``fit(X, y)`` come from: a scaler before it, a bag drawn with
replacement or folds cut by class make several rows of one record, or rows that depend on others. What
is proven then holds for a row of X, and for a record under an assumption that every guarantee names.
Rows of a session's own table at public places need none.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from copy import copy
from dataclasses import replace
from typing import Any

from discreet.plans import Holding, Plan, Program, Setting

GIVEN = (
    "each row of X is made from one record alone by a public rule, no record is in two rows, and which "
    "rows are in X does not depend on values"
)


CHOSEN = "the places in rows were chosen without looking at values"


class FitPlan(Plan):
    """A fit on some rows: the estimator's own question, under a key of its own.

    Guarantees:
      - Its answer is never found for the session's table: rows that were given are written down by a
        token of their own, rows of the table by their places. [plan-keys]
      - On given rows the assumption about them is on the face of the guarantee. [given-rows]
    """

    def __init__(self, plan: Plan, places: tuple[int, ...] | None) -> None:
        super().__init__(plan.epsilon, plan.delta)
        self.plan, self.places, self.token = plan, places, secrets.token_hex(16)

    @property
    def plan_name(self) -> str:
        """The name of the question that is fitted: the release says what it is."""
        return self.plan.plan_name

    def arguments(self) -> dict[str, Any]:
        """Return the question as plain data, with the rows it is about."""
        return {**self.plan.arguments(), "rows": self.told}

    @property
    def told(self) -> str:
        """What identifies the rows."""
        if self.places is None:
            return f"given {self.token}"
        digest = hashlib.sha256(repr(self.places).encode()).hexdigest()
        return f"{len(self.places)} places {digest}"

    def at(self, epsilon: float) -> FitPlan:
        """Return the same fit with another epsilon."""
        other = copy(self)
        other.epsilon, other.plan = float(epsilon), self.plan.at(epsilon)
        return other

    def paid(self, epsilon: float, delta: float, mechanism: str | None = None) -> FitPlan:
        """Return the same fit for another epsilon and delta."""
        other = copy(self)
        other.epsilon, other.delta = float(epsilon), float(delta)
        other.plan = self.plan.paid(epsilon, delta, mechanism)
        return other

    def laws(self) -> tuple[str, ...]:
        """See ``Plan``."""
        return self.plan.laws()

    def held(self) -> Iterable[Holding]:
        """Return what the question holds."""
        return self.plan.held()

    def prepare(self, setting: Setting) -> Program:
        """Make the question ready, and write the assumption down."""
        program = self.plan.prepare(setting)
        if self.places is not None:
            return replace(program, assumptions=(CHOSEN,))
        return replace(program, protects=f"one record, provided that {GIVEN}", assumptions=(GIVEN,))
