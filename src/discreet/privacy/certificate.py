"""What was proven: how far one record can move an answer.

A ``Certificate`` travels with a query. It bounds, for each neighbouring relation, the change of the
query in the norms L1, L2 and Linf, and names the statements of ``docs/theory`` it rests on.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ArgumentError, CertificateError
from discreet.markup import card, soft
from discreet.numerics import check_finite, check_positive, check_whole, up
from discreet.privacy.relation import (
    ADD_REMOVE,
    GROUPED,
    PARTED,
    RELATIONS,
    REPLACE_ONE,
    Relation,
    unknown_relation,
)
from discreet.privacy.statements import statements_html, tell_sensitivity

Norm = Literal["l1", "l2", "linf"]
Grade = Literal["proven", "isolated", "probed"]
NORMS: tuple[Norm, ...] = ("l1", "l2", "linf")
GRADES: tuple[Grade, ...] = ("proven", "isolated", "probed")
"""How much is known of code that is not ours, the best first. [grades]"""

NOT_PROVEN = ", not proven"
"""How an assumption ends that belongs on the face of a guarantee."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The greatest change in each norm under one relation."""

    l1: float
    l2: float
    linf: float

    def tightened(self, size: int) -> Bounds:
        """Return the best bounds that follow for a vector of ``size`` coordinates.

        Guarantees:
          - ``linf <= l2 <= l1 <= size * linf`` and ``l2 <= sqrt(size) * linf``. [norms]
        """
        linf = min(self.linf, self.l2, self.l1)
        l1 = min(self.l1, up(size * linf), up(math.sqrt(size) * self.l2))
        l2 = min(self.l2, l1, up(math.sqrt(size) * linf), up(math.sqrt(l1) * math.sqrt(linf)))
        return Bounds(l1, max(l2, linf), linf)

    def or_else(self, other: Bounds) -> Bounds:
        """Return what holds if one or the other does."""
        return Bounds(*(max(getattr(self, norm), getattr(other, norm)) for norm in NORMS))


@lru_cache(maxsize=1024, typed=True)  # one release asks for the same ones many times
def _tight(l1: float, l2: float, linf: float, size: int) -> Bounds:
    if size == 1:  # of one number all norms are one
        return Bounds(*[min(l1, l2, linf)] * 3)
    return Bounds(l1, l2, linf).tightened(size)


@dataclass(frozen=True)
class Certificate:
    """A proven bound on how far one record moves a query with ``size`` coordinates.

    Guarantees:
      - ``sensitivity(norm, relation)`` is at least the change between any two neighbouring tables,
        under the listed assumptions. A relation that was not proven raises.
    """

    statements: tuple[str, ...]
    size: int
    bounds: Mapping[Relation, Bounds]
    assumptions: tuple[str, ...] = ()
    certified: bool = True
    grade: Grade = "proven"

    def __post_init__(self) -> None:
        check_whole("size", self.size, 1)
        for relation, bound in self.bounds.items():
            if relation not in RELATIONS:
                raise CertificateError(unknown_relation(relation))
            if not all(0 <= getattr(bound, norm) < math.inf for norm in NORMS):
                raise CertificateError(f"A bound must be finite and not negative, got {bound}.")
        tight = {
            Relation(name): _tight(b.l1, b.l2, b.linf, self.size) for name, b in self.bounds.items()
        }
        object.__setattr__(self, "bounds", MappingProxyType(tight))

    def __reduce__(self) -> tuple[Any, ...]:
        told = (self.assumptions, self.certified, self.grade)
        return Certificate, (self.statements, self.size, dict(self.bounds), *told)

    def __str__(self) -> str:
        rests = f"{', '.join(self.statements)}; {'certified' if self.certified else 'NOT certified'}"
        return f"{' '.join(self._sentences())} ({rests})"

    def __repr__(self) -> str:
        return f"Certificate({self})"

    def _repr_html_(self) -> str:
        told = [soft(f"assumes: {text}") for text in self.assumptions]
        doubt = None if self.certified else "NOT certified"
        return card(*self._sentences(), doubt, *told, statements_html(self.statements))

    def _sentences(self) -> list[str]:
        bounds = self.to_json()["bounds"]
        return [tell_sensitivity(self.size, bounds[relation], relation) for relation in bounds]

    def sensitivity(self, norm: Norm, relation: Relation) -> float:
        """Return the bound in one norm; raise if this relation was not proven."""
        if relation not in tuple(Relation):
            raise CertificateError(unknown_relation(relation))
        if norm not in NORMS:
            raise CertificateError(f"norm must be one of {', '.join(NORMS)}, got {norm!r}.")
        bounds = self._under(Relation(relation))
        if bounds is None:
            raise CertificateError(
                f"No bound under {relation} was proven for {', '.join(self.statements)}. "
                f"Use {' or '.join(self.bounds)}."
            )
        return float(getattr(bounds, norm))

    def _under(self, relation: Relation) -> Bounds | None:
        """Return the bounds under a relation, also where they follow from those between tables.

        Guarantees:
          - A record that is replaced stays in a part, comes into it or leaves it. [where]
          - It stays in its group, or leaves one and comes into another. [groups]
          - Rows that share a record add up to a mean of what single rows add. [person-weights]
        """
        relation = relation.of_rows
        found = self.bounds.get(relation)
        replaced, added = self.bounds.get(REPLACE_ONE), self.bounds.get(ADD_REMOVE)
        if found is not None or relation.of_tables or replaced is None or added is None:
            return found
        if relation is PARTED:
            return replaced.or_else(added)
        moved = Bounds(2 * added.l1, up(math.sqrt(2) * added.l2), added.linf)
        return replaced.or_else(moved)

    def in_part(self) -> Certificate:
        """Return the certificate of the same query of the records of a part, whatever part it is."""
        return self._of_some(PARTED, self.size, "where")

    def in_groups(self, groups: int) -> Certificate:
        """Return the certificate of the same query of each of disjoint groups, as one vector."""
        return self._of_some(GROUPED, groups * self.size, "groups")

    def _of_some(self, relation: Relation, size: int, statement: str) -> Certificate:
        wanted = {REPLACE_ONE: self._under(relation), ADD_REMOVE: self.bounds.get(ADD_REMOVE)}
        found = {name: bounds for name, bounds in wanted.items() if bounds is not None}
        statements = _merged(self.statements, (statement,))
        return replace(self, size=size, bounds=found, statements=statements)

    def scale(self, factor: float) -> Certificate:
        """Return the certificate of the query times a public number."""
        check_finite("factor", factor)
        return self._map(lambda b: Bounds(*(up(abs(factor) * x) for x in (b.l1, b.l2, b.linf))))

    def sum(self, other: Certificate) -> Certificate:
        """Return the certificate of the coordinate-wise sum of two queries on the same table."""
        if self.size != other.size:
            raise CertificateError(f"size must be {self.size} to add, got {other.size}.")
        return self._join(
            other,
            self.size,
            lambda a, b: Bounds(up(a.l1 + b.l1), up(a.l2 + b.l2), up(a.linf + b.linf)),
        )

    def stack(self, other: Certificate) -> Certificate:
        """Return the certificate of two queries on the same table, released as one vector."""
        return self._join(
            other,
            self.size + other.size,
            lambda a, b: Bounds(up(a.l1 + b.l1), up(math.hypot(a.l2, b.l2)), max(a.linf, b.linf)),
        )

    def restrict(self, size: int) -> Certificate:
        """Return the certificate of any ``size`` of the coordinates."""
        check_whole("size", size, 1, self.size)
        return replace(self, size=size)

    def widen(
        self, per_coordinate: float, *statements: str, together: float | None = None
    ) -> Certificate:
        """Return the certificate after every coordinate may move by ``per_coordinate`` more.

        ``together`` is how far all of them move more, added up, where that is less than each so far.
        """
        check_finite("per_coordinate", per_coordinate)
        if per_coordinate < 0:
            raise CertificateError(f"per_coordinate must not be negative, got {per_coordinate!r}.")
        if per_coordinate == 0:
            return replace(self, statements=_merged(self.statements, statements))
        extra = Bounds(
            up(self.size * per_coordinate),
            up(math.sqrt(self.size) * per_coordinate),
            per_coordinate,
        )
        if together is not None:
            extra = Bounds(min(extra.l1, together), min(extra.l2, together), min(extra.linf, together))
        grown = {
            relation: Bounds(up(b.l1 + extra.l1), up(b.l2 + extra.l2), up(b.linf + extra.linf))
            for relation, b in self.bounds.items()
        }
        return replace(self, bounds=grown, statements=_merged(self.statements, statements))

    def assume(self, *assumptions: str) -> Certificate:
        """Return the certificate with assumptions written down."""
        return replace(self, assumptions=_merged(self.assumptions, assumptions))

    def graded(self, grade: Grade, *assumptions: str) -> Certificate:
        """Return the certificate of a query that asks code which is not ours; the worse grade stays."""
        worst, told = worst_grade((self.grade, grade)), _merged(self.assumptions, assumptions)
        if (worst, told) == (self.grade, self.assumptions):
            return self
        return replace(self, grade=worst, assumptions=told)

    def to_json(self) -> dict[str, Any]:
        """Return all that was proven as plain data."""
        return {
            "statements": list(self.statements),
            "size": self.size,
            "bounds": {
                relation: {norm: getattr(bound, norm) for norm in NORMS}
                for relation, bound in self.bounds.items()
            },
            "assumptions": list(self.assumptions),
            "certified": self.certified,
            "grade": self.grade,
        }

    def _map(self, change: Any) -> Certificate:
        return replace(self, bounds={relation: change(b) for relation, b in self.bounds.items()})

    def _join(self, other: Certificate, size: int, join: Any) -> Certificate:
        shared = [relation for relation in self.bounds if relation in other.bounds]
        if not shared:
            raise CertificateError("Two certificates must share a relation to be joined.")
        return Certificate(
            statements=_merged(self.statements, other.statements),
            size=size,
            bounds={r: join(self.bounds[r], other.bounds[r]) for r in shared},
            assumptions=_merged(self.assumptions, other.assumptions),
            certified=self.certified and other.certified,
            grade=worst_grade((self.grade, other.grade)),
        )


@dataclass(frozen=True)
class Box:
    """Where one record's contribution lies: every coordinate between ``low`` and ``high``."""

    low: float
    high: float

    def __post_init__(self) -> None:
        check_finite("low", self.low)
        check_finite("high", self.high)
        if not self.low < self.high:
            raise ArgumentError(f"low must be below high, got {self.low!r} and {self.high!r}.")

    @property
    def magnitude(self) -> float:
        """The greatest absolute value of a coordinate."""
        return max(abs(self.low), abs(self.high))

    @property
    def width(self) -> float:
        """How far apart two values of a coordinate can be."""
        return self.high - self.low

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the greatest value of a coordinate."""
        return self.low, self.high

    def certify(self, size: int) -> Certificate:
        """Certify a sum of contributions.

        Guarantees:
          - Replacing a record moves each coordinate by at most ``high - low``. [mean-replace]
          - Adding or removing one moves each by at most ``max(abs(low), abs(high))``. [sum-addremove]
        """
        width = up(self.high - self.low, 1)
        return Certificate(
            ("mean-replace", "sum-addremove"),
            size,
            {
                REPLACE_ONE: _same_everywhere(width, size),
                ADD_REMOVE: _same_everywhere(self.magnitude, size),
            },
        )


@dataclass(frozen=True)
class Ball:
    """Where one record's contribution lies: within ``radius`` of zero in ``norm``."""

    radius: float
    norm: Norm

    def __post_init__(self) -> None:
        check_positive("radius", self.radius)
        if self.norm not in NORMS:
            raise CertificateError(f"norm must be one of {', '.join(NORMS)}, got {self.norm!r}.")

    @property
    def magnitude(self) -> float:
        """The greatest absolute value of a coordinate."""
        return self.radius

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the greatest value of a coordinate."""
        return -self.radius, self.radius

    def clip(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return rows shrunk towards zero until they are in the ball."""
        order = {"l1": 1, "l2": 2, "linf": np.inf}[self.norm]
        # Measured in units of a row's greatest coordinate: squares of great ones would overflow (and
        # warn, which would tell of the row), squares of small ones would vanish.
        peaks = np.maximum(np.abs(values).max(axis=1, keepdims=True), 1e-300)
        lengths = np.linalg.norm(values / peaks, ord=order, axis=1, keepdims=True)
        # A hair below the radius, so that a float norm rounded down cannot let a row stick out.
        room = self.radius * (1 - 1e-12) / np.maximum(lengths, 1.0)
        return np.asarray(values * (room / np.maximum(peaks, room)))

    def certify(self, size: int) -> Certificate:
        """Certify a sum of contributions.

        Guarantees:
          - Replacing a record moves the sum by at most ``2 * radius`` in the norm. [mean-replace]
          - Adding or removing one moves it by at most ``radius``. [sum-addremove]
        """
        return Certificate(
            ("mean-replace", "sum-addremove"),
            size,
            {
                REPLACE_ONE: _ball_bounds(2 * self.radius, self.norm, size),
                ADD_REMOVE: _ball_bounds(self.radius, self.norm, size),
            },
        )


def certify_cells(size: int) -> Certificate:
    """Certify counts of cells of which every record is in exactly one.

    Guarantees:
      - Replacing a record moves two counts by one: L1 2, L2 sqrt 2, Linf 1. [histogram]
      - Adding or removing one moves a single count by one: 1 in every norm. [histogram]
    """
    return Certificate(
        ("histogram",),
        size,
        {
            REPLACE_ONE: Bounds(2.0, up(math.sqrt(2.0), 1), 1.0),
            ADD_REMOVE: Bounds(1.0, 1.0, 1.0),
        },
    )


def worst_grade(grades: Iterable[Grade]) -> Grade:
    """Return what holds of all together; proven if there are none."""
    return max(grades, key=GRADES.index, default="proven")


def _same_everywhere(bound: float, size: int) -> Bounds:
    check_whole("size", size, 1)
    return Bounds(up(size * bound), up(math.sqrt(size) * bound), bound)


def _ball_bounds(radius: float, norm: Norm, size: int) -> Bounds:
    check_whole("size", size, 1)
    if norm == "linf":
        return _same_everywhere(radius, size)
    return Bounds(radius if norm == "l1" else up(math.sqrt(size) * radius), radius, radius)


def _merged(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first, *second)))
