"""From private choices to a ``Ranking``: what happens after the rows were read.

At the end, for the curator alone: how far the best features are apart, and how often a pick will be
right. That is exact and so not private; it answers what a curator asks before spending: can this
ranking be right, or is it a tie?
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.explain.shap.engines import KernelEngine
from discreet.explain.shap.parts import Explained
from discreet.mechanisms import Noise, RankingNoise, SelectThenMeasure, SupportTest
from discreet.plans import Diagnosis, ExactSums, Perturbation, Ranking, Releaser, Stage
from discreet.plans.results.bands import LEVEL, at_once
from discreet.plans.stages import MeanStages, NoisyMean, noisy_mean
from discreet.privacy.certificate import Box
from discreet.randomness import IntArray, SimulatedNoise
from discreet.schema import FloatArray

_SEEDS = 5
_NEAR = 1e-2
_SEED, _DRAWS = 20_260_501, 2_000


@dataclass(frozen=True)
class SelectedRelease:
    """Builds a ranking from the picks of one prepared plan."""

    explained: Explained
    ranking: Stage[RankingNoise]
    values: Stage[SelectThenMeasure] | None
    size: Stage[Noise] | None

    @property
    def asked(self) -> tuple[Stage[Perturbation], ...]:
        """All stages that will happen."""
        return tuple(s for s in (self.ranking, self.values, self.size) if s is not None)

    @property
    def lost(self) -> float:
        """How far below the best a pick is on average, in the worst case."""
        return self.ranking.noise.std

    def finish(self, releaser: Releaser) -> Ranking:
        """Select in one pass over the rows, then measure what was selected."""
        first = (self.ranking,) if self.size is None else (self.ranking, self.size)
        answers = releaser.answer(*first)
        rows = self._rows(answers)
        picks = answers[0][:, :, 0].astype(int)
        values, each = self._values(releaser, picks, answers)
        return Ranking(
            features=self.explained.features,
            order=tuple(tuple(self.explained.features[i] for i in chosen) for chosen in picks),
            gaps=_gaps(answers[0][:, :, 1] / rows) if self.ranking.noise.tells_gap else None,
            values=None if values is None else _nested(values.values, picks.shape),
            half_width=None if values is None else values.half_width,
            level=LEVEL,
            expected_loss=None if self._unknown_size else self.ranking.noise.std / rows,
            mechanism=self.ranking.noise.name,
            half_width_each=None if each is None else each.half_width,
        )

    @property
    def _unknown_size(self) -> bool:
        return self.explained.rows is None and self.size is None

    def _rows(self, answers: list[FloatArray]) -> float:
        if self.explained.rows is not None:
            return float(self.explained.rows)
        return 1.0 if self.size is None else max(float(answers[1][0]), 1.0)

    def _values(
        self, releaser: Releaser, picks: Any, answers: list[FloatArray]
    ) -> tuple[NoisyMean | None, NoisyMean | None]:
        """Return the values of what was selected, with bands of all at once and of each."""
        if self.values is None:
            return None, None
        places = picks + len(self.explained.features) * np.arange(len(picks))[:, None]
        noise = replace(self.values.noise, places=tuple(places.ravel().tolist()))
        (noisy,) = releaser.answer(replace(self.values, noise=noise))
        bound = self.explained.contribution.region.magnitude
        together, each = (
            noisy_mean(
                noisy,
                noise.noise,
                rows=self.explained.rows,
                noisy_size=None if self.size is None else float(answers[1][0]),
                size_noise=None if self.size is None else self.size.noise,
                region=Box(-bound, bound),
                level=level,
            ).within(-bound, bound)
            for level in (at_once(LEVEL, len(noisy)), LEVEL)
        )
        return together, each


@dataclass(frozen=True)
class SortedRelease:
    """Builds a ranking by sorting noisy attributions; what they are comes along for free."""

    explained: Explained
    stages: MeanStages
    k: int

    @property
    def asked(self) -> tuple[Stage[Perturbation], ...]:
        """All stages that will happen."""
        return self.stages.all

    @property
    def lost(self) -> float:
        """How far below the best a first place is on average, at most: the mean of the greatest noise.

        The chosen one's noise lifts it by at most its width above what it is, while the best one's
        lowers its own score as often as it lifts it.
        """
        return self.stages.sums.noise.mean_farthest(len(self.explained.features))

    def finish(self, releaser: Releaser) -> Ranking:
        """Ask for all sums in one pass over the rows, and sort them by their absolute value."""
        explained, answers = self.explained, releaser.answer(*self.asked)
        if explained.rows is None and self.stages.size is None:
            # In units of the private number of records, which moves nothing past anything else.
            return self._ranking(answers[0], None)
        mean, each = (
            explained.mean(answers, self.stages, level)
            for level in (at_once(LEVEL, len(answers[0])), LEVEL)
        )
        found = self._ranking(mean.values, mean.within(*explained.limits))
        return replace(found, half_width_each=each.within(*explained.limits).half_width)

    def _ranking(self, noisy: FloatArray, mean: NoisyMean | None) -> Ranking:
        features, shape, noise = (
            self.explained.features,
            self.explained.centres.shape,
            self.stages.sums.noise,
        )
        order = np.argsort(-np.abs(noisy.reshape(shape)), axis=1, kind="stable")[:, : self.k]
        values = None if mean is None else np.take_along_axis(mean.values.reshape(shape), order, axis=1)
        return Ranking(
            features=features,
            order=tuple(tuple(features[i] for i in chosen) for chosen in order),
            gaps=None,
            values=None if values is None else _nested(values, order.shape),
            half_width=None if mean is None else mean.half_width,
            level=LEVEL,
            expected_loss=None if mean is None else self.lost * mean.std / noise.std,
            mechanism=f"sorted {noise.name}",
        )


@dataclass(frozen=True)
class SupportRelease:
    """Builds a ranking of all features above a threshold, if their set is stable."""

    explained: Explained
    support: Stage[SupportTest]
    values: Stage[SelectThenMeasure]

    def finish(self, releaser: Releaser) -> Ranking:
        """Test and release the support, then measure it."""
        (above,) = releaser.answer(self.support)
        places = tuple(int(i) for i in np.flatnonzero(above == 1))
        rows = self.explained.setting_rows
        if np.isnan(above).any() or not places:
            return self._ranking(None if np.isnan(above).any() else (), (), None)
        noise = SelectThenMeasure.of(
            self.support.noise.certificate,
            places,
            relation=self.support.noise.relation,
            epsilon=self.values.noise.epsilon,
            step=self.support.noise.step,
        )
        (noisy,) = releaser.answer(replace(self.values, noise=noise))
        order = np.argsort(-np.abs(noisy), kind="stable")
        names = tuple(self.explained.features[places[i]] for i in order)
        bound = self.explained.contribution.region.magnitude
        values = np.clip(noisy[order] / rows, -bound, bound)  # [feasible]
        found = self._ranking(
            names, tuple(values.tolist()), _band(noise, rows, at_once(LEVEL, len(places)))
        )
        return replace(found, half_width_each=_band(noise, rows, LEVEL))

    def _ranking(
        self, names: tuple[str, ...] | None, values: tuple[float, ...], band: float | None
    ) -> Ranking:
        return Ranking(
            features=self.explained.features,
            order=(names,),
            gaps=None,
            values=(values,),
            half_width=band,
            level=LEVEL,
            expected_loss=None,
            mechanism=self.support.noise.name,
        )


def selected_stage(
    explained: Explained, chosen_by: RankingNoise | SupportTest, count: int, epsilon: float | None
) -> Stage[SelectThenMeasure] | None:
    """Return the stage that measures ``count`` places, to be named when they are known."""
    if epsilon is None:
        return None
    noise = SelectThenMeasure.of(
        chosen_by.certificate,
        tuple(range(count)),
        relation=chosen_by.relation,
        epsilon=epsilon,
        step=chosen_by.step,
    )
    return Stage("values", explained.contribution, noise)


def _band(noise: SelectThenMeasure, rows: float, level: float) -> float:
    """Return what noise on a selected value stays within."""
    return noise.noise.half_width(level) / rows


def _nested(values: FloatArray, shape: tuple[int, ...]) -> tuple[tuple[float, ...], ...]:
    return tuple(map(tuple, values.reshape(shape).tolist()))


def _gaps(gaps: FloatArray) -> tuple[tuple[float | None, ...], ...]:
    return tuple(tuple(None if np.isnan(g) else float(g) for g in row) for row in gaps)


@dataclass(frozen=True)
class Ranked:
    """A ranking made ready: with its clip, and the same attributions without one."""

    explained: Explained
    unclipped: Explained
    noise: RankingNoise | Noise

    def values(self, exact: ExactSums) -> tuple[FloatArray, FloatArray]:
        """Return the exact unclipped attributions, and the law of every query's first pick."""
        clipped = Stage("ranking", self.explained.contribution, self.noise)
        whole = Stage("values", self.unclipped.contribution, self.noise)
        raw, raw_whole = exact(clipped, whole)
        values = np.array(raw_whole * (self.noise.step / self.explained.setting_rows))
        law = self.noise.first_law(raw) if isinstance(self.noise, RankingNoise) else self._drawn(raw)
        return values.reshape(self.explained.groups, -1), law

    def _drawn(self, raw_steps: IntArray) -> FloatArray:
        """Return how often seeded noise puts each feature first."""
        assert not isinstance(self.noise, RankingNoise)
        source, centres = SimulatedNoise(_SEED), self.explained.centres
        first = np.zeros(centres.shape)
        for _ in range(_DRAWS):
            noisy = self.noise.release(raw_steps, source).reshape(centres.shape)
            best = np.argmax(np.abs(noisy / self.explained.setting_rows + centres), axis=1)
            first[np.arange(len(best)), best] += 1 / _DRAWS
        return first

    @property
    def sensitivity(self) -> float:
        """How far a record moves one attribution."""
        moved = self.noise.certificate.sensitivity("linf", self.noise.relation)
        return moved / self.explained.setting_rows


def diagnose_ranking(
    plan: str, ranked: Callable[[int], Ranked], seed: int, exact: ExactSums
) -> Diagnosis:
    """Return the facts that decide how good a private ranking is on this very table.

    Facts per query: the exact attributions' ``gap``, ``ratio`` = Delta_inf / gap (well below
    one: easy; well above: hopeless without more records), and the probability that the first pick is
    the truly best feature, exact for picks and by 2,000 draws where noisy values are sorted. Over
    queries: the share of near ties (gap below 0.01). Over seeds: how much of the answer is owed to the
    choice of coalitions.
    """
    own = ranked(seed)
    values, law = own.values(exact)
    best = np.argmax(np.abs(values), axis=1)
    ordered = np.sort(np.abs(values), axis=1)[:, ::-1]
    gaps = ordered[:, 0] - (ordered[:, 1] if ordered.shape[1] > 1 else 0.0)
    with np.errstate(divide="ignore"):
        ratios = own.sensitivity / gaps
    facts: dict[str, Any] = {
        "best feature": [own.explained.features[i] for i in best],
        "Delta_inf": own.sensitivity,
        "gap": gaps.tolist(),
        "ratio": ratios.tolist(),
        "P[top-1 correct]": law[np.arange(len(law)), best].tolist(),
        "P[random is correct]": 1.0 / values.shape[1],
        "near-tie fraction": float(np.mean(gaps < _NEAR)),
    }
    others = [] if _is_exact(own) else [ranked(seed + shift) for shift in range(1, _SEEDS)]
    return Diagnosis(plan, facts | _jitter(values, [other.values(exact)[0] for other in others]))


def _is_exact(ranked: Ranked) -> bool:
    engine = ranked.explained.engine
    return not isinstance(engine, KernelEngine) or engine.masks.kind == "exact"


def _jitter(values: FloatArray, others: list[FloatArray]) -> dict[str, float]:
    """Return how the answer moves with the public choice of coalitions."""
    best = np.argmax(np.abs(values), axis=1)
    same = [np.argmax(np.abs(other), axis=1) == best for other in others] or [True]
    return {
        "jitter over coalition seeds": float(np.std([values, *others], axis=0).max()),
        "same best feature over seeds": float(np.mean(same)),
    }
