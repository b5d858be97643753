"""What the quick tier asks; run as ``python -m tests.docs.tiers``, which prints it as JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


class Watcher:
    """Remembers what was collected and not left out."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.marked: dict[str, set[str]] = {"proves": set(), "refutes": set()}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Look at what is left."""
        for item in session.items:
            self.ids.append(item.nodeid)
            for name, found in self.marked.items():
                found |= {one for mark in item.iter_markers(name) for one in mark.args}


def main() -> None:
    """Print the names of quick tests, and the statements that they prove and refute."""
    watcher = Watcher()
    asked = ["--collect-only", "-qq", "-p", "no:cacheprovider", "-m", "not slow", str(ROOT / "tests")]
    ended = pytest.main([*asked, f"--rootdir={ROOT}"], plugins=[watcher])
    marked = {name: sorted(found) for name, found in watcher.marked.items()}
    print("\n" + json.dumps({"ids": watcher.ids, **marked}))
    sys.exit(int(ended))


if __name__ == "__main__":
    main()
