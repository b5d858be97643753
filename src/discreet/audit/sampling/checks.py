"""The product's own noises, selections and plans on trial, with the samplers that releases use.

A lower bound from samples is above the truth now and then; a promise is called broken only if it is
exceeded at a confidence at which all checks together are wrong once in a million audits.
"""

from __future__ import annotations

from discreet.audit.finding import Check, Effort, Finding
from discreet.audit.sampling.auditing import SampleAudit, sample
from discreet.audit.sampling.drawing import INTERRUPTED, MechanismRuns, draw
from discreet.audit.sampling.float_lattice import lattice
from discreet.audit.sampling.subjects import RunSubject, noises, selections

SURE = 1.0 - 1e-8
"""The confidence at which a promise is called broken: one in a million for a hundred checks."""

_SHOWN = 0.95
_LATTICE_RUNS = 2_000
_LATTICE_SECONDS = 3.0
"""At least so many: all runs take a tenth of it, but on a busy machine, or where tables of noise are
made first, a share of a short effort leaves too few to look at."""


def checks() -> list[Check]:
    """Return a check of the loss of every subject, and one of the last bits of every noise."""
    from discreet.audit.sampling.plan_subjects import plans

    on_noise = list(noises())
    subjects = [*on_noise, *selections(), *plans()]
    return [*map(sample_check, subjects), *map(lattice_check, on_noise)]


def sample_check(subject: RunSubject) -> Check:
    """Return the check that bounds the loss of a subject from below.

    Args:
      subject: a mechanism with its promise and two neighbours.
    """
    return Check(
        f"sample: {subject.name}",
        "sample",
        f"{subject.name}: {subject.pair}",
        lambda effort: _look_at_loss(subject, effort),
        subject.quick,
    )


def lattice_check(subject: RunSubject) -> Check:
    """Return the check that looks for outputs which the other side never has.

    Args:
      subject: a mechanism with two neighbours.
    """
    return Check(
        f"lattice: {subject.name}",
        "lattice",
        f"{subject.name}: {subject.pair}",
        lambda effort: _look_at_last_bits(subject, effort),
    )


def audit_of(
    subject: RunSubject, *, samples: int, seconds: float, confidence: float, seed: int = 0
) -> SampleAudit:
    """Return the audit of a subject.

    Args:
      subject: a mechanism with its promise and two neighbours.
      samples: runs per side.
      seconds: that runs may take; what a mechanism computes once takes none of them.
      confidence: of the bound.
      seed: of what is public.
    """
    trial = MechanismRuns(subject.mechanism, (subject.first, subject.second), subject.batched)
    draw(trial, 1, seed=seed, progress=False)
    return sample(
        subject.mechanism,
        subject.first,
        subject.second,
        samples=samples,
        epsilon=subject.epsilon,
        delta=subject.delta,
        confidence=confidence,
        event=subject.event,
        batched=subject.batched,
        seconds=seconds,
        seed=seed,
        progress=False,
    )


def _look_at_loss(subject: RunSubject, effort: Effort) -> Finding:
    audit = audit_of(
        subject,
        samples=effort.samples,
        seconds=effort.seconds / 3,
        confidence=SURE,
        seed=effort.seed,
    )
    _hand_on_interruption(audit.stopped)
    found = audit.bound_at(_SHOWN)
    return Finding(
        check=subject.name,
        kind="sample",
        held=audit.held and not _failed(audit),
        promised=subject.epsilon,
        found=found,
        unit="epsilon",
        said=f"epsilon >= {found:.3f} at {_SHOWN} confidence. {audit}",
        tries=2 * audit.samples,
    )


def _failed(audit: SampleAudit) -> bool:
    """Say whether the mechanism raised; no promise is kept by that."""
    return audit.stopped.startswith("the mechanism")


def _look_at_last_bits(subject: RunSubject, effort: Effort) -> Finding:
    audit = lattice(
        subject.mechanism,
        subject.first,
        subject.second,
        samples=min(_LATTICE_RUNS, effort.samples),
        batched=subject.batched,
        seconds=max(effort.seconds / 3, _LATTICE_SECONDS),
        seed=effort.seed,
        progress=False,
    )
    _hand_on_interruption(audit.stopped)
    return Finding(
        check=subject.name,
        kind="lattice",
        held=audit.held,
        promised=0.0,
        found=audit.share,
        unit="share",
        said=str(audit),
        tries=2 * audit.samples,
    )


def _hand_on_interruption(stopped: str) -> None:
    """Raise what an audit caught: whoever runs many checks decides what an interruption ends."""
    if stopped == INTERRUPTED:
        raise KeyboardInterrupt
