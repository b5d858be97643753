"""Plans that explain a model."""

from discreet.explain.partial_dependence import PartialDependencePlan, partial_dependence

__all__ = ["PartialDependencePlan", "partial_dependence"]
