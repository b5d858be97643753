"""Conditions as texts: ``age >= 65 and home in ('own', 'free')``, as people type them in a shell.

The grammar is that of Python's expressions, of which only comparisons of a column with plain values,
``and``, ``or``, ``not`` and their signs are read. Nothing is evaluated.
"""

from __future__ import annotations

import ast
from typing import Any

from discreet.arguments import shown
from discreet.errors import ArgumentError
from discreet.schema.conditions.condition import Condition
from discreet.schema.conditions.naming import col

_ORDERS = {ast.GtE: ">=", ast.Gt: ">", ast.LtE: "<=", ast.Lt: "<"}
_TURNED = {">=": "<=", ">": "<", "<=": ">=", "<": ">"}
_LONGEST = 10_000


def read_condition(text: str) -> Condition:
    """Return the condition a text says.

    >>> str(read_condition("65 <= age and not home == 'own'"))
    "age >= 65 and not (home == 'own')"
    """
    try:
        if len(text) > _LONGEST:
            raise ValueError
        return _read(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        raise ArgumentError(
            "where must compare columns with values, as in \"age >= 65 and sex == 'F'\", joined by "
            f"and, or, not, got {shown(text)}. A name with spaces is written col('blood pressure')."
        ) from None


def _read(node: ast.expr) -> Condition:
    if isinstance(node, ast.BoolOp):
        first, *others = [_read(value) for value in node.values]
        for other in others:
            first = first & other if isinstance(node.op, ast.And) else first | other
        return first
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd | ast.BitOr):
        left, right = _read(node.left), _read(node.right)
        return left & right if isinstance(node.op, ast.BitAnd) else left | right
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.Invert):
        return ~_read(node.operand)
    if isinstance(node, ast.Compare):
        return _comparison(node)
    return _method(node)


def _comparison(node: ast.Compare) -> Condition:
    """Return one comparison, or a chain of them: ``18 <= age < 65``."""
    sides = [node.left, *node.comparators]
    found = [_pair(*three) for three in zip(sides[:-1], node.ops, sides[1:], strict=True)]
    first, *others = found
    for other in others:
        first = first & other
    return first


def _pair(left: ast.expr, sign: ast.cmpop, right: ast.expr) -> Condition:
    name = _column(left)
    turned = name is None
    name, value = (_column(right), _value(left)) if name is None else (name, _value(right))
    if name is None:
        raise ValueError("no column")
    column = col(name)
    if type(sign) in _ORDERS:
        order = _ORDERS[type(sign)]
        return column.compared(_TURNED[order] if turned else order, value)
    if isinstance(sign, ast.Eq | ast.NotEq):
        same = column.isin((value,))
        return same if isinstance(sign, ast.Eq) else ~same
    if isinstance(sign, ast.In | ast.NotIn) and not turned:
        among = column.isin(value)
        return among if isinstance(sign, ast.In) else ~among
    raise ValueError("no comparison")


def _method(node: ast.expr) -> Condition:
    """Return ``age.between(18, 65)``, ``home.isin('own')`` or ``bmi.is_missing()``."""
    if not isinstance(node, ast.Call) or node.keywords or not isinstance(node.func, ast.Attribute):
        raise ValueError("no condition")
    name, asked = _column(node.func.value), node.func.attr
    if name is None or asked not in ("isin", "between", "is_missing"):
        raise ValueError("no condition")
    made: Condition = getattr(col(name), asked)(*map(_value, node.args))
    return made


def _column(node: ast.expr) -> str | None:
    """Return the name of a column, written as a name or as ``col("a name")``."""
    if isinstance(node, ast.Name):
        return node.id
    called = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "col"
    if called and isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
        name = _value(node.args[0])
        return name if isinstance(name, str) else None
    return None


def _value(node: ast.expr) -> Any:
    """Return a plain value; lists and tuples of them for ``in``."""
    return ast.literal_eval(node)
