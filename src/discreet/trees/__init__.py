"""Private models that predict: decision trees and forests."""

from discreet.trees.decision_tree import DecisionTreePlan, decision_tree
from discreet.trees.forest import RandomForestPlan, random_forest
from discreet.trees.forest_result import RandomForest
from discreet.trees.tree_result import DecisionTree

__all__ = [
    "DecisionTree",
    "DecisionTreePlan",
    "RandomForest",
    "RandomForestPlan",
    "decision_tree",
    "random_forest",
]
