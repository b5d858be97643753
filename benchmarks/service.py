"""How fast the service answers: start, prices, stored answers, a curve of 20,000 rows; 1 and 2 workers.

Also how large its page is and how soon Chromium paints it, in a window that has seen none of it. The
overhead is what a request takes more than the same call of a session in this process; both are asked
in turn, so that a machine that slows down slows both. The server runs in processes of its own
(``discreet serve``), the clients are threads here: on a machine of two cores both share them, which
the figures include.
"""

from __future__ import annotations

import argparse
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import tomlkit

import discreet as dc
from benchmarks.harness import print_table, save_results
from discreet.cli.about.demo_questions import train_model
from discreet.cli.about.service_demo import prepare
from discreet.service.app import PAGE

CURVE = {"model": "boosted", "features": "income", "epsilon": 0.001}
HIGHEST = 200_000
"""Curves are of incomes up to this less the number of the question."""
AIMS = {"start s": 3.0, "overhead ms": 15.0, "page kB": 200.0, "first paint ms": 1_000.0}
"""What must not be reached: the first answer after a start, the median overhead, size and paint."""

_PAINTS = """() => Object.fromEntries(
    performance.getEntriesByType("paint").map((one) => [one.name, one.startTime]))"""


def main() -> None:
    """Measure everything and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer requests")
    options = parser.parse_args()
    requests, clients = (60, 4) if options.quick else (400, 8)
    with tempfile.TemporaryDirectory() as folder:
        project, keys = prepare(Path(folder) / "demo")
        ask_often(project)
        bare = bare_session(Path(folder) / "demo")
        rows = [
            row
            for workers in (1, 2)
            for row in measure(project, keys, bare, workers, requests=requests, clients=clients)
        ]
        paint = first_paint(project)
    page = sum(path.stat().st_size for path in PAGE.rglob("*") if path.is_file()) / 1_000
    found = verdicts(rows, page, paint)
    print_table("How long questions take", [row for row in rows if "start s" not in row])
    print_table("What was aimed at, and the worst of it", found)
    save_results("service", rows, {"page_kb": page, "first_paint_ms": paint, "aims": found})


def ask_often(project: Path) -> None:
    """Let a key ask as often as it can: what is measured is the service, not its limit of requests."""
    document = tomlkit.parse(project.read_text())
    document.setdefault("service", tomlkit.table())["requests_per_minute"] = 10**6
    project.write_text(tomlkit.dumps(document))


def verdicts(rows: list[dict[str, Any]], page: float, paint: float | None) -> list[dict[str, Any]]:
    """Return every aim beside the worst that was measured."""
    worst = {
        "start s": max(row["start s"] for row in rows if "start s" in row),
        "overhead ms": max(row["overhead ms"] for row in rows if "overhead ms" in row),
        "page kB": page,
        "first paint ms": paint,
    }
    told = {True: "holds", False: "DOES NOT HOLD", None: "not measured: Chromium is not here"}
    return [
        {"aim": f"{name} below {aim:g}", "found": value, "verdict": told[value and bool(value < aim)]}
        for name, aim in AIMS.items()
        for value in [worst[name]]
    ]


def first_paint(project: Path, times: int = 5) -> float | None:
    """Return after how many milliseconds Chromium paints the page, the median of some windows."""
    chromium = shutil.which("chromium")
    if chromium is None:
        return None
    from playwright.sync_api import sync_playwright

    with served(project, 1) as (url, _), sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        paints = []
        for _ in range(times):
            window = browser.new_page()  # with a memory of its own
            window.goto(url)
            # Asked from outside: the page's own policy lets no text be run inside.
            while "first-contentful-paint" not in (painted := window.evaluate(_PAINTS)):
                window.wait_for_timeout(10)
            paints.append(painted["first-contentful-paint"])
            window.close()
        browser.close()
    return statistics.median(paints)


def measure(
    project: Path,
    keys: dict[str, str],
    bare: dict[str, Callable[[int], None]],
    workers: int,
    *,
    requests: int,
    clients: int,
) -> Iterator[dict[str, Any]]:
    """Yield a row for the start and one for every question, at so many workers."""
    with served(project, workers) as (url, started):
        yield {"workers": workers, "question": "start", "start s": started}
        headers = {"Authorization": f"Bearer {keys['owner']}"}
        with httpx.Client(base_url=url, headers=headers, timeout=60.0) as client:
            asked = questions(client)
            first = 10_000 * workers  # every number asks for a curve that nobody has asked for
            for name, ask in asked.items():  # has an answer stored; every worker opens and compiles
                ask(first)
                with ThreadPoolExecutor(clients) as pool:
                    list(pool.map(ask, range(first + 1, first + 2 * clients)))
                bare[name](first)
            for name, ask in asked.items():
                pairs = [
                    (timed(bare[name], number), timed(ask, number))
                    for number in range(first + 1_000, first + 1_000 + requests // 4)
                ]
                session, alone = (1e3 * statistics.median(times) for times in zip(*pairs, strict=True))
                with ThreadPoolExecutor(clients) as pool:
                    start = time.perf_counter()
                    numbers = range(first + 2_000, first + 2_000 + requests)
                    times = list(pool.map(lambda n, ask=ask: timed(ask, n), numbers))
                    whole = time.perf_counter() - start
                yield {
                    "workers": workers,
                    "question": name,
                    "session p50 ms": session,
                    "alone p50 ms": alone,
                    "overhead ms": alone - session,
                    "p50 ms": 1e3 * statistics.median(times),
                    "p99 ms": 1e3 * sorted(times)[int(0.99 * len(times))],
                    "requests/s": requests / whole,
                }


def questions(client: httpx.Client) -> dict[str, Callable[[int], None]]:
    """Return what is asked of the service, by name; each is called with a number of its own."""

    def post(path: str, arguments: dict[str, Any], plan: str) -> None:
        asked = {"plans": [{"plan": plan, "arguments": arguments}]}
        found = client.post(f"/v1/datasets/loans/{path}", json=asked, headers={"Prefer": "wait=30"})
        assert found.status_code == 200, found.text

    histogram = {"columns": "home", "epsilon": 0.01}
    return {
        "price": lambda _: post("price", histogram, "histogram"),
        "stored answer": lambda _: post("releases", histogram, "histogram"),
        "curve": lambda n: post(
            "releases", {**CURVE, "where": f"income <= {HIGHEST - n}"}, "partial_dependence"
        ),
    }


def bare_session(folder: Path) -> dict[str, Callable[[int], None]]:
    """Return the same questions to a session in this process, by name.

    It has a ledger and stored answers of its own, so that each is answered here and there.
    """
    session = dc.protect(
        folder / "loans.parquet",
        folder / "loans.toml",
        dataset="loans",
        ledger=folder / "bare.db",
        epsilon=8.0,
        delta=1e-6,
        progress=False,
    )
    model, counts = train_model(), dc.histogram("home", epsilon=0.01)

    def curve(number: int) -> None:
        where = f"income <= {HIGHEST - number}"
        session.release(dc.partial_dependence(model, "income", where=where, epsilon=CURVE["epsilon"]))

    return {
        "price": lambda _: session.price(counts),
        "stored answer": lambda _: session.release(counts),
        "curve": curve,
    }


def timed(ask: Callable[[int], Any], number: int) -> float:
    """Return how many seconds a call takes."""
    start = time.perf_counter()
    ask(number)
    return time.perf_counter() - start


@contextmanager
def served(project: Path, workers: int) -> Iterator[tuple[str, float]]:
    """Give the address of a server, and after how many seconds it answered first."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = ["--project", str(project), "--port", str(port), "--workers", str(workers)]
    start, url = time.perf_counter(), f"http://127.0.0.1:{port}"
    command = [sys.executable, "-c", "from discreet.cli import main; main()", "serve", *options]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
        try:
            yield url, answered(url, start)
        finally:
            server.terminate()


def answered(url: str, start: float) -> float:
    """Wait until a server answers, and return how long that was."""
    while True:
        try:
            httpx.get(f"{url}/v1/health", timeout=1.0)
            return time.perf_counter() - start
        except httpx.TransportError:
            time.sleep(0.02)


if __name__ == "__main__":
    main()
