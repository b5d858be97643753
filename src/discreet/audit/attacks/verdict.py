"""From an attack to a finding: an attack that is surely above its ceiling is a bug of ours."""

from __future__ import annotations

from collections.abc import Callable

from discreet.audit.attacks.scoring import AttackResult
from discreet.audit.finding import Check, Effort, Finding

ATTACKS = 64
"""At least as many as an audit runs: they share the doubt (Bonferroni), so that a sound product is
accused by any of them at most 5 % of the time."""


def attack_check(
    name: str, subject: str, attack: Callable[[Effort], AttackResult], *, quick: bool = True
) -> Check:
    """Return the check that runs an attack and compares what it surely attained with its ceiling.

    Args:
      name: of the check; ``attack: `` is put in front.
      subject: what is attacked, in words.
      attack: runs it.
      quick: whether the audit of a minute has it too.
    """

    def look(effort: Effort) -> Finding:
        return finding_of(attack(effort))

    return Check(f"attack: {name}", "attack", subject, look, quick)


def finding_of(result: AttackResult, *, attacks: int = ATTACKS) -> Finding:
    """Return what an attack shows; of several figures the one that is farthest above, else accuracy.

    Args:
      result: of the attack.
      attacks: among how many it is judged.
    """
    above = result.above(attacks=attacks)
    name = max(above, key=lambda figure: above[figure]) if above else "accuracy"
    rate, roof = result.rates[name]
    return Finding(
        check="",
        kind="attack",
        held=not above,
        promised=roof,
        found=roof + above[name] if above else rate.low,
        unit=name,
        said=f"{result}." if not above else f"{result}: {name} is surely above its ceiling.",
        tries=result.accuracy.trials,
        curve=_figures(result),
    )


def _figures(result: AttackResult) -> dict[str, list[float]]:
    rates = result.rates.values()
    return {
        "value": [rate.value for rate, _ in rates],
        "low": [rate.low for rate, _ in rates],
        "high": [rate.high for rate, _ in rates],
        "ceiling": [roof for _, roof in rates],
    }
