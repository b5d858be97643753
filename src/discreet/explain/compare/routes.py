"""Two routes to a difference of two models: one noisy sum of differences, or a noisy sum of each.

One sum of differences moves by as much as both sums together, and has less noise than two of them at
the same price, unless one of them hardly moves. Two are the only way where both models are known by
their answers alone. Which way is taken follows from public facts, and is told.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from discreet.errors import ArgumentError
from discreet.explain.compare.difference import ModelDifference, clip_bias
from discreet.mechanisms import Noise
from discreet.plans import Setting, Stage, share_out
from discreet.plans.results.bands import LEVEL
from discreet.plans.stages import size_stage, sum_stage
from discreet.plans.stages.counts import SIZE_SHARE
from discreet.plans.stages.means import NoisyMean, noisy_mean
from discreet.privacy.certificate import Box
from discreet.schema import FloatArray

Method = Literal["auto", "differences", "two releases"]


@dataclass(frozen=True)
class TwoNoises:
    """The noise on a difference of two sums, each with noise of its own."""

    first: Noise
    second: Noise

    @property
    def std(self) -> float:
        """The standard deviation."""
        return math.hypot(self.first.std, self.second.std)

    def half_width(self, level: float) -> float:
        """Return half the width of a band: squares add, exactly so for normal noise.

        Laplace noise has the heavier tails alone than as one of two, so that the band is wide enough.
        """
        return math.hypot(self.first.half_width(level), self.second.half_width(level))


@dataclass(frozen=True)
class CompareRoute:
    """One way, made ready.

    Args:
      name: of the way.
      sums: its noisy sums: one of differences, or one of each model.
      size: the noisy number of records, where that is private.
      noise: on the difference.
      length: no coordinate of a record's difference is taken for farther from zero.
      shift: what the difference of means is measured from.
      bias: what clipping changes on public rows.
    """

    name: str
    sums: tuple[Stage[Noise], ...]
    size: Stage[Noise] | None
    noise: Noise | TwoNoises
    length: float
    shift: float
    bias: float

    @property
    def stages(self) -> tuple[Stage[Noise], ...]:
        """All that is asked for."""
        return self.sums if self.size is None else (*self.sums, self.size)

    def error(self, rows: int | None) -> float:
        """Return half the width of the band of a mean, or of a sum, clipping included."""
        return self.noise.half_width(LEVEL) / (rows or 1) + self.bias

    def mean(
        self, answers: Sequence[FloatArray], asked: ModelDifference, rows: Any, level: float
    ) -> NoisyMean:
        """Return the mean difference that was answered."""
        first, *second = answers[: len(self.sums)]
        span = self.length if not second else asked.whole + abs(self.shift)
        found = noisy_mean(
            first - second[0] if second else first,
            self.noise,  # type: ignore[arg-type]  # a std and a half width are all it needs
            rows=rows,
            noisy_size=None if self.size is None else float(answers[-1][0]),
            size_noise=None if self.size is None else self.size.noise,
            region=Box(-span, span),
            level=level,
        )
        moved = found.moved(np.full(asked.size, self.shift), self.bias)
        return moved.within(-asked.whole, asked.whole)


def choose_route(
    asked: ModelDifference,
    setting: Setting,
    *,
    method: Method,
    clip: Any,
    statement: str,
    law: dict[str, Any],
) -> tuple[CompareRoute, str]:
    """Return the way with the smaller error by public facts, and why it was taken."""
    if asked.opaque and method == "differences":
        raise ArgumentError(
            "method must be 'two releases' for two models that are known by their answers alone, got "
            "'differences': no call may hold both. Or leave it out."
        )
    ask = _Asker(asked, setting, statement, law)
    if asked.opaque:
        return ask.two(), "both models are known by their answers alone, and no call may hold both"
    if method != "auto":
        return (ask.two() if method == "two releases" else ask.differences(clip)), "asked for"
    routes = [ask.differences(clip), ask.two()]
    chosen = min(routes, key=lambda route: route.error(setting.rows))
    told = ", ".join(f"{route.name} ± {route.error(setting.rows):.3g}" for route in routes)
    of = "" if setting.rows is not None else ", of sums: how many records there are is private"
    return chosen, f"the narrower band by public facts: {told}{of}"


@dataclass(frozen=True)
class _Asker:
    asked: ModelDifference
    setting: Setting
    statement: str
    law: dict[str, Any]

    def _shares(self, weights: Sequence[float]) -> tuple[list[float], list[float]]:
        """Return the epsilons of the sums and of the size, and the deltas of the sums."""
        private = self.setting.rows is None
        rest = 1 - SIZE_SHARE if private else 1.0
        shares = [rest * weight / sum(weights) for weight in weights]
        epsilons = share_out(self.law["epsilon"], (*shares, *([SIZE_SHARE] if private else [])))
        return list(epsilons), list(share_out(self.law["delta"], tuple(weights)))

    def _sum(self, name: str, contribution: Any, epsilon: float, delta: float) -> Stage[Noise]:
        paid = self.law | {"epsilon": epsilon, "delta": delta}
        joint = self.asked.size > 1
        return sum_stage(
            name, contribution, self.setting, statement=self.statement, joint=joint, **paid
        )

    def _size(self, epsilons: Sequence[float]) -> Stage[Noise] | None:
        if self.setting.rows is not None:
            return None
        return size_stage(self.asked.columns[0], self.setting, epsilon=epsilons[-1])

    def differences(self, clip: Any) -> CompareRoute:
        """Return one noisy sum of differences, clipped where that errs less."""
        epsilons, deltas = self._shares((1.0,))
        asked, seen = self.asked, self.asked.on_public_rows(self.setting.schema)

        def stage(length: float) -> Stage[Noise]:
            return self._sum("differences", asked.clipped(length), epsilons[0], deltas[0])

        if clip == "auto":
            rows = self.setting.rows
            length = asked.choose_length(seen, lambda at: stage(at).noise.half_width(LEVEL), rows)
        else:
            length = asked.whole if clip is None else min(float(clip), asked.whole)
        made, bias = stage(length), clip_bias(seen, length)
        size = self._size(epsilons)
        return CompareRoute("differences", (made,), size, made.noise, length, 0.0, bias)

    def two(self) -> CompareRoute:
        """Return a noisy sum of each model; the one that moves farther gets more of epsilon.

        Two noises together are least where shares are as the ranges to the power of two thirds.
        """
        sides = self.asked.first, self.asked.second
        contributions = [side.alone for side in sides]
        relation = self.setting.relation
        moved = [each.certificate.sensitivity("l1", relation) for each in contributions]
        weights = [max(one / max(*moved, 1e-300), 1e-3) ** (2 / 3) for one in moved]
        epsilons, deltas = self._shares(weights)
        names = ("first model", "second model")
        made = [self._sum(*each) for each in zip(names, contributions, epsilons, deltas, strict=False)]
        noise, shift = TwoNoises(made[0].noise, made[1].noise), sides[0].middle - sides[1].middle
        size = self._size(epsilons)
        return CompareRoute("two releases", tuple(made), size, noise, self.asked.whole, shift, 0.0)
