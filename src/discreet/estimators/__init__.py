"""scikit-learn estimators over private plans."""

from discreet.estimators.decision_tree import PrivateDecisionTreeClassifier
from discreet.estimators.random_forest import PrivateRandomForestClassifier

__all__ = ["PrivateDecisionTreeClassifier", "PrivateRandomForestClassifier"]
