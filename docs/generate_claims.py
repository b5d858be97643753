"""Write docs/claims.md from the register of claims; ``--check`` says whether it is up to date."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from discreet.audit.claims import PAPERS, VERDICTS, Claim, register

PAGE = Path(__file__).parent / "claims.md"

_INTRODUCTION = """# Claims on trial

What five papers and some libraries claim, put on trial: every numbered theorem, lemma, proposition and
corollary, every table and figure. A verdict is **holds**, **loose** (it holds, and is farther from the
truth than need be), **false** (a counterexample is known) or **not reproducible** (what is published
does not suffice to try it).

Each verdict but the last has evidence that runs in seconds and computes the verdict itself.
`discreet claims ID --run` runs it; `make test` runs all of it, and once more with what is claimed
changed, where it has to come to another verdict. A false claim is a remark on a sentence, not on its
authors: most were found by trying every neighbour of tiny tables. Some are slips of the pen, and are
called so. Where a sentence can be read in two senses, the entry says in which one it fails. What a
paper itself takes back, calls an assumption or a rule of thumb is judged as that.
"""


def render() -> str:
    """Return the page."""
    known = list(register().values())
    return "\n".join([_INTRODUCTION, *_summary(known), *(_section(p, known) for p in PAPERS)])


def _summary(known: list[Claim]) -> list[str]:
    rows = [f"| where | {' | '.join(VERDICTS)} | all |", "|---" * (len(VERDICTS) + 2) + "|"]
    for paper, title in PAPERS.items():
        counts = Counter(claim.verdict for claim in known if claim.paper == paper)
        cells = [*(str(counts[verdict]) for verdict in VERDICTS), str(counts.total())]
        rows.append(f"| {title} | {' | '.join(cells)} |")
    return [*rows, ""]


def _section(paper: str, known: list[Claim]) -> str:
    claims = [claim for claim in known if claim.paper == paper]
    return "\n".join([f"## {PAPERS[paper]}\n", *(_entry(claim) for claim in claims)])  # type: ignore[index]


def _entry(claim: Claim) -> str:
    told = [f"### {claim.id}", f"*{claim.place}.* {claim.says}", ""]
    told.append(f"**{claim.verdict.capitalize()}.** {claim.because}")
    if claim.instead:
        told += ["", f"Here instead: {claim.instead}"]
    if claim.statements:
        told += ["", f"Statements: {', '.join(claim.statements)}."]
    return "\n".join([*told, ""])


if __name__ == "__main__":
    if "--check" in sys.argv:
        old = "docs/claims.md is old: run python docs/generate_claims.py"
        sys.exit(0 if PAGE.read_text() == render() else old)
    PAGE.write_text(render())
