"""Plans, their results, and releases."""

from discreet.plans.diagnosis import Diagnosis
from discreet.plans.expected import Expected, Strategy
from discreet.plans.plan import (
    ExactSums,
    Holding,
    Perturbation,
    Plan,
    Program,
    Releaser,
    Setting,
    Stage,
    share_out,
)
from discreet.plans.release import Release, copy_of
from discreet.plans.results.attribution import Attribution, Ranking
from discreet.plans.results.result import Curve, Histogram, Result, Surface
from discreet.plans.shared import Shared

__all__ = [
    "Attribution",
    "Curve",
    "Diagnosis",
    "ExactSums",
    "Expected",
    "Histogram",
    "Holding",
    "Perturbation",
    "Plan",
    "Program",
    "Ranking",
    "Release",
    "Releaser",
    "Result",
    "Setting",
    "Shared",
    "Stage",
    "Strategy",
    "Surface",
    "copy_of",
    "share_out",
]
