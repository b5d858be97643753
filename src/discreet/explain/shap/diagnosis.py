"""For the curator alone: how far the best features are apart, and how often a pick will be right.

Everything here is exact and so not private. It answers the question a curator has before spending:
can this ranking be right, or is it a tie?
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.explain.shap.engines import KernelEngine
from discreet.explain.shap.parts import Explained
from discreet.mechanisms import Noise, RankingNoise
from discreet.plans import Diagnosis, ExactSums, Stage
from discreet.randomness import IntArray, SimulatedNoise
from discreet.schema import FloatArray

_SEEDS = 5
_NEAR = 1e-2
_SEED, _DRAWS = 20_260_501, 2_000


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

    Facts per query: the exact attributions' lead (``gap``), ``ratio`` = Delta_inf / gap (well below
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
