"""Columns of truth values, however they are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from discreet.errors import SchemaError
from discreet.schema.columns import Category

TRUE_WORDS = ("true", "yes", "y", "t", "on")
FALSE_WORDS = ("false", "no", "n", "f", "off")


@dataclass(frozen=True, init=False, repr=False)
class Boolean(Category):
    """A column of truth values, encoded as 0 and 1, however they are written.

    Besides truth values, 0 and 1 these words are read, in any case: true, yes, y, t, on and false, no,
    n, f, off.

    Args:
      true: other texts that mean True, such as ["ja", "j"].
      false: other texts that mean False.
      missing: False if no value is missing.
      other: False if no value is anything else; like missing ones, such values are cells of their own.
      label: what the column is, for people.
      read_from_data: marks of a draft.

    >>> import numpy as np
    >>> Boolean(true="ja", false="nein").encode(np.array(["ja", "No", True, 0, "?"])).tolist()
    [1.0, 0.0, 1.0, 0.0, 2.0]
    """

    true: tuple[str, ...] = ()
    false: tuple[str, ...] = ()

    def __init__(
        self,
        *,
        true: str | Sequence[str] = (),
        false: str | Sequence[str] = (),
        missing: bool = True,
        other: bool = True,
        label: str | None = None,
        read_from_data: tuple[str, ...] = (),
    ) -> None:
        super().__init__(
            False, True, missing=missing, other=other, label=label, read_from_data=read_from_data
        )
        object.__setattr__(self, "true", _words("true", true))
        object.__setattr__(self, "false", _words("false", false))
        both = {*TRUE_WORDS, *self.true} & {*FALSE_WORDS, *self.false}
        if both:
            raise SchemaError(f"true and false must not share a word, got {sorted(both)[0]!r} in both.")

    def __repr__(self) -> str:
        facts = {"true": self.true, "false": self.false, "read_from_data": self.read_from_data}
        told = [f"{name}={value!r}" for name, value in facts.items() if value]
        flags = {"missing": self.missing, "other": self.other}
        return f"Boolean({', '.join(told + [f'{name}=False' for name, on in flags.items() if not on])})"

    def _listed(self, table: dict[str | None, int], text: str) -> int | None:
        word = text.strip().lower()
        if word in TRUE_WORDS or word in self.true:
            return 1
        return 0 if word in FALSE_WORDS or word in self.false else super()._listed(table, text)


def _words(name: str, words: Any) -> tuple[str, ...]:
    listed = (words,) if isinstance(words, str) else tuple(words)
    if not all(isinstance(word, str) for word in listed):
        raise SchemaError(f"{name} must be a text or a list of texts, got {words!r}.")
    return tuple(word.strip().lower() for word in listed)
