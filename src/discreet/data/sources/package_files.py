"""Files of statistical packages and spreadsheets, read into memory by pandas.

A text that is empty is missing, as in those packages and in CSV files. Of a spreadsheet it is the
first sheet, whose first row has the names; every cell keeps the kind it has there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from discreet.data.sources.pandas_frames import PandasSource, open_pandas
from discreet.data.sources.stored import StoredFile
from discreet.errors import DataRefused


def open_package(file: StoredFile, names: Sequence[str]) -> PandasSource:
    """Return the source of a file, with the named columns alone; what pandas raises is raised."""
    with file.opened() as place:
        frame = READERS[Path(file.name).suffix.lower()](place)
    kept = [place for place, name in enumerate(frame.columns) if str(name) in names]
    return open_pandas(frame.iloc[:, kept].apply(_emptied), names)


def _stata(place: Any) -> Any:
    import pandas as pd

    return pd.read_stata(place)


def _sas(place: Any) -> Any:
    import pandas as pd

    return pd.read_sas(place, format="sas7bdat", encoding="infer")


def _xport(place: Any) -> Any:
    import pandas as pd

    return pd.read_sas(place, format="xport")


def _excel(place: Any) -> Any:
    import pandas as pd

    try:
        sheet = pd.read_excel(place, header=None, dtype=object, keep_default_na=False, na_values=[""])
    except ImportError:
        raise DataRefused(
            "data must be a file that can be read here, got a spreadsheet but no openpyxl. "
            "Install it with pip install 'discreet[excel]', or save the sheet as CSV.",
            rule="file",
        ) from None
    frame = sheet.iloc[1:].reset_index(drop=True)
    frame.columns = list(sheet.iloc[0]) if len(sheet) else []
    return frame


READERS: dict[str, Callable[[Any], Any]] = {
    ".dta": _stata,
    ".sas7bdat": _sas,
    ".xpt": _xport,
    ".xlsx": _excel,
}
"""What reads a file, by how its name ends."""


def _emptied(column: Any) -> Any:
    if column.dtype.kind in "OU" or str(column.dtype) in ("str", "string"):
        return column.where(~column.isin(["", b""]), None)
    return column
