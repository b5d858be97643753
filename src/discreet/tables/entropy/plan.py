"""Private entropies of columns, conditional entropies, and mutual information."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from discreet.arguments import as_list, as_names
from discreet.errors import ArgumentError
from discreet.mechanisms import NoiseName
from discreet.numerics import check_choice
from discreet.plans import Plan, Program, Releaser, Setting
from discreet.plans.expected import GREATEST, Expected
from discreet.plans.stages import partition, plain_bins
from discreet.schema import Bins
from discreet.tables.entropy.counted import counted_route, direct_above_route
from discreet.tables.entropy.routes import (
    LEVEL,
    MOST_REHEARSED,
    REFERENCE_ROWS,
    Budget,
    Route,
    choose_route,
    direct_route,
    histogram_route,
    narrowed_route,
)
from discreet.tables.entropy.values import Measure, Quantity
from discreet.tables.results import Scalar

Base = Literal["bits", "nats"]
Method = Literal["auto", "direct", "narrowed", "histogram"]
METHODS = ("auto", "direct", "narrowed", "histogram")

_GREATEST_ORDER = 1_000.0
_NEAREST_TO_ONE = 1e-3

_BAND = 2.12
"""Standard deviations that hold 95 % of Laplace noise, and more of Gaussian noise."""


class MeasurePlan(Plan):
    """What the plans of this module share: cells, a measure of them, a choice of routes."""

    def __init__(
        self,
        groups: tuple[tuple[str, ...], ...],
        bins: int | dict[str, int],
        base: Base,
        method: Method,
        epsilon: float,
        delta: float,
        mechanism: NoiseName,
    ) -> None:
        super().__init__(epsilon, delta)
        named = [name for group in groups for name in group]
        if not all(groups) or len(set(named)) < len(named):
            raise ArgumentError(f"columns must be one or more different names, got {named!r}.")
        check_choice("base", base, ("bits", "nats"))
        check_choice("method", method, METHODS)
        check_choice("mechanism", mechanism, ("auto", "laplace", "gaussian"))
        self.groups, self.bins, self.base, self.method = groups, bins, base, method
        self.mechanism = mechanism

    @abstractmethod
    def measure(self, sizes: tuple[int, ...]) -> Measure:
        """Return what is measured of cells, so many per group of columns."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What the number is called."""

    def prepare(self, setting: Setting) -> Program:
        """Lay out the cells, compare the routes by public facts and calibrate the one taken."""
        cells = partition(setting, [name for group in self.groups for name in group], self.bins)
        sizes = tuple(math.prod(len(cells[name]) for name in group) for group in self.groups)
        measure = self.measure(sizes)
        if measure.cells < 2:
            raise ArgumentError("columns must have at least two cells together, got one.")
        routes = self._routes(cells, measure, setting)
        route = choose_route(routes) if self.method == "auto" else routes[0]
        nats = math.log(2) if self.base == "bits" else 1.0
        known = tuple((each.name, each.worst) for each in routes)

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
        nats = math.log(2) if self.base == "bits" else 1.0
        band, size = _BAND * route.std / nats, measure.greatest / nats
        if setting.rows is None:
            return Expected(band * REFERENCE_ROWS, size, GREATEST, unknown="noise")
        return Expected(band, size, GREATEST)

    def _routes(self, cells: dict[str, Bins], measure: Measure, setting: Setting) -> list[Route]:
        """Return the route asked for, or all that there are."""
        budget = Budget(self.epsilon, self.delta, self.mechanism)
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
        if self.method == "auto" and setting.rows is None and counted and self.delta == 0:
            return [counted_route(cells, measure, setting, budget)]
        makers = {"direct": direct_above_route if setting.rows is None else direct_route}
        if narrow:
            makers["narrowed"] = narrowed_route
        if counted:
            makers["histogram"] = histogram_route
        asked = makers if self.method == "auto" else (self.method,)
        return [makers[name](cells, measure, setting, budget) for name in asked]


class EntropyPlan(MeasurePlan):
    """See ``entropy``."""

    kind = "entropy"

    def __init__(
        self,
        columns: tuple[str, ...],
        given: tuple[str, ...],
        order: float,
        bins: int | dict[str, int],
        base: Base,
        method: Method,
        epsilon: float,
        delta: float,
        mechanism: NoiseName,
    ) -> None:
        groups = (given, columns) if given else (columns,)
        super().__init__(groups, bins, base, method, epsilon, delta, mechanism)
        self.columns, self.given, self.order = columns, given, _checked(order)
        if given and self.order != 1:
            raise ArgumentError(f"order must be 1 for a conditional entropy, got {order!r}.")

    def arguments(self) -> dict[str, Any]:
        """Return the question as plain data."""
        return {
            "columns": list(self.columns),
            "given": list(self.given),
            "order": "inf" if math.isinf(self.order) else self.order,
            "bins": self.bins,
            "base": self.base,
            "method": self.method,
            "mechanism": self.mechanism,
        }

    def measure(self, sizes: tuple[int, ...]) -> Measure:
        """Return the entropy of the cells, or of those of the columns given the others."""
        quantity: Quantity = "conditional entropy" if self.given else "entropy"
        return Measure(quantity, sizes, self.order)

    @property
    def name(self) -> str:
        """Name the columns, what is given, and the order if it is not Shannon's."""
        kind = "min-entropy" if math.isinf(self.order) else "entropy"
        order = f" of order {self.order:g}" if self.order != 1 and kind == "entropy" else ""
        given = f" given {', '.join(self.given)}" if self.given else ""
        return f"{kind}{order} of {', '.join(self.columns)}{given}"


class MutualInformationPlan(MeasurePlan):
    """See ``mutual_information``."""

    kind = "mutual_information"

    def arguments(self) -> dict[str, Any]:
        """Return the question as plain data."""
        return {
            "columns": [list(group) for group in self.groups],
            "bins": self.bins,
            "base": self.base,
            "method": self.method,
            "mechanism": self.mechanism,
        }

    def measure(self, sizes: tuple[int, ...]) -> Measure:
        """Return the mutual information of the two groups of columns."""
        return Measure("mutual information", sizes)

    @property
    def name(self) -> str:
        """Name both groups."""
        first, second = (", ".join(group) for group in self.groups)
        return f"mutual information of {first} and {second}"


def entropy(
    columns: str | Sequence[str],
    *,
    given: str | Sequence[str] = (),
    order: float = 1.0,
    bins: int | Mapping[str, int] = 20,
    base: Base = "bits",
    method: Method = "auto",
    epsilon: float,
    delta: float = 0.0,
    mechanism: NoiseName = "auto",
) -> EntropyPlan:
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
      mechanism: ``laplace``, ``gaussian``, or ``auto``: the one with less noise.

    Guarantees:
      - Noise is calibrated to the exact change one record can make. [entropy-shannon] [entropy-renyi]
        [entropy-joint] [entropy-narrowed]
      - Under add-remove a number of records is released first, and no table is left out.
        [entropy-add-remove]

    >>> entropy("age", epsilon=0.5).name, entropy("age", given="job", epsilon=0.5).name
    ('entropy of age', 'entropy of age given job')
    """
    return EntropyPlan(
        as_names("columns", columns),
        as_names("given", given) if isinstance(given, str) or len(as_list("given", given)) else (),
        order,
        plain_bins(bins),
        base,
        method,
        epsilon,
        delta,
        mechanism,
    )


def mutual_information(
    first: str | Sequence[str],
    second: str | Sequence[str],
    *,
    bins: int | Mapping[str, int] = 20,
    base: Base = "bits",
    method: Literal["auto", "direct", "histogram"] = "auto",
    epsilon: float,
    delta: float = 0.0,
    mechanism: NoiseName = "auto",
) -> MutualInformationPlan:
    """Plan how much one column (or several) tells of another, in Shannon's measure.

    Args:
      first: one column or several.
      second: others.
      bins: cells per numeric column, as in ``histogram``.
      base: ``bits`` or ``nats``.
      method: ``direct``, ``histogram`` or ``auto``; see ``entropy``.
      epsilon: the whole budget of the plan.
      delta: zero for a pure guarantee.
      mechanism: ``laplace``, ``gaussian``, or ``auto``: the one with less noise.

    Guarantees:
      - Noise is calibrated to what one record can change, two thirds of three entropies' changes.
        [entropy-joint]

    >>> mutual_information("age", "job", epsilon=0.5).name
    'mutual information of age and job'
    """
    groups = as_names("first", first), as_names("second", second)
    return MutualInformationPlan(groups, plain_bins(bins), base, method, epsilon, delta, mechanism)


def _checked(order: object) -> float:
    """Return the order, unless floats could not tell it from 1 or from infinity."""
    number = float(order) if isinstance(order, int | float) and not isinstance(order, bool) else -1.0
    near_one = number != 1 and abs(number - 1) < _NEAREST_TO_ONE
    if not number > 0 or near_one or _GREATEST_ORDER < number < math.inf:
        raise ArgumentError(
            f"order must be 1, infinite, or positive, at most {_GREATEST_ORDER:g} and not within "
            f"{_NEAREST_TO_ONE:g} of 1, got {order!r}. Take 1 or float('inf') instead."
        )
    return number


def _reason(asked: str, compared: tuple[tuple[str, float], ...], *, late: bool) -> str:
    if asked != "auto":
        return "asked for"
    errors = ", ".join(f"{name} {error:.3g}" for name, error in compared)
    if late:
        return f"mean error on the worst public table with the released number of records: {errors}"
    return f"mean error on the worst public table: {errors}; within a fifth, the best on an even table"
