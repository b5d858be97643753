"""Private entropies of columns, conditional entropies, and mutual information."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, ClassVar, Literal, get_args

from discreet.errors import ArgumentError
from discreet.numerics import check_choice
from discreet.plans import Program, Releaser, Setting
from discreet.plans.declaration import DeclaredPlan
from discreet.plans.expected import GREATEST, Expected
from discreet.plans.kinds import UNSAID, Columns, Delta, Epsilon, NoiseChoice, OneOf, RealNumber
from discreet.plans.results.bands import LEVEL
from discreet.plans.results.scalar import Scalar
from discreet.plans.stages import partition
from discreet.plans.stages.counts import BinCounts
from discreet.schema import Bins
from discreet.tables.entropy.routes import (
    MOST_REHEARSED,
    REFERENCE_ROWS,
    Budget,
    Route,
    choose_route,
    counted_route,
    direct_above_route,
    direct_route,
    histogram_route,
    narrowed_route,
)
from discreet.tables.entropy.values import Measure, Quantity

Base = Literal["bits", "nats"]
Method = Literal["auto", "direct", "narrowed", "histogram"]
JointMethod = Literal["auto", "direct", "histogram"]

_GREATEST_ORDER = 1_000.0
_NEAREST_TO_ONE = 1e-3

_BAND = 2.12
"""Standard deviations that hold 95 % of Laplace noise, and more of Gaussian noise."""


def _order(name: str, order: Any) -> float:
    """Return the order, unless floats could not tell it from 1 or from infinity."""
    number = float(order) if isinstance(order, int | float) and not isinstance(order, bool) else -1.0
    near_one = number != 1 and abs(number - 1) < _NEAREST_TO_ONE
    if not number > 0 or near_one or _GREATEST_ORDER < number < math.inf:
        raise ArgumentError(
            f"{name} must be 1, infinite, or positive, at most {_GREATEST_ORDER:g} and not within "
            f"{_NEAREST_TO_ONE:g} of 1, got {order!r}. Take 1 or float('inf') instead."
        )
    return number


def _method(name: str, method: Any) -> str:
    # One that entropies alone know is refused later, by a sentence that says what it is for.
    check_choice(name, method, get_args(Method))
    return str(method)


Unit = Annotated[Base, OneOf(get_args(Base))]


class entropy(DeclaredPlan):
    """Plan the entropy of a column's values, or of the combinations of several.

    Args:
      columns: one column or several, whose cells are combined.
      given: other columns; then the conditional entropy H(columns | given), for order 1.
      order: of the Rényi entropy: 1 is Shannon's, ``float("inf")`` the min-entropy.
      bins: cells per numeric column, as in ``histogram``; their number is part of the question.
      base: ``bits`` or ``nats``.
      method: ``direct``, noise on the number itself; ``narrowed``, the same after a tenth of epsilon
        told in which range the counts lie; ``histogram``, the entropy of noisy counts, freed of its
        bias; or ``auto``: by errors on public tables, under add-remove of as many records as a tenth
        of epsilon told.
      epsilon: the whole budget of the plan.
      delta: zero for a pure guarantee.
      mechanism: ``laplace``, ``gaussian``, ``linf``, or ``auto``: the one with less noise.

    Guarantees:
      - Noise is calibrated to the exact change one record can make. [entropy-shannon] [entropy-renyi]
        [entropy-joint] [entropy-narrowed]
      - Under add-remove a number of records is released first, and no table is left out.
        [entropy-add-remove]

    >>> entropy("age", epsilon=0.5).name, entropy("age", given="job", epsilon=0.5).name
    ('entropy of age', 'entropy of age given job')
    """

    columns: Annotated[str | Sequence[str], Columns()]
    _: KW_ONLY
    given: Annotated[str | Sequence[str], Columns(empty=True)] = ()
    order: Annotated[float, RealNumber(by=_order)] = 1.0
    bins: BinCounts = 20
    base: Unit = "bits"
    method: Annotated[Method, OneOf(get_args(Method))] = "auto"
    epsilon: Epsilon = UNSAID
    delta: Delta = 0.0
    mechanism: NoiseChoice = "auto"

    whole_only: ClassVar = "Its bounds are those of all records; ask dc.histogram(..., where=...)."

    def settle(self) -> dict[str, Any]:
        """Check that columns differ, and that what is given goes with the order."""
        _check_different(self.given, self.columns)
        if self.given and self.order != 1:
            raise ArgumentError(f"order must be 1 for a conditional entropy, got {self.order!r}.")
        return {}

    @property
    def name(self) -> str:
        """Name the columns, what is given, and the order if it is not Shannon's."""
        kind = "min-entropy" if math.isinf(self.order) else "entropy"
        order = f" of order {self.order:g}" if self.order != 1 and kind == "entropy" else ""
        given = f" given {', '.join(self.given)}" if self.given else ""
        return f"{kind}{order} of {', '.join(self.columns)}{given}"

    def prepare(self, setting: Setting) -> Program:
        """Measure the cells of the columns, or of those given the others."""
        measured = MeasuredCells(
            self.name,
            "conditional entropy" if self.given else "entropy",
            (tuple(self.given), tuple(self.columns)) if self.given else (tuple(self.columns),),
            self.bins,
            self.base,
            self.method,
            Budget(self.epsilon, self.delta, self.mechanism),
            self.order,
        )
        return measured.program(setting)


class mutual_information(DeclaredPlan):
    """Plan the mutual information of columns: how much one, or several, tell about another.

    Args:
      first: one column or several.
      second: others.
      bins: cells per numeric column, as in ``histogram``.
      base: ``bits`` or ``nats``.
      method: ``direct``, ``histogram`` or ``auto``; see ``entropy``.
      epsilon: the whole budget of the plan.
      delta: zero for a pure guarantee.
      mechanism: ``laplace``, ``gaussian``, ``linf``, or ``auto``: the one with less noise.

    Guarantees:
      - Noise is calibrated to what one record can change, two thirds of three entropies' changes.
        [entropy-joint]

    >>> mutual_information("age", "job", epsilon=0.5).name
    'mutual information of age and job'
    """

    first: Annotated[str | Sequence[str], Columns()]
    second: Annotated[str | Sequence[str], Columns()]
    _: KW_ONLY
    bins: BinCounts = 20
    base: Unit = "bits"
    method: Annotated[JointMethod, OneOf(get_args(JointMethod), by=_method)] = "auto"
    epsilon: Epsilon = UNSAID
    delta: Delta = 0.0
    mechanism: NoiseChoice = "auto"

    whole_only: ClassVar = "Its bounds are those of all records; ask dc.histogram(..., where=...)."

    def settle(self) -> dict[str, Any]:
        """Check that columns differ."""
        _check_different(self.first, self.second)
        return {}

    @property
    def name(self) -> str:
        """Name both groups."""
        return f"mutual information of {', '.join(self.first)} and {', '.join(self.second)}"

    def prepare(self, setting: Setting) -> Program:
        """Measure the cells of both groups of columns."""
        measured = MeasuredCells(
            self.name,
            "mutual information",
            (tuple(self.first), tuple(self.second)),
            self.bins,
            self.base,
            self.method,
            Budget(self.epsilon, self.delta, self.mechanism),
        )
        return measured.program(setting)


@dataclass(frozen=True)
class MeasuredCells:
    """A measure of the cells of groups of columns, for a budget: what both plans come to.

    Args:
      name: what the number is called.
      quantity: what is measured.
      groups: columns whose cells make one axis each.
      bins: cells per numeric column.
      base: the number's unit.
      method: the route asked for, or ``auto``.
      budget: what it may cost, and which noise it gets.
      order: of the Rényi entropy.
    """

    name: str
    quantity: Quantity
    groups: tuple[tuple[str, ...], ...]
    bins: int | Mapping[str, int]
    base: Base
    method: Method
    budget: Budget
    order: float = 1.0

    def program(self, setting: Setting) -> Program:
        """Lay out the cells, compare the routes by public facts and calibrate the one taken."""
        cells = partition(setting, [name for group in self.groups for name in group], self.bins)
        sizes = tuple(math.prod(len(cells[name]) for name in group) for group in self.groups)
        measure = Measure(self.quantity, sizes, self.order)
        if measure.cells < 2:
            raise ArgumentError("columns must have at least two cells together, got one.")
        routes = self._routes(cells, measure, setting)
        route = choose_route(routes) if self.method == "auto" else routes[0]
        nats, known = self._nats, tuple((each.name, each.worst) for each in routes)

        def finish(releaser: Releaser) -> Scalar:
            found = route.answer(releaser)
            compared = tuple((name, error / nats) for name, error in found.compared or known)
            return Scalar(
                name=self.name,
                value=min(max(found.value, 0.0), measure.greatest) / nats,
                half_width=found.half_width / nats,
                level=LEVEL,
                noise_std=found.std / nats,
                unit=self.base,
                range=(0.0, measure.greatest / nats),
                method=found.method or route.name,
                why=_reason(self.method, compared, late=bool(found.method)),
                compared=compared,
            )

        return Program(
            route.stages, finish, {f"{self.name}, {self.base}": self._expect(route, measure, setting)}
        )

    def _expect(self, route: Route, measure: Measure, setting: Setting) -> Expected:
        """Return how far the number is off; with a private n about as one over it."""
        band, size = _BAND * route.std / self._nats, measure.greatest / self._nats
        if setting.rows is None:
            return Expected(band * REFERENCE_ROWS, size, GREATEST, unknown="noise")
        return Expected(band, size, GREATEST)

    def _routes(self, cells: dict[str, Bins], measure: Measure, setting: Setting) -> list[Route]:
        """Return the route asked for, or all that there are."""
        narrow = measure.quantity == "entropy" and measure.order == 1 and setting.rows is not None
        counted = measure.cells <= MOST_REHEARSED
        if self.method == "narrowed" and not narrow:
            raise ArgumentError(
                "method must be 'direct' or 'histogram' but for Shannon's entropy under replace-one, "
                "got 'narrowed'."
            )
        if self.method == "histogram" and not counted:
            raise ArgumentError(
                f"columns must have at most {MOST_REHEARSED} cells together for method='histogram', "
                f"got {measure.cells}. Use method='direct'."
            )
        if self.method == "auto" and setting.rows is None and counted and self.budget.delta == 0:
            return [counted_route(cells, measure, setting, self.budget)]
        makers = {"direct": direct_above_route if setting.rows is None else direct_route}
        if narrow:
            makers["narrowed"] = narrowed_route
        if counted:
            makers["histogram"] = histogram_route
        asked = makers if self.method == "auto" else (self.method,)
        return [makers[name](cells, measure, setting, self.budget) for name in asked]

    @property
    def _nats(self) -> float:
        """The number of nats in a unit."""
        return math.log(2) if self.base == "bits" else 1.0


def _check_different(*groups: Sequence[str]) -> None:
    named = [name for group in groups for name in group]
    if len(set(named)) < len(named):
        raise ArgumentError(f"columns must be one or more different names, got {named!r}.")


def _reason(asked: str, compared: tuple[tuple[str, float], ...], *, late: bool) -> str:
    if asked != "auto":
        return "asked for"
    errors = ", ".join(f"{name} {error:.3g}" for name, error in compared)
    if late:
        return f"mean error on the worst public table with the released number of records: {errors}"
    return f"mean error on the worst public table: {errors}; within a fifth, the best on an even table"
