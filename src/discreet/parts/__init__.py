"""Pieces that several families of plans share."""

from discreet.parts.cells import build_histogram, count_stage, partition, plain_bins, size_stage
from discreet.parts.means import NoisyMean, noisy_mean, quotient_ends
from discreet.parts.subsets import assign_subsets
from discreet.parts.sums import sum_stage, sum_terms

__all__ = [
    "NoisyMean",
    "assign_subsets",
    "build_histogram",
    "count_stage",
    "noisy_mean",
    "partition",
    "plain_bins",
    "quotient_ends",
    "size_stage",
    "sum_stage",
    "sum_terms",
]
