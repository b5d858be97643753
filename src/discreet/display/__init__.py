"""Drawing released numbers with their noise: displays in scikit-learn's manner."""

from discreet.display.curve import CurveDisplay
from discreet.display.histogram import HistogramDisplay

__all__ = ["CurveDisplay", "HistogramDisplay"]
