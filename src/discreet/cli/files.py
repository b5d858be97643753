"""Files that options name: models, read without running code from them, and public rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from discreet.errors import ArgumentError
from discreet.models import Model
from discreet.models.files import read_model
from discreet.session import Release


def load_model(path: Path, isolated: bool = False) -> Any:
    """Read a model file without running code from it: classes of scikit-learn and plain arrays."""
    model = read_model(path)
    return Model(model, isolated=True) if isolated else model


def read_rows(path: Path) -> Any:
    """Return rows of a CSV file, of a JSON file, or of a saved release of a background."""
    import pandas as pd

    try:
        if path.suffix.lower() == ".csv":
            return pd.read_csv(path)
        plain = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ArgumentError(
            f"rows must be a CSV or JSON file that can be read, got {path} ({type(error).__name__})."
        ) from None
    if isinstance(plain, dict) and "guarantee" in plain:
        return Release.load(path).value
    return plain
