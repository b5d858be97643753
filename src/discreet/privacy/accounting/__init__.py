"""Events, what they cost, and filters that hand out a budget."""

from discreet.privacy.accounting.calibration import count_gaussian_scale, gaussian_multiplier
from discreet.privacy.accounting.events import (
    ApproximateEvent,
    BoundedRangeEvent,
    CountGaussianEvent,
    Event,
    GaussianEvent,
    PureEvent,
    event_from_json,
    event_to_json,
)
from discreet.privacy.accounting.filters import (
    ACCOUNTANTS,
    DEFAULT_ACCOUNTANT,
    Accountant,
    AccountantName,
    Amount,
    Filter,
    budget_amount,
    event_cost,
    total,
)
from discreet.privacy.accounting.joint import joint_delta, joint_epsilon, joint_rho
from discreet.privacy.accounting.pld import batch_epsilon

__all__ = [
    "ACCOUNTANTS",
    "DEFAULT_ACCOUNTANT",
    "Accountant",
    "AccountantName",
    "Amount",
    "ApproximateEvent",
    "BoundedRangeEvent",
    "CountGaussianEvent",
    "Event",
    "Filter",
    "GaussianEvent",
    "PureEvent",
    "batch_epsilon",
    "budget_amount",
    "count_gaussian_scale",
    "event_cost",
    "event_from_json",
    "event_to_json",
    "gaussian_multiplier",
    "joint_delta",
    "joint_epsilon",
    "joint_rho",
    "total",
]
