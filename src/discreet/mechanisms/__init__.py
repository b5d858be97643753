"""Noise and selection: a certificate in, a value out, an event for the accountant."""

from discreet.mechanisms.additive.gaussian import GaussianNoise
from discreet.mechanisms.additive.laplace import LaplaceNoise
from discreet.mechanisms.additive.linf import LinfNoise
from discreet.mechanisms.additive.noise import Noise
from discreet.mechanisms.additive.registry import (
    NOISES,
    NoiseName,
    count_noise,
    rho_noise,
    sum_noise,
)
from discreet.mechanisms.additive.select_then_measure import SelectThenMeasure
from discreet.mechanisms.selection.basic import (
    AboveThreshold,
    ExponentialMechanism,
    GapChoice,
    NoisyMax,
    PermuteAndFlip,
    TopK,
)
from discreet.mechanisms.selection.dampening import LocalDampening
from discreet.mechanisms.selection.inverse_sensitivity import InverseSensitivity
from discreet.mechanisms.selection.propose_test_release import SupportTest
from discreet.mechanisms.selection.ranking import RankingName, RankingNoise, ranking_noise
from discreet.mechanisms.smooth.joint import JointSmoothMax
from discreet.mechanisms.smooth.noisy_max import SmoothNoisyMax

__all__ = [
    "NOISES",
    "AboveThreshold",
    "ExponentialMechanism",
    "GapChoice",
    "GaussianNoise",
    "InverseSensitivity",
    "JointSmoothMax",
    "LaplaceNoise",
    "LinfNoise",
    "LocalDampening",
    "Noise",
    "NoiseName",
    "NoisyMax",
    "PermuteAndFlip",
    "RankingName",
    "RankingNoise",
    "SelectThenMeasure",
    "SmoothNoisyMax",
    "SupportTest",
    "TopK",
    "count_noise",
    "ranking_noise",
    "rho_noise",
    "sum_noise",
]
