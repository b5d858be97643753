"""Cards: what an owner tells about a data set, so that others can plan without its rows."""

from discreet.cards.card import Card
from discreet.cards.describing import describe
from discreet.cards.plan_files import answer, read_plans

__all__ = ["Card", "answer", "describe", "read_plans"]
