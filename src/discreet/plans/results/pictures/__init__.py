"""Drawing released numbers with their noise: displays in scikit-learn's manner."""

from discreet.plans.results.pictures.attribution import AttributionDisplay, WaterfallDisplay
from discreet.plans.results.pictures.background import BackgroundDisplay
from discreet.plans.results.pictures.curve import CurveDisplay
from discreet.plans.results.pictures.histogram import HistogramDisplay
from discreet.plans.results.pictures.ranking import RankingDisplay
from discreet.plans.results.pictures.scalar import ScalarDisplay
from discreet.plans.results.pictures.surface import SurfaceDisplay

__all__ = [
    "AttributionDisplay",
    "BackgroundDisplay",
    "CurveDisplay",
    "HistogramDisplay",
    "RankingDisplay",
    "ScalarDisplay",
    "SurfaceDisplay",
    "WaterfallDisplay",
]
