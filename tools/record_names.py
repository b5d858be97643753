"""What was called otherwise when the first recording was made: old names and what they are now.

A difference that this table explains is no difference. Whoever renames something writes it down here.
"""

from __future__ import annotations

ARGUMENTS: dict[str, str] = {"offered": "candidate_splits", "strength": "l2_penalty"}
"""Arguments of plans. The old name is asked for where a plan still has it."""

CHOICES: dict[tuple[str, str], str] = {}
"""Values of an argument, by the argument's old name: the new one is asked for first."""

FIELDS: dict[str, str] = {
    "offered": "candidate_splits",
    "strength": "l2_penalty",
    "ways": "strategies",
    "records that a first split is below the best offered": (
        "records that a first split is below the best candidate"
    ),
}
"""Fields of what is released: of plans, results, prices, stages."""

TEXTS: dict[str, str] = {"box": "linf", "sorted box": "sorted linf", "ballots": "points"}
"""Whole texts: names of mechanisms, stages, kinds."""

WORDS: dict[str, str] = {
    f"mutual_information(columns=[['{one}'], ['paid']]": (
        f"mutual_information(first=['{one}'], second=['paid']"
    )
    for one in ("home", "income")
} | {
    "offered=": "candidate_splits=",
    "strength=": "l2_penalty=",
    "auto, laplace, gaussian": "auto, laplace, linf, gaussian",
    "sorted, got": "sorted, sorted laplace, sorted linf, sorted gaussian, got",
}
"""Parts of sentences, in the order in which they are replaced."""

SPLIT: dict[str, tuple[str, tuple[str, ...]]] = {"mutual_information": ("columns", ("first", "second"))}
"""Arguments of a plan that were written as one list, and the names that its entries have now."""
