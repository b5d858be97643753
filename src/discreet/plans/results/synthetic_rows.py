"""Released records: drawn from noisy tables, or proposed from real ones and plausibly deniable."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from discreet.plans.results.result import Result, is_table
from discreet.schema import Date, Schema

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class SyntheticRows(Result):
    """Records that resemble a private table; none of them is one.

    Attributes:
      columns: the columns, in the order asked for.
      values: the rows, in original values.
      tree: the pairs of columns whose tables the rows were drawn from.
      noise_std: standard deviation of the noise on the share of a cell of one column.
      pair_noise_std: the same for a cell of a pair; zero if there is no pair.
      dates: the columns whose values are texts of dates.
      more_pairs: pairs beyond the tree whose tables the rows were fitted to as well.
      misfit: total variation between the rows and the released tables of pairs, noise taken out, on
        average: what drawing and fitting add to the noise.
    """

    columns: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]
    tree: tuple[tuple[str, str], ...]
    noise_std: float
    pair_noise_std: float
    dates: tuple[str, ...] = field(default=(), kw_only=True)
    more_pairs: tuple[tuple[str, str], ...] = field(default=(), kw_only=True)
    misfit: float = field(default=0.0, kw_only=True)

    def dressed(self, schema: Schema) -> SyntheticRows:
        """Return the rows with the names of columns that hold dates."""
        return replace(self, dates=tuple(n for n in self.columns if isinstance(schema[n], Date)))

    def __len__(self) -> int:
        return len(self.values)

    @property
    def extent(self) -> str:
        """The number of rows."""
        return f"{len(self):,} rows"

    def fits_together(self) -> bool:
        """Return whether every row has a value of every column."""
        return is_table(self.values, len(self), len(self.columns))

    def to_frame(self) -> pd.DataFrame:
        """Return the rows as a frame."""
        import pandas as pd

        frame = pd.DataFrame(list(self.values), columns=list(self.columns))
        for name in self.dates:
            frame[name] = pd.to_datetime(frame[name], format="ISO8601")
        return frame

    def plot(self, ax: Any = None, *, title: str | None = None) -> Any:
        """Draw how the rows are spread in every column."""
        from discreet.plans.results.pictures.attribution import BackgroundDisplay

        return BackgroundDisplay(self.to_frame()).plot(ax, title=title)


@dataclass(frozen=True)
class DeniableRows(SyntheticRows):
    """Records that passed Mechanism F.

    Attributes:
      attempts: how many proposals were made and charged.
      k: plausible seeds that were asked for.
      t: how many of them carry the proof.
      gamma: within which factor their probabilities are.
      forced_failure: the public probability that an attempt fails whatever it found.
    """

    attempts: int
    k: int
    t: int
    gamma: float
    forced_failure: float

    @property
    def pass_rate(self) -> float:
        """The share of attempts that passed."""
        return len(self) / self.attempts
