"""Pieces that several families of plans share."""

from discreet.parts.cells import build_histogram, count_stage, partition, size_stage
from discreet.parts.subsets import assign_subsets

__all__ = ["assign_subsets", "build_histogram", "count_stage", "partition", "size_stage"]
