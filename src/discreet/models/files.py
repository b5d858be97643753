"""Model files, read without running code from them.

skops holds classes of scikit-learn and plain arrays; XGBoost, LightGBM, CatBoost and ONNX files hold
numbers that their library evaluates. Pickles run code, and are never read.
"""

from __future__ import annotations

import importlib
import json
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from discreet.errors import ModelError
from discreet.models.known_parts import parts_within
from discreet.models.readers.native import (
    as_estimator,
    check_lightgbm,
    check_lightgbm_text,
    check_xgboost,
)
from discreet.models.soundness import is_sound

_LARGEST_TEXT = 2**26
_LARGEST_MODEL = 2**30
"""How large a model file may be once it is unpacked; a packed one can be a thousand times smaller."""


def read_model(path: Path, trust: Sequence[str] = ()) -> Any:
    """Return the model in a file, by the end of its name; no code of the file is run.

    Args:
      path: ``.json`` or ``.ubj`` (XGBoost; CatBoost's JSON too), ``.txt`` (LightGBM), ``.cbm``
        (CatBoost), ``.onnx``; anything else was saved with skops.
      trust: types of third parties that may be made from it. That runs their code, here.

    Raises:
      ModelError: if it is no such file, is too large, or holds classes of third parties.
    """
    suffix = path.suffix.lower()
    if suffix in _PICKLES:
        raise _pickle(path)
    if suffix not in _NATIVE:
        return _read_skops(path, trust)
    kind, read = _NATIVE[suffix]
    try:
        if path.stat().st_size > _LARGEST_MODEL:
            raise ModelError(f"model must be at most {_LARGEST_MODEL // 2**20} MB, got {path}.")
        return read(path)
    except ModelError:
        raise
    except ImportError as error:
        raise ModelError(f"A {suffix} file needs {kind}, which is not installed ({error}).") from None
    except Exception as error:  # libraries raise many kinds; the file is public
        raise ModelError(
            f"model must be a file of {kind}, got {path} ({type(error).__name__})."
        ) from None


def _pickle(path: Path) -> ModelError:
    return ModelError(
        f"model must be a file without code, got {path}: a pickle runs code when it is read. "
        "Save it with skops, or with its library's own save_model."
    )


def _read_xgboost(path: Path) -> Any:
    if path.suffix.lower() == ".json" and "features_info" in _keys(path):
        return _read_catboost(path)
    from xgboost import Booster

    booster = Booster(model_file=str(path))
    check_xgboost(booster)
    return as_estimator(booster)


def _read_lightgbm(path: Path) -> Any:
    from lightgbm import Booster

    check_lightgbm_text(path.read_bytes())
    booster = Booster(model_file=str(path))
    check_lightgbm(booster)
    return as_estimator(booster)


def _read_catboost(path: Path) -> Any:
    from catboost import CatBoost

    from discreet.models.readers.catboost import check_catboost

    kind = "json" if path.suffix.lower() == ".json" else "cbm"
    model = CatBoost().load_model(str(path), format=kind)
    check_catboost(model)
    return as_estimator(model)


def _read_onnx(path: Path) -> Any:
    from discreet.models.readers.onnx import open_onnx

    return open_onnx(path.read_bytes())


def _keys(path: Path) -> set[str]:
    plain = json.loads(path.read_text(encoding="utf-8"))
    return set(plain) if isinstance(plain, dict) else set()


_PICKLES = (".pkl", ".pickle", ".joblib", ".pt", ".pth")
_NATIVE: dict[str, tuple[str, Callable[[Path], Any]]] = {
    ".json": ("XGBoost or CatBoost", _read_xgboost),
    ".ubj": ("XGBoost", _read_xgboost),
    ".txt": ("LightGBM", _read_lightgbm),
    ".cbm": ("CatBoost", _read_catboost),
    ".onnx": ("ONNX", _read_onnx),
}


@dataclass(frozen=True)
class FileTypes:
    """What a model's file is made of, as it says itself; nothing of it was made to find out.

    Attributes:
      named: every type that it names; of other files than skops the library that reads it.
      third_party: those of others than scikit-learn and NumPy, which run only if they are trusted.
    """

    named: tuple[str, ...]
    third_party: tuple[str, ...]

    def check(self, trust: Sequence[str]) -> None:
        """Raise a sentence that shows all types of third parties if one of them is not trusted."""
        if not set(self.third_party) <= set(trust):
            raise ModelError(
                "model must hold only classes of scikit-learn and types that are trusted, got "
                f"{', '.join(self.third_party)}. If you know what they do, name all of them in trust: "
                "they then run in a process of their own (ModelApart in Python, or the service's "
                "models). Or load it in Python and pass the object instead."
            )


def types_of(path: Path) -> FileTypes:
    """Return the types in a model's file, without making any of them.

    Raises:
      ModelError: if it is a pickle, or no file of skops and has no other known ending.
    """
    suffix = path.suffix.lower()
    if suffix in _PICKLES:
        raise _pickle(path)
    return FileTypes((_NATIVE[suffix][0],), ()) if suffix in _NATIVE else _skops(path, _types_in)


def _types_in(path: Path) -> FileTypes:
    from skops.io import get_untrusted_types

    _check_size(path)
    unknown = get_untrusted_types(file=path)
    with zipfile.ZipFile(path) as archive:
        named = set(_class_names(json.loads(archive.read("schema.json")))) | set(unknown)
    third_party = sorted(name for name in unknown if not is_known_type(name))
    return FileTypes(tuple(sorted(named)), tuple(third_party))


def _class_names(schema: Any) -> Iterator[str]:
    """Yield the types that the description of an archive names, however deep."""
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            module = part.get("__module__", "builtins")
            if module != "builtins":
                yield f"{module}.{part.get('__class__')}"
        waiting += part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()


def _read_skops(path: Path, trust: Sequence[str]) -> Any:
    def made(path: Path) -> Any:
        from skops.io import get_untrusted_types, load

        _types_in(path).check(trust)
        model = load(path, trusted=get_untrusted_types(file=path))
        _check_sound(model)
        return model

    return _skops(path, made)


def _check_sound(model: Any) -> None:
    """Raise if compiled code would go astray in what a file brought."""
    for part in parts_within(model):
        if not is_sound(part):
            raise ModelError(
                "model must hold parts as fitting makes them (trees whose splits end in leaves, and "
                f"look at columns that it has), got another {type(part).__name__}. The file is spoilt: "
                "save the model again."
            )


def _skops(path: Path, use: Callable[[Path], Any]) -> Any:
    try:
        return use(path)
    except ModelError:
        raise
    except Exception as error:  # skops raises many kinds; the file is public
        raise ModelError(
            f"model must be a file saved with skops, got {path} ({type(error).__name__})."
        ) from None


def _check_size(path: Path) -> None:
    """Raise if a file would unpack to more than memory should be risked for."""
    # A member never unpacks to more than its entry says: zipfile stops there.
    with path.open("rb") as file:
        text, whole = _unpacked(file)
    if text > _LARGEST_TEXT or whole > _LARGEST_MODEL:
        raise ModelError(
            f"model must unpack to at most {_LARGEST_MODEL // 2**20} MB, {_LARGEST_TEXT // 2**20} of "
            f"them its description, got {path} with {whole // 2**20} and {text // 2**20} MB. "
            "Load it in Python and pass the object instead."
        )


def _unpacked(file: BinaryIO) -> tuple[int, int]:
    """Return the size of the texts and of everything in an archive, archives inside it included."""
    with zipfile.ZipFile(file) as archive:
        entries = archive.infolist()
        text = sum(entry.file_size for entry in entries if entry.filename.endswith(".json"))
        whole = sum(entry.file_size for entry in entries)
        if whole <= _LARGEST_MODEL:
            inner = [entry for entry in entries if entry.filename.endswith(".npz")]
            whole += sum(_unpacked(BytesIO(archive.read(entry)))[1] for entry in inner)
    return text, whole


# A file names a type by a module and a name in it, and may have it called with anything. Modules of
# scikit-learn hold classes of others too: one that opens files, one that listens on sockets. So a name
# counts only if it leads to a class that was made in that very module, and that class must be one of
# estimators or among those that fitted estimators are made of.

_HELD = frozenset(
    {
        "numpy.dtype",  # imputers and binning keep the type of their numbers
        "functools.partial",  # histogram boosting checks its categories by this function
        "sklearn.utils.validation.check_array",
        "sklearn.compose._column_transformer.make_column_selector",  # a class, whatever its name
    }
)
"""What scikit-learn's own parts hold besides its classes; none of it runs what a file brings."""

_MADE = {
    "sklearn.calibration": ("_CalibratedClassifier",),
    "sklearn.cluster._bisect_k_means": ("_BisectingTree",),
    "sklearn.ensemble._hist_gradient_boosting.predictor": ("TreePredictor",),
    "sklearn.neighbors._ball_tree": ("BallTree",),
    "sklearn.neighbors._kd_tree": ("KDTree",),
    "sklearn.tree._tree": ("Tree",),
    "sklearn.utils._bunch": ("Bunch",),
    "sklearn.utils._metadata_requests": ("MetadataRequest", "MethodMetadataRequest"),
}
"""What fitting leaves behind in estimators."""

_WHOLE = (
    "sklearn._loss.link",
    "sklearn._loss.loss",
    "sklearn.gaussian_process.kernels",
    "sklearn.metrics._dist_metrics",
    "sklearn.metrics._scorer",
    "sklearn.model_selection._split",
    "sklearn.neural_network._stochastic_optimizers",
)
"""Modules all of whose own classes are plain parameters of estimators."""

_CLOSED = ("callback", "conftest", "datasets", "externals", "tests", "utils")
"""Parts of scikit-learn that no fitted model needs; they are not even looked at."""


def is_known_type(name: str) -> bool:
    """Say whether a name leads to a class of scikit-learn's own that models are made of, or hold."""
    module, _, own = name.rpartition(".")
    if name in _HELD:
        return True
    packages = module.split(".")
    made = own in _MADE.get(module, ())
    open_ = made or not {*packages} & {*_CLOSED}
    if packages[0] != "sklearn" or not open_ or not all(map(str.isidentifier, packages)):
        return False
    kind = _at_home(module, own)
    return kind is not None and (made or module in _WHOLE or _is_estimator(kind))


def _at_home(module: str, own: str) -> type | None:
    """Return the class of this name if it was made in this module, else None."""
    try:
        found = getattr(importlib.import_module(module), own, None)
    except Exception:  # there is no such module, or it lacks what it needs
        return None
    home = isinstance(found, type) and (found.__module__, found.__qualname__) == (module, own)
    return found if home else None


def _is_estimator(kind: type) -> bool:
    from sklearn.base import BaseEstimator

    return issubclass(kind, BaseEstimator)
