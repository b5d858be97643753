"""One thing an explainer computes, and what is proven of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from discreet.errors import ArgumentError
from discreet.numerics import check_choice, check_positive, check_whole
from discreet.privacy.certificate import Certificate

Kind = Literal["value", "sum", "mean", "records"]


@dataclass(frozen=True)
class Step:
    """One thing an explainer computes.

    Attributes:
      name: what it is called.
      inputs: names of the steps it reads; none for the private table.
      certificate: how far one record of the *table* moves it, whatever it reads in between; None if
        nothing is proven, then no set with it has a price. All bounds zero: a public value takes its
        place when it is released.
      size: numbers in it; taken from the certificate if there is one.
      kind: what the certificate bounds: the ``value`` itself; a ``sum`` over records; the sum that
        is divided by the number of records for a ``mean``; or ``records``, the numbers of all
        records together, ``size`` of them each.
      width: what one number spans (for a ``sum``: one record's part), so that noise in different
        units can be compared.
      given: steps on the way to it that it reads as they were released; the certificate holds for
        every value of them. All others it reads exactly, released or not.
      how: a few words on how it is released.
    """

    name: str
    inputs: Sequence[str] = ()
    certificate: Certificate | None = None
    size: int | None = None
    kind: Kind = "value"
    width: float = 1.0
    given: Sequence[str] = ()
    how: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise ArgumentError(f"name must be the name of a step, got {self.name!r}.")
        for field in ("inputs", "given"):
            names = getattr(self, field)
            if isinstance(names, str) or not all(isinstance(name, str) for name in names):
                raise ArgumentError(
                    f"{field} of step {self.name!r} must be a list of names, got {names!r}."
                )
            object.__setattr__(self, field, tuple(dict.fromkeys(names)))
        check_choice(f"kind of step {self.name!r}", self.kind, get_args(Kind))
        check_positive(f"width of step {self.name!r}", self.width)
        self._check_size()

    def _check_size(self) -> None:
        if self.size is not None:
            check_whole(f"size of step {self.name!r}", self.size, 1)
        if self.certificate is None:
            return
        if self.size not in (None, self.certificate.size):
            raise ArgumentError(
                f"size of step {self.name!r} must be its certificate's {self.certificate.size}, "
                f"got {self.size}. Leave it out."
            )
        object.__setattr__(self, "size", self.certificate.size)
