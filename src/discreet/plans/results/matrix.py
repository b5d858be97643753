"""Released matrices of columns, and coefficients of a regression."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.plans.results.bands import BandName, chosen_band
from discreet.plans.results.result import Result, is_table
from discreet.schema import FloatArray

if TYPE_CHECKING:
    import pandas as pd

Table = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Matrix(Result):
    """A noisy covariance or correlation matrix; positive semi-definite.

    Attributes:
      columns: of the rows and columns of the matrix.
      values: the noisy matrix after free post-processing.
      low: lower end of the interval of each entry by itself.
      high: upper end.
      level: every exact entry is inside its interval with this probability, each by itself.
      noise_std: standard deviation of the noise on an entry, on average.
      quantity: what the entries are: covariances or correlations.
      records: how many records it is of, noisy where that is private.
      ends_all: ends of intervals that hold all entries at once with probability ``level``.
    """

    columns: tuple[str, ...]
    values: Table
    low: Table
    high: Table
    level: float
    noise_std: float
    quantity: str
    records: float
    ends_all: tuple[Table, Table] | None = field(default=None, kw_only=True)

    def band(self, of: BandName = "each") -> tuple[FloatArray, FloatArray]:
        """Return the ends of the intervals, of each entry by itself or of all of them at once."""
        low, high = chosen_band(of, (self.low, self.high), self.ends_all)
        return np.array(low), np.array(high)

    @property
    def extent(self) -> str:
        """The number of columns."""
        return f"{len(self.columns)} × {len(self.columns)} entries"

    def fits_together(self) -> bool:
        """Return whether every pair of columns has an entry and an interval."""
        size = len(self.columns)
        return all(is_table(table, size, size) for table in (self.values, self.low, self.high))

    def to_array(self) -> FloatArray:
        """Return the matrix."""
        return np.asarray(self.values, dtype=np.float64)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per pair of columns: the noisy entry and its interval."""
        import pandas as pd

        pairs = pd.MultiIndex.from_product([self.columns] * 2, names=("first", "second"))
        frame = pairs.to_frame(index=False)
        for name, table in (("value", self.values), ("low", self.low), ("high", self.high)):
            frame[name] = np.ravel(table)
        return frame

    def square(self) -> pd.DataFrame:
        """Return the matrix with the columns' names, as ``frame.cov()`` and ``frame.corr()`` do."""
        import pandas as pd

        return pd.DataFrame(self.to_array(), index=self.columns, columns=self.columns)

    def plot(self, ax: Any = None, *, title: str | None = None) -> Any:
        """Draw a heat map with every entry and its noise."""
        from discreet.plans.results.pictures.matrix import MatrixDisplay

        return MatrixDisplay(self).plot(ax, title=title)


@dataclass(frozen=True)
class Coefficients(Result):
    """Noisy coefficients of a linear regression.

    The intervals hold the coefficients that least squares gives on the records themselves: they speak
    of noise. Standard errors hold sampling as well, for whoever takes the records for a sample.

    Attributes:
      target: what is explained.
      names: of the coefficients; the first is the intercept.
      values: the noisy coefficients.
      low: lower end of the interval of each, None where noise leaves it open.
      high: upper end of the interval.
      level: every exact coefficient is inside its interval with this probability, each by itself.
      noise_std: standard deviation that noise gives every coefficient, None where it is open.
      standard_errors: of every coefficient, sampling and noise together.
      r_squared: the noisy share of the target's variance that is explained.
      records: how many records it is of, noisy where that is private.
    """

    target: str
    names: tuple[str, ...]
    values: tuple[float, ...]
    low: tuple[float | None, ...]
    high: tuple[float | None, ...]
    level: float
    noise_std: tuple[float | None, ...]
    standard_errors: tuple[float | None, ...]
    r_squared: float
    records: float

    @property
    def extent(self) -> str:
        """The number of coefficients."""
        return f"{len(self.names)} coefficients"

    def fits_together(self) -> bool:
        """Return whether every coefficient has an interval and an error."""
        parts = (self.values, self.low, self.high, self.noise_std, self.standard_errors)
        return all(len(part) == len(self.names) for part in parts)

    def predict(self, frame: Any) -> FloatArray:
        """Return predictions for rows that have the columns; free, as all post-processing is."""
        slopes = zip(self.names[1:], self.values[1:], strict=True)
        parts = [slope * np.asarray(frame[name], dtype=np.float64) for name, slope in slopes]
        return np.asarray(self.values[0] + np.sum(parts, axis=0))

    def to_frame(self) -> pd.DataFrame:
        """Return one row per coefficient: its value, interval and standard error."""
        import pandas as pd

        return pd.DataFrame(
            {
                "name": self.names,
                "value": self.values,
                "low": self.low,
                "high": self.high,
                "noise std": self.noise_std,
                "standard error": self.standard_errors,
            }
        )

    def plot(self, ax: Any = None, *, title: str | None = None) -> Any:
        """Draw every slope with its interval and its standard error."""
        from discreet.plans.results.pictures.matrix import CoefficientsDisplay

        return CoefficientsDisplay(self).plot(ax, title=title)
