"""An explainer as boxes and arrows: which steps must be made private so that all of it is.

A ``Step`` is something the explainer computes, with the names of the steps it reads. The one step
that reads none is the private table, the one that none reads is what is shown. Values that do not
depend on the table (a model, a grid from the schema) have no box.

Deviations from "Tailoring Differential Privacy to Any Explainer" (2024), Theorem V.1: a step is made
private *in the table*, not in what it reads; its certificate may hold only given other released
steps; prices add up; and sets that are not minimal can be priced, for they can be cheaper, or the only
ones with a price.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import networkx as nx

from discreet.errors import ArgumentError
from discreet.explain.dataflow.separators import minimal_separators
from discreet.explain.dataflow.steps import Step
from discreet.privacy.relation import REPLACE_ONE, Relation, RelationName

if TYPE_CHECKING:
    from discreet.explain.dataflow.drawing import DataflowDisplay
    from discreet.explain.dataflow.pricing import PriceList

_MOST_SETS = 10_000


class Dataflow:
    """The steps of one explainer, checked: one input, one output, no circle.

    >>> flow = Dataflow("curve", [
    ...     Step("input"),
    ...     Step("x values", ["input"]),
    ...     Step("y values", ["input", "x values"]),
    ...     Step("output", ["x values", "y values"]),
    ... ])
    >>> flow.enabling_sets()
    [('input',), ('output',), ('x values', 'y values')]
    >>> flow.leak(["y values"])
    ('input', 'x values', 'output')

    Attributes:
      name: of the explainer.
      steps: by name, each after all it reads.
      plans: for each plan function built on this explainer the set it perturbs.
      input: name of the step that is the private table.
      output: name of the step that is shown.
    """

    def __init__(
        self, name: str, steps: Iterable[Step], *, plans: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        declared = list(steps)
        self.name = name
        self.graph = _graph(declared)
        self.input, self.output = _ends(self.graph)
        by_name = {step.name: step for step in declared}
        self.steps = {
            at: by_name[at]
            for at in nx.lexicographical_topological_sort(self.graph, key=list(by_name).index)
        }
        self._check_given()
        self.plans = {plan: self._covering(names) for plan, names in (plans or {}).items()}

    def __repr__(self) -> str:
        return f"Dataflow({self.name!r}, {len(self.steps)} steps)"

    def enabling_sets(self, *, most: int = _MOST_SETS) -> list[tuple[str, ...]]:
        """Return all minimal sets of steps whose release makes the explainer private.

        Args:
          most: raise if there are more sets than this.

        Guarantees:
          - Exactly the minimal sets for which ``is_enabling`` holds; steps in the order of the flow,
            small sets first. [separators]
        """
        found = minimal_separators(self.graph, self.input, self.output, most=most)
        place = {name: at for at, name in enumerate(self.steps)}
        return sorted(
            map(self._ordered, found), key=lambda names: (len(names), [place[n] for n in names])
        )

    def is_enabling(self, names: Iterable[str]) -> bool:
        """Tell whether releasing these steps privately makes the output private.

        Guarantees:
          - True iff the marks come to the output, iff every way from the input to the output meets the
            set. If not, some explainer with this graph shows the table itself. [enabler]
        """
        return self.output in self.marked(names)

    def marked(self, names: Iterable[str]) -> set[str]:
        """Return all steps that are computed from the given ones, once released, and nothing else.

        Guarantees:
          - A step is marked if it is in the set, or if it reads something and all it reads is marked:
            then it is post-processing of what was released. [enabler]
        """
        chosen = set(self._ordered(names))
        marked: set[str] = set()
        for name, step in self.steps.items():  # all a step reads comes before it: one pass is enough
            if name in chosen or (step.inputs and marked.issuperset(step.inputs)):
                marked.add(name)
        return marked

    def leak(self, names: Iterable[str]) -> tuple[str, ...] | None:
        """Return a way from the input to the output that avoids the steps, or None if there is none."""
        marked = self.marked(names)
        if self.output in marked:
            return None
        way = [self.output]
        while way[-1] != self.input:  # an unmarked step is the input, or reads an unmarked one
            way.append(next(name for name in self.steps[way[-1]].inputs if name not in marked))
        return tuple(reversed(way))

    def price(
        self,
        *,
        rows: int,
        epsilon: float,
        delta: float = 0.0,
        relation: Relation | RelationName = REPLACE_ONE,
        sets: Iterable[Iterable[str]] | None = None,
        weights: Mapping[str, float] | None = None,
    ) -> PriceList:
        """Return how much noise each set needs for one promise, the least noisy first.

        Args:
          rows: number of records (under add-remove: a guess, used to show noise on means).
          epsilon: the whole promise, shared by the steps of a set.
          delta: zero for a pure promise.
          relation: the neighbouring relation.
          sets: enabling sets, minimal or not; all minimal ones and those of ``plans`` if left out.
          weights: shares of the promise by step; equal if left out.

        Guarantees:
          - The steps of a set together keep epsilon and delta, each by its bound end to end in the
            table given the steps released before it. [enabler]
        """
        from discreet.explain.dataflow.pricing import price_sets

        if sets is None:
            wanted = dict.fromkeys([*self.enabling_sets(), *self.plans.values()])
        else:
            wanted = dict.fromkeys(self._covering(names) for names in sets)
        return price_sets(
            self,
            tuple(wanted),
            rows=rows,
            epsilon=epsilon,
            delta=delta,
            relation=relation,
            weights=weights or {},
        )

    def to_mermaid(self, highlight: Iterable[str] = ()) -> str:
        """Return the diagram as Mermaid text, for a page of documentation."""
        from discreet.explain.dataflow.drawing import draw_mermaid

        return draw_mermaid(self, self._ordered(highlight))

    def plot(
        self, ax: Any = None, *, highlight: Iterable[str] = (), title: str | None = None
    ) -> DataflowDisplay:
        """Draw the diagram, some of its steps highlighted."""
        from discreet.explain.dataflow.drawing import DataflowDisplay

        return DataflowDisplay(self, self._ordered(highlight)).plot(ax, title=title)

    def _ordered(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return names in the order of the flow; raise if one is unknown."""
        if isinstance(names, str):
            raise ArgumentError(f"A set of steps must be a list of names, got {names!r}.")
        chosen = set(names)
        for name in sorted(chosen - self.steps.keys()):
            raise ArgumentError(
                f"A set of steps must be chosen from {', '.join(self.steps)}, got {name!r}."
            )
        return tuple(name for name in self.steps if name in chosen)

    def _covering(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return an enabling set in the order of the flow; raise if it is none."""
        ordered = self._ordered(names)
        way = self.leak(ordered)
        if way is not None:
            raise ArgumentError(
                f"A set of steps must meet every way from {self.input!r} to {self.output!r}, "
                f"got {', '.join(ordered) or 'no step'}. The way {' -> '.join(way)} avoids it."
            )
        return ordered

    def _check_given(self) -> None:
        for name, step in self.steps.items():
            for late in sorted(set(step.given) - nx.ancestors(self.graph, name)):
                raise ArgumentError(
                    f"given of step {name!r} must name steps on the way to it, got {late!r}."
                )


def _graph(steps: list[Step]) -> Any:
    """Return the steps as a graph without circles."""
    graph = nx.DiGraph()
    for step in steps:
        if step.name in graph:
            raise ArgumentError(f"Steps must have different names, got {step.name!r} twice.")
        graph.add_node(step.name)
    names = set(graph)
    for step in steps:
        for source in step.inputs:
            if source not in names:
                raise ArgumentError(
                    f"inputs of step {step.name!r} must be names of steps, got {source!r}. "
                    "Declare it, or leave it out if it does not depend on the table."
                )
            graph.add_edge(source, step.name)
    if not nx.is_directed_acyclic_graph(graph):
        circle = [edge[0] for edge in nx.find_cycle(graph)]
        raise ArgumentError(
            f"Steps must not go in a circle, got {' -> '.join([*circle, circle[0]])}. "
            "Make one step of what is repeated."
        )
    return graph


def _ends(graph: Any) -> tuple[str, str]:
    """Return the one step that reads none and the one that none reads."""
    sources = [name for name, reads in graph.in_degree if not reads]
    sinks = [name for name, read_by in graph.out_degree if not read_by]
    if len(graph) < 2:
        raise ArgumentError("A flow must have an input and an output, got fewer than two steps.")
    if len(sources) > 1:
        raise ArgumentError(
            f"One step alone must read no other, the private table, got {', '.join(sources)}. "
            "Leave out what is public, and join private tables into one."
        )
    if len(sinks) > 1:
        raise ArgumentError(
            f"One step alone must be read by no other, the output, got {', '.join(sinks)}. "
            "Add a last step that reads them all."
        )
    return sources[0], sinks[0]
