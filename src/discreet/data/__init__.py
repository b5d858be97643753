"""Sealed tables, what one record contributes, and the engine that adds contributions up."""

from discreet.data.calls import ModelCalls
from discreet.data.contributions import (
    CellContribution,
    Contribution,
    SealedContribution,
    TablesContribution,
    VectorContribution,
    WholeContribution,
)
from discreet.data.engine import Summand, add_up
from discreet.data.table import PrivateTable

__all__ = [
    "CellContribution",
    "Contribution",
    "ModelCalls",
    "PrivateTable",
    "SealedContribution",
    "Summand",
    "TablesContribution",
    "VectorContribution",
    "WholeContribution",
    "add_up",
]
