"""The one door from plans to rows: ``protect`` and ``Session``."""

from discreet.session.price import PlanPrice, Price, Remaining
from discreet.session.protect import protect
from discreet.session.session import Session

__all__ = ["PlanPrice", "Price", "Remaining", "Session", "protect"]
