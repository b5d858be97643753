"""Planted faults that samples show: wrong scales, cut tails, floats, bounds and seeds from the data."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from discreet.audit.faults.fault import Fault
from discreet.audit.sampling.checks import lattice_check, sample_check
from discreet.audit.sampling.subjects import RunSubject, count_noise_of, on_counts
from discreet.privacy.relation import Relation
from discreet.randomness import SystemNoise, public_generator

FloatArray = NDArray[np.float64]

_CUT = 3
"""Scales beyond which the cut tail has nothing."""


def float_noise(value: float, size: int, generator: Generator) -> FloatArray:
    """Return a sum with NumPy's Laplace noise, as most code that calls itself private does."""
    return value + generator.laplace(0.0, 1.0, size)


def cut_noise(value: int, size: int) -> NDArray[np.int64]:
    """Return a count with discrete Laplace noise that is drawn anew while it is far out."""
    scale, source = 1.0 / 0.25, SystemNoise()
    drawn = source.laplace(scale, 2 * size)
    return value + drawn[np.abs(drawn) <= _CUT * scale][:size]


def data_bounded_mean(values: FloatArray, size: int, generator: Generator) -> FloatArray:
    """Return means with noise scaled by the range of the very values."""
    width = float(values.max() - values.min())
    return np.asarray(values.mean() + generator.laplace(0.0, width / len(values), size))


def row_seeded_noise(values: FloatArray) -> float:
    """Return a sum with noise that each row's own number seeds, so that it never changes."""
    noise = [public_generator(int(value * 1000)).laplace(0.0, 1.0) for value in values]
    return float(values.sum() + np.sum(noise))


def _numbers(last: float) -> FloatArray:
    return np.append(np.linspace(0.0, 1.0, 10), last)


_AT_EPSILON_2 = count_noise_of("laplace", 0.0, epsilon=2.0)
_ONE_COUNT = count_noise_of("laplace", 0.0, relation=Relation.ADD_REMOVE)

FAULTS: list[Fault] = [
    Fault(
        "NumPy's float noise",
        "Floats are unevenly spaced, so the last bits of an answer tell which sum it was added to.",
        "Mironov (2012); any value + numpy.random.laplace(...)",
        lattice_check(
            RunSubject("NumPy's Laplace noise on a sum", "0 and 1", float_noise, 0.0, 1.0, batched=True)
        ),
    ),
    Fault(
        "noise of half the scale",
        "The scale is sensitivity / (2 epsilon) where it must be sensitivity / epsilon.",
        "a slip: the factor of two of a selection's noise, on the wrong side",
        sample_check(on_counts("Laplace noise of half the scale", _AT_EPSILON_2)),
    ),
    Fault(
        "noise for one count under replacement",
        "A replaced record moves two counts, and noise is calibrated to one of them.",
        "a slip: the sensitivity of another neighbouring relation",
        sample_check(on_counts("Laplace noise for one count, a record moved", _ONE_COUNT)),
    ),
    Fault(
        "noise with a cut tail",
        "Noise beyond three scales is drawn anew, so answers near the cut are impossible for a "
        "neighbour.",
        "a slip: bounded noise that looks tidier",
        sample_check(
            RunSubject(
                "Laplace noise with a cut tail", "counts 10 and 14", cut_noise, 10, 14, batched=True
            )
        ),
    ),
    Fault(
        "clipping bounds read from the data",
        "The range of the values scales the noise, so one far value shows in the noise of all.",
        "a slip that libraries allow if bounds are left out",
        sample_check(
            RunSubject(
                "private mean with bounds from the data",
                "11 numbers up to 1, and the last of them 1000",
                data_bounded_mean,
                _numbers(1.0),
                _numbers(1000.0),
                batched=True,
            )
        ),
    ),
    Fault(
        "noise seeded by the rows",
        "Noise is a function of the records, so that an answer never changes and repeats nothing else.",
        "a slip: caching noise so that asking twice tells no more",
        sample_check(
            RunSubject(
                "noise seeded by the rows",
                "11 numbers, and the last of them another",
                row_seeded_noise,
                _numbers(0.5),
                _numbers(0.6),
            )
        ),
    ),
]
