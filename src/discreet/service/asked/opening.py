"""How the service opens a model's file: in its own process, or in one that may crash.

In the service run our own engines, for models that they know (trees, weighted sums, perceptrons), and
scikit-learn. Everything else that a file may hold is code of others, compiled or trusted by the owner:
it is asked in a process of its own, where a row harms no answer but its own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from discreet.cards.models import ModelFile
from discreet.models import Model, as_model
from discreet.models.apart import Limits, ModelApart
from discreet.models.files import FileTypes, read_model, types_of
from discreet.models.forms.trees import raw_ensemble
from discreet.service.problems import without_place
from discreet.service.settings import ModelEntry

_BOOSTERS = (".json", ".ubj", ".txt", ".cbm")


def open_path(path: Path, entry: ModelEntry, limits: Limits) -> Any:
    """Return the model in a file of the project, as it is entered.

    Raises:
      ModelError: if it is no model's file, or holds types of third parties that are not trusted.
    """
    types = types_of(path)
    types.check(entry.trust)
    if _is_never_ours(path, types):
        return as_entered(ModelApart(path, trust=entry.trust, limits=limits), entry)
    model = as_entered(read_model(path), entry)
    if path.suffix.lower() in _BOOSTERS and not _is_ours(model):
        return as_entered(ModelApart(path, trust=entry.trust, limits=limits), entry)
    return model


def open_file(file: ModelFile, entry: ModelEntry, limits: Limits) -> Any:
    """Return the model in a file that is kept, as ``open_path`` does."""
    with file.on_disk() as path, without_place(path.parent):
        return open_path(path, entry, limits)


def try_upload(file: ModelFile, entry: ModelEntry, limits: Limits) -> dict[str, Any]:
    """Return what is told of a file that somebody sent, once it is known to be usable.

    A process of its own reads it first: a spoilt file may crash the reader of its library.

    Raises:
      ModelError: if it holds types that are not trusted, or cannot be read or used.
    """
    with file.on_disk() as path, without_place(path.parent):
        types = types_of(path)
        types.check(entry.trust)
        if not _is_never_ours(path, types):
            ModelApart(path, limits=limits).close()
        model = open_path(path, entry, limits)
    told: dict[str, Any] = {"types": list(types.named), "trust": list(types.third_party)}
    apart = apart_of(model)
    if apart is None:
        return {**told, "process": "the service's"}
    apart.close()
    return {**told, "process": "its own", "network_closed": apart.network_closed}


def apart_of(model: Any) -> ModelApart | None:
    """Return what runs in a process of its own, if a model does."""
    wrapped = model.wrapped if isinstance(model, Model) else model
    return wrapped if isinstance(wrapped, ModelApart) else None


def as_entered(model: Any, entry: ModelEntry) -> Any:
    """Return a model with what its entry says of it, or raise one sentence that says what it lacks."""
    if (entry.output, entry.class_, entry.bounds) == ("auto", None, None):
        if is_fitted(model):
            as_model(model)
        return model
    return Model(model, output=entry.output, class_=entry.class_, bounds=entry.bounds)  # type: ignore[arg-type]


def is_fitted(model: Any) -> bool:
    """Say whether a model answers; estimators that are yet to be fitted are for data Shapley values."""
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(model.wrapped if isinstance(model, Model) else model)
    except NotFittedError:
        return False
    except TypeError:  # no estimator of scikit-learn's kind
        return True
    return True


def _is_never_ours(path: Path, types: FileTypes) -> bool:
    """Say whether no engine of ours can answer for a file, whatever is in it."""
    return bool(types.third_party) or path.suffix.lower() == ".onnx"


def _is_ours(model: Any) -> bool:
    """Say whether our own engines answer for a booster, and its library does not."""
    entered = as_model(model)
    return raw_ensemble(entered.wrapped, entered.output, entered.class_index) is not None
