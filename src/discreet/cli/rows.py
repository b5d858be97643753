"""Public rows on disk: queries, and backgrounds that are public or were released."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from discreet.errors import ArgumentError
from discreet.session import Release


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
