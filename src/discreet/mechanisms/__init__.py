"""Noise and selection: a certificate in, a value out, an event for the accountant."""

from discreet.mechanisms.dampening import LocalDampening
from discreet.mechanisms.inverse_sensitivity import InverseSensitivity
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
from discreet.mechanisms.smooth_joint import JointSmoothMax
from discreet.mechanisms.smooth_max import SmoothNoisyMax
from discreet.mechanisms.support import SupportTest

__all__ = [
    "AboveThreshold",
    "ExponentialMechanism",
    "GapChoice",
    "GaussianNoise",
    "InverseSensitivity",
    "JointSmoothMax",
    "LaplaceNoise",
    "LocalDampening",
    "Noise",
    "NoiseName",
    "NoisyMax",
    "PermuteAndFlip",
    "PickedNoise",
    "RankingName",
    "RankingNoise",
    "SmoothNoisyMax",
    "SupportTest",
    "TopK",
    "count_noise",
    "ranking_noise",
    "sum_noise",
]
