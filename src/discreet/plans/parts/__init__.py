"""Questions of a part of a table, and of every group of its records at once."""

from discreet.plans.parts.plan import PartPlan, WherePlan

__all__ = ["PartPlan", "WherePlan"]
