"""What every benchmark shares: a table on the screen, a JSON file beside it, fair timing."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def print_table(title: str, rows: list[dict[str, Any]]) -> None:
    """Print flat rows as a table."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left", header_style="bold")
    for name in rows[0]:
        table.add_column(name, justify="left" if isinstance(rows[0][name], str) else "right")
    for row in rows:
        table.add_row(*(f"{v:.4g}" if isinstance(v, float) else str(v) for v in row.values()))
    console = Console()
    (console if console.is_terminal else Console(width=160)).print(table)


def save_results(name: str, rows: list[dict[str, Any]], summary: dict[str, Any]) -> Path:
    """Write ``rows`` and ``summary`` to benchmarks/results/<name>.json."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps({"rows": rows, "summary": summary}, indent=2) + "\n")
    return path


def seconds(work: Callable[[], object], repeats: int = 5) -> float:
    """Return the least wall time of several runs, after one that warms up."""
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def seconds_side_by_side(
    first: Callable[[], object], second: Callable[[], object], repeats: int = 5
) -> tuple[float, float]:
    """Return the least wall times of two jobs run in turn, so that both meet the same machine."""
    first(), second()
    times: list[tuple[float, float]] = []
    for _ in range(repeats):
        start = time.perf_counter()
        first()
        middle = time.perf_counter()
        second()
        times.append((middle - start, time.perf_counter() - middle))
    return min(a for a, _ in times), min(b for _, b in times)
