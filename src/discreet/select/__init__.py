"""Plans that choose: one of several candidates, a percentile."""

from discreet.select.choose import ChoosePlan, choose
from discreet.select.percentile import PercentilePlan, percentile
from discreet.select.results import Choice

__all__ = ["Choice", "ChoosePlan", "PercentilePlan", "choose", "percentile"]
