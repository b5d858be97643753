"""A coreset: coalitions fixed once, whose utilities answer later questions without refitting.

Watson et al. (2022) save the sampled coalitions so that further records are valued at once. That saves
time, not privacy: the utilities are exact statistics of private rows, and every value released from
them costs what it would have cost without them. So they stay here, sealed, and each plan is charged in
full. Whoever wants later answers for nothing asks for all values in one plan: what is released once can
be read for ever.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import NoReturn

import numpy as np

from discreet.errors import AccessDenied
from discreet.schema import FloatArray

Utilities = list[FloatArray]


class Coreset:
    """Remembers the utilities of one table's coalitions; shows it to nobody.

    Pass the same one to several ``data_shapley`` plans with the same model, test set, rounds and seed:
    models are refitted for the first of them alone.

    Guarantees:
      - A value made from what it remembers is, bit for bit, the value made from refits of the same
        coalitions, and is charged as such; the utilities cannot be read, copied or
        saved. [coreset-billing]
    """

    __slots__ = ("__key", "__utilities")

    def __init__(self) -> None:
        self.__key = b""
        self.__utilities: Utilities | None = None

    def recall(self, question: str, rows: FloatArray, compute: Callable[[], Utilities]) -> Utilities:
        """Return the utilities for these rows, computed once; for the plan that will add noise."""
        # The rows are part of the key: utilities of other rows must never answer for these.
        content = f"{question}{rows.shape}".encode() + np.ascontiguousarray(rows).tobytes()
        key = hashlib.sha256(content).digest()
        if self.__utilities is None or key != self.__key:
            self.__key, self.__utilities = key, compute()
        return self.__utilities

    def __repr__(self) -> str:
        return "Coreset(sealed)"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise AccessDenied("A coreset cannot be copied or saved: what it remembers is exact.")
