"""One table: which engine answers a question for which form of model.

| question | linear | trees | network | opaque | engine |
|---|---|---|---|---|---|
| predict | own sum | - | - | calls | answers of whole rows |
| curve | shifts | leaves | layer | calls | answers over a grid (``curves``) |
| steps | predict | predict | layer | predict | answers around a row's own value (``curves``) |
| permute | one unit | leaves | layer | calls | one value of another row (``permute``) |
| interact | one unit | leaves | layer | calls | means over mixed rows (``interact``) |
| shapley | formula | formula | layer | calls | Shapley values (``shapley.values``) |

A dash, or an engine that does not suit a model after all, falls through to the model's calls: whatever
has no form that is known is *opaque*. Who explains asks here, and never what form a model has; a new
engine is one more entry.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

from discreet.engines.curves import (
    CalledCurves,
    CurveEngine,
    LinearCurves,
    NetworkCurves,
    NetworkSteps,
    PredictedSteps,
    Predictions,
    StepEngine,
    TreeGrid,
    linear_predictions,
)
from discreet.engines.interact import Dependences, called_dependences, network_dependences
from discreet.engines.interact_trees import tree_dependences
from discreet.engines.permute import CallEngine, EnsembleEngine, NetworkEngine, PermuteEngine
from discreet.engines.seen import seen_grids, show
from discreet.engines.shapley.values import (
    ShapleyValues,
    called_values,
    linear_form_values,
    network_values,
    tree_form_values,
)
from discreet.models import BoundModel, NetworkForm
from discreet.schema import FloatArray, Schema

Asked = Literal["predict", "curve", "steps", "permute", "interact", "shapley"]
Maker = Callable[..., Any]
"""Takes the model, its form and what the question needs besides; None if it does not suit the model."""


def _steps(model: BoundModel, _: Any, place: int) -> StepEngine:
    return PredictedSteps(place, engine_for("predict", model), model.third_party)


ENGINES: dict[Asked, dict[str, Maker]] = {
    "predict": {
        "linear": linear_predictions,
        "opaque": lambda model, _: model.predict,
    },
    "curve": {
        "linear": lambda _, form, places, grids: LinearCurves(form, places, grids),
        "trees": lambda _, form, places, grids: TreeGrid.of(form, places, grids),
        "network": lambda _, form, places, grids: NetworkCurves(form, places, grids),
        "opaque": lambda model, _, places, grids: CalledCurves(model, places, grids),
    },
    "steps": {
        "network": lambda model, form, place: NetworkSteps(form, model.bounds, place),
        "opaque": _steps,
    },
    "permute": {
        "linear": lambda _, form: NetworkEngine(NetworkForm.of_linear(form)),
        "trees": lambda _, form: EnsembleEngine(form),
        "network": lambda _, form: NetworkEngine(form),
        "opaque": lambda model, _: CallEngine(model),
    },
    "interact": {
        "linear": lambda model, form: network_dependences(model, NetworkForm.of_linear(form)),
        "trees": tree_dependences,
        "network": network_dependences,
        "opaque": called_dependences,
    },
    "shapley": {
        "linear": linear_form_values,
        "trees": tree_form_values,
        "network": network_values,
        "opaque": called_values,
    },
}


@overload
def engine_for(question: Literal["predict"], model: BoundModel, /) -> Predictions: ...
@overload
def engine_for(
    question: Literal["curve"],
    model: BoundModel,
    places: Sequence[int],
    grids: Sequence[FloatArray],
    /,
) -> CurveEngine: ...
@overload
def engine_for(question: Literal["steps"], model: BoundModel, place: int, /) -> StepEngine: ...
@overload
def engine_for(question: Literal["permute"], model: BoundModel, /) -> PermuteEngine: ...
@overload
def engine_for(question: Literal["interact"], model: BoundModel, /) -> Dependences: ...
@overload
def engine_for(
    question: Literal["shapley"],
    model: BoundModel,
    schema: Schema,
    coalitions: int | None,
    seed: int,
    /,
) -> ShapleyValues: ...
def engine_for(question: Asked, model: BoundModel, /, *needed: Any) -> Any:
    """Return the engine that knows the model's form, if there is one and it suits; else its calls.

    All of them take encoded rows but that for Shapley values, which takes rows as ``model.seen`` shows
    them: bounds of attributions are made of what it sees.
    """
    makers = ENGINES[question]
    known = makers.get(model.kind)
    seen = (needed[0], seen_grids(model, *needed)) if question == "curve" else needed
    made = None if known is None else known(model, model.form, *seen)
    if made is None:
        return makers["opaque"](model, None, *needed)
    return made if question == "shapley" else show(model, made, *needed[:1])
