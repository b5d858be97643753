"""What a released additive model tells for free: shapes, importances, SHAP values, edited copies.

Only released scores, released counts and the public schema are used, so nothing is charged and no
record is looked at.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from discreet.errors import ArgumentError
from discreet.plans import Attribution
from discreet.plans.results.bands import LEVEL, at_once
from discreet.schema import FloatArray

if TYPE_CHECKING:
    from discreet.additive.released.compiled import AdditiveScore
    from discreet.additive.released.edited import EditedModel
    from discreet.additive.released.result import AdditiveModel, Term
    from discreet.additive.released.shapes import ShapeFunction

Ends = tuple[FloatArray, FloatArray]


class FreeExplanations:
    """The explanations that come with an additive model, made of released numbers and public facts."""

    def term(self, *columns: str) -> Term:
        """Return the term of a column, or of two columns in either order."""
        for term in self._own.terms:
            if sorted(term.columns) == sorted(columns):
                return term
        known = ", ".join(term.name for term in self._own.terms) or "none"
        asked = " x ".join(map(str, columns))
        raise ArgumentError(f"column must have a term of its own, got {asked!r}. There are: {known}.")

    def shape(self, *columns: str, class_: Any = None) -> ShapeFunction:
        """Return what a column, or two of them together, add to a margin, with noise bands.

        Args:
          columns: the name of one column, or of the two of a pair that the model has.
          class_: of more than two classes, the one whose margin is meant.
        """
        from discreet.additive.released.shapes import ShapeFunction

        term, margin = self.term(*columns), self.margin_of(class_)
        each, together = self.ends(term, margin, LEVEL), self.ends_at_once(term, margin, LEVEL)
        shape = ShapeFunction(
            columns=term.columns,
            bins=term.bins,
            scores=term.scores[margin],
            low=tuple(each[0].tolist()),
            high=tuple(each[1].tolist()),
            counts=term.counts,
            level=LEVEL,
            quantity=self.margin_told(margin),
            ends_all=(tuple(together[0].tolist()), tuple(together[1].tolist())),
        )
        return shape.dressed(self._own.schema)

    def shapes(self, class_: Any = None) -> dict[str, ShapeFunction]:
        """Return the shape of every term by its name, the most important first."""
        order = np.argsort(-self.term_importances(), kind="stable")
        terms = [self._own.terms[place] for place in order]
        return {term.name: self.shape(*term.columns, class_=class_) for term in terms}

    def ends(self, term: Term, margin: int, level: float) -> Ends:
        """Return the ends of the noise band of every score of a term by itself."""
        width = NormalDist().inv_cdf((1 + level) / 2) * np.array(term.noise_std[margin])
        return term.table[margin] - width, term.table[margin] + width

    def ends_at_once(self, term: Term, margin: int, level: float) -> Ends:
        """Return the ends of noise bands that hold all scores of a term at once."""
        return FreeExplanations.ends(self, term, margin, at_once(level, len(term.counts)))

    def term_importances(self) -> FloatArray:
        """Return the mean distance of every term's scores from their mean, over the noisy counts."""
        return np.array([_importance(term) for term in self._own.terms])

    @property
    def feature_importances_(self) -> FloatArray:
        """The importances of terms as shares of their sum; a term of two columns counts half for each.

        All zero if no term has any.
        """
        found = np.zeros(len(self._own.features))
        for term, importance in zip(self._own.terms, self.term_importances(), strict=True):
            for name in term.columns:
                found[self._own.features.index(name)] += importance / len(term.columns)
        return np.asarray(found / max(found.sum(), 1e-300))

    def importances(self) -> Attribution:
        """Return how far every term moves a margin, on average over the noisy counts.

        Noise adds to an importance: a term of no use has as much as its noise.
        """
        return Attribution(
            features=tuple(term.name for term in self._own.terms),
            values=(tuple(self.term_importances().tolist()),),
            base_values=None,
            predictions=None,
            data=None,
            half_width=None,
            level=LEVEL,
            noise_std=None,
            quantity=f"mean absolute score ({self.margin_told(None)}), by noisy counts",
        )

    def shap_values(self, x: Any, *, class_: Any = None) -> Attribution:
        """Return exact SHAP values of a margin, against the released counts: free, for ever.

        Args:
          x: rows to explain: a frame, a mapping from names to values, or an array in the order of
            ``features``. Values outside the schema are clipped.
          class_: of more than two classes, the one whose margin is meant.
        """
        from discreet.additive.released.attributions import attribute

        return attribute(self._own, x, self.margin_of(class_))

    def to_shap(self, x: Any, *, class_: Any = None) -> Any:
        """Return ``shap_values`` as a ``shap.Explanation``; needs ``discreet[shap]``."""
        return self.shap_values(x, class_=class_).to_shap()

    def to_model(self, class_: Any = None, *, output: str | None = None) -> AdditiveScore:
        """Return one output as a ``dc.Model``, for all that is asked about models.

        Args:
          class_: the class that is meant; the second of two if left out.
          output: ``probability`` (of a class, the default), ``margin`` or, of a number, ``value``.
        """
        from discreet.additive.released.compiled import AdditiveScore

        usual = "value" if self._own.classes is None else "probability"
        return AdditiveScore(self._own, output or usual, class_)

    def monotone(
        self, column: str, *, increasing: bool = True, class_: Any = None, why: str = ""
    ) -> EditedModel:
        """Return a copy whose scores never fall (or never rise) with a number or an ordered category.

        The nearest such scores by the noisy counts; missing values keep theirs. A column that is in a
        pair is refused until the pair is taken away: only then does the whole margin go one way.
        """
        from discreet.additive.released.edited import monotone

        return self._edited(monotone(self._own, column, increasing, self._margins(class_), why))

    def smoothed(
        self, column: str, *, width: float = 1.0, class_: Any = None, why: str = ""
    ) -> EditedModel:
        """Return a copy with every score drawn towards those of the bins beside it.

        Of a number or an ordered category; the others have no neighbours.

        ``width`` is the standard deviation of the weights, in bins; noisy counts weigh too.
        """
        from discreet.additive.released.edited import smooth

        return self._edited(smooth(self._own, column, width, self._margins(class_), why))

    def with_score(
        self,
        column: str | tuple[str, str],
        values: Any,
        score: float,
        *,
        class_: Any = None,
        why: str = "",
    ) -> EditedModel:
        """Return a copy with a score that an expert sets.

        Args:
          column: one that has a term of its own, or the two of a pair.
          values: one value, a list of values, or of a number the pair ``(low, high)``; all bins that
            hold any of them get the score. Of two columns a pair of such values, one for each.
          score: what they add to the margin from now on. After ``monotone`` it must not go against
            the direction of scores: set it before.
          class_: of more than two classes, the one whose margin is meant; all if left out.
          why: a reason, kept with the edit.
        """
        from discreet.additive.released.edited import set_score

        return self._edited(set_score(self._own, column, values, score, self._margins(class_), why))

    def without(self, *columns: str, why: str = "") -> EditedModel:
        """Return a copy without the term of a column, or of two."""
        from discreet.additive.released.edited import remove

        return self._edited(remove(self._own, columns, why))

    def margin_of(self, class_: Any = None) -> int:
        """Return the place of the margin of a class; of two the second has the only one."""
        classes = self._own.classes
        if classes is None:
            allowed: Sequence[Any] = ()
        else:
            allowed = classes[1:] if len(classes) == 2 else classes
        if class_ is None and len(self._own.intercept) == 1:
            return 0
        if class_ in allowed:
            return list(allowed).index(class_)
        told = f"one of {', '.join(map(repr, allowed))}" if allowed else "left out"
        raise ArgumentError(f"class_ must be {told}, got {class_!r}.")

    def margin_told(self, margin: int | None) -> str:
        """Return what a margin is, in words."""
        own = self._own
        if own.classes is None:
            return own.target
        if len(own.intercept) == 1:
            return f"log-odds of {own.target} = {own.classes[1]}"
        named = "" if margin is None else f" = {own.classes[margin]}"
        return f"margin of {own.target}{named}"

    @property
    def digest(self) -> str:
        """What equal models share: the SHA-256 of their plain data."""
        told = json.dumps(self._own.to_json(), sort_keys=True, allow_nan=False)
        return hashlib.sha256(told.encode()).hexdigest()

    @property
    def _own(self) -> AdditiveModel:
        return cast("AdditiveModel", self)

    def _margins(self, class_: Any) -> tuple[int, ...]:
        every = range(len(self._own.intercept))
        return tuple(every) if class_ is None else (self.margin_of(class_),)

    def _edited(self, edit: Any) -> EditedModel:
        from discreet.additive.released.edited import EditedModel

        return EditedModel.of(self._own, edit)


def _importance(term: Term) -> float:
    weights = np.maximum(np.array(term.counts), 0.0)
    weights = weights / weights.sum() if weights.sum() > 0 else np.full(len(weights), 1 / len(weights))
    centred = term.table - (term.table @ weights)[:, None]
    return float(np.mean(np.abs(centred) @ weights))
