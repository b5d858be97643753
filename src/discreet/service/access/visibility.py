"""Who may see a stored answer: everyone with an allotment, who asked it alone, or the owner alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from discreet.service.access.keys import Caller

Audience = Literal["everyone", "asker", "owner"]


def audience_of(plan: Mapping[str, Any]) -> Audience:
    """Return for whom a question's answer is, from the question as plain data.

    Values of records are for their owners, whom the data set's owner knows. The answer of a sealed
    query is for who has the query, and not even the owner's: it speaks of nobody's record.
    """
    arguments = plan["arguments"]
    if arguments.get("protects") == "query":
        return "asker"
    for_owners = arguments.get("audience") == "owner" and arguments.get("method") == "layered"
    return "owner" if for_owners else "everyone"


def may_see_value(caller: Caller, plan: Mapping[str, Any], analyst: str | None) -> bool:
    """Say whether a caller may see an answer that this analyst (None: the owner) was charged for."""
    if caller.role == "auditor":
        return False
    kind = audience_of(plan)
    if kind == "asker":
        return caller.role == ("owner" if analyst is None else "analyst") and caller.analyst == analyst
    return kind == "everyone" or caller.role == "owner"
