"""Models seen through one adapter: encoded rows in, one bounded number per row out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from discreet.data.calls import (
    CALL_ROWS,
    PROVEN,
    CallEvidence,
    CallShape,
    RowCalls,
    ThirdParty,
    isolated,
    probed,
)
from discreet.data.state import quietly
from discreet.errors import ArgumentError, ModelError
from discreet.mechanisms.lattice import given_box
from discreet.models.apart.model import ENDS_BY_ITSELF, ModelApart
from discreet.models.bound import BoundModel as BoundModel
from discreet.models.bound import Form
from discreet.models.bounds import Ranges, bound_output
from discreet.models.fingerprint import Kept
from discreet.models.forms.linear import LinearForm, linear_form
from discreet.models.forms.network import network_form
from discreet.models.forms.prepared import Shown, prepared_trees
from discreet.models.forms.trees import TreeEnsemble, tree_ensemble
from discreet.models.handover import Handover
from discreet.models.inputs import ModelCall
from discreet.models.known_parts import known_parts
from discreet.models.libraries import Output, choose_output, class_index
from discreet.models.probe import Found, probe, probe_memory
from discreet.models.readers.native import as_estimator
from discreet.models.sight import Sight
from discreet.models.within import PublicAnswers
from discreet.privacy.certificate import Box
from discreet.schema import Category, FloatArray, Schema

_PROBE_ROWS = 64
_VARIED, _MOST_CODES = 4, 64
_MOST_KNOWN = 256
_known: dict[tuple[Any, ...], Found] = {}
"""What public rows told of models that can be told apart by what they are made of."""


_LOOKS_AROUND = (
    "model must answer every row by itself, got answers that change with the rows beside it or from "
    "call to call. Take out what is computed over all rows of a call, or keeps something; "
    "dc.Model(..., isolated=True) asks for one record at a time."
)


class Model:
    """A scikit-learn estimator, a pipeline or a function, and what of it is explained.

    Args:
      model: a fitted estimator, a function of a float64 matrix with one row per record, a native
        booster, or the path of a model file (skops, XGBoost, LightGBM, CatBoost, ONNX).
      output: ``probability`` (default for classifiers), ``margin`` or ``value`` (regressors,
        functions).
      class_: the class whose probability or margin is meant; the second of two by default.
      bounds: least and greatest output; predictions are clipped to them. Left out, probabilities
        have (0, 1), and trees the interval of their leaves. A ``Schema`` stands for the interval
        certified over its ranges: trees, linear models, perceptrons. Everything else needs public
        bounds from you. Answers to public rows are compared with them: a model is refused if all of
        these are beyond one end, else the guarantee tells how many are clipped.
      name: a stable name for a function, so that its releases can be found again.
      columns: which columns of the schema it gets, in its order; left out, those a model has the names
        of, else all but the target.
      as_frame: hand over a data frame with names and original category values even if the model has no
        names of columns: for functions that want one.
      isolated: ask for one record at a time, with all rows made from it (grid points, coalitions) in
        one call. Slow (``session.price`` says how slow), but then nothing has to be taken on trust but
        that the model keeps nothing from one call to the next.

    An estimator with ``feature_names_in_`` gets a data frame with the schema's names and original
    category values; anything else gets float64 in schema order with category codes. The target and
    the id are never included. Where values may be missing, a model that answers NaN is given NaN for
    missing and unlisted ones; any other model a public value, which the guarantee names.

    Guarantees:
      - Every prediction lies in ``bounds``; NaN, or a row on which the model fails, becomes the
        middle of the bounds. No error depends on a row. [clip-predictions]
      - A guarantee says what is known of the model: *proven*, *isolated* or *probed*. [grades]
    """

    def __init__(
        self,
        model: Any,
        *,
        output: Output = "auto",
        class_: Any = None,
        bounds: tuple[float, float] | Schema | None = None,
        name: str | None = None,
        isolated: bool = False,
        columns: Sequence[str] | None = None,
        as_frame: bool = False,
    ) -> None:
        model = as_estimator(model)
        self._model = model
        self.isolated = bool(isolated)
        self.columns = _given_columns(columns)
        self.as_frame = bool(as_frame)
        self._found: dict[tuple[Any, ...], Found] = {}
        self._fills: tuple[str, ...] = ()
        self._trees: dict[tuple[str, Sight], TreeEnsemble] = {}
        self.output = choose_output(model, output)
        self.class_index = class_index(model, self.output, class_)
        self.bounds = self._choose_bounds(bounds)
        self._kept = Kept("model", model, name)

    def __repr__(self) -> str:
        kind, (low, high) = type(self._model).__name__, self.bounds.limits
        return f"Model({kind}, output={self.output!r}, bounds=({low:g}, {high:g}))"

    @property
    def wrapped(self) -> Any:
        """The estimator or function that is asked."""
        return self._model

    @property
    def fingerprint(self) -> str:
        """What equal models share."""
        return self._kept.fingerprint

    def held(self) -> Iterable[Kept]:
        """Return what a caller could change."""
        return (self._kept,)

    def owned(self) -> Model:
        """Return the model for who alone has it: it is not looked at for changes with every question.

        It shares with this one what public rows told, and nothing that depends on who asks.
        """
        made = copy(self)
        made._kept = copy(self._kept)
        made._kept.rest()
        return made

    def fills(self) -> tuple[str, ...]:
        """Return what it was last shown for values it does not take, and as codes, in words."""
        return self._fills

    def describe(self) -> dict[str, Any]:
        """Return what identifies the model in a plan; never the model itself."""
        plain = {
            "kind": type(self._model).__name__,
            "fingerprint": self.fingerprint,
            "output": self.output,
            "class_index": self.class_index,
            "bounds": [self.bounds.low, self.bounds.high],
        }
        plain |= {"isolated": True} if self.isolated else {}
        plain |= {} if self.columns is None else {"columns": list(self.columns)}
        return plain | ({"as_frame": True} if self.as_frame else {})

    def bind(self, schema: Schema) -> BoundModel:
        """Fit the model to a schema's encoding and try it on public rows.

        Raises:
          ModelError: if it needs columns the schema lacks, fails on rows drawn from the schema, answers
            all of them beyond one end of its bounds, or does not answer every row by itself.
        """
        with quietly():
            bound, single = self.attach(schema)
            if isinstance(bound.form, LinearForm | TreeEnsemble):
                return bound
            return replace(bound, third_party=self._third_party(bound, schema, single))

    def attach(self, schema: Schema) -> tuple[BoundModel, bool]:
        """Fit the model to a schema's encoding; nothing is known of how it treats rows beside a row.

        Besides: whether its answers come in single precision.

        Raises:
          ModelError: if it needs columns the schema lacks, fails on rows drawn from the schema, or
            answers all of them beyond one end of its bounds.
        """
        handover = self._handover(schema)
        rows = public_rows(schema, handover.columns)
        with quietly():
            bound, answers, single = self._first_that_works(handover, rows)
            assert bound.public is not None
            bound.public.check(self.output)
            told = (*handover.told(), *bound.public.told())
            self._fills = (*bound.sight.told(handover.columns), *told)
            return replace(bound, form=self._form(handover, bound, rows, answers)), single

    def inputs(self, schema: Schema) -> str:
        """Return what the model gets of a schema's rows, a line per column, in the model's order.

        Where it gets codes of categories the map is shown: compare it with the one it was fitted on.
        """
        return "\n".join(self._handover(schema).lines())

    def _handover(self, schema: Schema) -> Handover:
        return Handover.of(self._model, schema, self.columns, self.as_frame)

    def _form(
        self, handover: Handover, bound: BoundModel, encoded: FloatArray, answers: FloatArray
    ) -> Form | None:
        """Return a form that code of ours evaluates, if the model is of a known kind and agrees."""
        sight = bound.sight
        rows = sight(encoded)
        near = 1e-9 * min(1.0, self.bounds.high - self.bounds.low)
        for read in (linear_form, network_form) if handover.plain else ():
            form = read(self._model, self.output, self.class_index)
            if form is not None and np.allclose(form.predict(rows), answers, rtol=1e-9, atol=near):
                return form
        key = handover.schema.digest, sight
        known = self._trees.get(key)
        if known is not None and known.agrees(rows, answers):
            return known
        what = (self._model, self.output, self.class_index)
        shown = Shown(sight, bound.call.make_input, bound.filled(encoded)[0])
        trees = tree_ensemble(*what, handover.values(sight)) or prepared_trees(*what, shown)
        if trees is None or not trees.agrees(rows, answers):
            return None
        self._trees[key] = trees
        return trees

    def _third_party(self, bound: BoundModel, schema: Schema, single: bool) -> ThirdParty:
        """Return what is known of the model; refuse one that is seen to look at its neighbours."""

        def tried() -> CallEvidence:
            found = self._probe(bound, schema)
            batch_error = replace(found, single=found.single or single).batch_error(bound.bounds)
            if not self.isolated:
                return probed(batch_error, found.batches)
            return isolated(0.0 if found.moved == 0 else batch_error)

        if isinstance(self._model, ModelApart):
            return self._apart(bound, tried)
        known = None if self.isolated else known_parts(self._model)
        if known is not None:
            moved = tried if known == "in its place" else lambda: PROVEN
            return ThirdParty(PROVEN, moved, bound.calls.pulse)
        return ThirdParty.of(tried(), bound.calls.pulse)

    def _apart(self, bound: BoundModel, tried: Callable[[], CallEvidence]) -> ThirdParty:
        """Return what is known of a model in a process of its own; see the statement own-process."""
        public = np.empty((0, len(bound.columns)))
        bound.call(bound.calls.shape.batch(public, 0, 0))  # or raise: it must be within the limits
        found = tried()
        if not self.isolated:
            found = replace(found, assumptions=(*found.assumptions, ENDS_BY_ITSELF))
        return ThirdParty.of(found, bound.calls.pulse)

    def _probe(self, bound: BoundModel, schema: Schema) -> Found:
        """Return what public rows tell; a model of the same making is tried once."""
        what = (self.fingerprint, self.output, self.class_index, self.bounds.limits, self.isolated)
        key = (*what, self.columns, self.as_frame, schema.digest)
        # A name is no proof that two functions are the same one.
        known = _known if self.fingerprint.startswith("hash:") else self._found
        if key not in known:
            try_out = probe_memory if self.isolated else probe
            with quietly():
                found = try_out(bound.calls, schema, bound.columns, bound.bounds)
            if not found.by_itself or bound.calls.pulse.dead:
                raise ModelError(_LOOKS_AROUND)
            if len(known) >= _MOST_KNOWN:
                known.clear()
            known[key] = found
        return known[key]

    def _choose_bounds(self, bounds: tuple[float, float] | Schema | None) -> Box:
        if isinstance(bounds, Schema):
            handover = self._handover(bounds)
            ranges = Ranges.of(bounds, handover.columns) if handover.plain else None
            box = bound_output(self._model, self.output, self.class_index, ranges)
        elif bounds is not None or self.output == "probability":
            return _given_bounds((0.0, 1.0) if bounds is None else bounds)
        else:
            box = bound_output(self._model, self.output, self.class_index)
        if box is None:
            raise ModelError(
                "bounds must be given for a model whose output is not a probability and has no "
                "certified interval. Use dc.Model(model, bounds=(low, high)) with public bounds."
            )
        return box

    def _first_that_works(
        self, handover: Handover, rows: FloatArray
    ) -> tuple[BoundModel, FloatArray, bool]:
        """Return the model with the first way of handing rows over that works.

        A model that is given NaN must answer it: one that only hands it on does not take it.
        Besides: its answers to public rows, and whether they come in single precision.
        """
        failure: Exception | None = None
        shape = CallShape.of(handover.schema, handover.columns)
        batch, places = shape.batch(rows, 0, len(rows)), len(shape.first) + np.arange(len(rows))
        for sight, make_input in handover.makers:
            call = ModelCall(self._model, self.output, self.class_index, make_input)
            try:
                answers, single = call.answers_and_precision(batch)
            except Exception as error:  # public rows: whatever the model raises may be shown
                failure = error if failure is None or not sight.takes_missing else failure
                continue
            if sight.takes_missing and np.isnan(answers).any():
                continue
            calls = RowCalls(call, shape, isolated=self.isolated, alone=_alone(call))
            public = PublicAnswers.of(answers, self.bounds)
            bound = BoundModel(handover.columns, self.bounds, calls, sight, public=public)
            return bound, answers[places], single
        said = f"{type(failure).__name__}: {failure}".rstrip(".")
        raise ModelError(
            f"model must predict rows drawn from the schema, but it failed: {said}. "
            f"{_next_step(self._model, failure)}"
        ) from failure


def _next_step(model: Any, failure: Exception | None) -> str:
    """Return what to do about a model that cannot answer public rows."""
    if isinstance(model, type):
        return f"Make one and fit it: {model.__name__}(...).fit(X, y)."
    if type(failure).__name__ == "NotFittedError":
        return "Fit it first: model.fit(X, y)."
    return "Check the schema's columns and categories."


def _alone(call: ModelCall) -> ModelCall | None:
    """Return what is called for one record, if a model apart needs more patience for it."""
    if not isinstance(call.model, ModelApart):
        return None
    return replace(call, model=call.model.alone())


def as_model(model: Any) -> Model:
    """Return a ``Model``, wrapping estimators and functions with the defaults."""
    if isinstance(model, Model):
        return model
    # A released model knows how it is evaluated fast; of more than two classes one is named.
    known = hasattr(model, "to_model") and len(getattr(model, "classes_", ())) in (0, 2)
    made = model.to_model() if known else None
    return made if isinstance(made, Model) else Model(model)


def public_rows(schema: Schema, columns: tuple[str, ...]) -> FloatArray:
    """Return rows to try a model on: drawn ones, and some of them with every category in turn."""
    places = [schema.position(name) for name in columns]
    drawn = schema.draw(_PROBE_ROWS)[:, places]
    rows = [drawn]
    for place, name in enumerate(columns):
        column = schema[name]
        if isinstance(column, Category):
            codes = np.arange(min(len(column), _MOST_CODES))
            varied = np.repeat(drawn[:_VARIED], len(codes), axis=0)
            varied[:, place] = np.tile(codes, _VARIED)
            rows.append(varied)
    return np.asfortranarray(np.concatenate(rows)[:CALL_ROWS])


def _given_columns(columns: Any) -> tuple[str, ...] | None:
    if columns is None:
        return None
    listed = None if isinstance(columns, str) else tuple(columns)
    if not listed or len(set(listed)) < len(listed):
        raise ModelError(f"columns must be a list of different names, got {columns!r}.")
    return listed


def _given_bounds(bounds: Any) -> Box:
    try:
        return given_box(bounds)
    except ArgumentError as error:
        raise ModelError(str(error)) from None
