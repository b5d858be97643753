"""Models seen through one adapter: encoded rows in, one bounded number per row out."""

from discreet.models.linear import LinearForm
from discreet.models.model import BoundModel, Model, as_model

__all__ = ["BoundModel", "LinearForm", "Model", "as_model"]
