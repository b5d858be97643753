"""Sections I-D and II-A: which stages of an explainer must be made private."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations

from discreet.audit.claims.claim import Claim, Evidence, decided, judged

_Inputs = tuple[tuple[int, ...], ...]
_PDP: dict[str, tuple[str, ...]] = {
    "a": (),
    "(1)": ("a",),
    "(2)": ("a", "(1)"),
    "b": ("(1)", "(2)"),
}
"""Figure 1: input, x values, y values, output."""


def diagrams(size: int) -> Iterator[_Inputs]:
    """Yield every graph without circles on so many stages with one input and one output."""
    arrows = [(i, j) for j in range(size) for i in range(j)]
    for chosen in range(2 ** len(arrows)):
        kept = [arrow for k, arrow in enumerate(arrows) if chosen >> k & 1]
        inputs = tuple(tuple(i for i, j in kept if j == stage) for stage in range(size))
        read = {i for i, _ in kept}
        if all(inputs[1:]) and read == set(range(size - 1)):
            yield inputs


def separates(inputs: _Inputs, chosen: set[int]) -> bool:
    """Return whether every path from the first to the last stage meets the set, by search."""
    reached = {0} - chosen
    for stage, reads in enumerate(inputs):
        if stage not in chosen and reached.intersection(reads):
            reached.add(stage)
    return len(inputs) - 1 not in reached


def marks_output(inputs: _Inputs, chosen: set[int], share: float) -> bool:
    """Return whether the proof's marking comes to the output, if this share of inputs suffices."""
    marked: set[int] = set()
    for stage, reads in enumerate(inputs):
        known = len(marked.intersection(reads))
        if stage in chosen or (reads and known >= max(1, share * len(reads))):
            marked.add(stage)
    return len(inputs) - 1 in marked


def marking_is_separation(twist: float = 1.0) -> Evidence:
    """Compare both on every set of stages of every diagram with two to five stages."""
    unequal, pairs = 0, 0
    for size in range(2, 6):
        for inputs in diagrams(size):
            for members in range(2**size):
                chosen = {stage for stage in range(size) if members >> stage & 1}
                unequal += separates(inputs, chosen) != marks_output(inputs, chosen, twist)
                pairs += 1
    return Evidence(
        decided(unequal == 0),
        f"On {pairs} pairs of a diagram and a set the two disagree {unequal} times.",
        {"disagreements": float(unequal), "pairs": float(pairs)},
    )


def marked_stage_is_private(twist: float = 1.0) -> Evidence:
    """Copy a record five times, then count copies with noise that is private in the table."""
    epsilon, copies = 1.0, 5
    counts = [sum([bit] * copies) for bit in (0, 1)]
    lost = {
        sensitivity: max(abs(abs(y - counts[0]) - abs(y - counts[1])) for y in range(-40, 41))
        * epsilon
        / (twist * sensitivity)
        for sensitivity in (copies, 1)
    }
    return Evidence(
        judged(epsilon, lost[copies]),
        f"Laplace noise for what a record of the table moves loses {lost[copies]:.0f} for one record; "
        f"noise for what a record of the stage's own input moves loses {lost[1]:.0f}.",
        {"private in the table": lost[copies], "private in its input": lost[1]},
    )


def pdp_sets(twist: float = 1.0) -> Evidence:
    """Enumerate the minimal separators of Figure 1 by trial and by the product's search."""
    import networkx as nx

    from discreet.explain.dataflow.separators import minimal_separators

    graph = nx.DiGraph([(source, stage) for stage, reads in _PDP.items() for source in reads])
    found = minimal_separators(graph, "a", "b", most=100)
    claimed = [{"a"}, {"b"}, {"(1)", "(2)"}][: math.ceil(3 * twist)]
    names = list(_PDP)
    inputs = tuple(tuple(names.index(source) for source in reads) for reads in _PDP.values())
    tried: list[set[int]] = []
    for size in range(1, 5):
        for members in map(set, combinations(range(4), size)):
            if separates(inputs, members) and not any(smaller <= members for smaller in tried):
                tried.append(members)
    by_trial = {frozenset(names[i] for i in members) for members in tried}
    return Evidence(
        decided(found == by_trial == {frozenset(s) for s in claimed}),
        f"The minimal sets are {sorted(sorted(s) for s in found)}.",
        {"sets": float(len(found)), "by trial": float(len(by_trial))},
    )


def x_and_y_are_best(twist: float = 1.0) -> Evidence:
    """Price all three sets for 10,000 records and 20 points, as shares of what a number spans."""
    from discreet.explain.dataflow.diagrams import builtin

    prices = builtin("pdp", grid=20).price(rows=10_000, epsilon=1.0)
    noise = {
        found.steps: max((part.share for part in found.parts), default=0.0) for found in prices.sets
    }
    chosen = twist * noise["x values", "y values"]
    others = min(share for steps, share in noise.items() if len(steps) == 1)
    return Evidence(
        decided(chosen < others),
        f"Noise on x and y values is {chosen:.4f} of the range, on the input "
        f"{noise[('input',)]:.0f}, on the output by subsets {noise[('output',)]:.3f}.",
        {"x and y": chosen, "input": noise[("input",)], "output": noise[("output",)]},
    )


def claims() -> list[Claim]:
    """Return the claims on stages."""
    return [
        Claim(
            id="lange-2024-theorem-v-1",
            paper="lange-2024",
            place="Theorem V.1 (with Definition I.2)",
            says="A set of stages is privacy-enabling for every algorithm with a given data flow "
            "diagram iff it separates the input from the output.",
            verdict="holds",
            because="Marking what is computed from marked stages alone comes to the output iff the set "
            "separates; where it does not, copying the table along the open path shows it.",
            instead="Prices sets too, minimal or not, and adds prices up; the theorem names no "
            "epsilon.",
            evidence=marking_is_separation,
            control=0.5,
            statements=("enabler", "separators"),
        ),
        Claim(
            id="lange-2024-theorem-v-1-marking",
            paper="lange-2024",
            place="Theorem V.1, step 1 of the proof",
            says="A stage that is replaced by a differentially private M(f) may be marked as private "
            "(read: private in the table).",
            verdict="holds",
            because="Read so, marking is what private means, and the rest is post-processing. The "
            "proof does not say private in what: private in the stage's own input would not be enough, "
            "as a stage before it may copy one record k times, and k epsilon is lost.",
            instead="Prices a stage by its bound end to end in the table, given what was released "
            "before.",
            evidence=marked_stage_is_private,
            control=1 / 5,
            statements=("enabler",),
        ),
        Claim(
            id="lange-2024-figure-1",
            paper="lange-2024",
            place="Figure 1 (with Algorithm 7 and Definition II.1)",
            says="The minimal privacy-enabling sets of a partial dependence plot are the input, the "
            "output, and x values with y values.",
            verdict="holds",
            because="Two searches find the same three.",
            evidence=pdp_sets,
            control=0.5,
            statements=("separators", "enabler"),
        ),
        Claim(
            id="lange-2024-section-ii-a-2",
            paper="lange-2024",
            place="Section II-A2",
            says="Of these sets, noise on x and y values is the best choice.",
            verdict="holds",
            because="x values from public bounds cost nothing, a y value is a mean of all records; "
            "noise on every record, or on the output of 200 subsets, is far larger.",
            evidence=x_and_y_are_best,
            control=1e3,
            statements=("diagram-bounds", "enabler", "pdp"),
        ),
    ]
