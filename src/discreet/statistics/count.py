"""The number of records: free where it is public, noisy where it is not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from discreet.data import CellContribution
from discreet.data.blocks import Block
from discreet.errors import ArgumentError
from discreet.mechanisms import count_noise
from discreet.numerics import check_positive
from discreet.plans import Expected, Program, Releaser, Setting, Stage
from discreet.plans.expected import RECORDS, of_count
from discreet.plans.kinds import Columns, Delta, NoiseChoice, Positive
from discreet.plans.parts import PartPlan
from discreet.plans.results.bands import LEVEL
from discreet.plans.results.statistic import Statistic
from discreet.plans.stages.parts import in_part
from discreet.statistics.bounds import known_rows
from discreet.statistics.estimates import counted


def _budget(name: str, value: Any) -> float:
    """Return a budget; zero stands for none."""
    if value == 0 and not isinstance(value, bool):
        return 0.0
    check_positive(name, value, "Leave it out where the number of records is public.")
    return float(value)


class count(PartPlan):
    """Plan the number of records, or of those that have a value.

    Args:
      columns: count the records that have a value of all these columns; left out: all records.
      epsilon: the whole budget of the plan. It may be left out, and nothing of it is charged, where the
        number is public: under replace-one for all records, or columns that never lack a value.
      delta: zero for a pure guarantee.
      mechanism: ``laplace``, ``gaussian``, ``linf``, or ``auto``: the one with less noise.

    Guarantees:
      - Under replace-one all neighbours have as many records: their number is public. [public-size]
      - A record that comes, goes or is replaced moves the number of a part by at most one. [part]
      - Noise is discrete and exact on the whole count. [laplace] [gauss-counts]

    >>> count("income", epsilon=0.1)
    count(columns=['income'], mechanism='auto', epsilon=0.1)
    """

    columns: Annotated[str | Sequence[str], Columns(empty=True)] = ()
    _: KW_ONLY
    epsilon: Annotated[float, Positive(by=_budget)] = 0.0
    delta: Delta = 0.0
    mechanism: NoiseChoice = "auto"

    def prepare(self, setting: Setting) -> Program:
        """Answer from the public number, or make a noisy count ready if it may cost something."""
        if not self.epsilon and (self._asked_of_some or known_rows(setting, self.columns) is None):
            raise ArgumentError(
                f"epsilon must be given, got none. {self._private(setting)} is private; only all "
                "records of a table are counted for nothing, under replace-one."
            )
        return super().prepare(setting)

    def _private(self, setting: Setting) -> str:
        """Return which number nobody knows, as the beginning of a sentence."""
        if self._asked_of_some:
            return "How many records are in a part of a table"
        if self.columns and setting.rows is not None:
            return f"How many records have a value of {', '.join(self.columns)}"
        return "The number of records"

    def prepare_whole(self, setting: Setting) -> Program:
        """Answer from the public number, or calibrate the noise on a count."""
        for name in self.columns:
            setting.schema[name]
        rows = known_rows(setting, self.columns)
        return self._noisy(setting) if rows is None else _public(rows)

    def _noisy(self, setting: Setting) -> Program:
        asked = tuple(self.columns)

        def index(block: Block) -> NDArray[np.int64]:
            return np.where(in_part(setting.schema, asked, block), 0, -1)

        # A record is read by one of its columns at least: the first, if none is asked for.
        contribution = CellContribution(asked or (next(iter(setting.schema)),), 1, index)
        noise = count_noise(
            contribution.certificate,
            relation=setting.relation,
            epsilon=self.epsilon,
            delta=self.delta,
            mechanism=self.mechanism,
        )
        stage = Stage("number of records", contribution, noise)
        most = setting.rows

        def finish(releaser: Releaser) -> Statistic:
            ((noisy,),) = releaser.answer(stage)
            return counted(float(noisy), noise.half_width(LEVEL), noise.std, most, noise.name)

        return Program((stage,), finish, {"count": of_count(noise.half_width, most, RECORDS)})


def _public(rows: int) -> Program:
    """Return the program that reads no row.

    Guarantees:
      - The number is a public fact of the setting. [public-size]
    """
    known = counted(float(rows), 0.0, 0.0, rows, "public")
    exact = Expected(0.0, float(max(rows, 1)), RECORDS)
    return Program((), lambda _: known, {"count": exact}, statements=("public-size",))
