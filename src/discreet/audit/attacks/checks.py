"""Attacks on our own releases, one check each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from discreet.audit.attacks.scoring import AttackResult
from discreet.audit.attacks.simulated.checks import checks as simulated_checks
from discreet.audit.attacks.verdict import attack_check
from discreet.audit.finding import Check, Effort
from discreet.privacy.relation import RelationName
from discreet.schema import FloatArray

if TYPE_CHECKING:
    from discreet.audit.attacks.difference import Ask
    from discreet.audit.attacks.targets import Target

EPSILON = 1.0
_LIKELIHOOD: tuple[tuple[str, RelationName], ...] = (
    ("histogram", "replace-one"),
    ("histogram", "add-remove"),
    ("Gaussian histogram", "replace-one"),
    ("partial dependence", "replace-one"),
    ("partial dependence", "add-remove"),
    ("SHAP values", "replace-one"),
    ("SHAP values", "add-remove"),
    ("accumulated effects", "replace-one"),
    ("permutation importance", "replace-one"),
    ("forest", "replace-one"),
    ("forest", "add-remove"),
    ("valuation", "replace-one"),
    ("valuation", "add-remove"),
)
_LEARNED = ("histogram", "SHAP values")
_TIMES, _QUESTIONS = 4, 20
"""How often a session is asked one question, and how many questions of either table."""


def checks() -> list[Check]:
    """Return all attacks on our own releases, those that make up their own tables included."""
    given = [*_membership_checks(), *_guess_checks(), *_difference_checks()]
    return [*given, *simulated_checks()]


def _membership_checks() -> list[Check]:
    found = [
        attack_check(
            f"likelihood ratio on {name}, {relation}",
            f"{name} under {relation}: was a record in the table",
            partial(_by_likelihood, name, relation),
        )
        for name, relation in _LIKELIHOOD
    ]
    found += [
        attack_check(
            f"classifier on {name}", f"{name}: was a record in the table", partial(_by_learning, name)
        )
        for name in _LEARNED
    ]
    return [
        *found,
        attack_check(
            "likelihood ratio on a histogram with the system's noise",
            "a histogram with the noise of real releases: was a record in the table",
            _by_system_noise,
        ),
        attack_check(
            "threshold on a choice", "the most frequent value: was a record in the table", _by_choice
        ),
        attack_check(
            "threshold on synthetic rows",
            "synthetic rows: was a record in the table",
            _by_synthetic_cells,
        ),
    ]


def _guess_checks() -> list[Check]:
    return [
        attack_check(
            "linkage by a histogram", "a histogram: which of six candidates is in the table", _linked
        ),
        attack_check(
            "linkage by synthetic rows",
            "synthetic rows: which of six candidates has the nearest row",
            linked_to_rows,
        ),
        attack_check(
            "attribute from a histogram", "a histogram: the purpose of a known borrower", _inferred
        ),
        attack_check(
            "attribute from SHAP values",
            "SHAP values: the late payments of a borrower of the background",
            _inferred_from_values,
        ),
    ]


def _difference_checks() -> list[Check]:
    return [
        attack_check(
            "difference of overlapping questions",
            "histograms of all rows and of all rows but one",
            _overlapping,
        ),
        attack_check(
            "fresh answers together",
            "eight histograms with fresh noise, charged eight times",
            partial(_together, fresh=True),
        ),
        attack_check(
            "stored answers together",
            "one histogram, given eight times and charged once",
            partial(_together, fresh=False),
        ),
        attack_check(
            "a session asked again and again", "what a ledger charges for answers", asked_again
        ),
    ]


_FAST, _ONE_BY_ONE, _LEARNING, _WHOLE_RESULTS = 4_000, 500, 1_000, 80
"""Trials a second that a slow machine makes, by how they are drawn and what is made of them."""


def _trials(effort: Effort, per_second: int) -> int:
    """Return how many trials of either table fit into an effort; fewer than 160 show nothing."""
    return max(160, min(effort.samples, int(effort.seconds * per_second)))


def _by_likelihood(name: str, relation: RelationName, effort: Effort) -> AttackResult:
    from discreet.audit.attacks.membership import attack_membership
    from discreet.audit.attacks.scenes import sums_scene

    target = sums_scene(name, EPSILON, relation)
    speed = _ONE_BY_ONE if name == "partial dependence" else _FAST  # its noise is on a whole vector
    found = attack_membership(target, trials=_trials(effort, speed), seed=effort.seed)
    return replace(found, target=f"{name}, {relation}")


def _by_system_noise(effort: Effort) -> AttackResult:
    """Attack what no seed repeats: the samplers of releases instead of their seeded twins."""
    from discreet.audit.attacks import scenes
    from discreet.audit.attacks.membership import attack_membership
    from discreet.audit.attacks.targets import sums_target
    from discreet.randomness import SystemNoise

    target = sums_target(
        scenes.PLANS["histogram"](EPSILON),
        scenes.neighbours("add-remove"),
        scenes.SCHEMA,
        "add-remove",
        name="histogram, system's noise",
        noise=lambda seed: SystemNoise(),
    )
    return attack_membership(target, trials=_trials(effort, _FAST), seed=effort.seed)


def _by_learning(name: str, effort: Effort) -> AttackResult:
    from discreet.audit.attacks.membership import attack_membership
    from discreet.audit.attacks.scenes import sums_scene

    target = sums_scene(name, EPSILON)
    return attack_membership(
        target, attack="classifier", trials=_trials(effort, _LEARNING), seed=effort.seed
    )


def _by_choice(effort: Effort) -> AttackResult:
    from discreet.audit.attacks.membership import attack_membership
    from discreet.audit.attacks.scenes import choice_scene

    trials = _trials(effort, _ONE_BY_ONE)
    return attack_membership(choice_scene(EPSILON), attack="threshold", trials=trials, seed=effort.seed)


def _by_synthetic_cells(effort: Effort) -> AttackResult:
    from discreet.audit.attacks.membership import attack_membership
    from discreet.audit.attacks.scenes import synthetic_scene

    target = synthetic_scene(EPSILON)
    return attack_membership(
        target, attack="threshold", trials=_trials(effort, _WHOLE_RESULTS), seed=effort.seed
    )


def _linked(effort: Effort) -> AttackResult:
    from discreet.audit.attacks.linkage import attack_linkage
    from discreet.audit.attacks.scenes import linkage_scene

    return attack_linkage(linkage_scene(EPSILON), trials=_trials(effort, _FAST), seed=effort.seed)


def linked_to_rows(effort: Effort, target: Target | None = None) -> AttackResult:
    """Link candidates to the nearest synthetic row, of our plan or of another target."""
    from discreet.audit.attacks.linkage import attack_linkage
    from discreet.audit.attacks.scenes import nearest_candidate, rows_scene

    return attack_linkage(
        target or rows_scene(EPSILON),
        trials=_trials(effort, _WHOLE_RESULTS),
        seed=effort.seed,
        guess=nearest_candidate(),
    )


def _inferred(effort: Effort) -> AttackResult:
    from discreet.audit.attacks import scenes
    from discreet.audit.attacks.attributes import attack_attribute, attribute_tables
    from discreet.audit.attacks.targets import sums_target
    from discreet.tables.histogram.plan import histogram

    tables = attribute_tables(scenes.neighbours()[0], scenes.SCHEMA, "purpose")
    target = sums_target(histogram(scenes.CELLS, epsilon=EPSILON), tables, scenes.SCHEMA)
    return attack_attribute(target, column="purpose", trials=_trials(effort, _FAST), seed=effort.seed)


def _inferred_from_values(effort: Effort) -> AttackResult:
    from discreet.audit.attacks import scenes
    from discreet.audit.attacks.attributes import attack_attribute
    from discreet.audit.attacks.targets import sums_target

    plan = scenes.late_plan(EPSILON)
    target = sums_target(plan, scenes.late_tables(), scenes.SCHEMA, name="SHAP values")
    return attack_attribute(
        target, column="late_payments", trials=_trials(effort, _FAST), seed=effort.seed
    )


def _overlapping(effort: Effort) -> AttackResult:
    from discreet.audit.attacks import scenes
    from discreet.audit.attacks.difference import difference_target
    from discreet.audit.attacks.membership import attack_membership
    from discreet.audit.attacks.targets import sums_target

    whole = scenes.sums_scene("histogram", EPSILON, "add-remove")
    rest = [scenes.others()] * 2
    part = sums_target(scenes.PLANS["histogram"](EPSILON), rest, scenes.SCHEMA, "add-remove")
    target = difference_target(whole, part)
    return attack_membership(
        target, attack="threshold", trials=_trials(effort, _FAST), seed=effort.seed
    )


def _together(effort: Effort, *, fresh: bool) -> AttackResult:
    from discreet.audit.attacks.difference import attack_repeats
    from discreet.audit.attacks.scenes import sums_scene

    target = sums_scene("histogram", EPSILON / 8 if fresh else EPSILON, "add-remove")
    return attack_repeats(target, times=8, fresh=fresh, trials=_trials(effort, _FAST), seed=effort.seed)


def asked_again(effort: Effort, ask: Ask | None = None) -> AttackResult:
    """Ask sessions on two tables one question again and again, or somebody else, and average."""
    from discreet.audit.attacks import scenes
    from discreet.audit.attacks.difference import ask_session, repeats

    plan = scenes.PLANS["histogram"](EPSILON)
    tables = scenes.neighbours()
    asked = ask or ask_session(
        plan, tables, scenes.SCHEMA, times=_TIMES, read=_counts, seed=effort.seed
    )
    return repeats(asked, _middle(tables), trials=_QUESTIONS, target="a session")


def _counts(result: Any) -> FloatArray:
    import numpy as np

    return np.array(result.counts)


def _middle(tables: Sequence[Any]) -> Callable[[FloatArray], float]:
    """Return how far counts of rent and own lean to the table that has another owner."""
    shares = [(table["home"] == "own").sum() - (table["home"] == "rent").sum() for table in tables]
    middle = float(sum(shares)) / 2
    return lambda counts: float(counts[2] - counts[0]) - middle
