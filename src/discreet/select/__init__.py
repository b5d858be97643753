"""Plans that choose: one of several candidates, the most frequent value, quantiles."""

from discreet.select.choose import ChoosePlan, choose
from discreet.select.choose_table import ChooseTablePlan
from discreet.select.most_frequent import MostFrequentPlan, most_frequent
from discreet.select.percentile import PercentilePlan, percentile
from discreet.select.quantiles import QuantilesPlan, quantiles
from discreet.select.results import Choice, Quantiles

__all__ = [
    "Choice",
    "ChoosePlan",
    "ChooseTablePlan",
    "MostFrequentPlan",
    "PercentilePlan",
    "Quantiles",
    "QuantilesPlan",
    "choose",
    "most_frequent",
    "percentile",
    "quantiles",
]
