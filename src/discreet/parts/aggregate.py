"""Sample and aggregate: explain disjoint subsets of the rows, each by itself, and add up.

Whatever an explainer does inside, one record is in one subset, so it moves one explanation; clipped
to a public region, that one moves the sum by the width of the region and no further. Nothing has to
be known of the explainer but that it says of a subset what its rows alone make it say.

Several subsets may be explained in one go (``ExplainMany``), which saves model calls; then it is the
caller who sees to it that they do not touch each other.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from discreet.certificates import RELATIONS, Box, Certificate
from discreet.data.blocks import Block
from discreet.data.contributions import SubsetsContribution
from discreet.data.foreign import foreign_code
from discreet.errors import ArgumentError
from discreet.models.inputs import MakeInput, input_makers, sees_encoding
from discreet.parts.subsets import assign_subsets
from discreet.plans import Setting
from discreet.randomness import IntArray
from discreet.schema import FloatArray, Schema

ExplainMany = Callable[[list[FloatArray]], Iterable[FloatArray]]
"""The vectors of some subsets, in order, from their encoded rows; NaN where there is none."""

Read = Callable[[Any], FloatArray | None]
"""What an explainer said as a vector, or None if it made no sense."""

ALONE = "what the explainer says of a subset depends on the rows of that subset alone"

MOST_SUBSETS = 100_000
_KEY = b"discreet subsets"
"""Public and always the same: the proof holds for every key, and equal plans get equal subsets."""

_PROBE_ROWS = 64
_SEED = 0


def subsets_contribution(
    explain_many: ExplainMany,
    setting: Setting,
    *,
    columns: tuple[str, ...],
    subsets: int,
    region: Box,
    fill: float,
    proven: Certificate,
    foreign: bool,
) -> SubsetsContribution:
    """Return what the subsets of a table add: one vector each, clipped to the region.

    Args:
      explain_many: the vectors of all subsets.
      setting: tells how rows are assigned: by place under replace-one, by a keyed hash of the id (or
        of the row) under add-remove.
      columns: what the explainer sees.
      subsets: how many.
      region: where a vector lies.
      fill: what stands for NaN: an empty subset's vector, and one on which the explainer failed.
      proven: how far one vector can move.
      foreign: whether code that is not ours is called.

    Guarantees:
      - One record is in one subset, and coming, going or changing it moves no other record, so it
        moves one vector of the sum. [row-to-subset] [generic-plots]
    """
    if setting.rows is not None and subsets > setting.rows:
        raise ArgumentError(
            f"subsets must be at most the number of rows, {setting.rows}, got {subsets}. "
            "Ask for fewer; each should hold enough rows to be explained."
        )

    def assign(block: Block) -> IntArray:
        return assign_subsets(block, subsets, relation=setting.relation, key=_KEY)

    return SubsetsContribution(
        columns,
        proven.size,
        region,
        fill,
        subsets,
        assign,
        explain_many,
        proven.assume(ALONE),
        foreign,
        with_ids=setting.relation == "add-remove",
    )


def certify_vectors(size: int, region: Box) -> Certificate:
    """Certify the sum over subsets of vectors of ``size`` numbers inside a box.

    Guarantees:
      - Under both relations one vector moves, from anywhere in the box to anywhere: L1 m r, L2
        sqrt(m) r, Linf r for a box of width r; for the mean divide by the number of subsets.
        [generic-plots]
    """
    moved = region.certify(size).bounds["replace-one"]
    return Certificate(("generic-plots",), size, dict.fromkeys(RELATIONS, moved))


def one_by_one(
    explainer: Callable[[Any], Any], read: Read, make_frame: MakeInput, size: int
) -> ExplainMany:
    """Return an explainer of many subsets that hands each to ``explainer`` as a frame of its own.

    Guarantees:
      - An empty subset, and one on which the explainer fails or makes no sense, has NaN for a vector;
        nothing is raised. Each starts with the same state of Python's and NumPy's shared generators,
        so that none can tell how many numbers another drew. [generic-plots]
    """

    def explain_many(parts: list[FloatArray]) -> Iterator[FloatArray]:
        for rows in parts:
            vector = _explain(explainer, read, make_frame, rows) if len(rows) else None
            yield np.full(size, np.nan) if vector is None else vector

    return explain_many


def find_frame(
    explainer: Callable[[Any], Any], read: Read, schema: Schema, *, wanted: str
) -> MakeInput:
    """Return a way of handing rows over with which the explainer works on public rows.

    An explainer that fails on private rows fails silently, so a mistake in it must show here.
    """
    columns, failure = tuple(schema), ""
    makers = input_makers(schema, columns, named=True)
    if sees_encoding(schema, columns, named=True):
        makers = makers[-1:]  # one that may be written to
    rows = schema.draw(_PROBE_ROWS)
    for make_frame in makers:
        try:
            with foreign_code(), _same_draws():
                answer = explainer(make_frame(rows))
                if read(answer) is not None:
                    return make_frame
        except Exception as error:  # public rows: whatever it says may be shown
            failure = failure or f"{type(error).__name__}: {error}"
            continue
        failure = failure or f"it returned {type(answer).__name__}, which is not that"
    raise ArgumentError(
        f"explainer must return {wanted} for rows drawn from the schema, got a failure ({failure}). "
        "Mend it: on private rows it would fail silently."
    )


def _explain(
    explainer: Callable[[Any], Any], read: Read, make_frame: MakeInput, rows: FloatArray
) -> FloatArray | None:
    try:
        with _same_draws():
            return read(explainer(make_frame(rows)))
    except KeyboardInterrupt:
        raise
    except BaseException:  # it may even exit; which rows upset it must not be seen
        return None


@contextmanager
def _same_draws() -> Iterator[None]:
    """Begin with the same shared generators, and forests that add up in order; leave no trace."""
    import joblib

    # Explainers draw from the shared generator, whatever one thinks of that.
    states = random.getstate(), np.random.get_state()  # noqa: NPY002
    random.seed(_SEED)
    np.random.seed(_SEED)  # noqa: NPY002
    try:
        with joblib.parallel_config(backend="sequential"):
            yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])  # noqa: NPY002
