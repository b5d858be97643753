"""All minimal sets of vertices that every path from a source to a sink must pass.

Put a start before the source and an end behind the sink. A set is a separator if it meets every path
from start to end; it is minimal if no proper subset is one. For a region R of vertices that hold the
start and are reached inside R, let B be the border (what R points to, outside R) and C all from which
the end is reached without entering B. Then ``cut(R)``, the vertices of B that point into C, is a
minimal separator, and growing regions by one vertex of the cut at a time finds all of them. It is the
idea of Berry, Bordat and Cogis (2000), carried over to directed graphs.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

from discreet.errors import ArgumentError

_START, _END = object(), object()

_Edges = Mapping[Any, Set[Any]]


def minimal_separators(graph: Any, source: Any, sink: Any, *, most: int) -> set[frozenset[Any]]:
    """Return every minimal set of vertices that meets all paths from ``source`` to ``sink``.

    Args:
      graph: a ``networkx.DiGraph``, circles allowed.
      source: where paths begin; it may itself be in a set.
      sink: where they end; it may itself be in a set.
      most: raise if there are more sets than this, because their number can double with every two
        vertices.

    Guarantees:
      - Exactly the inclusion-minimal separators, each found with one search of the graph for every
        vertex of another. [separators]
    """
    ahead, behind = _with_ends(graph, source, sink)
    first = _cut(ahead, behind, {_START})
    assert first is not None  # the start points to the source alone
    found, waiting = {first}, [first]
    while waiting:
        separator = waiting.pop()
        inside = _reached(ahead, _START, separator)
        for vertex in separator:
            farther = _cut(ahead, behind, inside | {vertex})
            if farther is None or farther in found:
                continue
            if len(found) == most:
                raise ArgumentError(
                    f"most must be at least the number of minimal sets, got {most}. "
                    "Join steps that belong together, or raise it."
                )
            found.add(farther)
            waiting.append(farther)
    return found


def _with_ends(graph: Any, source: Any, sink: Any) -> tuple[_Edges, _Edges]:
    """Return what every vertex points to and what points to it, the two ends included."""
    ahead = {vertex: set(graph.successors(vertex)) for vertex in graph} | {
        _START: {source},
        _END: set(),
    }
    behind = {vertex: set(graph.predecessors(vertex)) for vertex in graph} | {
        _START: set(),
        _END: {sink},
    }
    ahead[sink].add(_END)
    behind[source].add(_START)
    return ahead, behind


def _cut(ahead: _Edges, behind: _Edges, region: Set[Any]) -> frozenset[Any] | None:
    """Return the minimal separator at the border of a region, or None if the end is at the border."""
    border = set().union(*(ahead[vertex] for vertex in region)) - region
    if _END in border:
        return None
    beyond = _reached(behind, _END, border)
    return frozenset(vertex for vertex in border if not beyond.isdisjoint(ahead[vertex]))


def _reached(edges: _Edges, start: Any, walls: Set[Any]) -> set[Any]:
    """Return all that is reached from ``start`` without entering ``walls``."""
    reached, waiting = {start}, [start]
    while waiting:
        fresh = edges[waiting.pop()] - walls - reached
        reached |= fresh
        waiting.extend(fresh)
    return reached
