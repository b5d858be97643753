"""Model files, read without running code from them.

skops holds classes of scikit-learn and plain arrays; XGBoost, LightGBM, CatBoost and ONNX files hold
numbers that their library evaluates. Pickles run code, and are never read.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from discreet.errors import ModelError
from discreet.models.native import as_estimator

_LARGEST_TEXT = 2**26
_LARGEST_MODEL = 2**30
"""How large a model file may be once it is unpacked; a packed one can be a thousand times smaller."""


def read_model(path: Path) -> Any:
    """Return the model in a file, by the end of its name; no code of the file is run.

    Args:
      path: ``.json`` or ``.ubj`` (XGBoost; CatBoost's JSON too), ``.txt`` (LightGBM), ``.cbm``
        (CatBoost), ``.onnx``; anything else was saved with skops.

    Raises:
      ModelError: if it is no such file, is too large, or holds classes of third parties.
    """
    suffix = path.suffix.lower()
    if suffix in _PICKLES:
        raise ModelError(
            f"model must be a file without code, got {path}: a pickle runs code when it is read. "
            "Save it with skops, or with its library's own save_model."
        )
    if suffix not in _NATIVE:
        return _read_skops(path)
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


def _read_xgboost(path: Path) -> Any:
    if path.suffix.lower() == ".json" and "features_info" in _keys(path):
        return _read_catboost(path)
    from xgboost import Booster

    return as_estimator(Booster(model_file=str(path)))


def _read_lightgbm(path: Path) -> Any:
    from lightgbm import Booster

    return as_estimator(Booster(model_file=str(path)))


def _read_catboost(path: Path) -> Any:
    from catboost import CatBoost

    kind = "json" if path.suffix.lower() == ".json" else "cbm"
    return as_estimator(CatBoost().load_model(str(path), format=kind))


def _read_onnx(path: Path) -> Any:
    from discreet.models.onnx import open_onnx

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


def _read_skops(path: Path) -> Any:
    from skops.io import get_untrusted_types, load

    try:
        _check_size(path)
        named = get_untrusted_types(file=path)
        third_party = [name for name in named if not _is_sklearn_class(name)]
        if third_party:
            raise ModelError(
                f"model must hold only classes of scikit-learn, got {third_party[0]}. "
                "Load it in Python and pass the object instead."
            )
        return load(path, trusted=named)
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


def _is_sklearn_class(name: str) -> bool:
    return name.startswith("sklearn.") and name.rsplit(".", 1)[-1][:1].isupper()
