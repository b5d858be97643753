"""Questions about tables in which a person may have several rows: made ready so that all are protected.

There are three modes; the schema says which. *Weighted*: the rows of a person share one record, so that
sums move as far as by a record; laws for whole counts do not hold. *One*: a person has one row and
is a record, which may stand anywhere. *Capped*: a person is a group of so many records, each of which
comes, goes or is replaced; the question is asked for so much less that a group keeps the promise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from discreet.data.contributions import (
    CellContribution,
    GroupedContribution,
    SubsetsContribution,
    TablesContribution,
    VectorContribution,
    WholeContribution,
)
from discreet.errors import ArgumentError, CertificateError
from discreet.mechanisms.lattice import SHARE
from discreet.numerics import float_of_units, to_budget_units, up
from discreet.plans.declaration import DeclaredPlan, named_by_argument
from discreet.plans.parts import WherePlan
from discreet.plans.plan import Perturbation, Plan, Program, Releaser, Setting, Stage
from discreet.privacy.accounting import Event
from discreet.privacy.accounting.events import chained, of_group, times
from discreet.privacy.certificate import Certificate
from discreet.privacy.relation import Relation
from discreet.randomness import IntArray, NoiseSource
from discreet.schema import FloatArray
from discreet.schema.person import Person

PROTECTS = "all rows of one person"
_OF_RECORDS = "one record of the table"


def ready(plan: Plan, setting: Setting) -> Program:
    """Return a question made ready for a table, whoever its records are.

    Args:
      plan: the question.
      setting: of the table; where a person may have several rows, ``rows`` is the number of persons.

    Guarantees:
      - Whatever one person's rows are, and however many, neighbours differ by all of them.
        [person-weights] [person-rows] [person-group]
    """
    with named_by_argument(plan):
        return _ready(plan, setting)


def _ready(plan: Plan, setting: Setting) -> Program:
    person = setting.schema.person
    if person is None:
        by_value = not setting.placed and setting.relation.keeps_places
        return _unplaced(plan, setting) if by_value else plan.prepare(setting)
    program = _STRATEGIES[person.rows](plan, setting, person)
    told = PROTECTS if program.protects == _OF_RECORDS else program.protects
    return replace(program, protects=told, assumptions=(*program.assumptions, person.unit))


def _weighted(plan: Plan, setting: Setting, person: Person) -> Program:
    program = _asked(plan, setting, setting.relation.shared)
    return replace(program, statements=(*program.statements, "person-weights"))


def _one(plan: Plan, setting: Setting, person: Person) -> Program:
    program = _asked(plan, setting, setting.relation.moved)
    return replace(program, statements=(*program.statements, "person-rows"))


def _unplaced(plan: Plan, setting: Setting) -> Program:
    """Ask about rows that are where a value puts them: a record that is replaced moves others.

    Guarantees:
      - Rows that share a model call are paid for as under add-remove; what looks at rows by their
        places or at all of them at once is refused. [lattice]
    """
    program = _asked(plan, setting, setting.relation.moved, _BY_VALUE)
    asks_others = any(stage.contribution.pulse is not None for stage in program.stages)
    told = [_MOVED_BY_VALUE] if asks_others else []
    return replace(program, assumptions=(*program.assumptions, *told))


_SEVERAL = (
    "of a table with one row per record, got one in which a person may have several: it looks at all "
    "rows at once, or at pairs of them by their places. Ask it of a table with one row per person and "
    "no person in the schema."
)
_BY_VALUE = (
    "of rows that keep their places, got some that are where a value puts them (keys of files, a "
    "shuffle, a filter, a persisted frame that does not tell): it looks at all rows at once, or at "
    "pairs of them by their places. Use relation='add-remove', files without keys, or another method."
)
_MOVED_BY_VALUE = "a value decides where rows stand: those of a call are paid as under add-remove"


def _asked(plan: Plan, setting: Setting, relation: Relation, instead: str = _SEVERAL) -> Program:
    """Make a question ready for a relation, and watch its stages, whenever they are asked."""
    program = plan.prepare(replace(setting, relation=relation))
    watched = _Watched(plan.plan_name, relation, instead)
    for stage in program.stages:
        watched.check(stage)
    return replace(program, finish=lambda releaser: program.finish(watched.answering(releaser)))


@dataclass(frozen=True)
class _Watched:
    """Lets stages pass that hold for persons; one that does not is refused, whenever it is asked."""

    name: str
    relation: Relation
    instead: str = _SEVERAL

    def check(self, stage: Stage[Perturbation]) -> None:
        """Raise unless a stage protects all rows of a person.

        Guarantees:
          - Cells are counted in parts of records, or refused; sums pay for every row of a person that
            is rounded. [person-weights]
          - What looks at rows by their places or at all of them at once is refused. [person-rows]
        """
        each = stage.contribution
        each = each.each if isinstance(each, GroupedContribution) else each
        partners = isinstance(each, VectorContribution) and each.partners
        if isinstance(each, WholeContribution) or partners:
            raise ArgumentError(f"{self.name} must be asked {self.instead}")
        if self.relation.whole:
            return
        if isinstance(each, CellContribution | TablesContribution) and stage.noise.step != SHARE:
            raise ArgumentError(
                f"{self.name} must be asked of whole records, got persons whose rows share one. "
                "Say rows='one' in the schema."
            )
        if isinstance(each, VectorContribution):
            self._check_rounding(each, stage)

    def _check_rounding(self, each: VectorContribution, stage: Stage[Perturbation]) -> None:
        exact, paid = (
            certificate.sensitivity("linf", self.relation)
            for certificate in (each.certificate, stage.noise.certificate)
        )
        if paid < exact + (self.relation.rounded_rows - 1) * stage.noise.step:
            raise CertificateError(
                f"The stage {stage.name!r} of {self.name} does not pay for the rounding of all rows of "
                "a person. This is a fault of the plan; report it."
            )

    def answering(self, releaser: Releaser) -> Releaser:
        """Return a releaser that checks stages that are decided on along the way."""
        return _WatchedReleaser(self, releaser)


@dataclass(frozen=True)
class _WatchedReleaser:
    watched: _Watched
    releaser: Releaser

    def answer(self, *stages: Stage[Perturbation]) -> list[FloatArray]:
        """Check the stages, then answer them."""
        for stage in stages:
            self.watched.check(stage)
        return self.releaser.answer(*stages)


def _capped(plan: Plan, setting: Setting, person: Person) -> Program:
    """Ask for each of ``most`` records what keeps the promise for all of them together.

    Guarantees:
      - Of the rows of a person that count, each comes, goes or is replaced: at most ``most`` steps.
        [person-group]
    """
    alone = _in_subsets(plan, setting)
    if alone is not None:
        return alone
    rows, relation = person.kept, setting.relation
    inside = relation if relation.edits == 1 else relation.within_part.moved
    if inside.edits == 2 and not isinstance(plan, WherePlan):
        raise _not_capped(plan, relation)
    try:
        program = shared_plan(plan, rows).prepare(
            replace(setting, relation=inside, rows=None, cap=rows * setting.most_rows)
        )
    except CertificateError:  # nothing was proven of it
        raise _not_capped(plan, relation) from None
    watched, grouped = _Watched(plan.plan_name, inside), _Grouped(rows)
    for stage in program.stages:
        watched.check(stage)
    return replace(
        program,
        stages=tuple(map(grouped.stage, program.stages)),
        finish=lambda releaser: program.finish(watched.answering(grouped.answering(releaser))),
        statements=(*program.statements, "person-group"),
    )


def _not_capped(plan: Plan, relation: Relation) -> ArgumentError:
    return ArgumentError(
        f"{plan.plan_name} must be asked under add-remove where rows of a person are capped, got "
        f"{relation}: nothing is proven of a record that comes as well as goes. Say rows='one' in the "
        "schema, or register the data under add-remove."
    )


def _in_subsets(plan: Plan, setting: Setting) -> Program | None:
    """Return a question whose every stage deals rows to subsets, a person's all to one; else None.

    Guarantees:
      - Whatever a subset's rows are, one person moves one of its vectors. [person-subsets]
    """
    if isinstance(plan, WherePlan):
        return None
    program = plan.prepare(replace(setting, relation=setting.relation.moved))
    for stage in program.stages:  # what no schema with persons can be asked says so
        _Watched(plan.plan_name, setting.relation.moved).check(stage)
    dealt = all(isinstance(stage.contribution, SubsetsContribution) for stage in program.stages)
    return replace(program, statements=(*program.statements, "person-subsets")) if dealt else None


def shared_plan(plan: Plan, rows: int) -> Plan:
    """Return the question at the promise of one record that a group of ``rows`` multiplies to its own.

    Guarantees:
      - k steps of (e, d) keep (k e, d (1 + exp(e) + ... + exp((k - 1) e))). [person-group]
    """
    if rows == 1:
        return plan
    epsilon = float_of_units(to_budget_units(plan.epsilon) // rows)
    delta = plan.delta / up(chained(plan.epsilon / rows, rows)) * (1 - 1e-6)
    if isinstance(plan, DeclaredPlan):
        return plan.paid(epsilon, delta)
    raise ArgumentError(f"{plan.plan_name} cannot be asked where rows of a person are capped.")


@dataclass(frozen=True)
class GroupNoise:
    """Noise for one record, and what it promises to a group of them.

    Guarantees:
      - Neighbours of a group are a chain of ``rows`` neighbours. [person-group]
    """

    noise: Perturbation
    rows: int

    @property
    def name(self) -> str:
        """The mechanism."""
        return self.noise.name

    @property
    def certificate(self) -> Certificate:
        """What was proven of a group, which moves a sum as far as its records do one by one."""
        one = self.noise.certificate
        return (one.in_part() if len(one.bounds) > 1 else one).scale(self.rows)

    @property
    def events(self) -> Sequence[Event]:
        """What the accountant is told."""
        return tuple(of_group(event, self.rows) for event in self.noise.events)

    @property
    def epsilon(self) -> float:
        """The promise to a group."""
        return times(self.noise.epsilon, self.rows)

    @property
    def delta(self) -> float:
        """See ``epsilon``."""
        delta = self.noise.delta
        if not delta or self.rows == 1:
            return delta
        return up(delta * chained(self.noise.epsilon, self.rows), 8)

    @property
    def step(self) -> float:
        """The lattice step."""
        return self.noise.step

    @property
    def std(self) -> float:
        """How far noise moves an answer."""
        return self.noise.std

    @property
    def half_width(self) -> Callable[[float], float]:
        """Bands of the noise, which are the same for whomever it hides; only of noise that has some."""
        return self.noise.half_width  # type: ignore[attr-defined,no-any-return]

    def release(self, raw_steps: IntArray, source: NoiseSource) -> FloatArray:
        """Return the private answer."""
        return self.noise.release(raw_steps, source)


@dataclass
class _Grouped:
    """Makes stages of one record those of a group; the same noise always becomes the same."""

    rows: int
    made: dict[int, tuple[Perturbation, GroupNoise]] = field(default_factory=dict)

    def stage(self, stage: Stage[Perturbation]) -> Stage[Perturbation]:
        """Return the stage with the promise of a group."""
        if id(stage.noise) not in self.made:
            self.made[id(stage.noise)] = (stage.noise, GroupNoise(stage.noise, self.rows))
        return Stage(stage.name, stage.contribution, self.made[id(stage.noise)][1])

    def answering(self, releaser: Releaser) -> Releaser:
        """Return a releaser that answers stages for groups."""
        return _GroupReleaser(self, releaser)


@dataclass(frozen=True)
class _GroupReleaser:
    grouped: _Grouped
    releaser: Releaser

    def answer(self, *stages: Stage[Perturbation]) -> list[FloatArray]:
        """Return the noisy answers."""
        return self.releaser.answer(*map(self.grouped.stage, stages))


_STRATEGIES = {"weighted": _weighted, "one": _one, "capped": _capped}
