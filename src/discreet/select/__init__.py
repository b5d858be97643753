"""Plans that choose: one of several candidates, the most frequent value, quantiles."""

from discreet.select.choose import choose
from discreet.select.most_frequent import most_frequent
from discreet.select.percentile import percentile
from discreet.select.quantiles import quantiles
from discreet.select.results import Choice, Quantiles

__all__ = ["Choice", "Quantiles", "choose", "most_frequent", "percentile", "quantiles"]
