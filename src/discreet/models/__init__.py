"""Models seen through one adapter: encoded rows in, one bounded number per row out."""

from discreet.models.linear import LinearForm
from discreet.models.model import BoundModel, Model, as_model
from discreet.models.network import NetworkForm, network_form
from discreet.models.trees import TreeEnsemble, tree_ensemble

__all__ = [
    "BoundModel",
    "LinearForm",
    "Model",
    "NetworkForm",
    "TreeEnsemble",
    "as_model",
    "network_form",
    "tree_ensemble",
]
