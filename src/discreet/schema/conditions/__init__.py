"""Conditions on columns, by which a record is in a part of a table: data, not code."""

from discreet.schema.conditions.condition import Condition
from discreet.schema.conditions.naming import col, condition_from_json, settled
from discreet.schema.conditions.text import read_condition

__all__ = ["Condition", "col", "condition_from_json", "read_condition", "settled"]
