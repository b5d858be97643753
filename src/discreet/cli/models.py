"""Models on disk, read without running code from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from discreet.errors import ModelError


def load_model(path: Path) -> Any:
    """Read a model file without running code from it: classes of scikit-learn and plain arrays."""
    from skops.io import get_untrusted_types, load

    try:
        named = get_untrusted_types(file=path)
        foreign = [name for name in named if not _is_sklearn_class(name)]
        if foreign:
            raise ModelError(
                f"model must hold only classes of scikit-learn, got {foreign[0]}. "
                "Load it in Python and pass the object instead."
            )
        return load(path, trusted=named)
    except ModelError:
        raise
    except Exception as error:  # skops raises many kinds; the file is public
        raise ModelError(
            f"model must be a file saved with skops, got {path} ({type(error).__name__})."
        ) from None


def _is_sklearn_class(name: str) -> bool:
    return name.startswith("sklearn.") and name.rsplit(".", 1)[-1][:1].isupper()
