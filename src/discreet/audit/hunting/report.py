"""What a hunt found: how tight certificates are, and the neighbours that break them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from discreet.audit.hunting.moves import Move

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Tightest:
    """The farthest that neighbours moved one stage's sum in one norm.

    Args:
      stage: its name.
      move: how far, in the unit of the sum, and how far it may.
      pair: which two records, in which table.
      record: by column, what the two records were; None stands for nobody.
    """

    stage: str
    move: Move
    pair: str
    record: Mapping[str, tuple[Any, Any]] = field(repr=False)

    @property
    def share(self) -> float:
        """How much of the certificate was reached."""
        return self.move.share

    def to_frame(self) -> pd.DataFrame:
        """Return the record that differs: one row per neighbour."""
        import pandas as pd

        return pd.DataFrame(dict(self.record), index=["one", "other"], dtype=object)

    def __str__(self) -> str:
        return f"{self.stage}: {self.move} ({self.share:.4g} of it): {self.pair}"


@dataclass(frozen=True)
class HuntReport:
    """What neighbours did to the stages of a plan.

    Args:
      plan: what was asked, in words.
      relation: of the neighbours.
      rows: of the tables that were tried.
      reached: per stage and norm the farthest move; certificates that were not broken included.
      found: moves above a certificate, the farthest first; vectors that follow the rows beside them
        count too.
      skipped: stages that were not tried, and why.
      pairs: how many pairs of neighbours were tried.
      climbed: how many of them hill-climbing proposed.
      seconds: that it took.
      partial: whether it was interrupted before its time.
    """

    plan: str
    relation: str
    rows: int
    reached: tuple[Tightest, ...]
    found: tuple[Tightest, ...]
    skipped: Mapping[str, str]
    pairs: int
    climbed: int
    seconds: float
    partial: bool = False

    @property
    def held(self) -> bool:
        """Whether no certificate was broken; it says nothing of pairs that were not tried."""
        return not self.found

    @property
    def tightness(self) -> dict[str, float]:
        """Per stage the greatest share of its certificate that a pair used, over all norms."""
        names = dict.fromkeys(one.stage for one in self.reached)
        return {name: max(one.share for one in self.reached if one.stage == name) for name in names}

    def to_frame(self) -> pd.DataFrame:
        """Return one row per stage and norm."""
        import pandas as pd

        rows = [
            (one.stage, move.norm, move.far, move.allowed, move.share, move.broken, one.pair)
            for one in self.reached
            for move in (one.move,)
        ]
        columns = ["stage", "norm", "moved", "certified", "share", "broken", "pair"]
        return pd.DataFrame(rows, columns=columns)

    def to_json(self) -> dict[str, Any]:
        """Return all of it as plain data."""
        told = {one.name: getattr(self, one.name) for one in fields(self)}
        return {
            **told,
            "skipped": dict(self.skipped),
            "held": self.held,
            "reached": [_plain(one) for one in self.reached],
            "found": [_plain(one) for one in self.found],
        }

    def __str__(self) -> str:
        end = ", interrupted" if self.partial else ""
        lines = [
            f"{self.plan} under {self.relation}: {self.pairs} pairs of neighbours with {self.rows} "
            f"rows, {self.climbed} by hill-climbing, in {self.seconds:.1f} s{end}.",
            *(
                f"  {one.stage}, {one.move.norm}: {one.share:.4g} of the certificate"
                for one in self.reached
            ),
            *(f"  {name}: not tried, {why}" for name, why in self.skipped.items()),
        ]
        if self.found:
            return "\n".join([*lines, *(f"  BROKEN {one}" for one in self.found)])
        kept = "No certificate was broken." if self.pairs else "Nothing was tried."
        return "\n".join([*lines, kept])


def _plain(one: Tightest) -> dict[str, Any]:
    """Return it as JSON has it: no infinity, and values as texts where JSON has none."""
    made = {
        "stage": one.stage,
        "norm": one.move.norm,
        "moved": _number(one.move.far),
        "certified": _number(one.move.allowed),
        "share": _number(one.share),
        "broken": one.move.broken,
        "pair": one.pair,
    }
    return {**made, "record": {name: [_value(v) for v in two] for name, two in one.record.items()}}


def _value(value: Any) -> Any:
    if isinstance(value, float):
        return _number(value)
    return value if value is None or isinstance(value, int | str | bool) else str(value)


def _number(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)
