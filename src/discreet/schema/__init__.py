"""Public facts about a table: columns with bounds and values, and their encoding."""

from discreet.schema.bins import MISSING, Bins, FloatArray
from discreet.schema.booleans import Boolean
from discreet.schema.columns import Category, Column, Number
from discreet.schema.conditions import Condition, col
from discreet.schema.dates import Date
from discreet.schema.levels import Level
from discreet.schema.schema import Schema

__all__ = [
    "MISSING",
    "Bins",
    "Boolean",
    "Category",
    "Column",
    "Condition",
    "Date",
    "FloatArray",
    "Level",
    "Number",
    "Schema",
    "col",
]
