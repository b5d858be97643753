"""Rows go to code that is not ours in calls of one public shape.

The last bits of a matrix product depend on how many rows there are, and a threshold makes a whole
answer of them; a scaler, a softmax or a coding inside a model may look at the least and the greatest
value of a column, or at which categories are there. So every call has the same number of rows: public
ones with the ends, the middle and all categories of every column, then the records, then public rows
again in all places that no record takes. A record has the same place in its call whatever the others
are, and it keeps it while rows on which the code fails are looked for.

What is known of such code, and what that costs: libraries do not promise that a row's answer is the
same to the last bit whatever rows share its call:
matrix products are tiled, sums vectorised. How far it may move is its *batch error*. A contribution
that calls such code says how far a coordinate moves per unit of an answer, its *Lipschitz constant*;
``plans.stages.sums`` pays for the product, once for every row of a batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from discreet.data.state import thread_state
from discreet.numerics import check_positive, up
from discreet.privacy.certificate import NOT_PROVEN, Certificate, Grade
from discreet.privacy.relation import Relation
from discreet.schema import FloatArray, Schema

Call = Callable[[FloatArray], FloatArray]

CALL_ROWS = 2_048
"""Places for records in one call: few enough to be tried a hundred times on public rows, many enough
for what a call costs by itself not to count."""

_TILE = 64
"""Compiled loops take rows in groups and the last ones otherwise: those are never records."""


@dataclass(frozen=True)
class CallShape:
    """The public rows of a call: ``first`` before the records, ``blank`` in places without one."""

    first: FloatArray
    blank: FloatArray

    @classmethod
    def of(cls, schema: Schema, columns: tuple[str, ...]) -> CallShape:
        """Return the one shape of calls with some columns of a schema."""
        places = [schema.position(name) for name in columns]
        first, drawn = schema.landmarks()[:, places], schema.draw(_TILE)[:, places]
        return cls(first, drawn).with_places(max(CALL_ROWS, len(first)))

    @property
    def places(self) -> int:
        """How many records fit into a call."""
        return (len(self.blank) - _TILE) // _TILE * _TILE

    def with_places(self, places: int) -> CallShape:
        """Return the shape with room for so many records, or a few more."""
        tiles = -(-places // _TILE) + 1
        rest = -(len(self.first) + tiles * _TILE) % _TILE
        return replace(self, blank=np.resize(self.blank[:_TILE], (tiles * _TILE + rest, self.width)))

    @property
    def width(self) -> int:
        """The number of columns."""
        return int(self.blank.shape[1])

    def batch(self, rows: FloatArray, first: int, after: int) -> FloatArray:
        """Return a call in which these of some rows stand in their places, and no others."""
        start = len(self.first)
        made = np.empty((start + len(self.blank), self.width), order="F")
        made[:start], made[start:] = self.first, self.blank
        made[start + first : start + after] = rows[first:after]
        return made


@dataclass
class Pulse:
    """Whether the code still answers public rows. Once it does not, it is asked no more."""

    dead: bool = False


@dataclass(frozen=True)
class RowCalls:
    """Answers of code that is not ours, one per row, whatever it does.

    Args:
      call: takes a matrix of rows, returns an array with as many rows, or raises.
      shape: of every call.
      tail: shape of one row's answer.
      isolated: whether no call may hold rows of two records.
      alone: what is called for one row, or for public ones alone, if it is not the same.
      pulse: shared by all who ask the same code.

    Guarantees:
      - Every call has one public shape; a record's place in it does not depend on other records, nor
        on whether the code fails on them. [public-shape]
      - NaN for a row on which the code fails, found by halving, and for all rows if it fails on public
        rows too: no cap on tries turns another row's answer into NaN. [dead-model]
    """

    call: Call = field(repr=False)
    shape: CallShape = field(repr=False)
    tail: tuple[int, ...] = ()
    isolated: bool = False
    alone: Call | None = field(default=None, repr=False)
    pulse: Pulse = field(default_factory=Pulse)

    def __call__(self, rows: FloatArray, per_record: int = 1) -> FloatArray:
        """Return the answers; ``per_record`` successive rows belong to one record."""
        out = np.full((len(rows), *self.tail), np.nan)
        shape = self.shape
        if self.isolated:
            shape = shape.with_places(min(per_record, shape.places))
        for start, stop in _spans(len(rows), shape.places, per_record if self.isolated else len(rows)):
            if self.pulse.dead:
                break
            self._fill(shape, rows[start:stop], out[start:stop])
        return out

    def _fill(self, shape: CallShape, rows: FloatArray, out: FloatArray) -> None:
        waiting = [(0, len(rows))]
        while waiting and not self.pulse.dead:
            first, after = waiting.pop()
            said = self._ask(shape, rows, first, after)
            if said is not None:
                out[first:after] = said
                continue
            if after - first in (1, len(rows)):
                self.pulse.dead = self._ask(shape, rows, 0, 0) is None
            if after - first > 1:
                half = (first + after) // 2
                waiting += [(half, after), (first, half)]

    def _ask(self, shape: CallShape, rows: FloatArray, first: int, after: int) -> FloatArray | None:
        try:
            return self.ask(shape.batch(rows, first, after), shape, first, after)
        except KeyboardInterrupt:
            raise
        except BaseException:  # third-party code may even exit; which row upset it must not be seen
            return None

    def ask(self, batch: FloatArray, shape: CallShape, first: int, after: int) -> FloatArray:
        """Return the answers to some places of a call, or raise."""
        call = self.call if self.alone is None or after - first > 1 else self.alone
        with thread_state():  # what the code sets must touch neither us nor its next call
            said = np.asarray(call(batch), dtype=np.float64)
        if said.shape != (len(batch), *self.tail):
            raise ValueError("An answer must have one row per row.")
        start = len(shape.first)
        return said[start + first : start + after]


def _spans(rows: int, places: int, together: int) -> Iterator[tuple[int, int]]:
    """Yield which successive rows share a call: as many as fit, and no two groups of ``together``."""
    for group in range(0, rows, max(together, 1)):
        end = min(group + together, rows)
        for start in range(group, end, places):
            yield start, min(start + places, end)


@dataclass(frozen=True)
class CallEvidence:
    """How much is known, and how far an answer may move with the rows of its batch.

    Args:
      grade: see ``Guarantee``.
      batch_error: how far another row's answer may move; zero where it cannot, to the last bit.
      assumptions: what is taken on trust, in words.
    """

    grade: Grade = "proven"
    batch_error: float = 0.0
    assumptions: tuple[str, ...] = ()

    def mark(self, certificate: Certificate) -> Certificate:
        """Return the certificate of a sum over records whose vectors are made of such answers."""
        return certificate.graded(self.grade, *self.assumptions)


PROVEN = CallEvidence()


@dataclass(frozen=True)
class ThirdParty:
    """What is known where rows keep their places in a call (replace-one) and where they may not.

    ``moved`` is asked for only if it is needed: it may have to try a model out. ``pulse`` tells whether
    the code still answers.
    """

    kept: CallEvidence
    moved: Callable[[], CallEvidence]
    pulse: Pulse = field(default_factory=Pulse)

    @classmethod
    def of(cls, evidence: CallEvidence, pulse: Pulse | None = None) -> ThirdParty:
        """Return what is the same under both relations."""
        return cls(evidence, lambda: evidence, pulse or Pulse())

    def under(self, relation: Relation) -> CallEvidence:
        """Return what is known under a relation."""
        return self.kept if Relation(relation).keeps_places else self.moved()


@dataclass(frozen=True)
class ModelCalls:
    """The calls of a model that a contribution makes, and what they may do to one coordinate.

    Args:
      code: what is known of the model; None if code of ours evaluates it, row by row.
      lipschitz: how far a coordinate moves per unit by which all answers of its record move, at most:
        1 for an answer, 2 for a difference of two, twice the greatest answer for a square.
      together: how far all coordinates of the record move per unit, added up; None if every one of them
        may move as far as any.
    """

    code: ThirdParty | None
    lipschitz: float
    together: float | None = None

    def __post_init__(self) -> None:
        check_positive("lipschitz", self.lipschitz, "It is how far a coordinate moves with an answer.")

    def evidence(self, relation: Relation) -> CallEvidence:
        """Return what is known of the answers under a relation."""
        return PROVEN if self.code is None else self.code.under(relation)

    def batch_error(self, relation: Relation) -> float:
        """Return how far a coordinate of another record may move with a record of its batch."""
        moved = self.evidence(relation).batch_error
        return up(moved * self.lipschitz) if moved else 0.0

    def batch_error_together(self, relation: Relation) -> float | None:
        """Return how far all coordinates of another record may move, added up, if that is known."""
        if self.together is None:
            return None
        return up(self.evidence(relation).batch_error * self.together)


def probed(batch_error: float, batches: int, whose: str = "model") -> CallEvidence:
    """Return the standing of code that was tried on so many public batches."""
    return CallEvidence(
        "probed",
        batch_error,
        (
            f"the {whose} answers each row by itself: probed on {batches} public batches{NOT_PROVEN}",
            f"an answer of the {whose} moves by at most {batch_error:.6g} with the rows beside it",
        ),
    )


def isolated(batch_error: float = 0.0) -> CallEvidence:
    """Return the standing of code that is asked for one record at a time."""
    return CallEvidence(
        "isolated",
        batch_error,
        (f"the model keeps nothing from one call to the next: tried on public rows{NOT_PROVEN}",),
    )
