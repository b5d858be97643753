"""Attacks that make up their own tables, a check each: reconstruction, fingerprints, shadow models."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from discreet.audit.attacks.ceiling import Ceiling
from discreet.audit.attacks.scoring import DOUBT, AttackResult
from discreet.audit.attacks.verdict import ATTACKS, attack_check
from discreet.audit.finding import Check, Effort, Finding

if TYPE_CHECKING:
    from discreet.audit.attacks.simulated.backgrounds import Released
    from discreet.audit.attacks.simulated.fingerprinting import Means
    from discreet.audit.attacks.simulated.reconstruction import Reconstruction
    from discreet.audit.attacks.simulated.shadow import Learner, ShadowAttack

EPSILON = 1.0
TRACED_ROWS, TRACED_COLUMNS = 8, 60
"""Exact means of so few records in so many columns are traced nearly always."""


def checks() -> list[Check]:
    """Return the attacks on our own releases that make up their own tables."""
    return [*_reconstructions(), *_fingerprints(), *_shadows()]


def _reconstructions() -> list[Check]:
    sealed = "SHAP values of a sealed query: the query"
    return [
        Check("attack: inverse map of SHAP values", "attack", sealed, _inverted),
        attack_check(
            "record behind SHAP values",
            "SHAP values of eight queries: a record of their background",
            partial(_guessed, "values"),
        ),
        attack_check(
            "record behind a paid-once background",
            "a background of means: a record behind it",
            partial(_guessed, "background"),
        ),
    ]


def _fingerprints() -> list[Check]:
    return [
        attack_check(
            "fingerprint of a background",
            "a background of means: was a record behind it",
            partial(_traced, "background"),
        ),
        attack_check(
            "fingerprint of SHAP values",
            "SHAP values of a linear model: was a record behind them",
            partial(_traced, "values"),
        ),
    ]


def _shadows() -> list[Check]:
    attacks: tuple[ShadowAttack, ...] = ("likelihood ratio", "confidence")
    return [
        attack_check(
            f"shadow {name}s, {attack}",
            f"a private {name}: was a record trained on, asked by {attack}",
            partial(_shadowed, name, attack),
        )
        for name in ("tree", "forest")
        for attack in attacks
    ]


def finding_of_reconstruction(found: Reconstruction, *, attacks: int = ATTACKS) -> Finding:
    """Return what guesses of values show.

    Args:
      found: how near they came.
      attacks: among how many they are judged.
    """
    above = found.beats(attacks=attacks)
    return Finding(
        check="",
        kind="attack",
        held=not above,
        promised=found.limit,
        found=found.within.at_least(DOUBT / attacks) if above else found.within.low,
        unit="accuracy",
        said=f"{found}{': surely above what is allowed' if above else ''}.",
        tries=found.within.trials,
        curve={
            "value": [found.within.value],
            "low": [found.within.low],
            "high": [found.within.high],
            "ceiling": [found.limit],
        },
    )


def _inverted(effort: Effort) -> Finding:
    from discreet.audit.attacks.simulated.reconstruction import reconstruct_queries

    rows = _per_second(effort, 200, most=3_000)
    found = reconstruct_queries(epsilon=EPSILON, known=2 * rows, queries=rows, seed=effort.seed)
    return finding_of_reconstruction(found)


def _guessed(released: Released, effort: Effort) -> AttackResult:
    from discreet.audit.attacks.simulated.backgrounds import guess_record

    trials = _per_second(effort, 1_000, most=50_000)
    return guess_record(released=released, epsilon=EPSILON, trials=trials, seed=effort.seed)


def _traced(released: Released, effort: Effort) -> AttackResult:
    from discreet.audit.attacks.simulated.fingerprinting import background_means, shap_means

    make = background_means if released == "background" else shap_means
    return traced(make(TRACED_ROWS, TRACED_COLUMNS, epsilon=EPSILON), released, effort)


def traced(release: Means, target: str, effort: Effort) -> AttackResult:
    """Return how well records are traced by a release that promises epsilon = 1."""
    from discreet.audit.attacks.simulated.fingerprinting import trace_records

    return trace_records(
        release,
        rows=TRACED_ROWS,
        columns=TRACED_COLUMNS,
        ceiling=Ceiling(EPSILON),
        target=target,
        trials=_per_second(effort, 500, most=20_000),
        seed=effort.seed,
    )


def _shadowed(name: str, attack: ShadowAttack, effort: Effort) -> AttackResult:
    from discreet.audit.attacks.simulated.shadow import private_forest, private_tree

    make = private_tree if name == "tree" else private_forest
    return shadowed(make(epsilon=EPSILON), attack, effort)


def shadowed(learner: Learner, attack: ShadowAttack, effort: Effort) -> AttackResult:
    """Return how well shadow models tell whether a record was trained on."""
    from discreet.audit.attacks.simulated.shadow import attack_training

    models = _per_second(effort, 20, most=1_000)
    return attack_training(learner, attack=attack, shadows=models, shown=models, seed=effort.seed)


def _per_second(effort: Effort, rate: int, most: int) -> int:
    """Return how many trials take about as long as the effort allows: the same on every machine."""
    return max(40, min(most, int(rate * effort.seconds)))
