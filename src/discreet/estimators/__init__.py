"""scikit-learn estimators over private plans."""

from discreet.estimators.additive import PrivateAdditiveClassifier, PrivateAdditiveRegressor
from discreet.estimators.classifiers import (
    PrivateDecisionTreeClassifier,
    PrivateRandomForestClassifier,
)

__all__ = [
    "PrivateAdditiveClassifier",
    "PrivateAdditiveRegressor",
    "PrivateDecisionTreeClassifier",
    "PrivateRandomForestClassifier",
]
