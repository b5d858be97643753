"""Files that options name: models, read without running code from them, and public rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from discreet.additive.released.edited import EditedModel
from discreet.cards import Card
from discreet.errors import ArgumentError
from discreet.models.files import read_model
from discreet.session import Release


def load_model(path: Path) -> Any:
    """Read a model without running code: a file, the model of a saved release, ``CARD#NAME``."""
    card, mark, name = str(path).rpartition("#")
    if mark and not path.exists():
        return Card.load(card).model(name)
    released = _released(path)
    return read_model(path) if released is None else released


def _released(path: Path) -> Any:
    """Return what a saved release or edited model holds; None if the file is none."""
    try:
        plain = json.loads(path.read_text(encoding="utf-8")) if path.suffix == ".json" else None
    except (OSError, ValueError, RecursionError):
        plain = None
    if isinstance(plain, dict) and plain.get("type") == EditedModel.type_name:
        return EditedModel.load(path)
    is_release = isinstance(plain, dict) and "guarantee" in plain
    return Release.load(path).value if is_release else None


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
    released = _released(path)
    return plain if released is None else released
