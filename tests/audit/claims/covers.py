"""What every paper's claims are asked: the stated verdict, another one at the control, all places."""

from __future__ import annotations

import re
from pathlib import Path

from discreet.audit.claims.claim import Claim

ROOT = Path(__file__).parents[3]


def statements() -> set[str]:
    """Return the ids of docs/theory."""
    pages = (ROOT / "docs" / "theory").glob("*.md")
    return {
        found for page in pages for found in re.findall(r"^### ([a-z0-9-]+)$", page.read_text(), re.M)
    }


def check_verdict(claim: Claim) -> None:
    """Assert that evidence comes to the stated verdict, and to another one at the control."""
    found = claim.run()
    assert found.verdict == claim.verdict, found.said
    assert claim.evidence is None or (found.said and found.figures)
    if claim.evidence is not None:
        assert claim.run(claim.control).verdict != claim.verdict


def check_places(claims: list[Claim], places: list[str]) -> None:
    """Assert that every numbered item of a paper is in the place of some claim."""
    told = " ; ".join(claim.place for claim in claims)
    missing = [place for place in places if not re.search(rf"{re.escape(place)}(?![\w.]*\d)", told)]
    assert missing == []
