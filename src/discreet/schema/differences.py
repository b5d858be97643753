"""What differs between two schemas, in words: a mismatch names the column, not two hashes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from discreet.arguments import shown

_MOST_TOLD = 3


def tell_differences(registered: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    """Return what a given schema has that the registered one has not, both as plain data.

    >>> age = {"kind": "number", "low": 18.0, "high": 90.0}
    >>> tell_differences({"columns": {"age": age}}, {"columns": {"age": {**age, "high": 99.0}}})
    "column 'age' has high 99.0 where 90.0 is registered"
    """
    found = list(_differences(registered, given))
    more = f", and {len(found) - _MOST_TOLD} more" if len(found) > _MOST_TOLD else ""
    return "; ".join(found[:_MOST_TOLD]) + more


def _differences(registered: Mapping[str, Any], given: Mapping[str, Any]) -> Iterator[str]:
    before, after = registered.get("columns", {}), given.get("columns", {})
    shared = [name for name in before if name in after]
    for name in before:
        if name not in after:
            yield f"column {shown(name)} is registered and missing"
    for name in after:
        if name not in before:
            yield f"column {shown(name)} is not registered"
    for name in shared:
        yield from _in_column(shown(name), before[name], after[name])
    yield from _in_order(shared, [name for name in after if name in before])
    for role in ("target", "id", "person", "levels"):
        if registered.get(role) != given.get(role):
            yield _told(f"{role} is", given.get(role), registered.get(role))


def _in_order(before: list[str], after: list[str]) -> Iterator[str]:
    for there, here in zip(before, after, strict=True):
        if there != here:
            yield f"column {shown(here)} stands where {shown(there)} is registered"
            return


def _in_column(name: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    if before.get("kind") != after.get("kind"):
        yield f"column {name} is a {after.get('kind')} where a {before.get('kind')} is registered"
        return
    for fact in [*before, *(fact for fact in after if fact not in before)]:
        if before.get(fact) != after.get(fact):
            yield _told(f"column {name} has {fact}", after.get(fact), before.get(fact))


def _told(what: str, given: object, registered: object) -> str:
    here, there = ("none" if value is None else shown(value) for value in (given, registered))
    return f"{what} {here} where {there} is registered"
