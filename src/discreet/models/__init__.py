"""Models seen through one adapter: encoded rows in, one bounded number per row out."""

from discreet.models.forms.linear import LinearForm
from discreet.models.forms.network import NetworkForm, network_form
from discreet.models.forms.trees import TreeEnsemble, tree_ensemble
from discreet.models.model import BoundModel, Model, as_model

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
