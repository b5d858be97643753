"""Noise on contrasts of exact sums, and the purse it is paid from.

Sums of bins are whole numbers, so contrasts of them with whole entries are too: noise is added to
those. What the sums themselves were is seen by nobody.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from discreet.additive.contrasts import Contrasts, Norm
from discreet.errors import ArgumentError, CertificateError
from discreet.mechanisms import GaussianNoise, LaplaceNoise, Noise
from discreet.mechanisms.additive.wrapped import WrappedNoise
from discreet.mechanisms.lattice import SHARE
from discreet.numerics import float_of_units, to_budget_units, up
from discreet.plans import Setting
from discreet.privacy.accounting import Event, GaussianEvent, PureEvent
from discreet.privacy.accounting.discrete import lattice_slack
from discreet.privacy.accounting.joint import joint_epsilon, joint_rho, rho_beside
from discreet.privacy.certificate import Bounds, Certificate
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE
from discreet.randomness import IntArray, NoiseSource
from discreet.schema import FloatArray

_BITS = 60
"""Sums of contrasts stay below 2 to this power of lattice steps."""

_NOISE_BITS, _LEAST_BITS = 47, 12
"""Noise stays below 2 to this power of steps; a lattice coarser than the other is of no use."""

_SPARE = 5e-5
"""Of delta: what all lattices together may take, half of what ``joint_rho`` leaves for them."""

_PLENTY, _NEAR = 4.0, 0.01
"""An epsilon that is never cut down, and how near the greatest with room for a lattice is found."""

_CHOSEN = 0.25
"""Of epsilon: what all choices together have at most, so that a large delta leaves room for sums."""

_FLOATS = 1e-9
"""What lengths of columns are rounded up by."""


@dataclass(frozen=True)
class MappedNoise(WrappedNoise):
    """Noise on contrasts of sums: one block of them per table, for each of some channels.

    Guarantees:
      - Contrasts of whole numbers with whole entries are exact, so noise meets what was certified.
        [additive-counts] [additive-corrections]
    """

    noise: Noise
    blocks: tuple[Contrasts, ...]
    channels: int
    step: float
    paid: tuple[Event, ...]

    @property
    def events(self) -> Sequence[Event]:
        """What the accountant is told: one event, or several of which this is worth all."""
        return self.paid

    def contrasts(self, raw_steps: IntArray) -> IntArray:
        """Return the contrasts of all tables, in steps of the noise, laid end to end."""
        sizes = [block.whole.shape[1] * self.channels for block in self.blocks]
        tables = np.split(np.asarray(raw_steps, dtype=np.int64), np.cumsum(sizes)[:-1])
        pairs = zip(self.blocks, tables, strict=True)
        return np.concatenate([(b.whole @ t.reshape(-1, self.channels)).ravel() for b, t in pairs])

    def release(self, raw_steps: IntArray, source: NoiseSource) -> FloatArray:
        """Return the contrasts with noise, table after table, each contrasts x channels."""
        return self.noise.release(self.contrasts(raw_steps), source)

    def split(self, released: FloatArray) -> list[FloatArray]:
        """Return what was released of every table, contrasts x channels."""
        sizes = [block.rows * self.channels for block in self.blocks]
        parts = np.split(released, np.cumsum(sizes)[:-1])
        return [part.reshape(-1, self.channels) for part in parts]


def certify_counts(blocks: Sequence[Contrasts], channels: int) -> Certificate:
    """Certify contrasts of tables of which every record is in one cell each, or in none.

    Args:
      blocks: the contrasts of every table.
      channels: classes; a record is counted in one of them, the same in all tables.

    Guarantees:
      - A record that comes or goes moves a table's contrasts by one column. One that is replaced
        by another of its class moves them by a difference of two columns, by one of another class
        by two columns apart from each other; all pairs of columns are tried. [additive-counts]
    """
    lengths = [np.linalg.norm(block.matrix, axis=0).max() for block in blocks]
    apart = [
        max(_farthest(block.matrix), length) for block, length in zip(blocks, lengths, strict=True)
    ]
    square = math.fsum(length**2 for length in lengths)
    other = 2 * square if channels > 1 else 0.0
    replaced = math.sqrt(max(other, math.fsum(far**2 for far in apart)))
    summed = math.fsum(np.abs(block.matrix).sum(axis=0).max() for block in blocks)
    size = channels * sum(block.rows for block in blocks)
    return _certificate("additive-counts", size, (summed, math.sqrt(square)), (2 * summed, replaced))


def _farthest(matrix: FloatArray) -> float:
    """Return how far two columns are from each other at most."""
    products = matrix.T @ matrix
    squares = np.diag(products)
    return math.sqrt(max(0.0, float((squares[:, None] + squares - 2 * products).max())))


def certify_sums(
    blocks: Sequence[Contrasts], channels: int, purse: Purse, *, step: float
) -> Certificate:
    """Certify contrasts of tables to one cell of each of which a record adds a vector of the unit ball.

    Guarantees:
      - A record moves a table's contrasts by a column times its vector, at most as long as the column
        is if the vector is at most one long, in the norm of both; replaced, by twice that.
        [additive-corrections]
    """
    relation = purse.setting.relation
    most = 1.0 + (0.0 if relation.whole else relation.rounded_rows * step * channels)
    across = most * (1.0 if purse.norm == "l1" else math.sqrt(channels))
    lengths = [max(1.0, np.linalg.norm(block.matrix, axis=0).max()) for block in blocks]
    summed = across * math.fsum(np.abs(block.matrix).sum(axis=0).max() for block in blocks)
    length = most * math.sqrt(math.fsum(value**2 for value in lengths))
    size = channels * sum(block.rows for block in blocks)
    return _certificate("additive-corrections", size, (summed, length), (2 * summed, 2 * length))


def _certificate(
    statement: str, size: int, added: tuple[float, float], replaced: tuple[float, float]
) -> Certificate:
    def bounds(l1: float, l2: float) -> Bounds:
        l2 = up(max(l2, 1.0) * (1 + _FLOATS))
        return Bounds(up(max(l1, l2) * (1 + _FLOATS)), l2, l2)

    return Certificate((statement,), size, {ADD_REMOVE: bounds(*added), REPLACE_ONE: bounds(*replaced)})


@dataclass(frozen=True)
class Purse:
    """What stages are paid from: a rho for Gaussian noise, or an epsilon for Laplace noise.

    Args:
      setting: the public facts.
      amount: rho if there is a delta, else epsilon; of all stages together.
      delta: zero for a pure promise.
      widest: the greatest scale of noise on a stage, beside what a record moves.
      slack: how far noise of a stage may be from the continuous law.
      epsilon: that is kept: what was asked for, or as much of it as lattices are fine enough for.
      pick: the epsilon of one choice beside the stages; zero if there is none. Of a pure promise it is
        a share like others; with a delta choices are priced together with all stages, beside rho.
    """

    setting: Setting
    amount: float
    delta: float
    widest: float
    slack: float
    epsilon: float
    pick: float = 0.0

    @classmethod
    def of(
        cls,
        setting: Setting,
        epsilon: float,
        delta: float,
        stages: int,
        *,
        size: int = 1,
        choices: tuple[int, float] = (0, 0.0),
    ) -> Purse:
        """Return the purse of a promise, for at most so many stages, none far below an even share.

        Of a large epsilon with a delta only as much is spent as a lattice leaves room for, where a
        stage may have ``size`` numbers. Of ``choices`` there are so many, for a share each.
        """
        if not delta:
            pick = float_of_units(round(to_budget_units(epsilon) * choices[1])) if choices[0] else 0.0
            return cls(setting, epsilon, 0.0, 4 * stages / epsilon, 0.0, epsilon, pick)
        made = cls._gaussian_of(setting, epsilon, delta, stages, choices)
        low, high = _PLENTY, epsilon
        if (
            low >= high
            or made._roomy(size)
            or not cls._gaussian_of(setting, low, delta, stages, choices)._roomy(size)
        ):
            return made
        while high - low > _NEAR:
            middle = (low + high) / 2
            roomy = cls._gaussian_of(setting, middle, delta, stages, choices)._roomy(size)
            low, high = (middle, high) if roomy else (low, middle)
        return cls._gaussian_of(setting, low, delta, stages, choices)

    @classmethod
    def _gaussian_of(
        cls, setting: Setting, epsilon: float, delta: float, stages: int, choices: tuple[int, float]
    ) -> Purse:
        slack = _SPARE * delta / (1 + math.exp(min(epsilon, 600.0))) / stages
        rho, pick = joint_rho(epsilon, delta), 0.0
        if choices[0]:
            most = _CHOSEN * epsilon / choices[0]
            pick = float_of_units(to_budget_units(min(most, math.sqrt(2 * rho * choices[1]))))
            rho = rho_beside(epsilon, delta, (PureEvent(pick, "choice"),) * choices[0])
        return cls(setting, rho, delta, 4 * math.sqrt(stages / rho), slack, epsilon, pick)

    def _roomy(self, size: int) -> bool:
        """Return whether a stage of so many numbers that gets all has noise wide enough in steps."""
        return lattice_slack(math.sqrt(0.5 / self.amount) * 2.0**self.bits, size) <= self.slack

    @property
    def norm(self) -> Norm:
        """The norm that decides about noise."""
        return "l2" if self.delta else "l1"

    @property
    def bits(self) -> int:
        """How fine the lattice of contrasts is: its step is 2 to minus this power."""
        rows, noise = (math.ceil(math.log2(max(n, 2))) for n in (self.setting.most_rows, self.widest))
        return max(_LEAST_BITS, min(_BITS - rows, _NOISE_BITS - noise))

    @property
    def count_step(self) -> float:
        """The step of counts: a record, or a part of one where the rows of a person share one."""
        return 1.0 if self.setting.relation.whole else SHARE

    @property
    def sum_step(self) -> float:
        """The step that what records add is rounded to: half of all bits."""
        return 2.0 ** -(self.bits // 2)

    def unit(self, step: float) -> float:
        """Return the unit of contrasts of sums on a lattice of a step."""
        return 2.0**-self.bits / step

    def rest(self, *shares: tuple[float, int]) -> float:
        """Return the share that is left of the whole after some were given out so many times."""
        if self.delta:
            return 1 - math.fsum(share * times for share, times in shares)
        units = to_budget_units(self.amount)
        return 1 - sum(round(units * share) * times for share, times in shares) / units

    def event(self, share: float) -> Event:
        """Return what the accountant is told of a stage that gets a share of the purse."""
        if not self.delta:
            return PureEvent(float_of_units(round(to_budget_units(self.amount) * share)), "laplace")
        return GaussianEvent(up(math.sqrt(0.5 / (share * self.amount))), self.slack)

    def noise(
        self,
        certificate: Certificate,
        blocks: Sequence[Contrasts],
        channels: int,
        step: float,
        *,
        share: float,
        times: int = 1,
    ) -> MappedNoise:
        """Return noise on contrasts that is worth ``times`` stages of a share each.

        Guarantees:
          - Gaussian noise of k rhos tells as much as k noises of one rho do, of which it is the mean.
            [additive-pooled]
        """
        paid = (self.event(share),) * times
        made = self._gaussian if self.delta else self._laplace
        return MappedNoise(made(certificate, paid), tuple(blocks), channels, step, paid)

    def _gaussian(self, certificate: Certificate, paid: Sequence[Event]) -> GaussianNoise:
        one, relation, step = paid[0], self.setting.relation, 2.0**-self.bits
        assert isinstance(one, GaussianEvent)
        multiplier = up(one.multiplier / math.sqrt(len(paid)), 2)
        scale = up(up(certificate.sensitivity("l2", relation) / step) * multiplier)
        if not lattice_slack(scale, certificate.size) <= self.slack:
            raise ArgumentError(
                f"delta must leave room for a lattice for {self.setting.most_rows} records, got "
                f"{self.delta!r}. Ask for a greater or for none, or register fewer rows (most_rows=)."
            )
        event = GaussianEvent(multiplier, self.slack)
        epsilon = _epsilon(tuple(paid), self.delta)
        return GaussianNoise(certificate, relation, epsilon, self.delta, step, scale, event)

    def _laplace(self, certificate: Certificate, paid: Sequence[Event]) -> LaplaceNoise:
        relation, step = self.setting.relation, 2.0**-self.bits
        shares = [to_budget_units(event.epsilon) for event in paid if isinstance(event, PureEvent)]
        epsilon = float_of_units(sum(shares))
        moved = math.ceil(certificate.sensitivity("l1", relation) / step)
        return LaplaceNoise(certificate, relation, epsilon, step, moved)


@lru_cache(maxsize=1024)
def _epsilon(paid: tuple[Event, ...], delta: float) -> float:
    """Return the epsilon at which a stage keeps the plan's delta by itself."""
    return joint_epsilon(paid, delta)


def check_columns(blocks: Sequence[Contrasts], norm: Norm) -> None:
    """Raise if a column is longer than one: what was priced would not cover it."""
    order = 1 if norm == "l1" else 2
    if any(np.linalg.norm(block.matrix, ord=order, axis=0).max() > 1 for block in blocks):
        raise CertificateError("Columns of contrasts must be at most one long.")
