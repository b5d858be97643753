"""Time that passes when a test says so, so that no machine is too slow or too fast for it."""

from __future__ import annotations


class Clock:
    """Stands in for the module ``time`` of whoever looks at a clock.

    Args:
      look: seconds that pass whenever somebody looks.
    """

    def __init__(self, look: float = 0.0) -> None:
        self._look, self._now = look, 0.0

    def passes(self, seconds: float) -> None:
        """Let time pass."""
        self._now += seconds

    sleep = passes

    def monotonic(self) -> float:
        """Return seconds since the clock was made."""
        self._now += self._look
        return self._now

    perf_counter = time = monotonic
