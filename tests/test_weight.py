"""What is imported when: libraries that take their time are left until they are needed."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = {
    *("numpy", "scipy", "pandas", "pyarrow", "polars", "narwhals", "sklearn", "numba", "llvmlite"),
    *("opendp", "dp_accounting", "matplotlib", "sqlalchemy", "shap", "dask", "networkx", "skops"),
}

STEPS = {
    "import": ("import discreet", HEAVY),
    "version": ("sys.argv[1:] = ['version']; from discreet.cli import main; run(main)", HEAVY),
    "help": ("sys.argv[1:] = ['--help']; from discreet.cli import main; run(main)", HEAVY),
    "protect": (
        "import discreet; discreet.protect, discreet.Schema, discreet.histogram",
        HEAVY - {"numpy", "sqlalchemy"},
    ),
}
"""What is done, and what must not be imported for it."""

SCRIPT = """
import json, sys
def run(main):
    try:
        main()
    except SystemExit:
        pass
{step}
print(json.dumps(sorted({{name.partition(".")[0] for name in sys.modules}})))
"""


def imported(step: str) -> set[str]:
    """Return the packages that a new process has imported after a step."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(step=step)], capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize(("step", "heavy"), STEPS.values(), ids=STEPS)
def test_nothing_heavy_is_imported_before_it_is_needed(step: str, heavy: set[str]) -> None:
    assert not imported(step) & heavy


def test_an_import_that_slipped_in_is_noticed() -> None:
    assert imported("import discreet.samples") & HEAVY == {"numpy"}
