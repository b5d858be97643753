"""How much noise each set of steps needs for one promise, and which sets have no price yet.

The promise is shared out among the steps of a set; each is perturbed by the least noise its
certificate allows. Noise is compared as a share of what a number spans, at its worst step. What
becomes of it on the way to the output is another matter: a mean of many noisy numbers has less of
it, a steep model makes more of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from discreet.errors import ArgumentError
from discreet.explain.dataflow.graph import Dataflow
from discreet.explain.dataflow.steps import Step
from discreet.mechanisms import Noise, sum_noise
from discreet.numerics import check_positive, check_probability, check_whole
from discreet.plans import share_out
from discreet.privacy.certificate import Bounds, Certificate
from discreet.privacy.relation import ADD_REMOVE, Relation, RelationName

if TYPE_CHECKING:
    import pandas as pd

NUMBER_OF_RECORDS = "number of records"
"""Under add-remove a mean needs it, so a set with a mean releases it too."""

_COUNT = Step(
    NUMBER_OF_RECORDS,
    certificate=Certificate(("sum-addremove",), 1, {ADD_REMOVE: Bounds(1.0, 1.0, 1.0)}),
    kind="sum",
)


@dataclass(frozen=True)
class StepPrice:
    """The noise on one step: its part of the promise, and how far each number is off.

    ``std`` is the standard deviation of one released number, ``share`` the same over what the number
    spans, ``values`` how many numbers there are. No noise at all: a public value is put in its place.
    """

    step: str
    epsilon: float
    delta: float
    mechanism: str
    values: int
    std: float
    share: float
    how: str


@dataclass(frozen=True)
class SetPrice:
    """What one enabling set costs; ``problem`` says why it has no price, if it has none."""

    steps: tuple[str, ...]
    parts: tuple[StepPrice, ...]
    certified: bool
    plans: tuple[str, ...]
    problem: str | None = None

    @property
    def share(self) -> float:
        """The noise of the noisiest step, as a share of what its numbers span."""
        return math.inf if self.problem else max(part.share for part in self.parts)


@dataclass(frozen=True)
class PriceList:
    """Enabling sets, the least noisy first, those without a price last."""

    flow: str
    rows: int
    epsilon: float
    delta: float
    relation: Relation
    sets: tuple[SetPrice, ...]

    @property
    def best(self) -> SetPrice | None:
        """The set with the least noise, or None if no set has a price."""
        return next((found for found in self.sets if found.problem is None), None)

    def to_frame(self) -> pd.DataFrame:
        """Return one line for each step of each set; one line for a set without a price."""
        import pandas as pd

        lines: list[dict[str, Any]] = []
        for rank, found in enumerate(self.sets, 1):
            head = {"rank": rank, "set": " + ".join(found.steps), "problem": found.problem or ""}
            lines += [head | asdict(part) for part in found.parts] or [head]
        order = ("rank", "set", *StepPrice.__dataclass_fields__, "problem")
        return pd.DataFrame(lines, columns=list(order)).astype({"values": "Int64"})

    def to_json(self) -> dict[str, Any]:
        """Return the list as plain data."""
        return asdict(self)


def price_sets(
    flow: Dataflow,
    sets: tuple[tuple[str, ...], ...],
    *,
    rows: int,
    epsilon: float,
    delta: float,
    relation: Relation | RelationName,
    weights: Mapping[str, float],
) -> PriceList:
    """Price enabling sets of a flow; see ``Dataflow.price``."""
    check_whole("rows", rows, 1)
    check_positive("epsilon", epsilon)
    check_probability("delta", delta)
    agreed = Relation(relation)
    for name, weight in weights.items():
        if name not in flow.steps and name != NUMBER_OF_RECORDS:
            raise ArgumentError(f"weights must be given for steps of the flow, got {name!r}.")
        check_positive(f"The weight of step {name!r}", weight)
    terms = _Terms(flow, rows, epsilon, delta, agreed, weights)
    priced = sorted(map(terms.price, sets), key=lambda found: (found.share, len(found.steps)))
    return PriceList(flow.name, rows, epsilon, delta, agreed, tuple(priced))


@dataclass(frozen=True)
class _Terms:
    """One promise for all sets of a flow."""

    flow: Dataflow
    rows: int
    epsilon: float
    delta: float
    relation: Relation
    weights: Mapping[str, float]

    def price(self, names: tuple[str, ...]) -> SetPrice:
        """Price one set, or say why it has no price.

        Guarantees:
          - The parts of the promise add up to no more than the whole. [enabler]
        """
        steps = [self.flow.steps[name] for name in names]
        plans = tuple(plan for plan, chosen in self.flow.plans.items() if chosen == names)
        marked = self.flow.marked(names)
        problem = next(filter(None, (self._problem(step, marked) for step in steps)), None)
        if problem:
            return SetPrice(names, (), False, plans, problem)
        certified = all(step.certificate.certified for step in steps if step.certificate)
        return SetPrice(names, self._parts(steps), certified, plans)

    def _problem(self, step: Step, marked: set[str]) -> str | None:
        """Say why a step has no price in a set from which the marked steps follow."""
        if step.certificate is None:
            return f"{step.name} has no certificate"
        if self.relation not in step.certificate.bounds:
            return f"{step.name} has no bound under {self.relation}"
        if step.kind == "records" and not self.relation.rows_public:
            return f"{step.name} has numbers for every record, whose number is private"
        missing = [name for name in step.given if name not in marked]
        if missing:
            return f"{step.name} has a bound only once {' and '.join(missing)} is released"
        return None

    def _parts(self, steps: list[Step]) -> tuple[StepPrice, ...]:
        noisy = [step for step in steps if self._moves(step)]
        if not self.relation.rows_public and any(step.kind == "mean" for step in noisy):
            noisy.append(_COUNT)
        shares = tuple(self.weights.get(step.name, 1.0) for step in noisy)
        epsilons = share_out(self.epsilon, shares) if noisy else []
        deltas = share_out(self.delta, shares) if noisy else []
        noises = {
            step.name: self._noise(step, epsilon, delta)
            for step, epsilon, delta in zip(noisy, epsilons, deltas, strict=True)
        }
        count = noises.get(NUMBER_OF_RECORDS)
        listed = [*steps, _COUNT] if count else steps
        return tuple(self._part(step, noises.get(step.name), count) for step in listed)

    def _moves(self, step: Step) -> bool:
        assert step.certificate is not None
        return step.certificate.sensitivity("linf", self.relation) > 0

    def _noise(self, step: Step, epsilon: float, delta: float) -> Noise:
        assert step.certificate is not None
        return sum_noise(
            replace(step.certificate, size=self._values(step)),
            relation=self.relation,
            epsilon=epsilon,
            delta=delta,
            largest_sum=step.width * (self.rows if step.kind in ("sum", "mean") else 1),
        )

    def _values(self, step: Step) -> int:
        assert step.size is not None
        return step.size * self.rows if step.kind == "records" else step.size

    def _part(self, step: Step, noise: Noise | None, count: Noise | None) -> StepPrice:
        values = self._values(step)
        if noise is None:
            return StepPrice(step.name, 0.0, 0.0, "none", values, 0.0, 0.0, step.how)
        std, span = noise.std, step.width
        if step.kind == "sum":
            span *= self.rows
        if step.kind == "mean":
            # First order: a mean within half a width of its centre, over a noisy number of records.
            std = math.hypot(std, step.width / 2 * (count.std if count else 0.0)) / self.rows
        return StepPrice(
            step.name, noise.epsilon, noise.delta, noise.name, values, std, std / span, step.how
        )
