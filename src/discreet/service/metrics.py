"""Numbers for whoever runs the service, as Prometheus reads them.

Nothing in here follows from rows: requests are counted by route and status, and timed only where no
table can be opened. How long a release takes, and how long it takes to open a table for whoever asks
first, follows from the number of rows, which is private under add-remove.
"""

from __future__ import annotations

import os

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest

OTHER = "other"
"""What stands for a route where there is none (files of the page, paths that lead nowhere), and for a
method that is none."""

TIMED = (
    "/",
    "/metrics",
    "/v1/audit",
    "/v1/health",
    "/v1/keys",
    "/v1/keys/{id}",
    "/v1/me",
    "/v1/plans",
    OTHER,
)
"""Routes that never open a table."""

_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
"""Those that are counted by name: whoever makes up others makes no more lines."""

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Metrics:
    """Counts of one process, which they name: each of several workers has its own."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "discreet_requests",
            "Requests by route and status.",
            ["worker", "method", "route", "status"],
            registry=self._registry,
        )
        self._seconds = Histogram(
            "discreet_request_seconds",
            "Time of requests that open no table.",
            ["worker", "method", "route"],
            buckets=_SECONDS,
            registry=self._registry,
        )

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        worker, method = str(os.getpid()), method if method in _METHODS else OTHER
        self._requests.labels(worker, method, route, str(status)).inc()
        if route in TIMED:
            self._seconds.labels(worker, method, route).observe(seconds)

    def text(self) -> bytes:
        """Return all of them in Prometheus' text format."""
        return generate_latest(self._registry)
