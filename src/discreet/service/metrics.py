"""Numbers for whoever runs the service, as Prometheus reads them.

Nothing in here follows from rows: requests are counted by route and status, and timed only where no row
is read. How long a release takes follows from the number of rows, which is private under add-remove.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest

_UNTIMED = ("/releases", "/jobs")
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Metrics:
    """Counts of one process."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "discreet_requests",
            "Requests by route and status.",
            ["method", "route", "status"],
            registry=self._registry,
        )
        self._seconds = Histogram(
            "discreet_request_seconds",
            "Time of requests that read no row.",
            ["method", "route"],
            buckets=_SECONDS,
            registry=self._registry,
        )

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(method, route, str(status)).inc()
        if not any(part in route for part in _UNTIMED):
            self._seconds.labels(method, route).observe(seconds)

    def text(self) -> bytes:
        """Return all of them in Prometheus' text format."""
        return generate_latest(self._registry)
