"""One released number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.plans.results.result import Result

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Scalar(Result):
    """One noisy number.

    Attributes:
      name: what it measures.
      value: the noisy number.
      half_width: the exact number is within this of it with probability ``level``.
      level: see ``half_width``.
      noise_std: standard deviation of the noise.
      unit: the number's unit.
      range: the least and the greatest it can be; None where it has no end.
      method: how it was found.
      why: why that method was taken.
      compared: the expected error of every method that was considered, on the worst public table.
    """

    name: str
    value: float
    half_width: float
    level: float
    noise_std: float
    unit: str
    range: tuple[float | None, float | None]
    method: str
    why: str
    compared: tuple[tuple[str, float], ...]

    def __float__(self) -> float:
        return self.value

    @property
    def low(self) -> float:
        """The lower end of the band, but no lower than the number can be."""
        return _inside(self.value - self.half_width, self.range)

    @property
    def high(self) -> float:
        """The upper end of the band."""
        return _inside(self.value + self.half_width, self.range)

    def to_frame(self) -> pd.DataFrame:
        """Return one row: the name, the number, its band and its unit."""
        import pandas as pd

        row = {"name": self.name, "value": self.value, "low": self.low, "high": self.high}
        return pd.DataFrame([{**row, "unit": self.unit, "method": self.method}])

    def plot(self, ax: Any = None, *, title: str | None = None) -> Any:
        """Draw the number and its band on the range of values it can take."""
        from discreet.plans.results.pictures.scalar import ScalarDisplay

        return ScalarDisplay(self).plot(ax, title=title)


def _inside(value: float, ends: tuple[float | None, float | None]) -> float:
    least, greatest = ends
    value = value if least is None else max(value, least)
    return value if greatest is None else min(value, greatest)
