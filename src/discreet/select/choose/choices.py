"""Stages that choose: what the mechanism looks at, from a table's scores or its distances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.mechanisms.selection.inverse_sensitivity import signed_distances
from discreet.mechanisms.smooth.noisy_max import score_stability
from discreet.plans.results.choice import Choice
from discreet.randomness import IntArray, NoiseSource
from discreet.schema import FloatArray
from discreet.select.choose.chooser import ChoiceNoise, reason
from discreet.select.quantiles.order_statistics import Standing

INVERSE = "inverse-sensitivity"


@dataclass(frozen=True)
class ScoreChoice(ChoiceNoise):
    """A choice by scores on a lattice; ``release`` returns the index and the noisy lead, if any.

    Guarantees:
      - The certificate in use is that of the rounded scores. [lattice]
    """

    def standing(self, raw_steps: IntArray) -> Standing:
        """Return what the choice looks at."""
        winner, stability = score_stability(raw_steps, 2 * self.chooser.sensitivity)
        return Standing(raw_steps, winner, stability)

    def release(self, raw_steps: IntArray, source: NoiseSource) -> FloatArray:
        """Return the index, and the lead in the unit of a score."""
        drawn = self.chooser.draw(self.standing(raw_steps), source)
        return np.array([drawn[0], drawn[1] * self.step])


@dataclass(frozen=True)
class DistanceChoice(ChoiceNoise):
    """A choice by distances in edits: by themselves, or by how safe the answer is.

    Guarantees:
      - For distances that move by at most one per edit and are zero for the answer alone, so do the
        scores, and the stability is one. [claimed-utility] [signed-distance] [inverse-sensitivity]
    """

    asked: str

    @property
    def name(self) -> str:
        """The mechanism."""
        return self.asked

    def standing(self, raw_distances: IntArray) -> Standing:
        """Return what the choice looks at; one candidate is the answer, whatever was said."""
        winner = int(np.argmin(raw_distances))
        distances = np.maximum(raw_distances, 1)
        distances[winner] = 0
        leave = int(np.delete(distances, winner).min())
        standing = Standing(signed_distances(distances, leave), winner, leave - 1)
        return replace(standing, scores=-distances) if self.asked == INVERSE else standing

    def release(self, raw_distances: IntArray, source: NoiseSource) -> FloatArray:
        """Return the index; a lead has no meaning."""
        return np.array([self.chooser.draw(self.standing(raw_distances), source)[0], np.nan])


def build_choice(
    candidates: Sequence[Any],
    drawn: FloatArray,
    errors: Mapping[str, float],
    asked: str,
    taken: str,
    unit: str,
) -> Choice:
    """Return the result of a drawn index."""
    place = int(drawn[0])
    return Choice(
        winner=candidates[place],
        place=place,
        candidates=len(candidates),
        mechanism=taken,
        why=reason(asked, taken, errors, unit),
        expected_error=errors[taken],
        unit=unit,
        gap=None if np.isnan(drawn[1]) else float(drawn[1]),
        compared=tuple(errors.items()),
    )
