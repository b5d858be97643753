"""What holds of the claims of every paper: verdicts are computed, controls differ, items have one."""

from __future__ import annotations

import re
from pathlib import Path

from discreet.audit.claims.claim import Claim, Evidence

_THEORY = Path(__file__).parents[3] / "docs" / "theory"


def run_both(claim: Claim) -> tuple[Evidence, Evidence]:
    """Return what the evidence says of the claim, and of its control."""
    return claim.run(), claim.run(claim.control)


def statements() -> set[str]:
    """Return the ids of all statements of the theory pages."""
    return {
        found
        for page in _THEORY.glob("*.md")
        for found in re.findall(r"^### (\S+)", page.read_text(), re.M)
    }


def numbers(text: str) -> set[str]:
    """Return the numbers that a place names: "Theorem 4.8 (i)" names "4.8"."""
    return set(re.findall(r"\b(?:[IVX]+(?:\.\d+)*|\d+(?:\.\d+)*)\b", text))


def covers(claim: Claim, kind: str, number: str) -> bool:
    """Return whether a claim's place names an item, as ("Figure", "11") in "Figures 11 to 16"."""
    place = re.sub(r"(\d+) to (\d+)", _spelt_out, claim.place)
    return kind in place and number in numbers(place)


def _spelt_out(found: re.Match[str]) -> str:
    return ", ".join(str(i) for i in range(int(found[1]), int(found[2]) + 1))
