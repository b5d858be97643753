"""What a private valuation releases: noisy values of records, and noisy rankings of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from discreet.errors import ArgumentError
from discreet.numerics import check_choice
from discreet.plans import Ranking, Result
from discreet.plans.results.bands import BandName, chosen_band
from discreet.schema import FloatArray

if TYPE_CHECKING:
    import pandas as pd

    from discreet.plans.results.pictures.valuation import RemovalDisplay

Order = Literal["best", "worst"]
PublicUtility = Callable[[list[int]], float]


@dataclass(frozen=True)
class Valuation(Result):
    """Noisy values of records: how much each adds to the utility of a model trained on all of them.

    Attributes:
      records: the records, by their place in the table.
      values: their noisy values, in the unit of the score.
      half_width: how far noise may be from each value, with probability ``level``; it speaks of noise
        alone, not of what clips and a finite number of coalitions do. None where noise was added to
        counts, not to values.
      level: see ``half_width``.
      noise_std: standard deviation of the noise on a value.
      sampling_std: at most the standard deviation a value has over the draw of the coalitions; zero for
        closed forms.
      audience: ``owner`` if each value may be shown to the owner of its record alone, ``public`` if
        all may be shown to all.
      method: how values were found.
      quantity: what a value measures.
      half_width_all: as ``half_width``, which is for each value by itself, for all of them at once.
    """

    records: tuple[int, ...]
    values: tuple[float, ...]
    half_width: float | None
    level: float
    noise_std: tuple[float, ...]
    sampling_std: float
    audience: str
    method: str
    quantity: str
    half_width_all: float | None = field(default=None, kw_only=True)

    def band(self, of: BandName = "each") -> tuple[FloatArray, FloatArray]:
        """Return the ends of the noise band, of each value by itself or of all of them at once."""
        width = chosen_band(of, self.half_width, self.half_width_all)
        return self.to_array() - width, self.to_array() + width

    def __len__(self) -> int:
        return len(self.records)

    @property
    def extent(self) -> str:
        """The number of records."""
        return f"{len(self):,} records"

    def fits_together(self) -> bool:
        """Return whether every record has a value and its noise."""
        return len(self.records) == len(self.values) == len(self.noise_std)

    def to_array(self) -> FloatArray:
        """Return the values in the order of ``records``."""
        return np.array(self.values, dtype=np.float64)

    @property
    def standard_errors(self) -> tuple[float, ...]:
        """At most the standard deviation of every value: noise and the draw of coalitions together."""
        return tuple(math.hypot(noise, self.sampling_std) for noise in self.noise_std)

    @property
    def noise_share(self) -> float | None:
        """How much of the spread of these values is noise: near one, their order says nothing.

        Free, since it reads noisy values and public noise alone; None for fewer than three values.
        """
        spread = float(np.var(self.to_array(), ddof=1)) if len(self) > 2 else 0.0
        if spread == 0:
            return None
        return min(1.0, float(np.mean(np.square(self.noise_std))) / spread)

    def for_owner(self, record: int) -> Valuation:
        """Return one record's value alone, to hand to its owner."""
        if record not in self.records:
            raise ArgumentError(f"record must be one of the valued ones, got {record!r}.")
        place = self.records.index(record)
        return replace(
            self,
            records=(record,),
            values=(self.values[place],),
            noise_std=(self.noise_std[place],),
            half_width_all=self.half_width,
        )

    def ranking(self, order: Order = "best") -> tuple[int, ...]:
        """Return the records from best to worst (or worst to best): free, it reads nothing else."""
        check_choice("order", order, ("best", "worst"))
        values = self.to_array()
        sorted_places = np.argsort(-values if order == "best" else values, kind="stable")
        return tuple(self.records[place] for place in sorted_places)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per record, in their order, the record as index: value, error, own band."""
        import pandas as pd

        frame = pd.DataFrame(
            {"value": self.values, "standard_error": self.standard_errors},
            index=pd.Index(self.records, name="record"),
        )
        if self.half_width is not None:
            frame["low"] = frame["value"] - self.half_width
            frame["high"] = frame["value"] + self.half_width
        return frame

    def plot(self, ax: Any = None, *, title: str | None = None, top: int = 15) -> Any:
        """Draw the ``top`` best and worst records as bars with their noise."""
        from discreet.plans.results.pictures.valuation import ValuationDisplay

        return ValuationDisplay(self, top=top).plot(ax, title=title)

    def plot_removal(
        self, utility: PublicUtility, ax: Any = None, *, points: int = 20, title: str | None = None
    ) -> RemovalDisplay:
        """Draw what is left of a utility when the best, and when the worst, records go first.

        Args:
          utility: a *public* function of the records that are left, by their places: of data that may
            be shown. On private records the curve would be a release that nobody paid for.
          ax: where to draw.
          points: how many removals are tried.
          title: above the picture.
        """
        from discreet.plans.results.pictures.valuation import RemovalDisplay

        curves = {order: self.removal_curve(utility, order, points) for order in ("best", "worst")}
        return RemovalDisplay(curves).plot(ax, title=title)

    def removal_curve(
        self, utility: PublicUtility, order: Order = "best", points: int = 20
    ) -> tuple[tuple[int, float], ...]:
        """Return pairs: how many records were removed, and the (public) utility of the rest."""
        ranked = self.ranking(order)
        removed = np.unique(np.linspace(0, len(ranked) - 1, points).astype(int))
        return tuple((int(gone), float(utility(sorted(ranked[gone:])))) for gone in removed)


@dataclass(frozen=True)
class RecordRanking(Ranking):
    """The best or the worst records, in noisy order; ``features`` are all records as texts."""

    def to_frame(self) -> pd.DataFrame:
        """Return one row per place, the record as index: its gap where the mechanism gives one."""
        frame = super().to_frame().rename(columns={"feature": "record"})
        return frame.astype({"record": "int64"}).set_index("record")

    def fits_together(self) -> bool:
        """Return whether what was chosen are places of records."""
        return super().fits_together() and all(name.isdecimal() for name in self.features)

    @property
    def records(self) -> tuple[int, ...]:
        """The chosen records by their place in the table."""
        return tuple(int(name) for name in self.names)
