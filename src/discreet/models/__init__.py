"""Models seen through one adapter: encoded rows in, one bounded number per row out."""

from discreet.models.linear import LinearForm
from discreet.models.model import BoundModel, Model, as_model
from discreet.models.trees import TreeEnsemble, tree_ensemble

__all__ = ["BoundModel", "LinearForm", "Model", "TreeEnsemble", "as_model", "tree_ensemble"]
