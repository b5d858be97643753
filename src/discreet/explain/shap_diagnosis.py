"""For the curator alone: how far the best features are apart, and how often a pick will be right.

Everything here is exact and so not private. It answers the question a curator has before spending:
is this ranking worth asking for, or is it a tie?
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.explain.shap_parts import Question
from discreet.explain.shapley.engines import KernelEngine
from discreet.mechanisms import RankingNoise, ranking_noise
from discreet.parts import sum_terms
from discreet.plans import Diagnosis, ExactSums, Setting, Stage
from discreet.schema import FloatArray

_SEEDS = 5
_NEAR = 1e-2


@dataclass(frozen=True)
class _Exact:
    """Exact attributions of all queries and the law of their first picks."""

    features: tuple[str, ...]
    values: FloatArray
    right: FloatArray
    sensitivity: float

    @property
    def gaps(self) -> FloatArray:
        """The lead of every query's best feature."""
        best = np.sort(np.abs(self.values), axis=1)[:, ::-1]
        return best[:, 0] - best[:, 1] if best.shape[1] > 1 else best[:, 0]


def diagnose_ranking(
    plan: str,
    question: Question,
    setting: Setting,
    exact: ExactSums,
    *,
    clip: float | None,
    epsilon: float,
    delta: float,
    k: int,
    mechanism: Any,
) -> Diagnosis:
    """Return the facts that decide how good a private ranking is on this very table.

    Facts per query: the exact attributions' lead (``gap``), ``ratio`` = Delta_inf / gap (well below
    one: easy; well above: hopeless without more records), and the exact probability that the first
    pick is the truly best feature. Over queries: the share of near ties (gap below 0.01). Over
    seeds: how much of the answer is owed to the choice of coalitions.
    """

    def run(seed: int) -> _Exact:
        explained = replace(question, seed=seed).prepare(setting, centred=False, clip=clip, norm="linf")
        certificate, terms = sum_terms(explained.contribution, setting, statement="shap-contribution")
        noise: RankingNoise = ranking_noise(
            certificate,
            epsilon=epsilon,
            delta=delta,
            groups=explained.groups,
            k=k,
            mechanism=mechanism,
            **terms,
        )
        (raw,) = exact(Stage("ranking", explained.contribution, noise))
        rows = explained.setting_rows
        values = np.array(raw * (noise.step / rows), dtype=np.float64)
        values = values.reshape(explained.groups, -1)
        law = noise.first_law(raw)
        right = law[np.arange(len(law)), np.argmax(np.abs(values), axis=1)]
        moved = noise.certificate.sensitivity("linf", noise.relation) / rows
        return _Exact(explained.features, values, right, moved)

    found = run(question.seed)
    with np.errstate(divide="ignore"):
        ratios = found.sensitivity / found.gaps
    facts: dict[str, Any] = {
        "best feature": [found.features[i] for i in np.argmax(np.abs(found.values), axis=1)],
        "Delta_inf": found.sensitivity,
        "gap": found.gaps.tolist(),
        "ratio": ratios.tolist(),
        "P[top-1 correct]": found.right.tolist(),
        "P[random is correct]": 1.0 / len(found.features),
        "near-tie fraction": float(np.mean(found.gaps < _NEAR)),
    }
    return Diagnosis(plan, facts | _jitter(question, setting, found, run))


def _jitter(question: Question, setting: Setting, found: _Exact, run: Any) -> dict[str, Any]:
    """Return how the answer moves with the public choice of coalitions; nothing if it is exact."""
    engine = question.engine(setting)
    if not isinstance(engine, KernelEngine) or engine.masks.kind == "exact":
        return {"jitter over coalition seeds": 0.0, "same best feature over seeds": 1.0}
    others = [run(question.seed + shift) for shift in range(1, _SEEDS)]
    best = np.argmax(np.abs(found.values), axis=1)
    same = np.mean([np.argmax(np.abs(o.values), axis=1) == best for o in others])
    spread = np.std([found.values, *(o.values for o in others)], axis=0)
    return {
        "jitter over coalition seeds": float(spread.max()),
        "same best feature over seeds": float(same),
    }
