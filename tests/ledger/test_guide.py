from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from discreet import ledger

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "ledger.md"


def test_the_guide_says_what_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = doctest.testfile(str(GUIDE), module_relative=False)
    assert result.failed == 0
    assert result.attempted >= 10


def test_public_names_are_sorted_and_exist() -> None:
    assert sorted(ledger.__all__) == ledger.__all__
    assert all(hasattr(ledger, name) for name in ledger.__all__)
