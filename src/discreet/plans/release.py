"""A release: the noisy answer, what was proven about it, and where it stands in the ledger."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

from discreet.arguments import shown
from discreet.errors import ReleaseError
from discreet.ledger import Copy, Head
from discreet.plain import check_fields, conform, write_json
from discreet.plans.plan import Plan
from discreet.plans.results.result import Result
from discreet.plans.showing import columns_of, promise_in_words, question_in_words, release_html
from discreet.privacy.accounting import Amount
from discreet.privacy.guarantee import Guarantee

FORMAT = 1
"""Version of the JSON shape. A reader refuses what it does not know."""

_TEXTS = ("dataset", "version", "id", "created")


@dataclass(frozen=True)
class Release:
    """What left the table: no row and no exact statistic. The guarantee says who may see it.

    Attributes:
      value: the noisy answer.
      guarantee: the promise, with the statements and assumptions it rests on.
      plan: the question, as plain data.
      stages: mechanism, noise, event and certificate of every noisy step.
      dataset: name of the data set in the ledger.
      version: the owner's label of the data set's state.
      id: the reservation that paid for it.
      created: time of the release, UTC.
      head: place in the ledger's hash chain; proves later that the ledger was not cut short.
      schema_digest: of the schema by which rows were encoded; empty in releases of earlier versions.
      population: whose budget paid, if data sets about the same persons share one; else None.
      charged: what the call that returned it took from the budget: nothing if it had been answered
        before. None if it was read from a file.
    """

    value: Result
    guarantee: Guarantee
    plan: dict[str, Any]
    stages: tuple[dict[str, Any], ...]
    dataset: str
    version: str
    id: str
    created: str
    head: Head | None = None
    schema_digest: str = ""
    population: str | None = None
    charged: Amount | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        return f"Release({self.title}; {self.dataset!r}{self.paid_by}: {self.guarantee})"

    def __str__(self) -> str:
        return f"{self.title}\n{self.value}\n{self.guarantee}"

    @property
    def paid_by(self) -> str:
        """Words about whose budget paid, if it is not the data set's own; else empty."""
        return "" if self.population is None else f", budget of population {self.population!r}"

    @property
    def about(self) -> tuple[str, ...]:
        """The columns that were asked for by name; empty if the plan names none."""
        return columns_of(self.plan["arguments"])

    @property
    def title(self) -> str:
        """The release in words: "Partial dependence of income, 20 points, epsilon 0.2"."""
        promise = promise_in_words(self.plan, self.guarantee)
        parts = (question_in_words(self.plan), self.value.extent, promise)
        return ", ".join(part for part in parts if part)

    def plot(self, ax: Any = None, *, title: str | None = None) -> Any:
        """Draw the answer with its noise; returns a display with ``ax_`` and ``figure_``."""
        return self.value.plot(ax, title=title or self.title)

    def _repr_html_(self) -> str:
        return release_html(self)

    def for_asker(self, plan: Plan) -> Release:
        """Return the release with what this plan's asker calls its rows."""
        return replace(self, value=plan.label(self.value))

    def with_head(self, head: Head) -> Release:
        """Return the release with its place in the ledger."""
        return replace(self, head=head)

    def to_json(self) -> dict[str, Any]:
        """Return the release as plain data, without loss."""
        paid_by = {} if self.population is None else {"population": self.population}
        return {
            "format": FORMAT,
            "id": self.id,
            "dataset": self.dataset,
            **paid_by,
            "version": self.version,
            "schema_digest": self.schema_digest,
            "created": self.created,
            "plan": self.plan,
            "value": self.value.to_json(),
            "guarantee": self.guarantee.to_json(),
            "stages": list(self.stages),
            "head": None if self.head is None else self.head.to_json(),
        }

    def dumps(self) -> str:
        """Return the release as a JSON text."""
        return json.dumps(self.to_json(), allow_nan=False)

    def save(self, path: str | Path) -> Path:
        """Write the release to a JSON file."""
        return write_json(path, self.to_json())

    @classmethod
    def loads(cls, text: str) -> Release:
        """Read a release from a JSON text."""
        try:
            plain = json.loads(text, parse_constant=_refuse_constant)
            if plain["format"] != FORMAT:
                raise ReleaseError(
                    f"format must be {FORMAT}, got {shown(plain['format'])}. Use a newer discreet."
                )
            return cls._read(plain)
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise ReleaseError(
                f"The text must be a release saved by discreet, got a fault at {error}."
            ) from None

    @classmethod
    def _read(cls, plain: dict[str, Any]) -> Release:
        """Build a release, every part of the kind it must have: what was read must not fail later."""
        guarantee, head = Guarantee.from_json(plain["guarantee"]), plain["head"]
        check_fields(guarantee)
        named = {name: conform(plain[name], str, name) for name in _TEXTS}
        plan, stages = plain["plan"], plain["stages"]
        conform(plan["kind"], str, "kind")
        if not isinstance(plan["arguments"], dict) or not all(isinstance(s, dict) for s in stages):
            raise ValueError("plan or stages")
        made = cls(
            value=Result.read(plain["value"]),
            guarantee=guarantee,
            plan=plan,
            stages=tuple(stages),
            **named,
            head=None if head is None else Head.from_json(head),
            schema_digest=conform(plain.get("schema_digest", ""), str, "schema_digest"),
            population=conform(plain.get("population"), str | None, "population"),
        )
        made.dumps()  # numbers beyond floats are infinite once they are read
        return made

    @classmethod
    def load(cls, path: str | Path) -> Release:
        """Read a release from a JSON file."""
        try:
            return cls.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise ReleaseError(f"{path} cannot be read: {error.strerror}.") from None


def copy_of(release: Release | str | Path) -> Copy:
    """Return a release, or the file of one, as the ledger compares it with what was settled."""
    if isinstance(release, Release):
        return Copy.of(release.to_json(), _rewrite)
    Release.load(release)
    return Copy.of(json.loads(Path(release).read_text(encoding="utf-8")), _rewrite)


def _rewrite(text: str) -> str:
    return Release.loads(text).dumps()


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"the number {name}")
