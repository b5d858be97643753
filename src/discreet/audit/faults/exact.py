"""Planted faults that an exact law catches; nothing of them can be released."""

from __future__ import annotations

from collections.abc import Callable

from discreet.audit.faults.exact_laws import (
    private_threshold,
    renyi_noise,
    replaced_histogram,
    smooth_exponential,
    until_one_passes,
    winner_and_second,
)
from discreet.audit.faults.fault import Fault
from discreet.audit.faults.published_smooth import published_table
from discreet.audit.laws.checks import exact_check
from discreet.audit.laws.of_stability import table_subject
from discreet.audit.laws.subject import Promise, Subject
from discreet.mechanisms.selection.deniability import DeniabilityTest

_EPSILON = 1.0
_CHAVES = "Chaves et al. (2025)"
_MA = "Ma, Wu and Yan (2026)"


def _many_candidates() -> Subject:
    table = published_table("student-t", 100_000, _EPSILON, 90)
    return table_subject("smooth noisy max as published, 100,000 candidates", table, Promise(_EPSILON))


def _wrong_beta() -> Subject:
    table = published_table("student-t", 2, _EPSILON, 15, beta=_EPSILON)
    return table_subject("smooth noisy max with exp(-epsilon j)", table, Promise(_EPSILON))


def _until_one_passes() -> Subject:
    return until_one_passes(DeniabilityTest(k=4, t=2, gamma=2.0, scale=2.0, rows=5))


def _fault(name: str, wrong: str, source: str, build: Callable[[], Subject]) -> Fault:
    return Fault(name, wrong, source, exact_check(f"exact: {name}", name, lambda: [build()]))


FAULTS: list[Fault] = [
    _fault(
        "published smooth noisy max",
        "The proof dilates the noise of the winner alone, and all noises change their scale.",
        f"{_CHAVES}, Theorem 4.2 with Student's T",
        _many_candidates,
    ),
    _fault(
        "smooth sensitivity with exp(-epsilon j)",
        "Smooth sensitivity needs the admissible beta of the noise; epsilon is several times as much.",
        f"{_CHAVES}, as printed",
        _wrong_beta,
    ),
    _fault(
        "exponential mechanism with smooth sensitivity",
        "The exponential mechanism has no room for a scale that depends on the table.",
        f"{_CHAVES}, Theorem 7.2, who show it themselves",
        lambda: smooth_exponential(0.5),
    ),
    _fault(
        "published bound on a Rényi entropy",
        "2 a / (|1 - a| n) is below what one record moves the entropy by, on both sides of order 1.",
        f"{_MA}, sensitivity of the Rényi entropy",
        lambda: renyi_noise(_EPSILON, 0.5, 20),
    ),
    _fault(
        "histogram with 1/epsilon under replacement",
        "A replaced record moves two cells, so that the noise is for half of what moves.",
        f"{_MA}, noisy histogram",
        lambda: replaced_histogram(_EPSILON),
    ),
    _fault(
        "Mechanism F until a record passes",
        "Trying again divides by the chance to pass, which depends on the table.",
        f"{_MA}, after Bindschaedler, Shokri and Gunter (2017)",
        _until_one_passes,
    ),
    _fault(
        "above threshold with a private threshold",
        "The threshold is a score of the table and moves against the others.",
        "Alissaiei (2026), a baseline whose threshold is the true second magnitude",
        lambda: private_threshold(_EPSILON),
    ),
    _fault(
        "gap of a noisy maximum used twice",
        "The gap is free for the winner alone; who came second is another answer of the same noise.",
        "a slip: reading the runner-up off the noisy scores",
        lambda: winner_and_second(_EPSILON),
    ),
]
"""Each is caught by the check that our own mechanisms pass."""
