"""The share of records that have one of some values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import shown
from discreet.data import CellContribution
from discreet.data.blocks import Block
from discreet.errors import ArgumentError
from discreet.mechanisms import count_noise
from discreet.plans import Expected, Program, Releaser, Setting, Stage
from discreet.plans.expected import RECORDS, Unknown
from discreet.plans.kinds import UNSAID, Column, Delta, Epsilon, NoiseChoice, Values
from discreet.plans.parts import PartPlan
from discreet.plans.results.bands import LEVEL
from discreet.plans.results.statistic import Statistic
from discreet.plans.stages.parts import has_value
from discreet.schema import Category, Number, Schema
from discreet.statistics.bounds import known_rows
from discreet.statistics.estimates import NoisyNumber, records_within, within
from discreet.statistics.shares import noisy_share


def _values(name: str, given: Any) -> tuple[Any, ...]:
    listed = tuple(given) if isinstance(given, list | tuple | np.ndarray) else (given,)
    plain = tuple(one.item() if isinstance(one, np.generic) else one for one in listed)
    if not plain or any(not isinstance(one, str | bool | int | float) for one in plain):
        raise ArgumentError(f"{name} must be a value of the column or several, got {shown(given)}.")
    return plain


class proportion(PartPlan):
    """Plan the share of records with one of the given values, among those that have a value.

    Args:
      column: a column.
      values: the value that is looked for, or several of them.
      epsilon: the whole budget of the plan.
      delta: zero for a pure guarantee.
      mechanism: ``laplace``, ``gaussian``, ``linf``, or ``auto``: the one with less noise.

    Guarantees:
      - Where the number of records is public the count of those with the values is all that is noisy,
        and one record moves it by one. [part]
      - Where it is private, or values may be missing, those with other values are counted as well.
        [histogram] [part]
      - Noise is discrete and exact on the whole counts. [laplace] [gauss-counts]

    >>> proportion("home", "rent", epsilon=0.2)
    proportion(column='home', values=['rent'], mechanism='auto', epsilon=0.2)
    """

    column: Annotated[str, Column()]
    values: Annotated[Any, Values(by=_values)]
    _: KW_ONLY
    epsilon: Epsilon = UNSAID
    delta: Delta = 0.0
    mechanism: NoiseChoice = "auto"

    def prepare_whole(self, setting: Setting) -> Program:
        """Calibrate noise on one count, or on two."""
        rows, column = known_rows(setting, (self.column,)), setting.schema[self.column]
        found, size = _codes(setting.schema, self.column, self.values), 1 if rows is not None else 2

        def cells(block: Block) -> NDArray[np.int64]:
            encoded = block[self.column]
            other = np.where(has_value(column, encoded) & (size == 2), 1, -1)
            return np.where(np.isin(encoded, found), 0, other)

        contribution = CellContribution((self.column,), size, cells)
        noise = count_noise(
            contribution.certificate,
            relation=setting.relation,
            epsilon=self.epsilon,
            delta=self.delta,
            mechanism=self.mechanism,
        )
        stage = Stage("records with the values", contribution, noise)

        def finish(releaser: Releaser) -> Statistic:
            (noisy,) = releaser.answer(stage)
            if rows is None:
                share = noisy_share(noisy, noise, LEVEL)
            else:
                inside = within(float(noisy[0]) / rows, noise.half_width(LEVEL) / rows, (0.0, 1.0))
                share = NoisyNumber(*inside, noise.std / rows, float(rows))
            return share.estimate(self._name(), noise.name, ends=(0.0, 1.0), column=self.column)

        unknown: Unknown = None if setting.rows else "noise"
        half = noise.half_width(LEVEL) / (setting.rows or 1)
        error = Expected(half, 1.0, RECORDS, unknown=unknown)
        sized = None if rows else records_within(noise, 2)
        return Program((stage,), finish, {"proportion": error}, sized=sized)

    def _name(self) -> str:
        told = " or ".join(str(value) for value in self.values)
        return f"share of {told} in {self.column}"


def _codes(schema: Schema, name: str, values: Sequence[Any]) -> NDArray[np.float64]:
    """Return the encoded values, or raise for one that the schema does not know."""
    column = schema[name]
    if isinstance(column, Category):
        known = {str(value): code for code, value in enumerate(column.values)}
        strange = [value for value in values if str(value) not in known]
        if strange:
            raise ArgumentError(
                f"values must be among those of {name!r}, got {shown(strange[0])}. It has "
                f"{', '.join(list(known)[:10])}{' ...' if len(known) > 10 else ''}."
            )
        return np.array([known[str(value)] for value in values], dtype=np.float64)
    return _numbers(column, name, values)


def _numbers(column: Number, name: str, values: Sequence[Any]) -> NDArray[np.float64]:
    given = column.numbers(np.array(values, dtype=object))
    outside = [
        value
        for value, number in zip(values, given.tolist(), strict=True)
        if not column.low <= number <= column.high
    ]
    if outside:
        raise ArgumentError(
            f"values must lie in the bounds of {name!r}, {column.show(column.low)} to "
            f"{column.show(column.high)}, got {shown(outside[0])}."
        )
    return column.encode(np.array(values, dtype=object))
