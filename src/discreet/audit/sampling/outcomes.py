"""What mechanisms return, as numbers and kinds, so that two sides can be compared.

An outcome has a kind, anything that can be compared (a text, the shape of an array, the place of a
missing value in a record), and a vector of numbers, NaN where it has none. NaN is an outcome like any
other: it is a value of its own and equals itself. Whatever is made of outcomes here is post-processing,
so a bound on the loss of what comes out holds for the mechanism.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Complex, Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import shown
from discreet.errors import ArgumentError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_LARGEST = 1e300
_DEEPEST = 20
_WHOLE = 2**53
"""Greater whole numbers are not all floats: their last digits are looked at apart."""


@dataclass(frozen=True)
class Outcomes:
    """Outcomes of many runs.

    Args:
      values: runs x numbers; infinities are great numbers, what is missing is NaN.
      kinds: the kind of every run's outcome, by its number.
      names: of the kinds.
    """

    values: FloatArray
    kinds: IntArray
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.kinds)

    def __getitem__(self, runs: slice) -> Outcomes:
        return Outcomes(self.values[runs], self.kinds[runs], self.names)

    @property
    def width(self) -> int:
        """How many numbers an outcome has at most."""
        return int(self.values.shape[1])

    def all_equal(self, other: Outcomes) -> bool:
        """Say whether these outcomes and the others are one and the same."""
        sides = (self, other)
        kinds = all(np.all(side.kinds == self.kinds[0]) for side in sides)
        return kinds and all(
            bool(
                np.all(
                    (side.values == self.values[0]) | (np.isnan(side.values) & np.isnan(self.values[0]))
                )
            )
            for side in sides
        )


def outcomes_of(first: Sequence[Any], second: Sequence[Any]) -> tuple[Outcomes, Outcomes]:
    """Return the outcomes of two sides, numbered alike.

    Args:
      first: what the mechanism returned for one table, run by run: numbers, arrays, texts, None, or
        lists, tuples, mappings and data classes of them.
      second: the same for the other.
    """
    both = _plain_numbers(first), _plain_numbers(second)
    if both[0] is not None and both[1] is not None and both[0].shape[1] == both[1].shape[1]:
        return _numbers_alone(both[0]), _numbers_alone(both[1])
    known: dict[Hashable, int] = {}
    parts = [[_taken_apart(outcome) for outcome in side] for side in (first, second)]
    width = max((len(numbers) for side in parts for _, numbers in side), default=0)
    numbered = [_numbered(side, width, known) for side in parts]
    names = tuple(str(kind)[:60] for kind in known)
    return Outcomes(*numbered[0], names), Outcomes(*numbered[1], names)


def _plain_numbers(side: Sequence[Any]) -> FloatArray | None:
    """Return runs x numbers if all runs have equally many, None if it takes a closer look."""
    try:
        array = np.asarray(side)
    except ValueError:  # shapes vary
        return None
    if array.dtype.kind not in "iufb" or (len(side) and array.size == 0):
        return None
    if array.dtype.kind in "iu" and _beyond_floats(array):
        return None
    # A list of texts and numbers would have been made texts; numbers and arrays are what they were.
    return array.reshape(len(side), -1).astype(np.float64)


def _numbers_alone(values: FloatArray) -> Outcomes:
    return Outcomes(_bounded(values), np.zeros(len(values), dtype=np.int64), ("a number",))


def _bounded(values: FloatArray) -> FloatArray:
    """Return values with infinities as great numbers, which can be sorted and learned from."""
    return np.clip(values, -_LARGEST, _LARGEST)


def _numbered(
    parts: list[tuple[Hashable, list[float]]], width: int, known: dict[Hashable, int]
) -> tuple[FloatArray, IntArray]:
    values = np.full((len(parts), width), np.nan)
    kinds = np.empty(len(parts), dtype=np.int64)
    for run, (kind, numbers) in enumerate(parts):
        kinds[run] = known.setdefault(kind, len(known))
        values[run, : len(numbers)] = numbers
    return _bounded(values), kinds


def _taken_apart(outcome: Any) -> tuple[Hashable, list[float]]:
    """Return the kind of an outcome and its numbers, in order."""
    numbers: list[float] = []
    return _kind(outcome, numbers, 0), numbers


def _kind(outcome: Any, numbers: list[float], depth: int) -> Hashable:
    """Return the kind of what is left when numbers are taken out."""
    if depth > _DEEPEST:
        raise ArgumentError("mechanism must return what is nested less than 20 deep. Use score=.")
    if isinstance(outcome, np.ndarray | np.generic):
        return _kind_of_array(np.asarray(outcome), numbers, depth)
    if isinstance(outcome, Integral) and abs(int(outcome)) > _WHOLE:
        last = (int(outcome) + _WHOLE // 2) % _WHOLE - _WHOLE // 2
        numbers.extend([_as_float(outcome), float(last)])
        return "a large whole number"
    if isinstance(outcome, bool | Real):
        numbers.append(_as_float(outcome))
        return "a number"
    if isinstance(outcome, Complex):
        whole = complex(outcome)
        numbers.extend([whole.real, whole.imag])
        return "a complex number"
    if outcome is None or isinstance(outcome, str | bytes):
        return outcome
    if dataclasses.is_dataclass(outcome) and not isinstance(outcome, type):
        fields = [getattr(outcome, field.name) for field in dataclasses.fields(outcome)]
        return (type(outcome).__name__, *(_kind(part, numbers, depth + 1) for part in fields))
    return _kind_of_many(outcome, numbers, depth)


def _beyond_floats(array: NDArray[Any]) -> bool:
    return bool(array.size and max(abs(int(array.min())), int(array.max())) > _WHOLE)


def _as_float(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:
        return _LARGEST if number > 0 else -_LARGEST


def _kind_of_array(array: NDArray[Any], numbers: list[float], depth: int) -> Hashable:
    if array.dtype.kind in "iufb" and not (array.dtype.kind in "iu" and _beyond_floats(array)):
        numbers.extend(array.astype(np.float64).ravel().tolist())
        return "a number" if array.ndim == 0 else ("an array of shape", array.shape)
    return _kind(array.tolist(), numbers, depth + 1)


def _kind_of_many(outcome: Any, numbers: list[float], depth: int) -> Hashable:
    if isinstance(outcome, Mapping):
        entries = sorted(outcome.items(), key=lambda entry: repr(entry[0]))
        return tuple((repr(name), _kind(part, numbers, depth + 1)) for name, part in entries)
    if isinstance(outcome, list | tuple):
        return tuple(_kind(part, numbers, depth + 1) for part in outcome)
    if isinstance(outcome, set | frozenset):
        return frozenset(map(repr, outcome))
    if hasattr(outcome, "to_numpy"):
        return _kind_of_array(np.asarray(outcome.to_numpy()), numbers, depth)
    if isinstance(outcome, Iterable) or not _compares_by_value(outcome):
        raise ArgumentError(
            "mechanism must return numbers, arrays, texts, or lists, mappings and data classes of "
            f"them, got {shown(outcome)}. Give score=, a function that makes numbers of an outcome."
        )
    return (type(outcome).__name__, outcome)


def _compares_by_value(outcome: Any) -> bool:
    """Say whether equal outcomes are known as such; plain objects equal only themselves."""
    return isinstance(outcome, Hashable) and type(outcome).__eq__ is not object.__eq__
