"""Model files, read without running code from them: classes of scikit-learn and plain arrays."""

from __future__ import annotations

import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from discreet.errors import ModelError

_LARGEST_TEXT = 2**26
_LARGEST_MODEL = 2**30
"""How large a model file may be once it is unpacked; a packed one can be a thousand times smaller."""


def read_model(path: Path) -> Any:
    """Return the model in a file; no code of the file is run.

    Raises:
      ModelError: if it is no such file, unpacks to too much, or holds classes of third parties.
    """
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
