"""Noise and selection: a certificate in, a value out, an event for the accountant."""

from discreet.mechanisms.noise import (
    GaussianNoise,
    LaplaceNoise,
    Noise,
    NoiseName,
    count_noise,
    sum_noise,
)
from discreet.mechanisms.picked import PickedNoise
from discreet.mechanisms.ranking import RankingName, RankingNoise, ranking_noise
from discreet.mechanisms.selection import (
    AboveThreshold,
    ExponentialMechanism,
    GapChoice,
    NoisyMax,
    PermuteAndFlip,
    TopK,
)
from discreet.mechanisms.support import SupportTest

__all__ = [
    "AboveThreshold",
    "ExponentialMechanism",
    "GapChoice",
    "GaussianNoise",
    "LaplaceNoise",
    "Noise",
    "NoiseName",
    "NoisyMax",
    "PermuteAndFlip",
    "PickedNoise",
    "RankingName",
    "RankingNoise",
    "SupportTest",
    "TopK",
    "count_noise",
    "ranking_noise",
    "sum_noise",
]
