"""Who asks: the owner of a data set, or an analyst by name, to whom some calls are refused."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from discreet.errors import AccessDenied

P = ParamSpec("P")
T = TypeVar("T")


class Asker(Protocol):
    """Whatever knows who asks; None is the owner."""

    @property
    def analyst(self) -> str | None:
        """The analyst's name."""


def check_owner(analyst: str | None, call: str, why: str) -> None:
    """Raise unless the owner asks: every call that is the owner's alone is refused here."""
    if analyst is not None:
        raise AccessDenied(
            f"{call} must be asked by the data set's owner, got the analyst {analyst!r}. {why}"
        )


def owners_call(
    why: str,
) -> Callable[[Callable[Concatenate[Any, P], T]], Callable[Concatenate[Any, P], T]]:
    """Mark a method as the owner's: an analyst is refused before it begins, and told why."""

    def mark(method: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], T]:
        @wraps(method)
        def guarded(self: Asker, /, *args: P.args, **options: P.kwargs) -> T:
            check_owner(self.analyst, method.__name__, why)
            return method(self, *args, **options)

        return guarded

    return mark
