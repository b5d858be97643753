"""Games: the utility of a coalition of players, asked along chains that grow one player at a time.

All estimators ask in chains, so that a game which can go on from a smaller coalition (a warm start, a
rank-one update) need not begin anew: a permutation is one chain valued at every size, a marginal is a
chain valued at its last two sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from discreet.errors import ArgumentError
from discreet.randomness import IntArray
from discreet.schema import FloatArray


@dataclass(frozen=True)
class Chains:
    """Growing coalitions, and the sizes at which they are valued.

    Attributes:
      members: players of all chains in the order they join, chain after chain.
      starts: chain c has the members ``starts[c]`` up to ``starts[c + 1]``.
      sizes: rising sizes at which chains are valued, chain after chain.
      marks: chain c is valued at the sizes ``marks[c]`` up to ``marks[c + 1]``.
    """

    members: IntArray
    starts: IntArray
    sizes: IntArray
    marks: IntArray

    @classmethod
    def of(cls, orders: Sequence[IntArray], sizes: Sequence[IntArray]) -> Chains:
        """Return the chains with these orders, valued at these sizes."""
        return cls(*_joined(orders), *_joined(sizes))

    def __len__(self) -> int:
        """Return the number of chains."""
        return len(self.starts) - 1

    @property
    def evaluations(self) -> int:
        """How many coalitions are valued."""
        return len(self.sizes)

    def order(self, chain: int) -> IntArray:
        """Return the members of a chain in the order they join."""
        return self.members[self.starts[chain] : self.starts[chain + 1]]

    def sizes_of(self, chain: int) -> IntArray:
        """Return the sizes at which a chain is valued."""
        return self.sizes[self.marks[chain] : self.marks[chain + 1]]

    def select(self, first: int, after: int) -> Chains:
        """Return the chains from ``first`` up to ``after``."""
        starts, marks = self.starts[first : after + 1], self.marks[first : after + 1]
        return Chains(
            self.members[starts[0] : starts[-1]],
            starts - starts[0],
            self.sizes[marks[0] : marks[-1]],
            marks - marks[0],
        )


class Game(Protocol):
    """The utility of coalitions of ``players``."""

    @property
    def players(self) -> int:
        """The number of players, who are 0 to ``players - 1``."""

    @property
    def compiled(self) -> bool:
        """Whether it runs without the interpreter's lock, so that threads help."""

    def evaluate(self, chains: Chains) -> FloatArray:
        """Return the value of every coalition, aligned with ``chains.sizes``."""


@dataclass(frozen=True)
class FunctionGame:
    """A game given by a function of a coalition: its members, sorted."""

    players: int
    function: Callable[[IntArray], float]
    compiled: bool = False

    def evaluate(self, chains: Chains) -> FloatArray:
        """Return the value of every coalition."""
        return np.array(
            [
                self.function(np.sort(chains.order(chain)[:size]))
                for chain in range(len(chains))
                for size in chains.sizes_of(chain)
            ],
            dtype=np.float64,
        )


class GroupedGame:
    """Groups of players who join together: the records of one contributor, say.

    Args:
      game: of the single players.
      groups: the group of every player; groups are 0 to ``max(groups)`` and none is empty.
    """

    def __init__(self, game: Game, groups: Sequence[int] | IntArray) -> None:
        labels = np.asarray(groups)
        if labels.shape != (game.players,) or not np.issubdtype(labels.dtype, np.integer):
            raise ArgumentError(
                f"groups must be one whole number for each of {game.players} players, "
                f"got shape {labels.shape} of {labels.dtype}."
            )
        counts = np.bincount(labels) if labels.min() >= 0 else np.zeros(1)
        if not counts.all():
            raise ArgumentError("groups must be numbered 0, 1, 2, ... without a gap. Number them anew.")
        self._game = game
        self._parts = np.split(np.argsort(labels, kind="stable"), np.cumsum(counts)[:-1])
        self.players = len(counts)
        self.compiled = game.compiled

    def evaluate(self, chains: Chains) -> FloatArray:
        """Return the value of every coalition of groups."""
        orders, sizes = [], []
        for chain in range(len(chains)):
            parts = [self._parts[group] for group in chains.order(chain)]
            ends = np.cumsum([0, *map(len, parts)])
            orders.append(np.concatenate([np.empty(0, dtype=np.int64), *parts]))
            sizes.append(ends[chains.sizes_of(chain)])
        return self._game.evaluate(Chains.of(orders, sizes))


@dataclass
class CachedGame:
    """A game that remembers every coalition it has valued.

    A chain is asked again only if one of its coalitions is new. Remembering takes about 100 bytes per
    coalition and lives in this process: it is lost on the way to workers that are processes.
    """

    game: Game
    known: dict[bytes, float] = field(default_factory=dict)

    @property
    def players(self) -> int:
        """The number of players."""
        return self.game.players

    @property
    def compiled(self) -> bool:
        """Whether threads help."""
        return self.game.compiled

    def evaluate(self, chains: Chains) -> FloatArray:
        """Return the value of every coalition."""
        keys = [self._keys(chains.order(c), chains.sizes_of(c)) for c in range(len(chains))]
        new = [c for c, chain in enumerate(keys) if any(key not in self.known for key in chain)]
        if new:
            asked = Chains.of([chains.order(c) for c in new], [chains.sizes_of(c) for c in new])
            found = iter(self.game.evaluate(asked).tolist())
            for c in new:
                self.known.update((key, next(found)) for key in keys[c])
        return np.array([self.known[key] for chain in keys for key in chain], dtype=np.float64)

    def _keys(self, order: IntArray, sizes: IntArray) -> list[bytes]:
        present, keys, before = np.zeros(self.players, dtype=bool), [], 0
        for size in sizes:
            present[order[before:size]] = True
            keys.append(np.packbits(present).tobytes())
            before = size
        return keys


def _joined(parts: Sequence[IntArray]) -> tuple[IntArray, IntArray]:
    """Return arrays end to end, and where each begins."""
    ends = np.cumsum([0, *map(len, parts)], dtype=np.int64)
    if not parts:
        return np.empty(0, dtype=np.int64), ends
    return np.concatenate(parts).astype(np.int64, copy=False), ends
