"""Every planted fault is noticed by the audit, and nothing that is released leads to one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import discreet
from discreet.audit.faults.fault import Fault
from discreet.audit.faults.registry import FAULTS, find_fault
from discreet.audit.finding import registry_of
from discreet.audit.suite import PLANTED, run
from discreet.errors import ArgumentError

PACKAGE = Path(discreet.__file__).parent

NAMED = (
    "published smooth noisy max",
    "smooth sensitivity with exp(-epsilon j)",
    "exponential mechanism with smooth sensitivity",
    "published bound on a Rényi entropy",
    "histogram with 1/epsilon under replacement",
    "Mechanism F until a record passes",
    "NumPy's float noise",
    "bounds read from data",
    "model that scales its batch",
    "rows dealt to trees by position",
    "above threshold with a private threshold",
    "gap of a noisy maximum used twice",
    "wrapped sums",
    "bootstrap calibration",
)
"""What has to be among them."""


@pytest.mark.parametrize("fault", FAULTS.values(), ids=lambda fault: fault.name)
def test_an_audit_of_a_planted_fault_fails(fault: Fault) -> None:
    report = run(registry_of([fault.check]), effort=PLANTED)
    assert report.exit_code == 1
    (found,) = report.findings
    assert not found.held and found.unit != "not run", found.said


def test_the_faults_that_matter_are_planted() -> None:
    assert [name for name in NAMED if name not in FAULTS] == []
    assert all(fault.wrong and fault.source for fault in FAULTS.values())


def test_nothing_that_is_released_leads_to_a_fault() -> None:
    allowed = ("audit", "cli/about/audit.py")
    faulty = re.compile(r"audit\.faults")
    found = [
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if faulty.search(path.read_text())
    ]
    assert [path for path in found if not path.startswith(allowed)] == []


def test_an_unknown_fault_is_told() -> None:
    with pytest.raises(ArgumentError, match="planted must be the name of a planted fault"):
        find_fault("nothing")
