"""Layered data Shapley under differential privacy: clipped marginals over public coalitions.

The value of record i is (1/n) sum over layers k = 0..n-1 of the mean marginal v(C + i) - v(C) over
coalitions C of k other records, each marginal clipped to [-c_k, c_k], c_k = min(width, c / k^decay).
Every coalition is fitted from its own rows alone, in a public order, so that a coalition without a
record has the same utility, to the last bit, whatever that record is.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from discreet.arguments import shown
from discreet.data import WholeContribution
from discreet.data.calls import Pulse
from discreet.data.state import quietly
from discreet.errors import AccessDenied, ArgumentError, ModelError
from discreet.plans import Setting
from discreet.plans.kinds import Kind, Objects
from discreet.privacy.certificate import NOT_PROVEN, Box, Certificate
from discreet.randomness import public_generator
from discreet.schema import FloatArray
from discreet.value.engines.games import Chains
from discreet.value.engines.layered import layer_clips
from discreet.value.engines.linear_fits import Stability
from discreet.value.engines.running import run_chains
from discreet.value.engines.utilities import Utility
from discreet.value.private_design import MOST_PLACES, Audience, ValueDesign
from discreet.value.private_rows import TestSet

MOST_RECORDS = 2_000
"""Values need a refit for every coalition: of more records nobody would wait for the end."""

_PROBE_ROWS = 24
_CLIP = 0.1
_SLICE_CELLS = 2**23
"""Chains are valued for at most so many weights at a time: 64 MB."""

_SHARED = "shared"

ALONE = (
    f"a fit keeps nothing for the next one{NOT_PROVEN}",
    "fitting and scoring the model twice on the same rows in the same order gives the same score",
)
"""What is taken on trust of models that are not refitted by code of ours."""

Utilities = list[FloatArray]


class Coreset:
    """Remembers the utilities of one table's coalitions, and shows them to nobody.

    Pass the same one to several ``data_shapley`` plans with the same model, test set, rounds and seed:
    models are refitted for the first of them alone.

    Watson et al. (2022) save the sampled coalitions so that further records are valued at once. That
    saves time, not privacy: the utilities are exact statistics of private rows, and every value
    released from them costs what it would have cost without them. So they stay here, sealed, and each
    plan is charged in full. Whoever wants later answers for nothing asks for all values in one plan:
    what is released once can be read for ever.

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


@dataclass(frozen=True)
class CoresetKind(Kind):
    """A coreset: what it remembers is no part of a question, and nothing where one is read back."""

    word = "coreset"

    def check(self, name: str, value: Any) -> Coreset:
        """Return the coreset."""
        if not isinstance(value, Coreset):
            raise ArgumentError(f"{name} must be a dc.Coreset, got {shown(value)}. Or leave it out.")
        return value

    def plain(self, value: Any) -> Any:
        """Return that coalitions are shared; None where records have their own."""
        return None if value is None else _SHARED

    def read(self, name: str, plain: Any, objects: Objects) -> Any:
        """Return a coreset that remembers nothing yet."""
        return Coreset() if plain == _SHARED else plain


@dataclass(frozen=True)
class LayeredValues:
    """A question about some records of a table, made ready: design, clips and certificate."""

    test: TestSet
    utility: Utility
    design: ValueDesign
    clips: FloatArray
    certificate: Certificate
    question: dict[str, Any]
    n_jobs: int | None
    coreset: Coreset | None
    audience: Audience

    @property
    def largest(self) -> float:
        """The greatest absolute value a record can have."""
        return float(self.clips.sum()) / self.design.players * (1 + 1e-9)

    def values(self, rows: FloatArray) -> FloatArray:
        """Return the exact clipped values of the records, from all encoded rows."""
        x, y = self.test.split(rows)
        if self.coreset is None:
            return self.design.values(self._utilities(x, y), self.clips)
        question = json.dumps(self.question, sort_keys=True)
        found = self.coreset.recall(question, rows, lambda: self._utilities(x, y))
        return self.design.values(found, self.clips)

    def contribution(self, *, scale: float = 1.0, shift: float = 0.0) -> WholeContribution:
        """Return the values, times ``scale`` (1 or -1) plus ``shift``, as one vector of all rows."""

        def compute(rows: FloatArray) -> FloatArray:
            return scale * self.values(rows) + shift

        return WholeContribution(
            self.test.columns,
            len(self.design.records),
            Box(-self.largest + shift, self.largest + shift),
            shift,
            compute,
            self.certificate,
            pulse=Pulse() if self.utility.fast is None else None,
            owners=self.design.records if self.audience == "owner" else None,
        )

    def _utilities(self, x: FloatArray, y: FloatArray) -> list[FloatArray]:
        game = self.utility.on(x, y)
        return [
            np.concatenate([self._valued(game, part) for part in _slices(chains, x.shape[1] + 1)])
            for chains in self.design.batches()
        ]

    def _valued(self, game: Any, chains: Chains) -> FloatArray:
        work = run_chains(game, chains, n_jobs=self.n_jobs, progress=False)
        if not work.finished:
            raise KeyboardInterrupt  # half the coalitions would be another, uncertified answer
        return work.values


def layer_limits(
    n: int,
    width: float,
    clip: float | None,
    decay: float,
    stability: Stability | None,
    audience: Audience,
) -> FloatArray:
    """Return c_k of every layer: min(width, c / k^decay), and no more than a proven stability allows.

    Smaller clips than about 0.1 hardly change the order of values, and their noise shrinks no faster
    than they do.

    Layer 0 holds no other record: for the owner alone it needs no clip.
    """
    most = min(_CLIP, width / 10) if clip is None else min(clip, width)
    sizes = np.arange(n, dtype=np.float64)
    limits = np.minimum(layer_clips(n, width, stability), most / np.maximum(sizes, 1.0) ** decay)
    if audience == "owner":
        limits[0] = width
    return limits


def seeded(model: Any) -> Any:
    """Return an unfitted copy in which nothing is left to chance: a refit must repeat itself."""
    from sklearn.base import clone

    try:
        copy = clone(model)
    except TypeError:
        copy = None
    if not hasattr(copy, "get_params") or not hasattr(copy, "fit"):
        raise ModelError(
            f"model must be an estimator that can be fitted, got {shown(model)}. "
            "Give an unfitted scikit-learn estimator."
        )
    names = [name for name in copy.get_params() if name.split("__")[-1] == "random_state"]
    return copy.set_params(**{name: 0 for name in names if copy.get_params()[name] is None})


def check_records(records: tuple[int, ...] | None, n: int) -> tuple[int, ...]:
    """Return the valued records, by their place in the table."""
    if records is None:
        return tuple(range(n))
    if not all(0 <= record < n for record in records):
        raise ArgumentError(f"records must be places from 0 to {n - 1}, got {max(records)}.")
    return records


def check_rows(setting: Setting) -> int:
    """Return the number of records, which must be public and small enough."""
    if not setting.relation.rows_public or setting.rows is None:
        raise ArgumentError(
            "relation must be replace-one for method='layered', got add-remove: a value is a mean over "
            "the number of records, and a record's place means nothing where records come and go. "
            "Use method='tknn', which holds under both."
        )
    if not 2 <= setting.rows <= MOST_RECORDS:
        raise ArgumentError(
            f"The table must have 2 to {MOST_RECORDS} records for method='layered', "
            f"got {setting.rows}. Use method='tknn'."
        )
    return setting.rows


def check_rounds(rounds: int, n: int) -> None:
    """Refuse coalitions that are too many to draw, before they are drawn."""
    most = MOST_PLACES // n**2
    if rounds > most:
        raise ArgumentError(f"rounds must be at most {most} for {n} records, got {rounds}.")


def _slices(chains: Chains, width: int) -> list[Chains]:
    """Return the chains in pieces whose weights fit into memory; cut at public places alone."""
    each = max(1, chains.evaluations // len(chains))
    step = max(1, _SLICE_CELLS // (each * width))
    return [chains.select(i, min(i + step, len(chains))) for i in range(0, len(chains), step)]


def try_out(utility: Utility, test: TestSet) -> None:
    """Raise unless the model can be fitted on public rows and scores them the same way twice."""
    rows = test.draw(_PROBE_ROWS)
    if test.classes is not None:
        rows[:, -1] = np.arange(_PROBE_ROWS) % test.classes
    order = public_generator(0).permutation(_PROBE_ROWS)
    chains = Chains.of([order], [np.array([_PROBE_ROWS // 2, _PROBE_ROWS])])
    first, second = (utility.on(*test.split(rows)).evaluate(chains) for _ in range(2))
    if not np.array_equal(first, second):
        raise ModelError(
            "model must score the same when it is fitted twice on the same rows, got two scores. "
            "Fix its random_state."
        )
    if utility.fast is None:
        _fit_once(utility, *test.split(rows))


def _fit_once(utility: Utility, x: FloatArray, y: FloatArray) -> None:
    from sklearn.base import clone

    with quietly():
        try:
            clone(utility.model).fit(x, y)
        except Exception as error:  # public rows: whatever the model raises may be shown
            raise ModelError(
                "model must be fitted on rows drawn from the schema, but it failed: "
                f"{type(error).__name__}: {error}"
            ) from error
