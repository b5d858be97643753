"""What is checked of plans before anything is charged for them.

Also who asks: the owner of a data set, or an analyst by name, to whom some calls are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from discreet.arguments import shown
from discreet.data import Summand
from discreet.data.at_once import reads_rows
from discreet.data.contributions import WholeContribution
from discreet.data.engine import by_blocks, check_summand, is_dead
from discreet.data.workers.cluster import Cluster
from discreet.errors import AccessDenied, ArgumentError, CertificateError, ModelError
from discreet.numerics import from_units, to_units
from discreet.plans import Plan, Program
from discreet.schema import Schema

P = ParamSpec("P")
T = TypeVar("T")


class Asker(Protocol):
    """Whatever knows who asks; None is the owner."""

    @property
    def analyst(self) -> str | None:
        """The analyst's name."""


def check_owner(analyst: str | None, call: str, why: str) -> None:
    """Raise unless the owner asks: every call that is the owner's alone is refused here."""
    if analyst is not None:
        raise AccessDenied(
            f"{call} must be asked by the data set's owner, got the analyst {analyst!r}. {why}"
        )


def owners_call(
    why: str,
) -> Callable[[Callable[Concatenate[Any, P], T]], Callable[Concatenate[Any, P], T]]:
    """Mark a method as the owner's: an analyst is refused before it begins, and told why."""

    def mark(method: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], T]:
        @wraps(method)
        def guarded(self: Asker, /, *args: P.args, **options: P.kwargs) -> T:
            check_owner(self.analyst, method.__name__, why)
            return method(self, *args, **options)

        return guarded

    return mark


def as_list(plans: Plan | Sequence[Plan]) -> list[Plan]:
    """Return one plan or several as a list, or raise if they are none."""
    asked = list(plans) if isinstance(plans, Sequence) else [plans]
    if not asked or not all(isinstance(plan, Plan) for plan in asked):
        raise ArgumentError(
            f"plans must be a plan or a non-empty list of plans, got {shown(plans)}. Make one, such as "
            "dc.histogram(..., epsilon=0.1)."
        )
    return asked


@contextmanager
def planned_parts(plans: Plan | Sequence[Plan], schema: Schema) -> Iterator[list[Plan]]:
    """Give the plans that are asked, each by itself, of models that stay what they were."""
    listed = as_list(plans)
    with as_planned(listed):
        yield [part for plan in listed for part in plan.parts(schema)]


@contextmanager
def as_planned(plans: Sequence[Plan]) -> Iterator[None]:
    """Refuse plans whose models, functions or frames are not what they were when they were made.

    Guarantees:
      - A key never stands for what was asked before a model was fitted again. [plan-keys]
    """
    held = list({id(kept): kept for plan in plans for kept in plan.held()}.values())
    for kept in held:
        kept.check_unchanged()
    try:
        yield
    finally:
        for kept in held:
            kept.look_again()


def check_programs(
    plans: Sequence[Plan],
    programs: Sequence[Program],
    *,
    most_rows: int,
    heuristics: bool,
    cluster: Cluster | None,
    in_parts: bool,
) -> None:
    """Raise unless programs keep what their plans promise and can be run, while nothing is spent."""
    for plan, program in zip(plans, programs, strict=True):
        _check_promise(plan, program)
    if not heuristics:
        _check_certified(programs)
    _check_alive(programs)
    for stage in (stage for program in programs for stage in program.stages):
        check_summand(Summand(stage.contribution, stage.noise.step), most_rows)
    if cluster is not None:
        _check_cluster(programs, cluster, in_parts)


def _check_promise(plan: Plan, program: Program) -> None:
    """Raise if the stages of a plan promise less than the plan does, before anything is spent."""
    if plan.rho is not None:
        spent = program.cost("zcdp").loss
        if spent > to_units(plan.rho):
            raise CertificateError(
                f"The stages of {plan.plan_name} need rho {from_units(spent)} together, more than the "
                f"{plan.rho!r} the plan promises. This is a fault of the plan; report it."
            )
        return
    for name, needed in _needed(program).items():
        if needed > to_units(getattr(plan, name)):
            raise CertificateError(
                f"The stages of {plan.plan_name} need {name} {from_units(needed)} together, more "
                f"than the {getattr(plan, name)!r} the plan promises. This is a fault of the plan; "
                "report it."
            )


def _needed(program: Program) -> dict[str, int]:
    """Return the epsilon and the delta, in whole units, of all stages: together, or added up."""
    if program.joint is None:
        noises = [stage.noise for stage in program.stages]
        parts = {"epsilon": [n.epsilon for n in noises], "delta": [n.delta for n in noises]}
        return {name: sum(map(to_units, amounts)) for name, amounts in parts.items()}
    charge = program.cost("basic")  # which asks their joint curve
    return {"epsilon": charge.loss, "delta": charge.delta}


def _check_certified(programs: Sequence[Program]) -> None:
    """Refuse noise that nobody proved."""
    if not all(stage.certificate.certified for program in programs for stage in program.stages):
        raise CertificateError(
            "plan must be certified, got a heuristic one: nothing was proven about its noise. "
            "The owner may allow it with protect(..., heuristics=True); it stays marked."
        )


def _check_alive(programs: Sequence[Program]) -> None:
    """Raise if a model stopped answering while it was tried, before anything is spent."""
    if any(is_dead(stage.contribution) for program in programs for stage in program.stages):
        raise ModelError(
            "model must predict rows drawn from the schema, but it stopped answering. "
            "Load it again, or look at what it needs (memory, files, a server)."
        )


def _check_cluster(programs: Sequence[Program], cluster: Cluster, in_parts: bool) -> None:
    """Refuse what the cluster's workers cannot load, and records that would have to leave them."""
    asked = [stage.contribution for program in programs for stage in program.stages]
    if in_parts and any(isinstance(one, WholeContribution) and one.of_rows for one in asked):
        raise ArgumentError(
            "data must be read by one process for a plan that picks among the records themselves, got "
            "parts that only the workers of a cluster read. Leave cluster out, or use another method."
        )
    cluster.check([one for one in asked if by_blocks(one) or (in_parts and reads_rows(one))])
