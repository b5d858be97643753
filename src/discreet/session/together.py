"""Stages priced together: the same question, with the noise that keeps its promise as a whole.

A plan divides its epsilon and its delta among its stages. Each would keep its share by itself, and all
of them together keep more than the plan promised. So a plan of several stages is answered at a larger
epsilon, found by trying, at which their one joint curve meets the promise.

Everything follows from the plan and the public setting. [price-free]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from discreet.errors import ArgumentError, UnsupportedEvent
from discreet.numerics import float_of_units, to_budget_units
from discreet.plans import Plan, Program, Setting
from discreet.plans.persons import ready
from discreet.privacy.accounting.joint import joint_delta, joint_epsilon

_NEAR = 0.998
"""Of an epsilon: what is close enough to it."""

_TRIES = 8

_WORTH_A_DELTA = 1.01
"""How much more epsilon stages must get for a joint promise, which costs the whole delta."""

Answered = tuple[Plan, Program]
"""The plan that answers a question, and it made ready."""

Way = Callable[[float], Plan]
"""A way to answer a question for an epsilon."""


def ready_together(plan: Plan, setting: Setting) -> Answered:
    """Return what answers a plan with a delta: of several stages, with their noise found together.

    Guarantees:
      - All stages together keep the plan's epsilon and delta. [joint-stages]
    """
    first = ready(plan, setting)
    if len(first.events) < 2:
        return plan, first
    promise = (plan.epsilon, plan.delta)
    kept = promise if first.joint is None else min(promise, first.joint)  # a plan may promise less
    if first.joint is not None and _keeps(first, *kept):
        spare = kept == promise and _keeps(first, kept[0] / _WORTH_A_DELTA, kept[1])
        if not spare:
            return plan, replace(first, joint=kept)
    options = [partial(plan.paid, delta=plan.delta)]
    options += [partial(plan.paid, delta=plan.delta, mechanism=law) for law in plan.laws()]
    found = [answered_together(way, setting, promise) for way in options]
    usable = [answer for answer in found if answer is not None]
    best = min(usable, key=lambda answer: error_of(answer[1]), default=(plan, first))
    gains = best[0].epsilon > _WORTH_A_DELTA * plan.epsilon or first.joint is not None
    return best if gains else (plan, first)


def _keeps(program: Program, epsilon: float, delta: float) -> bool:
    """Return whether all stages together keep a promise."""
    return joint_delta(program.events, epsilon) <= delta


def answered_together(way: Way, setting: Setting, promise: tuple[float, float]) -> Answered | None:
    """Return the answer with the least noise that keeps a promise as a whole; None if there is none."""
    most, delta = promise
    alone = tried(way, most, setting)
    if alone is not None and len(alone[1].events) < 2:
        return alone
    epsilon, low, high = most, 0.0, float("inf")
    best: Answered | None = None
    for _ in range(_TRIES):
        answer = tried(way, epsilon, setting)
        kept = float("inf") if answer is None else joint_epsilon(answer[1].events, delta)
        if answer is not None and kept <= most:
            best, low = (answer[0], replace(answer[1], joint=promise)), epsilon
        else:
            high = epsilon
        if kept == float("inf") or _NEAR * most <= kept <= most:
            break
        # Together they keep about as much more or less as each does.
        aim = epsilon * (1 + _NEAR) / 2 * most / kept
        epsilon = rounded(aim if low < aim < high else (low + min(high, 2 * low)) / 2)
    return best


def tried(way: Way, epsilon: float, setting: Setting) -> Answered | None:
    """Return a plan made ready, or None if it is refused so."""
    try:
        plan = way(epsilon)
        return plan, ready(plan, setting)
    except (UnsupportedEvent, ArgumentError):
        return None


def rounded(epsilon: float) -> float:
    """Return an epsilon in whole units of a budget."""
    return float_of_units(to_budget_units(epsilon))


def error_of(program: Program) -> float:
    """Return how far off the number is that matters most, beside its size."""
    return next((error.relative() for error in program.expected_error.values()), 0.0)
