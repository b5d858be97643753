"""Small random graphs, slow answers about them, and exact laws of explainers made of bits."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator, Mapping

import networkx as nx

from discreet.explain.dataflow import Dataflow, Step

Bits = tuple[int, ...]
Function = Callable[[Bits], int]


def random_flow(seed: int, most: int = 8) -> Dataflow:
    """Return a flow of two to ``most`` steps, every graph possible."""
    chance = random.Random(seed)
    names = [f"s{at}" for at in range(chance.randint(2, most))]
    density = chance.uniform(0.1, 0.9)
    inputs: dict[str, list[str]] = {names[0]: []}
    for at, name in enumerate(names[1:], 1):
        selected = [other for other in names[:at] if chance.random() < density]
        inputs[name] = selected or [chance.choice(names[:at])]
    read = {other for selected in inputs.values() for other in selected}
    inputs[names[-1]] = sorted({*inputs[names[-1]], *(n for n in names[:-1] if n not in read)})
    steps = [Step(name, inputs[name]) for name in names]
    chance.shuffle(steps)
    return Dataflow(f"random {seed}", steps)


def subsets(names: list[str]) -> Iterator[frozenset[str]]:
    for size in range(len(names) + 1):
        yield from map(frozenset, itertools.combinations(names, size))


def separates(flow: Dataflow, chosen: frozenset[str]) -> bool:
    """Tell by search whether no way from input to output avoids the set."""
    if flow.input in chosen or flow.output in chosen:
        return True
    rest = flow.graph.subgraph(set(flow.steps) - chosen)
    return not nx.has_path(rest, flow.input, flow.output)


def minimal_by_trial(flow: Dataflow) -> set[frozenset[str]]:
    """Return the minimal separators by trying every subset."""
    found: set[frozenset[str]] = set()
    for chosen in subsets(list(flow.steps)):  # small ones first
        if separates(flow, chosen) and not any(smaller < chosen for smaller in found):
            found.add(chosen)
    return found


def random_functions(flow: Dataflow, seed: int) -> dict[str, Function]:
    """Return a random truth table for every step."""
    chance = random.Random(seed)
    functions: dict[str, Function] = {}
    for name, step in flow.steps.items():
        values = {
            bits: chance.getrandbits(1) for bits in itertools.product((0, 1), repeat=len(step.inputs))
        }
        functions[name] = values.__getitem__
    return functions


def copying(flow: Dataflow, way: tuple[str, ...]) -> dict[str, Function]:
    """Return functions that copy the table along a way and ignore everything else."""
    functions: dict[str, Function] = dict.fromkeys(flow.steps, lambda bits: 0)
    for source, name in itertools.pairwise(way):
        place = flow.steps[name].inputs.index(source)
        functions[name] = lambda bits, place=place: bits[place]
    return functions


def output_law(
    flow: Dataflow,
    functions: Mapping[str, Function],
    chosen: frozenset[str],
    table: int,
    epsilon: float,
) -> list[float]:
    """Return the chances of output 0 and 1 if chosen steps are flipped by randomised response."""
    law = [0.0, 0.0]
    flip = 1 / (1 + math.exp(epsilon))
    for flips in itertools.product((0, 1), repeat=len(chosen)):
        flipped = dict(zip(sorted(chosen), flips, strict=True))
        values: dict[str, int] = {}
        for name, step in flow.steps.items():
            exact = functions[name](tuple(values[at] for at in step.inputs)) if step.inputs else table
            values[name] = exact ^ flipped.get(name, 0)
        law[values[flow.output]] += math.prod(flip if at else 1 - flip for at in flips)
    return law


def loss(
    flow: Dataflow, functions: Mapping[str, Function], chosen: frozenset[str], epsilon: float
) -> float:
    """Return the greatest log-ratio of the output's law between the two tables."""
    laws = [output_law(flow, functions, chosen, table, epsilon) for table in (0, 1)]
    pairs = [(a, b) for a, b in zip(*laws, strict=True) if a or b]
    return max(math.inf if 0 in pair else abs(math.log(pair[0] / pair[1])) for pair in pairs)
