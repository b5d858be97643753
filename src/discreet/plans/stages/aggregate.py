"""Sample and aggregate: explain disjoint subsets of the rows, each by itself, and add up.

Whatever an explainer does inside, one record is in one subset, so it moves one explanation; clipped
to a public region, that one moves the sum by the width of the region and no further. Nothing has to
be known of the explainer but that it says of a subset what its rows alone make it say.

Several subsets may be explained in one go (``ExplainMany``), which saves model calls; then it is the
caller who sees to it that they do not touch each other.

Rows are assigned so that one record touches one subset: under replace-one a row's place decides;
under add-remove a keyed hash of its id, or of the encoded row if the schema names no id, so that
adding or removing a row moves no other. The id of a record is read for nothing else.
"""

from __future__ import annotations

import hashlib
import os
import random
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.data.blocks import Block
from discreet.data.calls import Pulse
from discreet.data.contributions import SubsetsContribution
from discreet.data.state import quietly, thread_state
from discreet.errors import ArgumentError
from discreet.models.inputs import MakeInput, input_makers, sees_encoding
from discreet.plans import Setting
from discreet.privacy.certificate import NOT_PROVEN, Box, Certificate
from discreet.privacy.relation import RELATIONS, REPLACE_ONE, Relation
from discreet.randomness import IntArray, row_words
from discreet.schema import FloatArray, Schema
from discreet.schema.raw import plain_text


def assign_subsets(block: Block, subsets: int, *, relation: Relation, key: bytes) -> NDArray[np.int64]:
    """Return the subset of every row of a block.

    Guarantees:
      - Under replace-one the assignment depends on the row's number alone; under add-remove on the
        row itself alone. [row-to-subset]
    """
    if Relation(relation).keeps_places:
        return (block.start + np.arange(len(block))) % subsets
    if block.ids is None:
        words = row_words(block.values, int.from_bytes(_hash(b"", key), "little"))
    else:
        # As floats: whose ids are missing must not decide where a row goes.
        texts = [str(plain_text(value)).encode("utf-8", "replace") for value in block.ids]
        words = np.frombuffer(b"".join(_hash(text, key) for text in texts), dtype="<u8")
    return np.asarray(words % np.uint64(subsets), dtype=np.int64)


def _hash(text: bytes, key: bytes) -> bytes:
    return hashlib.blake2b(text, digest_size=8, key=key).digest()


ExplainMany = Callable[[list[FloatArray]], Iterable[FloatArray]]
"""The vectors of some subsets, in order, from their encoded rows; NaN where there is none."""

Read = Callable[[Any], FloatArray | None]
"""What an explainer said as a vector, or None if it made no sense."""

ALONE = f"what the explainer says of a subset depends on the rows of that subset alone{NOT_PROVEN}"
FRESH = "what the explainer draws, it draws anew in every call from the entropy of the system"

MOST_SUBSETS = 100_000
_KEY = b"discreet subsets"
"""Public and always the same: the proof holds for every key, and equal plans get equal subsets."""

_PROBE_ROWS = 64
_OTHER_ROWS = 37
"""Another number, so that an explainer that draws draws another number of times."""

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
    pulse: Pulse | None,
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
      pulse: of third-party code that is called; None if there is none.

    Guarantees:
      - One record is in one subset, and coming, going or changing it moves no other record, so it
        moves one vector of the sum. [row-to-subset] [generic-plots]
      - A person is in one subset with all her rows; replaced by one with another id, that one's subset
        moves too. [person-subsets]
    """
    if setting.rows is not None and subsets > setting.rows:
        raise ArgumentError(
            f"subsets must be at most the number of rows, {setting.rows}, got {subsets}. "
            "Ask for fewer; each should hold enough rows to be explained."
        )

    def assign(block: Block) -> IntArray:
        return assign_subsets(block, subsets, relation=setting.relation, key=_KEY)

    moved = proven if subsets_touched(setting.relation) == 1 else proven.sum(proven)
    return SubsetsContribution(
        columns,
        proven.size,
        region,
        fill,
        subsets,
        assign,
        explain_many,
        moved if pulse is None else moved.graded("isolated", ALONE),
        with_ids=not setting.relation.keeps_places,
        pulse=pulse,
    )


def subsets_touched(relation: Relation) -> int:
    """Return how many subsets neighbours differ in: a hash puts who replaces a person into another."""
    return 2 if relation.edits == 2 and not relation.keeps_places else 1


def certify_vectors(size: int, region: Box) -> Certificate:
    """Certify the sum over subsets of vectors of ``size`` numbers inside a box.

    Guarantees:
      - Under both relations one vector moves, from anywhere in the box to anywhere: L1 m r, L2
        sqrt(m) r, Linf r for a box of width r; for the mean divide by the number of subsets.
        [generic-plots]
    """
    moved = region.certify(size).bounds[REPLACE_ONE]
    return Certificate(("generic-plots",), size, dict.fromkeys(RELATIONS, moved))


def one_by_one(
    explainer: Callable[[Any], Any], read: Read, make_frame: MakeInput, size: int
) -> ExplainMany:
    """Return an explainer of many subsets that hands each to ``explainer`` as a frame of its own.

    Guarantees:
      - An empty subset, and one on which the explainer fails or makes no sense, has NaN for a vector;
        nothing is raised. Each starts with the same state of Python's and NumPy's shared generators,
        the same warning filters, streams, decimal context, environment variables and configuration of
        scikit-learn, so that none can tell what another did to them. [generic-plots]
    """

    def explain_many(parts: list[FloatArray]) -> Iterator[FloatArray]:
        for rows in parts:
            vector = _explain(explainer, read, make_frame, rows) if len(rows) else None
            yield np.full(size, np.nan) if vector is None else vector

    return explain_many


def find_frame(
    explainer: Callable[[Any], Any],
    read: Read,
    schema: Schema,
    *,
    wanted: str,
    repeatable: bool = True,
) -> MakeInput:
    """Return a way of handing rows over with which the explainer works on public rows.

    An explainer that fails on private rows fails silently, so a mistake in it must show here.

    Guarantees:
      - One that answers public rows otherwise after others were explained, as one does that draws from
        a generator made outside, is refused unless ``repeatable`` is False. [generic-plots]
    """
    make_frame, first = _first_frame(explainer, read, schema, wanted)
    if not repeatable:
        return make_frame
    drawn = schema.draw(_PROBE_ROWS + _OTHER_ROWS)
    with quietly():
        _explain(explainer, read, make_frame, drawn[_PROBE_ROWS:])
        again = _explain(explainer, read, make_frame, schema.draw(_PROBE_ROWS))
    if again is None or not np.array_equal(first, again, equal_nan=True):
        raise ArgumentError(
            "explainer must answer the same rows alike whenever it is asked, got another answer after "
            "it explained others: it keeps something. Make its generators inside it, from a seed, or "
            "say repeatable=False if it draws from the entropy of the system."
        )
    return make_frame


def _first_frame(
    explainer: Callable[[Any], Any], read: Read, schema: Schema, wanted: str
) -> tuple[MakeInput, FloatArray]:
    """Return a way of handing rows over that works, and the answer it gave."""
    columns, failure = tuple(schema), ""
    makers = [maker for _, maker in input_makers(schema, columns, named=True)]
    if sees_encoding(schema, columns, named=True):
        makers = makers[1::2]  # those that may be written to
    rows = schema.draw(_PROBE_ROWS)
    for make_frame in makers:
        try:
            with quietly(), _same_start():
                answer = explainer(make_frame(rows))
                vector = read(answer)
            if vector is not None:
                return make_frame, np.array(vector)
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
        with _same_start():
            vector = read(explainer(make_frame(rows)))
            return (
                None if vector is None else np.array(vector)
            )  # it may keep the array, and write to it
    except KeyboardInterrupt:
        raise
    except BaseException:  # it may even exit; which rows upset it must not be seen
        return None


@contextmanager
def _same_start() -> Iterator[None]:
    """Begin with the same shared state, and forests that add up in order; leave no trace of it."""
    import joblib

    with ExitStack() as stack:
        nowhere = stack.enter_context(open(os.devnull, "w"))
        stack.enter_context(redirect_stdout(nowhere))
        stack.enter_context(redirect_stderr(nowhere))
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        stack.enter_context(thread_state())
        stack.enter_context(_same_environment())
        stack.enter_context(_same_draws())
        stack.enter_context(joblib.parallel_config(backend="sequential"))
        yield


@contextmanager
def _same_environment() -> Iterator[None]:
    """Restore environment variables and scikit-learn's configuration."""
    from sklearn import config_context

    before = dict(os.environ)
    try:
        with config_context():
            yield
    finally:
        if os.environ != before:
            os.environ.clear()
            os.environ.update(before)


@contextmanager
def _same_draws() -> Iterator[None]:
    """Begin with the same shared generators, and restore what they were."""
    # Explainers draw from the shared generator, whatever one thinks of that.
    states = random.getstate(), np.random.get_state()  # noqa: NPY002
    random.seed(_SEED)
    np.random.seed(_SEED)  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])  # noqa: NPY002
