"""Models in a process of their own: code that may crash, hang or eat memory on a row harms that row."""

from discreet.models.apart.limits import Limits
from discreet.models.apart.model import ModelApart

__all__ = ["Limits", "ModelApart"]
