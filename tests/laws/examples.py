"""Examples of every plan, each brought by the tests of the plan's own module.

A plan of ``discreet.explain.ale.plan`` has its examples in ``tests.explain.ale.test_plan``:

```python
EXAMPLES = [
    Example("my_plan", lambda model: dc.my_plan(model, "age", epsilon=1.0), FORMS),
    Example("my_plan", lambda model: dc.my_plan(model, "home", epsilon=1.0), ("opaque",)),
]
```
All laws then ask them, of every form of model and under both relations.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import discreet as dc
from discreet.plans import Setting
from discreet.privacy.accounting import ACCOUNTANTS
from discreet.privacy.relation import RELATIONS, Relation
from tests.laws import world


@dataclass(frozen=True)
class Example:
    """One question as the laws ask it.

    Args:
      plan: its name in ``discreet.PLANS``.
      ask: makes the plan, of a model or of None.
      forms: of the models it is asked of; none if it takes no model.
      relations: under which it can be answered; it must be refused under others.
      accountants: that can bill it; others must refuse it for free.
      other: makes the same plan of another sealed query, a neighbour of the first.
      unreadable: why it cannot be read back, if it cannot.
    """

    plan: str
    ask: Callable[[Any], dc.Plan]
    forms: tuple[str, ...] = ()
    relations: tuple[str, ...] = RELATIONS
    accountants: tuple[str, ...] = tuple(ACCOUNTANTS)
    other: Callable[[Any], dc.Plan] | None = None
    unreadable: str = ""


@dataclass(frozen=True)
class Case:
    """An example, the form of its model and the relation of its neighbours."""

    example: Example
    number: int
    form: str | None
    relation: Relation

    def __str__(self) -> str:
        return f"{self.example.plan}-{self.number}-{self.form or 'rows'}-{self.relation}"

    @property
    def tier_key(self) -> tuple[str, Relation]:
        """What the quick tier asks once: every plan under every relation."""
        return self.example.plan, self.relation

    @property
    def setting(self) -> Setting:
        """What is public about the table of the laws."""
        return Setting(world.SCHEMA, self.relation, world.ROWS if self.relation.rows_public else None)

    def plan(self) -> dc.Plan:
        """Return the plan, made anew."""
        return self.example.ask(None if self.form is None else world.model(self.form))


def home_of(plan: str) -> str:
    """Return the test module that mirrors a plan's module.

    >>> home_of("accumulated_effects")
    'tests.explain.ale.test_plan'
    """
    *rooms, module = dc.PLANS[plan].split(".")
    return ".".join(["tests", *rooms[1:], f"test_{module}"])


def find_examples(plan: str) -> list[Example]:
    """Return the examples of a plan, or fail with what is to be added."""
    home = home_of(plan)
    path = home.replace(".", "/") + ".py"
    try:
        module = importlib.import_module(home)
    except ModuleNotFoundError as error:
        if error.name is None or not home.startswith(error.name):
            raise
        raise AssertionError(
            f"{plan} must have tests in {path}, got no such module. Add it, with a list EXAMPLES."
        ) from None
    found = [one for one in getattr(module, "EXAMPLES", ()) if one.plan == plan]
    assert found, (
        f"{plan} must bring an example, got none. Add EXAMPLES = [Example({plan!r}, lambda model: "
        f"dc.{plan}(..., epsilon=1.0))] to {path}; see tests/laws/examples.py."
    )
    return found


@cache
def all_cases() -> tuple[Case, ...]:
    """Return every case of every plan; plans without examples fail in a test of their own."""
    return tuple(_cases())


def _cases() -> Iterator[Case]:
    for plan in dc.PLANS:
        try:
            examples = find_examples(plan)
        except AssertionError:
            continue
        for number, example in enumerate(examples):
            for form in example.forms or (None,):
                for relation in example.relations:
                    yield Case(example, number, form, Relation(relation))


def cases_of(*forms: str) -> list[Case]:
    """Return the cases of some forms of model, and those of no model."""
    return [case for case in all_cases() if case.form is None or case.form in forms]


def leaning_cases() -> list[Case]:
    """Return every example of a function once more, of models that lean as far as they may.

    Single precision is refused where places change.
    """
    asked = [case for case in all_cases() if case.form == "opaque"]
    single = [replace(case, form="single") for case in asked if case.relation.keeps_places]
    return [*(replace(case, form="leaning") for case in asked), *single]
