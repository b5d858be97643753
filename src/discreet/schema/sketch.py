"""A draft schema from rows: a help for the owner of the data, never a public fact.

Every bound and list in it is marked as read from data. Columns that look like names of records, or like
free text, are left out with a word: their values must not stand in a file that people pass around.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
from narwhals.exceptions import DuplicateError

from discreet.arguments import shown
from discreet.errors import SchemaError
from discreet.schema.booleans import FALSE_WORDS, TRUE_WORDS, Boolean
from discreet.schema.columns import Category, Column, Number
from discreet.schema.dates import Date
from discreet.schema.instants import read_clock
from discreet.schema.raw import category_text, plain_text

_MOST_CATEGORIES = 50
_ENOUGH = 20
"""With fewer values that all differ, nothing is said of what they look like."""

_LARGEST_WHOLE = 2.0**49
"""Beyond it floats are too coarse for a step of one."""

_FORMATS = (None, "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d")
_IDS = re.compile(r"(^|[_ .-])(id|uuid|guid|key|nr|no|mrn|ssn|code)$|id$|^(patient|person|name)", re.I)
_LEADING_ZERO = re.compile(r"[+-]?0\d")


@dataclass(frozen=True)
class Sketch:
    """What was found: columns, what to know of each, and those that were left out and why."""

    columns: dict[str, Column] = field(default_factory=dict)
    notes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)


def sketch_columns(frame: Any, *, target: Any, id: Any) -> Sketch:
    """Return a draft column for every column of a data frame that has one, all bounds marked."""
    try:
        table = nw.from_native(frame, eager_only=True)
    except TypeError:
        raise SchemaError(
            f"frame must be a pandas, polars or pyarrow table, got {type(frame).__name__}. "
            "Read the file into a data frame first."
        ) from None
    except DuplicateError:
        raise SchemaError("frame must have column names that differ, got two alike.") from None
    if id is not None and str(id) not in map(str, table.columns):
        raise SchemaError(f"id and person must be columns of the frame, got {shown(id)}.")
    draft = Sketch()
    for name in table.columns:
        if str(name) != str(id):
            _add(draft, str(name), table.get_column(name).to_list(), str(name) == str(target))
    if draft.left_out and not draft.columns:
        raise SchemaError("frame must have a column that names no record, got none. Add one.")
    return draft


def _add(draft: Sketch, name: str, values: list[Any], is_target: bool) -> None:
    texts = [text for value in values if (text := category_text(value))]
    absent = len(values) - len(texts)
    notes = [f"{absent / len(values):.0%} missing".replace("%", " %")] if absent else []
    reason = None if is_target else _names_records(name, texts)
    if reason is not None:
        draft.left_out[name] = reason
        return
    column, more = _column(texts, values, is_target)
    different = len(set(texts))
    if _IDS.search(name) and _MOST_CATEGORIES < different < len(texts):
        more.append(
            f"{different:,} different values in {len(texts):,} rows: if it names persons, protect all "
            f"rows of one together (person={name!r}, --person {name})"
        )
    draft.columns[name] = column
    draft.notes[name] = (*notes, *more)


def _names_records(name: str, texts: list[str]) -> str | None:
    """Return why a column looks like names of records or free text, None if it does not."""
    different = len(set(texts))
    told = f"{different:,} different values in {len(texts):,} rows"
    if len(texts) < _ENOUGH or _format_of(texts) != "":
        return None
    numbers = [_number(text) for text in texts]
    if any(math.isnan(number) for number in numbers):
        if different > max(_ENOUGH, 0.5 * len(texts)):
            return f"looks like an id or free text ({told})"
        return None
    whole = all(number == math.floor(number) for number in numbers if math.isfinite(number))
    dense = whole and max(numbers) - min(numbers) + 1 == different
    if different == len(texts) and whole and (dense or _IDS.search(name)):
        return f"looks like an id ({told})"
    return None


def _column(texts: list[str], values: list[Any], is_target: bool) -> tuple[Column, list[str]]:
    counts = Counter(texts)
    kinds = {type(value) for value in values if value is not None}
    words = {text.strip().lower() for text in counts}
    if kinds == {bool} or (words and words <= {*TRUE_WORDS, *FALSE_WORDS}):
        return Boolean(read_from_data=("values",)), ["truth values"]
    form = _format_of(texts)
    if form != "":
        return _dates(texts, form)
    numbers = [_number(text) for text in counts]
    numeric = bool(kinds & {int, float}) or bool(texts)
    zeros = any(_LEADING_ZERO.match(text.strip()) for text in counts) and kinds == {str}
    if numeric and not any(map(math.isnan, numbers)) and not zeros:
        return _number_column(numbers, is_target)
    notes = ["leading zeros are kept: these are texts"] if zeros else []
    return _category(counts, notes)


def _category(counts: Counter[str], notes: list[str]) -> tuple[Column, list[str]]:
    often = [text for text, _ in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))]
    distinct = list({plain_text(text): text for text in reversed(often)}.values())[::-1]
    if len(distinct) > _MOST_CATEGORIES:
        notes.append(f"cut at {_MOST_CATEGORIES} of {len(distinct)}: all others count as (other)")
    kept = sorted(distinct[:_MOST_CATEGORIES]) or ["unknown"]
    return Category(*kept, read_from_data=("values",)), notes


def _number_column(numbers: list[float], is_target: bool) -> tuple[Column, list[str]]:
    finite = sorted(number for number in numbers if math.isfinite(number))
    whole = bool(finite) and all(number == math.floor(number) for number in finite)
    if whole and set(finite) == {0.0, 1.0}:
        return Category(0, 1, read_from_data=("values",)), ["0 and 1 alone"]
    if is_target and whole and len(finite) <= _ENOUGH:
        return Category(*map(int, finite), read_from_data=("values",)), ["few whole numbers: classes"]
    low, high = (finite[0], finite[-1]) if finite else (0.0, 1.0)
    if low == high:
        high = low + max(1.0, 16 * math.ulp(low))
    if whole and max(abs(low), abs(high)) < _LARGEST_WHOLE:
        return Number(low, high, 1.0, read_from_data=("low", "high", "step")), ["whole numbers"]
    return Number(low, high, read_from_data=("low", "high")), []


def _dates(texts: list[str], form: str | None) -> tuple[Column, list[str]]:
    clocks = sorted(clock[0] for text in texts if (clock := read_clock(text, form)) is not None)
    low, high = clocks[0], clocks[-1]
    timed = any((clock.hour, clock.minute) != (0, 0) for clock in clocks)
    ends = (low.isoformat(" "), high.isoformat(" ")) if timed else (str(low.date()), str(high.date()))
    notes = [f"dates from {ends[0]} to {ends[1]} (read from data)"]
    if form in ("%d/%m/%Y", "%m/%d/%Y"):
        notes.append("day and month may be the other way round: see format")
    step = "hour" if timed else "day"
    last = ends[1] if low.date() < high.date() else f"{low.year + 1}-01-01"
    marks = ("low", "high", "step")
    return Date(ends[0], last, step, format=form, read_from_data=marks), notes


def _format_of(texts: list[str]) -> str | None:
    """Return how all texts write dates: None as ISO says; an empty text if they are no dates."""
    if not texts:
        return ""
    for form in _FORMATS:
        if all(read_clock(text, form) is not None for text in texts):
            return form
    return ""


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
