"""Where noise must go: the steps of an explainer, and which of them make it private."""

from discreet.explain.dataflow.diagrams import BUILTINS, builtin
from discreet.explain.dataflow.drawing import DataflowDisplay
from discreet.explain.dataflow.graph import Dataflow
from discreet.explain.dataflow.pricing import PriceList, SetPrice, StepPrice
from discreet.explain.dataflow.steps import Step

__all__ = [
    "BUILTINS",
    "Dataflow",
    "DataflowDisplay",
    "PriceList",
    "SetPrice",
    "Step",
    "StepPrice",
    "builtin",
]
