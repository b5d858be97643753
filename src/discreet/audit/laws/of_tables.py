"""Choices from tables of counts: percentiles, quantile cuts, the most frequent value."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.audit.laws.divergence import FloatArray
from discreet.audit.laws.neighbours import Counts, pairs_of_tables
from discreet.audit.laws.subject import Promise, Subject
from discreet.mechanisms import InverseSensitivity, LocalDampening
from discreet.mechanisms.selection.quantiles import QuantileNoise
from discreet.plans import Setting
from discreet.privacy.relation import Relation
from discreet.randomness import IntArray
from discreet.schema import Category, Number, Schema
from discreet.select.choose.chooser import INVERSE
from discreet.select.choose.most_frequent import CountChoice, most_frequent
from discreet.select.quantiles.cuts import QuantileCuts
from discreet.select.quantiles.order_statistics import PercentileDistances, value_sensitivities
from discreet.select.quantiles.percentile import PercentileChoice, percentile

_VALUES = 3
_ROWS = 4

_GRID = 201
"""Values of a long grid, most of them between those that records have: all of these move together."""

_SHIFTED = "a shift that all utilities share is dampened as well, where they no longer differ"
_TWICE = "a replaced record is paid for as one that goes and one that comes, each at its worst"


def setting_of(relation: Relation | str, values: int = _VALUES) -> Setting:
    """Return the public facts of a tiny table: a number of some values, a category of three."""
    schema = Schema(
        {
            "size": Number(0, values - 1, step=1, missing=False),
            "kind": Category("a", "b", "c", missing=False, other=False),
        }
    )
    return Setting(schema, Relation(relation), _ROWS if Relation(relation).rows_public else None)


def stretched(counts: Counts, values: int) -> IntArray:
    """Return the counts of a grid whose first, middle and last value are the only ones records have."""
    table = np.zeros(values, dtype=np.int64)
    table[np.linspace(0, values - 1, len(counts)).astype(int)] = counts
    return table


def counts_subject(name: str, noise: PercentileChoice | CountChoice, relation: str) -> Subject:
    """Return a stage that chooses by the counts of a grid, of which three values have records."""
    values = noise.certificate.size

    def law(counts: Counts) -> FloatArray:
        return noise.chooser.law(noise.standing(stretched(counts, values)))

    promise = Promise(noise.epsilon, noise.delta, noise.events)
    return Subject(f"{name}, {noise.name}, {relation}", law, promise, pairs_of_tables(relation))


def percentile_subject(mechanism: str, relation: str, epsilon: float, delta: float = 0.0) -> Subject:
    """Return the median of a column: of three values, or of many where only those show the loss."""
    values = _GRID if mechanism == INVERSE else _VALUES
    asked: Any = percentile("size", 50, epsilon=epsilon, delta=delta, mechanism=mechanism)  # type: ignore[arg-type]
    noise = asked.prepare(setting_of(relation, values)).stages[0].noise
    return counts_subject("percentile", noise, relation)


def frequent_subject(mechanism: str, relation: str, epsilon: float, delta: float = 0.0) -> Subject:
    """Return the most frequent of three values."""
    asked: Any = most_frequent("kind", epsilon=epsilon, delta=delta, mechanism=mechanism)  # type: ignore[arg-type]
    return counts_subject(
        "most frequent", asked.prepare(setting_of(relation)).stages[0].noise, relation
    )


def cuts_subject(cuts: QuantileCuts | QuantileNoise, wanted: int) -> Subject:
    """Return all cuts of a column together; ``wanted`` is how many there are."""
    relation, values = cuts.relation, cuts.certificate.size
    answers = list(itertools.combinations_with_replacement(range(values + 1), wanted))

    def law(counts: Counts) -> FloatArray:
        table = stretched(counts, values)
        return np.array([cuts.probability(table, answer) for answer in answers])

    promise = Promise(cuts.epsilon, cuts.delta, cuts.events)
    name = f"{wanted} quantile cuts, {cuts.name}, {relation}"
    loose = _TWICE if Relation(relation).keeps_places else ""
    return Subject(name, law, promise, pairs_of_tables(relation, most=1), loose, caught=3.0)


def inverse_subject(mechanism: InverseSensitivity, relation: str) -> Subject:
    """Return the median of a long grid by how many edits each value is away."""
    measure = PercentileDistances(Fraction(50), Relation(relation))

    def law(counts: Counts) -> FloatArray:
        return mechanism.probabilities(measure.distances(stretched(counts, _GRID)))

    promise = Promise(mechanism.epsilon, 0.0, (mechanism.event,))
    return Subject(f"{mechanism.name}, {relation}", law, promise, pairs_of_tables(relation))


def dampening_subject(mechanism: LocalDampening, relation: str) -> Subject:
    """Return the median of three values by dampened distances in value."""
    measure = PercentileDistances(Fraction(50), Relation(relation))

    def law(counts: Counts) -> FloatArray:
        off = np.abs(np.arange(_VALUES) - measure.standing(np.array(counts)).winner)
        admissible = value_sensitivities(np.array(counts), measure, _VALUES)
        return mechanism.probabilities(-off, admissible)

    promise = Promise(mechanism.epsilon, 0.0, (mechanism.event,))
    name = f"{mechanism.name}, shift {mechanism.shift}, {relation}"
    loose = _SHIFTED if mechanism.shift else ""
    return Subject(name, law, promise, pairs_of_tables(relation), loose, caught=4.0)
