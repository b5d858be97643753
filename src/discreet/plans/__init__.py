"""Plans, their results, and releases."""

from discreet.plans.plan import Perturbation, Plan, Program, Releaser, Setting, Stage, share_out
from discreet.plans.release import Release
from discreet.plans.results import Curve, Histogram, Result

__all__ = [
    "Curve",
    "Histogram",
    "Perturbation",
    "Plan",
    "Program",
    "Release",
    "Releaser",
    "Result",
    "Setting",
    "Stage",
    "share_out",
]
