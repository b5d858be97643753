"""A perturbation that hands its work to another kind of noise, and what it says of itself."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.mechanisms.additive.noise import Noise
from discreet.privacy.accounting import Event
from discreet.privacy.certificate import Certificate


class WrappedNoise:
    """Everything the accountant asks for is that of ``noise``."""

    noise: Noise

    @property
    def name(self) -> str:
        """The mechanism."""
        return self.noise.name

    @property
    def normal(self) -> bool:
        """Whether noises add up to noise of the same law, the normal one."""
        return self.noise.normal

    @property
    def certificate(self) -> Certificate:
        """What was proven of the query."""
        return self.noise.certificate

    @property
    def events(self) -> Sequence[Event]:
        """What the accountant is told."""
        return self.noise.events

    @property
    def std(self) -> float:
        """The standard deviation of one released value."""
        return self.noise.std

    @property
    def epsilon(self) -> float:
        """The promise."""
        return self.noise.epsilon

    @property
    def delta(self) -> float:
        """See ``epsilon``."""
        return self.noise.delta


class CountsNoise(WrappedNoise):
    """Noise on what is read off whole counts, of which a step of the sum is one."""

    step = 1.0

    def half_width(self, level: float) -> float:
        """Return the distance from the exact value that is kept with probability ``level``."""
        return self.noise.half_width(level)
