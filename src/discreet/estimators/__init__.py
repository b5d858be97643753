"""scikit-learn estimators over private plans."""

from discreet.estimators.classifiers import (
    PrivateDecisionTreeClassifier,
    PrivateRandomForestClassifier,
)

__all__ = ["PrivateDecisionTreeClassifier", "PrivateRandomForestClassifier"]
