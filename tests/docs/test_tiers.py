"""The quick tier asks about every plan, statement and page."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

import discreet as dc
from tests.docs.test_pages import PAGES
from tests.docs.test_theory import written
from tests.docs.tiers import ROOT

pytestmark = pytest.mark.slow  # all tests are collected once more


@pytest.fixture(scope="module")
def quick() -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.docs.tiers"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("law", ["prices", "rows", "neighbours"])
def test_laws_ask_every_plan(quick: dict[str, Any], law: str) -> None:
    asked = [name for name in quick["ids"] if f"laws/test_plan_{law}.py::" in name]
    assert [plan for plan in dc.PLANS if not any(f"[{plan}-" in name for name in asked)] == []


@pytest.mark.parametrize("mark", ["proves", "refutes"])
def test_every_statement_is_shown_and_its_fault_caught(quick: dict[str, Any], mark: str) -> None:
    assert written() - set(quick[mark]) == set()


def test_every_page_is_run(quick: dict[str, Any]) -> None:
    missing = [page.name for page in PAGES if not any(f"[{page.name}]" in n for n in quick["ids"])]
    assert missing == []


def test_many_cases_are_left_to_the_whole_suite(quick: dict[str, Any]) -> None:
    """That the marks work: of one law most cases are slow, and one of every plan is not."""
    prices = [name for name in quick["ids"] if "test_a_plan_with_a_rho" in name]
    assert len(dc.PLANS) <= len(prices) <= 2 * len(dc.PLANS)
