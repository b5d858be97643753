"""What scikit-learn's pipelines make of columns before their last step sees them.

Most preparation looks at one column at a time: scaling and filling a number keep its order, coding a
category looks up what stands for its value. A pipeline of such steps makes each column that its last
step sees of one column of a row. Which one, and whether a number keeps its order, is read here from
what was fitted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.models.known_parts import is_itself, known_parts
from discreet.schema import FloatArray

Step = Callable[[FloatArray], FloatArray]
"""An increasing function of numbers, as it is computed."""


@dataclass(frozen=True)
class MadeColumn:
    """A column that a step makes.

    Args:
      place: of the column of a row that it is made of.
      steps: what a number goes through, each step increasing; None if its order is lost.
    """

    place: int
    steps: tuple[Step, ...] | None = ()

    def then(self, step: Step) -> MadeColumn:
        """Return what an increasing step makes of it."""
        return replace(self, steps=None if self.steps is None else (*self.steps, step))

    def coded(self) -> MadeColumn:
        """Return a column that looks its values up."""
        return replace(self, steps=None)


Columns = Sequence[MadeColumn]


@dataclass(frozen=True)
class Preparation:
    """A pipeline, taken apart.

    Args:
      before: all steps but the last.
      last: the last step.
      made: what each column that the last step sees is made of.
    """

    before: Any
    last: Any
    made: Columns


def preparation(estimator: Any) -> Preparation | None:
    """Return a pipeline taken apart.

    None for what is no pipeline, and for one in which something besides known parts, unchanged, looks
    at several columns at once.
    """
    if type(estimator).__name__ != "Pipeline" or not is_itself(estimator) or len(estimator.steps) < 2:
        return None
    before, last = estimator[:-1], estimator.steps[-1][1]
    width = getattr(before, "n_features_in_", None)
    if width is None or known_parts(before) is None:
        return None
    try:
        made = _through(before, [MadeColumn(place) for place in range(width)])
    except Exception:  # what was fitted was written to since: the pipeline is asked itself
        return None
    return None if made is None else Preparation(before, last, made)


def _through(step: Any, columns: Columns) -> Columns | None:
    """Return what a fitted step makes of some columns, or None if that is not column by column."""
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return columns
    make = _MAKES.get(type(step).__name__)
    return None if make is None else make(step, columns)


def _through_pipeline(pipeline: Any, columns: Columns) -> Columns | None:
    found: Columns | None = columns
    for _, step in pipeline.steps:
        found = None if found is None else _through(step, found)
    return found


def _through_columns(transformer: Any, columns: Columns) -> Columns | None:
    """Put side by side what every transformer makes of its columns, in their order."""
    if transformer.transformer_weights:  # one below zero turns numbers around
        return None
    chosen = getattr(transformer, "_transformer_to_input_indices", None)
    made: list[MadeColumn] = []
    for name, step, asked in transformer.transformers_:
        places = None if chosen is None else chosen.get(name)
        if places is None or not _are_places(asked, places, transformer):
            return None
        if isinstance(step, str) and step == "drop":
            continue
        found = _through(step, [columns[place] for place in places]) if len(places) else ()
        if found is None:
            return None
        made += found
    return made


def _are_places(asked: Any, places: Any, transformer: Any) -> bool:
    """Say whether columns that are asked for stand at these places: matrices go by the former."""
    if isinstance(asked, slice) and isinstance(asked.start or asked.stop, str):
        return True  # of names, which frames alone have: they go by places
    listed = asked if isinstance(asked, slice) else list(np.atleast_1d(asked))
    if isinstance(listed, list) and any(isinstance(one, str) for one in listed):
        return [transformer.feature_names_in_[place] for place in places] == listed
    return list(np.arange(transformer.n_features_in_)[listed]) == list(places)


def _through_standard(scaler: Any, columns: Columns) -> Columns | None:
    shifts = scaler.mean_ if scaler.with_mean else None
    return _scaled(columns, shifts, scaler.scale_ if scaler.with_std else None)


def _through_robust(scaler: Any, columns: Columns) -> Columns | None:
    shifts = scaler.center_ if scaler.with_centering else None
    return _scaled(columns, shifts, scaler.scale_ if scaler.with_scaling else None)


def _through_greatest(scaler: Any, columns: Columns) -> Columns | None:
    limits = (-1.0, 1.0) if getattr(scaler, "clip", False) else (-math.inf, math.inf)
    found = _scaled(columns, None, scaler.scale_)
    return found and [column.then(_clipped(*limits)) for column in found]


def _through_range(scaler: Any, columns: Columns) -> Columns | None:
    if not _increasing(scaler.scale_, len(columns)):
        return None
    limits = scaler.feature_range if scaler.clip else (-math.inf, math.inf)
    if not np.all(np.isfinite(scaler.min_)):
        return None
    return [
        column.then(_times(scale)).then(_minus(-shift)).then(_clipped(*limits))
        for column, scale, shift in zip(columns, scaler.scale_, scaler.min_, strict=True)
    ]


def _scaled(columns: Columns, shifts: Any, scales: Any) -> Columns | None:
    shifts = np.zeros(len(columns)) if shifts is None else shifts
    scales = np.ones(len(columns)) if scales is None else scales
    known = len(shifts) == len(columns) and bool(np.all(np.isfinite(shifts)))
    if not known or not _increasing(scales, len(columns)):
        return None
    return [
        column.then(_minus(shift)).then(_divided(scale))
        for column, shift, scale in zip(columns, shifts, scales, strict=True)
    ]


def _increasing(scales: Any, width: int) -> bool:
    scales = np.asarray(scales)
    return len(scales) == width and bool(np.all((scales > 0) & np.isfinite(scales)))


def _minus(shift: float) -> Step:
    return lambda numbers: numbers - shift


def _times(scale: float) -> Step:
    return lambda numbers: numbers * scale


def _divided(scale: float) -> Step:
    return lambda numbers: numbers / scale


def _clipped(low: float, high: float) -> Step:
    return lambda numbers: np.clip(numbers, low, high)


def _through_filled(imputer: Any, columns: Columns) -> Columns | None:
    """A number that is there stays as it is, if only NaN counts as missing."""
    fills = np.asarray(imputer.statistics_, dtype=object)
    dropped = any(fill is None or fill != fill for fill in fills)
    if imputer.add_indicator or dropped or len(fills) != len(columns):
        return None
    plain = isinstance(imputer.missing_values, float) and math.isnan(imputer.missing_values)
    return columns if plain else [column.coded() for column in columns]


def _through_one_hot(encoder: Any, columns: Columns) -> Columns | None:
    counts = [len(known) for known in encoder.categories_]
    if getattr(encoder, "_infrequent_enabled", False):
        together = encoder.infrequent_categories_
        counts = [
            n - (0 if few is None else len(few) - 1) for n, few in zip(counts, together, strict=True)
        ]
    if encoder.drop_idx_ is not None:
        counts = [n - (gone is not None) for n, gone in zip(counts, encoder.drop_idx_, strict=True)]
    if len(counts) != len(columns):
        return None
    return [column.coded() for column, n in zip(columns, counts, strict=True) for _ in range(n)]


def _through_ordinal(encoder: Any, columns: Columns) -> Columns | None:
    known = len(encoder.categories_) == len(columns)
    return [column.coded() for column in columns] if known else None


def _through_function(transformer: Any, columns: Columns) -> Columns | None:
    return columns if transformer.func is None else None


_MAKES: dict[str, Callable[[Any, Columns], Columns | None]] = {
    "Pipeline": _through_pipeline,
    "ColumnTransformer": _through_columns,
    "StandardScaler": _through_standard,
    "RobustScaler": _through_robust,
    "MaxAbsScaler": _through_greatest,
    "MinMaxScaler": _through_range,
    "SimpleImputer": _through_filled,
    "OneHotEncoder": _through_one_hot,
    "OrdinalEncoder": _through_ordinal,
    "FunctionTransformer": _through_function,
}
