"""Plans that release the table itself."""

from discreet.tables.histogram import HistogramPlan, histogram

__all__ = ["HistogramPlan", "histogram"]
