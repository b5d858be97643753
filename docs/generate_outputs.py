"""Write under each statement of a page what it prints; names of pages as arguments, all by default.

A page is run several times: numbers that came out differently, by more than pages may differ, are
shown as ``…``. What is shown is compared in every run of the tests (``tests/docs/test_pages.py``).
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.docs.outputs import MARK, NUMBER, Printed, close, printed_by  # noqa: E402

RUNS = 3
MOST_LINES, MOST_LETTERS = 8, 108


def update(page: Path) -> None:
    """Write what a page prints into it."""
    runs = []
    for _ in range(RUNS):
        with tempfile.TemporaryDirectory() as folder:
            runs.append(printed_by(page, Path(folder)))
    lines = page.read_text().splitlines()
    for same in reversed(list(zip(*runs, strict=True))):
        _write(lines, same)
    page.write_text("\n".join(lines) + "\n")


def _write(lines: list[str], same: tuple[Printed, ...]) -> None:
    last = same[0].last
    while len(lines) > last and lines[last].startswith(MARK):
        del lines[last]
    shown = _shortened(_common([part.printed for part in same]))
    lines[last:last] = [f"{MARK} {line}".rstrip() for line in shown]


def _common(runs: list[list[str]]) -> list[str]:
    """Return what several runs have in common, ended where they differ in more than numbers."""
    found = []
    for versions in zip(*runs, strict=False):
        spaced = [" ".join(line.split()) for line in versions]
        if len({NUMBER.sub("", line) for line in spaced}) > 1:
            return [*found, "…"]
        numbers = zip(*(NUMBER.findall(line) for line in spaced), strict=True)
        kept = iter([one[0] if all(close(one[0], x) for x in one) else "…" for one in numbers])
        found.append(NUMBER.sub(lambda _, kept=kept: next(kept), versions[0]))  # type: ignore[misc]
    return found if len({len(run) for run in runs}) == 1 else [*found, "…"]


def _shortened(lines: list[str]) -> list[str]:
    kept = lines if len(lines) <= MOST_LINES else [*lines[: MOST_LINES - 2], "…"]
    return [line if len(line) <= MOST_LETTERS else f"{line[:MOST_LETTERS]}…" for line in kept]


if __name__ == "__main__":
    pages = [ROOT / "README.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]
    named = [Path(name).resolve() for name in sys.argv[1:]] or pages
    for each in named:
        update(each)
