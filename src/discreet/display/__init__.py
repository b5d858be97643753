"""Drawing released numbers with their noise: displays in scikit-learn's manner."""

from discreet.display.attribution import AttributionDisplay, WaterfallDisplay
from discreet.display.background import BackgroundDisplay
from discreet.display.curve import CurveDisplay
from discreet.display.histogram import HistogramDisplay
from discreet.display.ranking import RankingDisplay
from discreet.display.surface import SurfaceDisplay

__all__ = [
    "AttributionDisplay",
    "BackgroundDisplay",
    "CurveDisplay",
    "HistogramDisplay",
    "RankingDisplay",
    "SurfaceDisplay",
    "WaterfallDisplay",
]
