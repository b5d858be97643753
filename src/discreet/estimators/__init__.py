"""scikit-learn estimators over private plans."""

from discreet.estimators.decision_tree import PrivateDecisionTreeClassifier

__all__ = ["PrivateDecisionTreeClassifier"]
