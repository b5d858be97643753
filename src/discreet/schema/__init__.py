"""Public facts about a table: columns with bounds and values, and their encoding."""

from discreet.schema.columns import MISSING, Bins, Category, Column, FloatArray, Number
from discreet.schema.schema import Schema

__all__ = ["MISSING", "Bins", "Category", "Column", "FloatArray", "Number", "Schema"]
