"""Noise and selection: a certificate in, a value out, an event for the accountant."""

from discreet.mechanisms.noise import (
    GaussianNoise,
    LaplaceNoise,
    Noise,
    NoiseName,
    count_noise,
    sum_noise,
)
from discreet.mechanisms.selection import (
    AboveThreshold,
    ExponentialMechanism,
    GapChoice,
    NoisyMax,
    PermuteAndFlip,
    TopK,
)

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
    "TopK",
    "count_noise",
    "sum_noise",
]
