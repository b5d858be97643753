"""Private models that predict: decision trees and forests."""

from discreet.trees.decision_tree import DecisionTreePlan, decision_tree
from discreet.trees.tree_result import DecisionTree

__all__ = ["DecisionTree", "DecisionTreePlan", "decision_tree"]
