"""Pieces that several families of plans share."""

from discreet.plans.stages.aggregate import assign_subsets
from discreet.plans.stages.counts import build_histogram, count_stage, partition, plain_bins, size_stage
from discreet.plans.stages.means import MeanStages, NoisyMean, noisy_mean, quotient_ends
from discreet.plans.stages.sums import sum_stage, sum_terms

__all__ = [
    "MeanStages",
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
