"""Faults that attacks catch: releases that tell more of a record than they promise."""

from __future__ import annotations

import numpy as np

from discreet.audit.attacks import scenes
from discreet.audit.attacks.ceiling import Ceiling
from discreet.audit.attacks.checks import EPSILON, asked_again, linked_to_rows
from discreet.audit.attacks.difference import Repeated
from discreet.audit.attacks.membership import attack_membership
from discreet.audit.attacks.scoring import AttackResult
from discreet.audit.attacks.targets import Target, exact_target, sums_target
from discreet.audit.attacks.verdict import attack_check
from discreet.audit.faults.fault import Fault
from discreet.audit.finding import Effort
from discreet.randomness import public_generator
from discreet.schema import FloatArray

_TIMES = 200
_PROMISE = Ceiling(EPSILON)


def _exact_answers(effort: Effort) -> AttackResult:
    plan = scenes.PLANS["SHAP values"](EPSILON)
    target = exact_target(plan, scenes.neighbours(), scenes.SCHEMA, name="SHAP values").under(_PROMISE)
    return attack_membership(target, attack="threshold", trials=160, seed=effort.seed)


def _noise_of_removal(effort: Effort) -> AttackResult:
    """Noise for records that come or go, on records that are replaced."""
    plan = scenes.PLANS["histogram"](EPSILON)
    target = sums_target(plan, scenes.neighbours(), scenes.SCHEMA, "add-remove", name="histogram")
    return attack_membership(target.under(_PROMISE), trials=4_000, seed=effort.seed)


def _free_repeats(effort: Effort) -> AttackResult:
    """Fresh noise for every repeat, of which the first alone is charged."""
    target = scenes.sums_scene("histogram", EPSILON)

    def ask(which: int, trial: int) -> Repeated:
        drawn = target.draw(which, _TIMES, effort.seed + 2 * trial + which)
        return Repeated(tuple(drawn), EPSILON)

    return asked_again(effort, ask)


def _copied_rows(effort: Effort) -> AttackResult:
    """Rows of the table itself, drawn with replacement, as synthetic ones."""
    known = scenes.others()[scenes.WIDE].to_numpy(dtype=np.float64)
    outside = scenes.candidates()[scenes.WIDE].to_numpy(dtype=np.float64)

    def draw(which: int, trials: int, seed: int) -> FloatArray:
        rows = np.vstack([known, outside[which]])
        drawn = public_generator(seed).integers(0, len(rows), (trials, len(rows)))
        return np.asarray(rows[drawn].reshape(trials, -1))

    copies = Target("rows of the table, drawn with replacement", _PROMISE, len(outside), draw)
    return linked_to_rows(effort, copies)


def _one_noise_for_two(effort: Effort) -> AttackResult:
    """Noise from a seed that overlapping questions share: their difference has none."""
    whole = scenes.sums_scene("histogram", EPSILON, "add-remove")
    rest = [scenes.others()] * 2
    part = sums_target(scenes.PLANS["histogram"](EPSILON), rest, scenes.SCHEMA, "add-remove")

    def draw(which: int, trials: int, seed: int) -> FloatArray:
        return whole.draw(which, trials, seed) - part.draw(0, trials, seed)

    target = Target("difference of two histograms with one noise", _PROMISE, 2, draw)
    return attack_membership(target, attack="threshold", trials=400, seed=effort.seed)


FAULTS: list[Fault] = [
    Fault(
        "exact answers released as private",
        "SHAP values are means over the records as they are; the noise is missing.",
        "a slip: the exact values of an explainer are taken for harmless",
        attack_check("threshold on exact SHAP values", "exact SHAP values", _exact_answers),
    ),
    Fault(
        "noise for removed records, a record replaced",
        "Laplace noise of scale 1/epsilon hides a record that comes or goes, not one that is replaced.",
        "Ma, Wu and Yan (2026), whose tables are neighbours by replacement",
        attack_check(
            "likelihood ratio on a histogram with 1/epsilon", "a naive histogram", _noise_of_removal
        ),
    ),
    Fault(
        "fresh repeats for free",
        "The same question is answered with fresh noise each time and charged once.",
        "a slip: a cache of charges instead of answers",
        attack_check(
            "averaging of free repeats", "a session that charges a question once", _free_repeats
        ),
    ),
    Fault(
        "synthetic rows that copy records",
        "Rows are drawn from the table itself, so that most records are released as they are.",
        "a slip: a bootstrap is taken for a generator",
        attack_check(
            "linkage by copied rows", "rows of the table, drawn with replacement", _copied_rows
        ),
    ),
    Fault(
        "one noise for two overlapping questions",
        "Noise comes from a seed that both questions share, so that it cancels in their difference.",
        "a slip: noise that is seeded by the day or by the analyst",
        attack_check(
            "difference of questions with one noise",
            "two histograms with one noise",
            _one_noise_for_two,
        ),
    ),
]
