"""Attribute inference: a record is known but for one value; which is it?

The attacker knows that the record is in the table, all of its other values and all other records. The
candidates are the values the schema allows, each as likely. It is linkage among versions of one record.
"""

from __future__ import annotations

from typing import Any

from discreet.arguments import shown
from discreet.audit.attacks.ceiling import Ceiling
from discreet.audit.attacks.linkage import Guess, attack_linkage, linkage
from discreet.audit.attacks.scoring import AttackResult
from discreet.audit.attacks.targets import Target
from discreet.audit.attacks.trials import Release
from discreet.errors import ArgumentError
from discreet.numerics import check_whole
from discreet.schema import Category, Schema


def attribute_tables(frame: Any, schema: Schema, column: str, *, record: int = -1) -> list[Any]:
    """Return the table once per value that a record may have in a column.

    Args:
      frame: a table.
      schema: its public facts.
      column: the sensitive attribute, a category.
      record: its place in the table.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"ill": ["no", "no"]})
    >>> schema = Schema({"ill": Category("no", "yes", missing=False, other=False)})
    >>> [t.ill.tolist() for t in attribute_tables(frame, schema, "ill")]
    [['no', 'no'], ['no', 'yes']]
    """
    facts = Schema.of(schema)[column]
    if not hasattr(frame, "iloc") or column not in frame.columns or not len(frame):
        raise ArgumentError(
            f"frame must be a pandas frame with records and a column {column!r}, got {shown(frame)}."
        )
    if not isinstance(facts, Category):
        raise ArgumentError(
            f"column must be a category, got {column!r}, a number. Cut it into a few values first."
        )
    check_whole("record", record, -len(frame), len(frame) - 1)
    tables = []
    for value in facts.values:
        table = frame.copy()
        table.iloc[record, table.columns.get_loc(column)] = value
        tables.append(table)
    return tables


def infer_attribute(
    release: Release,
    frame: Any,
    schema: Schema,
    column: str,
    guess: Guess,
    *,
    ceiling: Ceiling,
    record: int = -1,
    trials: int = 200,
    seconds: float = 60.0,
    seed: int = 0,
    target: str = "release",
) -> AttackResult:
    """Attack any mechanism: guess a value of a record that is known otherwise.

    Args:
      release: runs the mechanism on a table with a seed.
      frame: the table.
      schema: its public facts.
      column: the sensitive attribute, a category.
      guess: the place of a value among those of the schema, from an output.
      ceiling: what the promise implies for tables with two values of the record.
      record: its place in the table.
      trials: each draws the true value anew.
      seconds: after so many, Ctrl-C or an exception of the mechanism it goes on with the trials it has.
      seed: of all of them.
      target: what is attacked, for the report.
    """
    return linkage(
        release,
        attribute_tables(frame, schema, column, record=record),
        guess,
        ceiling=ceiling,
        trials=trials,
        seconds=seconds,
        seed=seed,
        target=target,
        attack=_name(column),
    )


def attack_attribute(
    target: Target, *, column: str, trials: int, seed: int = 0, guess: Guess | None = None
) -> AttackResult:
    """Guess the value of a column, of a target made of ``attribute_tables``.

    Args:
      target: what is attacked.
      column: whose values the tables differ in.
      trials: each draws the true value anew.
      seed: of all of them.
      guess: from one output; the likeliest value if left out.
    """
    return attack_linkage(target, trials=trials, seed=seed, guess=guess, attack=_name(column))


def _name(column: str) -> str:
    return f"inference of {column}"
