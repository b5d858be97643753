"""Results of explanations: noisy attributions of features, and noisy rankings of them."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from discreet.errors import ArgumentError
from discreet.plans.results.bands import BandName, chosen_band
from discreet.plans.results.result import Result, is_table
from discreet.schema import FloatArray

if TYPE_CHECKING:
    import pandas as pd


class OfQueries:
    """Answers that know, in memory alone, by what their owner knows the queries: an index of pandas.

    It is saved nowhere: the same rows under other labels are the same question.
    """

    _labels: Any = None

    def labelled(self, labels: Any) -> Self:
        """Return the same answers for queries of this name; None leaves their places."""
        made = copy(self)
        object.__setattr__(made, "_labels", labels)  # no field, so that nobody saves it
        return made

    def index_of(self, queries: Sequence[int]) -> Any:
        """Return the index of rows that are about these queries, given by their places."""
        import pandas as pd

        places = pd.Index(np.array(queries, dtype=np.int64), name="query")
        return places if self._labels is None else self._labels.take(places)


@dataclass(frozen=True)
class Attribution(OfQueries, Result):
    """Noisy attributions: one number per feature for every query.

    Attributes:
      features: the features, in order.
      values: noisy attributions, one row per query.
      base_values: the value the attributions start from, one per query: the prediction minus their
        sum; None for importances.
      predictions: f(x) of every query; None if there is no query.
      data: the queries as they were given, None if they are protected or there are none.
      half_width: how far noise may be from each value, all of them at once with probability
        ``level``; it speaks of noise alone, not of what a clip or a noisy background does. None if
        no noise was added to the values themselves.
      level: see ``half_width``.
      noise_std: standard deviation of the noise on one value.
      quantity: what a value measures.
      half_width_each: as ``half_width``, for each value by itself.
    """

    features: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]
    base_values: tuple[float, ...] | None
    predictions: tuple[float, ...] | None
    data: tuple[tuple[Any, ...], ...] | None
    half_width: float | None
    level: float
    noise_std: float | None
    quantity: str
    half_width_each: float | None = field(default=None, kw_only=True)

    def band(self, of: BandName = "all") -> tuple[FloatArray, FloatArray]:
        """Return the ends of the noise band, of all values at once or of each by itself."""
        width = chosen_band(of, self.half_width_each, self.half_width)
        return self.to_array() - width, self.to_array() + width

    @property
    def extent(self) -> str:
        """The number of features, and of queries if there are several."""
        queries = len(self.values)
        return f"{len(self.features):,} features" + (f", {queries:,} queries" if queries > 1 else "")

    def fits_together(self) -> bool:
        """Return whether every query has a value of every feature."""
        of_queries = (self.base_values, self.predictions, self.data)
        return (
            len(self.values) > 0
            and is_table(self.values, len(self.values), len(self.features))
            and all(part is None or len(part) == len(self.values) for part in of_queries)
        )

    def to_array(self) -> FloatArray:
        """Return the values, queries x features."""
        return np.array(self.values, dtype=np.float64)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per feature: its value, and the band that holds for all values at once.

        Explanations of queries come in the order of the queries and their features, the query as
        index, by its label if it came with a frame's; importances, which have no query, with the
        largest first.
        """
        import pandas as pd

        values = self.to_array()
        frame = pd.DataFrame({"feature": self.features * len(values), "value": values.ravel()})
        if self.half_width is not None:
            frame["low"] = frame["value"] - self.half_width
            frame["high"] = frame["value"] + self.half_width
        if self.base_values is None and self.predictions is None:
            return frame.iloc[np.argsort(-np.abs(values[0]), kind="stable")].reset_index(drop=True)
        queries = np.repeat(np.arange(len(values)), len(self.features))
        return frame.set_index(self.index_of(queries.tolist()))

    def ranking(self, k: int = 1, query: int = 0) -> tuple[str, ...]:
        """Return the ``k`` features with the largest noisy values: free, since it reads nothing else.

        If the ranking is all that is wanted, ``shap_ranking`` finds it with less noise.
        """
        order = np.argsort(-np.abs(self.to_array()[query]), kind="stable")
        return tuple(self.features[i] for i in order[:k])

    def to_shap(self) -> Any:
        """Return a ``shap.Explanation``, for shap's own plots; needs ``discreet[shap]``.

        ``base_values`` is the prediction minus the noisy sum, so that every plot adds up; bands of all
        values at once are in ``lower_bounds`` and ``upper_bounds``.
        """
        try:
            import shap
        except ImportError:
            raise ArgumentError(
                "to_shap must find the package shap, got none. Install discreet[shap]."
            ) from None
        values, width = self.to_array(), self.half_width
        one = len(values) == 1
        return shap.Explanation(
            values=values[0] if one else values,
            base_values=_shaped(self.base_values, one),
            data=self._data(one),
            feature_names=list(self.features),
            lower_bounds=None if width is None else (values[0] if one else values) - width,
            upper_bounds=None if width is None else (values[0] if one else values) + width,
        )

    def _data(self, one: bool) -> Any:
        """Return the queries as floats if they all are numbers, as shap's plots like them."""
        if self.data is None:
            return None
        numbers = all(isinstance(v, int | float) or v is None for row in self.data for v in row)
        found = np.array(self.data, dtype=np.float64 if numbers else object)
        return found[0] if one else found

    def plot(
        self,
        ax: Any = None,
        *,
        title: str | None = None,
        query: int = 0,
        top: int = 15,
        band: BandName = "all",
    ) -> Any:
        """Draw one query's bars with noise bands, the largest ``top`` features first."""
        from discreet.plans.results.pictures.attribution import AttributionDisplay

        return AttributionDisplay(self, query=query, top=top, band=band).plot(ax, title=title)

    def plot_waterfall(self, ax: Any = None, *, title: str | None = None, query: int = 0) -> Any:
        """Draw how the attributions add up from the base value to the prediction."""
        from discreet.plans.results.pictures.attribution import WaterfallDisplay

        return WaterfallDisplay(self, query=query).plot(ax, title=title)


@dataclass(frozen=True)
class Ranking(OfQueries, Result):
    """Features in order of what they contributed, for every query.

    Attributes:
      features: all candidates.
      order: the chosen features of every query, best first; None where a test did not pass.
      gaps: noisy gap of each chosen feature to those that were left, where the mechanism gives
        it; in the unit of an attribution.
      values: noisy attributions of the chosen features, if they were asked for.
      half_width: noise on a value: all are within it at once with probability ``level``.
      level: see ``half_width``.
      expected_loss: how far a chosen feature's attribution is below the best one's, on average and
        in the worst case; None if it would need a private number of records.
      mechanism: how the features were chosen.
      half_width_each: as ``half_width``, for each value by itself.
    """

    features: tuple[str, ...]
    order: tuple[tuple[str, ...] | None, ...]
    gaps: tuple[tuple[float | None, ...], ...] | None
    values: tuple[tuple[float, ...], ...] | None
    half_width: float | None
    level: float
    expected_loss: float | None
    mechanism: str
    half_width_each: float | None = field(default=None, kw_only=True)

    def band(self, of: BandName = "all") -> tuple[FloatArray, FloatArray]:
        """Return the ends of the noise band of the values, of all at once or of each by itself."""
        width, values = chosen_band(of, self.half_width_each, self.half_width), np.array(self.values)
        return values - width, values + width

    @property
    def extent(self) -> str:
        """How many were chosen, of how many, and for how many queries if there are several."""
        chosen = max(len(names or ()) for names in self.order)
        told = f"the first {chosen:,} of {len(self.features):,}"
        return told + (f", {len(self.order):,} queries" if len(self.order) > 1 else "")

    def fits_together(self) -> bool:
        """Return whether all that was chosen is a candidate and has its gap and value."""
        lengths = [len(chosen or ()) for chosen in self.order]
        beside = [part for part in (self.gaps, self.values) if part is not None]
        return (
            len(self.order) > 0
            and {name for chosen in self.order for name in chosen or ()} <= set(self.features)
            and all([len(row) for row in part] == lengths for part in beside)
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The chosen features of the first query."""
        return self.order[0] or ()

    @property
    def stable(self) -> bool:
        """Whether every query got an answer; a test of stability may refuse one."""
        return all(chosen is not None for chosen in self.order)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per place: feature, gap and value where there are any.

        Of several queries the query is the index, in their order, by its label if it came with a
        frame's; one without an answer has no row.
        """
        import pandas as pd

        rows: list[dict[str, Any]] = []
        queries: list[int] = []
        for query, chosen in enumerate(self.order):
            for place, name in enumerate(chosen or ()):
                row: dict[str, Any] = {"place": place + 1, "feature": name}
                if self.gaps is not None:
                    row["gap"] = self.gaps[query][place]
                if self.values is not None:
                    row["value"] = self.values[query][place]
                rows.append(row)
                queries.append(query)
        columns = ["place", "feature"] if not rows else None
        known = len(self.order) > 1 or self._labels is not None
        index = self.index_of(queries) if known else None
        return pd.DataFrame(rows, columns=columns, index=index)

    def plot(self, ax: Any = None, *, title: str | None = None, query: int = 0) -> Any:
        """Draw the chosen features with their gap, or their values with noise bands."""
        from discreet.plans.results.pictures.ranking import RankingDisplay

        return RankingDisplay(self, query=query).plot(ax, title=title)


def _shaped(values: tuple[float, ...] | None, one: bool) -> Any:
    if values is None:
        return None
    return values[0] if one else np.array(values)
