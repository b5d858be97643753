"""``model``: the probe at length. Does a model answer each row by itself, and always alike?

The probe of ``discreet.models.probe`` asks for a few public rows in about a hundred batches. Here the
same batches are made of many draws, and repeated, and asked for from several threads, until the time
is over. All of it goes the way that records go later.
"""

from __future__ import annotations

from typing import Any

from discreet.arguments import shown
from discreet.audit.hunting.interview import Interview, Paid
from discreet.audit.hunting.model_report import ModelAudit
from discreet.data.state import quietly
from discreet.errors import ArgumentError, DiscreetError
from discreet.models.model import BoundModel, Model, as_model
from discreet.models.probe import SINGLE
from discreet.numerics import check_finite, check_positive, check_whole
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE
from discreet.schema import Schema


def model(
    model: Any,
    schema: Any,
    *,
    bounds: Any = None,
    batch_error: float | None = None,
    seconds: float = 5.0,
    seed: int = 0,
    threads: int = 4,
) -> ModelAudit:
    """Ask a model for public rows again and again: alone, together, in other orders, from threads.

    Single precision is no fault; single precision that nobody paid for is.

    Args:
      model: an estimator, a ``dc.Model``, or a function with ``bounds``.
      schema: of its rows, or the path of its TOML file.
      bounds: least and greatest answer of an estimator or a function, as ``dc.Model`` takes them.
      batch_error: how far an answer is declared to move with the rows beside it; by default what a
        plan pays for after its own probe.
      seconds: after about so many it stops, but not before it has asked what the probe of a plan asks.
        Ctrl-C stops it too; both keep what was found.
      seed: of the rows.
      threads: from how many it is asked at once.

    Guarantees:
      - None. What no public row shows stays unseen.

    >>> import discreet as dc
    >>> schema = dc.Schema({"a": dc.Number(0, 1, missing=False)})
    >>> model(lambda rows: rows[:, 0] / 3, schema, bounds=(0, 1), seconds=0.2).held
    True
    """
    check_positive("seconds", seconds, "It is the time the audit may take.")
    check_whole("seed", seed, 0)
    check_whole("threads", threads, 1, 256)
    if batch_error is not None:
        check_finite("batch_error", batch_error)
    made, known = _made(model, bounds), Schema.of(schema)
    with quietly():
        bound, single = made.attach(known)
        paid = _paid(made, known, bound) if batch_error is None else Paid(batch_error, batch_error)
        return Interview(bound, known, paid, single, seed, threads).hold(repr(made), seconds)


def _made(model: Any, bounds: Any) -> Model:
    if bounds is None:
        return as_model(model)
    if isinstance(model, Model):
        raise ArgumentError(
            f"bounds must be left out for a dc.Model, which has its own, got {shown(bounds)}."
        )
    return Model(model, bounds=bounds)


def _paid(made: Model, schema: Schema, bound: BoundModel) -> Paid:
    """Return what a plan pays for; of a model that no plan takes, what rounding would explain."""
    most = SINGLE / 2 * bound.bounds.width
    try:
        taken = made.bind(schema)
        if taken.third_party is None:
            return Paid(most, most)
        kept, moved = (taken.batch_error(relation) for relation in (REPLACE_ONE, ADD_REMOVE))
    except DiscreetError as error:
        return Paid(most, most, str(error))
    return Paid(kept, moved)
