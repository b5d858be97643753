"""Additive models that people have changed after training: the release, and a list of edits on it.

What was released is never altered: an edited model holds it whole, names its digest and does the edits
anew whenever it is read. Making scores monotone (weighted isotonic regression) and smoothing them
(averages) keep the order of scores that lie above each other everywhere. So bands that hold all
noiseless scores at once become, edited in the same way, bands of the edited noiseless scores; bands of
each by itself would not, and edited terms have those of all.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from discreet.additive.released.explained import Ends
from discreet.additive.released.result import AdditiveModel, Term
from discreet.errors import ArgumentError, ReleaseError
from discreet.numerics import check_positive
from discreet.plain import read_fields, write_json
from discreet.plans import Result
from discreet.schema import Bins, Category, FloatArray, Number


@dataclass(frozen=True)
class Edit:
    """One change of a term.

    Attributes:
      kind: what was done.
      columns: of the term.
      margins: the places of the margins that are changed.
      increasing: of ``monotone``, the direction.
      width: of ``smooth``, the standard deviation of its weights, in bins.
      cells: of ``score``, the cells that get it.
      score: what they get.
      why: the reason that was given.
    """

    kind: Literal["monotone", "smooth", "score", "remove"]
    columns: tuple[str, ...]
    margins: tuple[int, ...]
    increasing: bool = True
    width: float | None = None
    cells: tuple[int, ...] = ()
    score: float | None = None
    why: str = ""

    def __str__(self) -> str:
        done = {
            "monotone": "never falls" if self.increasing else "never rises",
            "smooth": f"smoothed, width {self.width}",
            "score": f"{len(self.cells)} scores set to {self.score}",
            "remove": "removed",
        }[self.kind]
        return f"{' x '.join(self.columns)}: {done}" + (f" ({self.why})" if self.why else "")

    def fits(self, term: Term, model: AdditiveModel) -> bool:
        """Return whether the edit can be done to a term of a model."""
        ordered = _is_ordered(model, term)
        return (
            all(0 <= margin < len(model.intercept) for margin in self.margins)
            and {
                "monotone": ordered,
                "smooth": ordered and self.width is not None and self.width > 0,
                "score": self.score is not None and all(0 <= c < len(term.counts) for c in self.cells),
                "remove": True,
            }[self.kind]
        )

    def apply(self, scores: FloatArray, term: Term) -> FloatArray:
        """Return the scores of one margin after the edit; those of missing values are no neighbours."""
        edited = scores.copy()
        if self.kind == "score":
            edited[list(self.cells)] = self.score
            return edited
        inside = len(scores) - term.bins[0].reserved
        weights = np.maximum(np.array(term.counts), 1.0)[:inside]
        own = scores[:inside]
        edited[:inside] = (
            _isotonic(own, weights, self.increasing)
            if self.kind == "monotone"
            else _averaged(own, weights, self.width or 1.0)
        )
        return edited


@dataclass(frozen=True, repr=False)
class EditedModel(AdditiveModel):
    """A released additive model with edits: not a release itself, and free of charge.

    Attributes:
      parent: the digest of the model that was released.
      released: its terms, as they were released.
      edits: what was changed, in order.
    """

    parent: str
    released: tuple[Term, ...]
    edits: tuple[Edit, ...]

    @classmethod
    def of(cls, model: AdditiveModel, edit: Edit) -> EditedModel:
        """Return a model with one more edit."""
        plain = {field.name: getattr(model, field.name) for field in fields(AdditiveModel)}
        if isinstance(model, EditedModel):
            parent, released, before = model.parent, model.released, model.edits
        else:
            parent, released, before = model.digest, model.terms, ()
        return cls(**plain, parent=parent, released=released, edits=(*before, edit))._replayed()

    def __repr__(self) -> str:
        told = "; ".join(map(str, self.edits))
        return f"EditedModel({self.target!r}, {self.extent}, of {self.parent[:12]}: {told})"

    def _replayed(self) -> Self:
        """Return the model with the terms that its edits make of the released ones."""
        terms = {term.columns: term for term in self.released}
        for edit in self.edits:
            term = terms.get(edit.columns)
            if term is None or not edit.fits(term, self):
                raise ValueError(f"edit {edit}")
            if edit.kind == "remove":
                del terms[edit.columns]
            else:
                terms[edit.columns] = _changed(term, edit)
        return replace(self, terms=tuple(terms.values()))

    @property
    def release(self) -> AdditiveModel:
        """The model as it was released."""
        plain = {field.name: getattr(self, field.name) for field in fields(AdditiveModel)}
        return AdditiveModel(**plain | {"terms": self.released})

    def ends(self, term: Term, margin: int, level: float) -> Ends:
        """Return the noise band of every score: of an edited term that of all at once."""
        if not self._edits_of(term, margin):
            return super().ends(term, margin, level)
        return self.ends_at_once(term, margin, level)

    def ends_at_once(self, term: Term, margin: int, level: float) -> Ends:
        """Return the bands of the released scores, edited in the same way as these."""
        (released,) = [own for own in self.released if own.columns == term.columns]
        low, high = super().ends_at_once(released, margin, level)
        for edit in self._edits_of(term, margin):
            low, high = edit.apply(low, term), edit.apply(high, term)
        return low, high

    def _edits_of(self, term: Term, margin: int) -> list[Edit]:
        return [edit for edit in self.edits if edit.columns == term.columns and margin in edit.margins]

    def to_json(self) -> dict[str, Any]:
        """Return the release and the edits as plain data; terms follow from both."""
        plain = super().to_json()
        del plain["terms"]
        return plain

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> EditedModel:
        """Read the release and do the edits anew; raise ValueError if one does not fit."""
        return read_fields(cls, {**plain, "terms": plain.get("released")})._replayed()

    def fits_together(self) -> bool:
        """Return whether the release is the one whose digest is named."""
        return super().fits_together() and self.release.digest == self.parent

    def save(self, path: str | Path) -> Path:
        """Write the model to a JSON file."""
        return write_json(path, self.to_json())

    @classmethod
    def load(cls, path: str | Path) -> EditedModel:
        """Read a model from a JSON file."""
        try:
            made = Result.read(json.loads(Path(path).read_text(encoding="utf-8")))
        except OSError as error:
            raise ReleaseError(f"{path} cannot be read: {error.strerror}.") from None
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise ReleaseError(
                f"{path} must be an edited model saved by discreet, got a fault at {error}."
            ) from None
        if not isinstance(made, EditedModel):
            raise ReleaseError(f"{path} must be an edited model, got a {made.type_name}.")
        return made


def monotone(
    model: AdditiveModel, column: str, increasing: bool, margins: tuple[int, ...], why: str
) -> Edit:
    """Return the edit after which scores, and so the margin, never fall, or never rise."""
    _check_ordered("monotone", model, column)
    pairs = [term for term in model.terms if len(term.columns) > 1 and column in term.columns]
    if pairs:
        columns = ", ".join(map(repr, pairs[0].columns))
        raise ArgumentError(
            f"monotone must be asked of a column that is in no pair, got {column!r}, which is in "
            f"{pairs[0].name!r}: what both add may fall where one rises. Take the pair away first, by "
            f"without({columns})."
        )
    return Edit("monotone", (column,), margins, increasing=bool(increasing), why=why)


def smooth(model: AdditiveModel, column: str, width: float, margins: tuple[int, ...], why: str) -> Edit:
    """Return the edit that averages scores over neighbouring bins."""
    _check_ordered("smoothed", model, column)
    check_positive("width", width)
    return Edit("smooth", (column,), margins, width=float(width), why=why)


def set_score(
    model: AdditiveModel,
    column: str | tuple[str, str],
    values: Any,
    score: float,
    margins: tuple[int, ...],
    why: str,
) -> Edit:
    """Return the edit that sets the scores of the bins of some values."""
    columns = (column,) if isinstance(column, str) else tuple(column)
    term, given = model.term(*columns), float(score)
    if not np.isfinite(given):
        raise ArgumentError(f"score must be a finite number, got {score!r}.")
    asked = {columns[0]: values} if len(columns) == 1 else _by_column(columns, values)
    sides = [
        _cells_of(model, name, bins, asked[name])
        for name, bins in zip(term.columns, term.bins, strict=True)
    ]
    places = np.ravel_multi_index(tuple(np.meshgrid(*sides, indexing="ij")), term.shape)
    cells = tuple(places.ravel().tolist())
    edit = Edit("score", term.columns, margins, cells=cells, score=given, why=why)
    _check_still_monotone(model, term, edit)
    return edit


def _check_still_monotone(model: AdditiveModel, term: Term, edit: Edit) -> None:
    """Raise if an earlier edit says of a term what would no longer be true."""
    for earlier in model.edits if isinstance(model, EditedModel) else ():
        shared = set(edit.margins) & set(earlier.margins)
        if (earlier.kind, earlier.columns) != ("monotone", term.columns):
            continue
        before, after = (_steepest(own, earlier, shared) for own in (term, _changed(term, edit)))
        if after < min(before, 0.0):  # smoothing leaves steps of rounding, which are no fault
            raise ArgumentError(
                f"score must keep what an earlier edit says, {str(earlier)!r}, got {edit.score}, with "
                "which it is not true any more. Set scores first and ask monotone after it."
            )


def _steepest(term: Term, edit: Edit, margins: set[int]) -> float:
    """Return the largest step against the direction of a monotone edit, as a negative number."""
    inside = term.table[sorted(margins), : len(term.counts) - term.bins[0].reserved]
    steps = np.diff(inside, axis=1) * (1.0 if edit.increasing else -1.0)
    return float(steps.min(initial=0.0))


def _by_column(columns: tuple[str, ...], values: Any) -> dict[str, Any]:
    """Return which values of either column of a pair are meant."""
    if not isinstance(values, tuple) or len(values) != 2:
        raise ArgumentError(
            f"values must be a pair, those of {columns[0]!r} and of {columns[1]!r}, got {values!r}."
        )
    return dict(zip(columns, values, strict=True))


def remove(model: AdditiveModel, columns: Sequence[str], why: str) -> Edit:
    """Return the edit that takes a term away."""
    return Edit("remove", model.term(*columns).columns, (), why=why)


def _check_ordered(method: str, model: AdditiveModel, column: str) -> None:
    if not _is_ordered(model, model.term(column)):
        raise ArgumentError(
            f"{method} must be asked of a number or an ordered category, got the category {column!r}, "
            "which has no order."
        )


def _is_ordered(model: AdditiveModel, term: Term) -> bool:
    """Return whether a term is that of a single column whose bins have an order."""
    column = model.schema[term.columns[0]]
    return len(term.columns) == 1 and not (isinstance(column, Category) and not column.ordered)


def _cells_of(model: AdditiveModel, column: str, bins: Bins, values: Any) -> tuple[int, ...]:
    """Return the cells that hold a value, some values, or all between two numbers."""
    known = model.schema[column]
    listed = list(values) if isinstance(values, list | tuple) else [values]
    if not listed:
        raise ArgumentError(f"values must be values of {column!r}, got none.")
    raw = np.empty(len(listed), dtype=object)
    raw[:] = listed
    cells = bins.index(known.encode(raw)).tolist()
    if isinstance(known, Number) and isinstance(values, tuple) and len(values) == 2:
        inside = len(bins) - bins.reserved
        if max(cells) >= inside or cells[0] > cells[1]:
            raise ArgumentError(f"values must be a pair (low, high) of numbers, got {values!r}.")
        return tuple(range(cells[0], cells[1] + 1))
    return tuple(sorted(set(cells)))


def _changed(term: Term, edit: Edit) -> Term:
    table = term.table.copy()
    for margin in edit.margins:
        table[margin] = edit.apply(table[margin], term)
    return replace(term, scores=tuple(map(tuple, table.tolist())))


def _isotonic(scores: FloatArray, weights: FloatArray, increasing: bool) -> FloatArray:
    from scipy.optimize import isotonic_regression

    return np.asarray(isotonic_regression(scores, weights=weights, increasing=increasing).x)


def _averaged(scores: FloatArray, weights: FloatArray, width: float) -> FloatArray:
    """Return averages over neighbouring bins, by their distance and their counts."""
    places = np.arange(len(scores))
    near = np.exp(-0.5 * ((places[:, None] - places) / width) ** 2) * weights
    return np.asarray(near @ scores / near.sum(axis=1))
