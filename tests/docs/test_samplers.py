"""Which sampler draws what: the line of the known limits is held against the code."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from discreet import randomness
from discreet.mechanisms import count_noise
from discreet.mechanisms.selection.basic import ExponentialMechanism, NoisyMax
from discreet.mechanisms.selection.ranking import ranking_noise
from discreet.mechanisms.smooth.noisy_max import SmoothNoisyMax
from discreet.privacy.certificate import Box, certify_cells
from discreet.randomness import SystemNoise
from discreet.select.choose.chooser import Chooser
from discreet.select.quantiles.order_statistics import Standing

LIMITS = Path(__file__).parents[2] / "docs" / "known-limits.md"
SCORES = np.array([5, 3, 1, 0])
SOURCE = SystemNoise()


def counts(mechanism: str) -> object:
    noise = count_noise(
        certify_cells(4), relation="add-remove", epsilon=1.0, delta=1e-6, mechanism=mechanism
    )
    return noise.release(SCORES, SOURCE)


DRAWS: dict[str, Callable[[], object]] = {
    "Gaussian noise": lambda: counts("gaussian"),
    "the exponential mechanism": lambda: ExponentialMechanism(1, 1.0).release(SCORES, SOURCE),
    "rankings by peeling": lambda: ranking_noise(
        Box(-1.0, 1.0).certify(4),
        relation="add-remove",
        groups=1,
        k=2,
        epsilon=1.0,
        mechanism="permute-and-flip",
        largest_sum=10.0,
    ).release(SCORES, SOURCE),
    "Laplace noise": lambda: counts("laplace"),
    "the noisy maximum": lambda: NoisyMax(1, 1.0).release(SCORES, SOURCE),
    "the K-norm (L∞) mechanism": lambda: counts("linf"),
    "permute-and-flip choices": lambda: Chooser("permute-and-flip", 4, 1.0, 0.0, 1).draw(
        Standing(SCORES, 0, 1), SOURCE
    ),
    "smooth noisy max": lambda: SmoothNoisyMax(4, 1.0, 1e-6, "laplace").release(0, 1, SOURCE),
}


def promised(by: str) -> list[str]:
    (listed,) = re.findall(rf"Drawn by {by}: ([^.]*)\.", LIMITS.read_text())
    return listed.split(", ")


def test_the_limits_name_every_sampler_once() -> None:
    assert sorted(promised("OpenDP") + promised("our own code")) == sorted(DRAWS)


@pytest.mark.parametrize("name", DRAWS)
def test_the_limits_say_who_draws(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, opendp = [], randomness._opendp

    def watched() -> object:
        asked.append(name)
        return opendp()

    monkeypatch.setattr(randomness, "_opendp", watched)
    DRAWS[name]()
    assert name in promised("OpenDP" if asked else "our own code")
