"""Minimal separators against the trial of every subset."""

from __future__ import annotations

import time

import networkx as nx
import pytest

from discreet.errors import ArgumentError
from discreet.explain.dataflow.separators import _START, _reached, _with_ends, minimal_separators
from tests.explain.dataflow.flows import minimal_by_trial, random_flow


def chains(count: int) -> nx.DiGraph:
    """Return chains of two steps side by side: 2^count + 2 minimal sets."""
    graph = nx.DiGraph()
    for at in range(count):
        nx.add_path(graph, ["a", (at, 1), (at, 2), "b"])
    return graph


@pytest.mark.proves("separators")
@pytest.mark.parametrize("block", range(10))
def test_all_minimal_sets_and_nothing_else(block: int) -> None:
    for seed in range(30 * block, 30 * block + 30):
        flow = random_flow(seed)
        found = minimal_separators(flow.graph, flow.input, flow.output, most=1000)
        assert found == minimal_by_trial(flow), seed


@pytest.mark.proves("separators")
def test_circles_are_allowed() -> None:
    graph = nx.DiGraph([("a", "u"), ("u", "v"), ("v", "u"), ("v", "b"), ("u", "w"), ("w", "b")])
    found = minimal_separators(graph, "a", "b", most=10)
    assert found == {frozenset(names) for names in ("a", "b", "u", ("v", "w"))}


@pytest.mark.refutes("separators")
def test_whole_borders_are_not_minimal() -> None:
    """The planted fault steps from border to border without looking what lies beyond."""

    def borders(graph: nx.DiGraph, source: str, sink: str) -> set[frozenset[str]]:
        ahead, _ = _with_ends(graph, source, sink)
        found, waiting = {frozenset({source})}, [frozenset({source})]
        while waiting:
            separator = waiting.pop()
            inside = _reached(ahead, _START, separator)
            for vertex in separator - {sink}:
                region = inside | {vertex}
                border = frozenset(set().union(*(ahead[at] for at in region)) - region)
                if border not in found:
                    found.add(border)
                    waiting.append(border)
        return found

    wrong = 0
    for seed in range(60):
        flow = random_flow(seed)
        wrong += borders(flow.graph, flow.input, flow.output) != minimal_by_trial(flow)
    assert wrong > 20


def test_many_sets_are_found_quickly() -> None:
    start = time.process_time()  # what others do to the machine does not count
    assert len(minimal_separators(chains(10), "a", "b", most=5000)) == 2**10 + 2
    assert time.process_time() - start < 10


def test_too_many_sets_are_refused() -> None:
    with pytest.raises(
        ArgumentError, match="most must be at least the number of minimal sets, got 100"
    ):
        minimal_separators(chains(10), "a", "b", most=100)
    assert len(minimal_separators(chains(3), "a", "b", most=10)) == 10
