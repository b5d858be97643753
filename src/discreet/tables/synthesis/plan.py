"""Synthetic records from noisy marginals: what most people want who ask for a private table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.arguments import some_names
from discreet.errors import ArgumentError
from discreet.mechanisms import NoiseName
from discreet.numerics import check_choice, check_whole
from discreet.plans import Plan, Program, Releaser, Result, Setting
from discreet.plans.results.result import is_table
from discreet.plans.stages.marginals import MOST_BINS, lay_out, tree_stages
from discreet.plans.stages.tree_rows import decode_rows, draw_rows
from discreet.randomness import public_generator

if TYPE_CHECKING:
    import pandas as pd

_MOST_ROWS = 1_000_000


@dataclass(frozen=True)
class SyntheticRows(Result):
    """Records that resemble a private table; none of them is one.

    Attributes:
      columns: the columns, in the order asked for.
      values: the rows, in original values.
      tree: the pairs of columns whose tables the rows were drawn from.
      noise_std: standard deviation of the noise on the share of a cell of one column.
      pair_noise_std: the same for a cell of a pair; zero if there is no pair.
    """

    columns: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]
    tree: tuple[tuple[str, str], ...]
    noise_std: float
    pair_noise_std: float

    def __len__(self) -> int:
        return len(self.values)

    def fits_together(self) -> bool:
        """Return whether every row has a value of every column."""
        return is_table(self.values, len(self), len(self.columns))

    def to_frame(self) -> pd.DataFrame:
        """Return the rows as a frame."""
        import pandas as pd

        return pd.DataFrame(list(self.values), columns=list(self.columns))

    def plot(self, ax: Any = None, *, title: str | None = None) -> Any:
        """Draw how the rows are spread in every column."""
        from discreet.plans.results.pictures.background import BackgroundDisplay

        return BackgroundDisplay(self.to_frame()).plot(ax, title=title)


class SynthesisPlan(Plan):
    """See ``synthesize``."""

    kind = "synthesize"

    def __init__(
        self,
        rows: int | None,
        columns: tuple[str, ...] | None,
        bins: int,
        seed: int,
        epsilon: float,
        delta: float,
        mechanism: NoiseName,
    ) -> None:
        super().__init__(epsilon, delta)
        check_choice("mechanism", mechanism, ("auto", "laplace", "gaussian"))
        check_whole("seed", seed, 0)
        check_whole("bins", bins, 2, MOST_BINS)
        if rows is not None:
            check_whole("rows", rows, 1, _MOST_ROWS)
        if columns is not None and (not columns or len(set(columns)) < len(columns)):
            raise ArgumentError(f"columns must be one or more different names, got {columns!r}.")
        self.rows, self.columns, self.bins, self.seed = rows, columns, bins, seed
        self.mechanism = mechanism

    def arguments(self) -> dict[str, Any]:
        """Return the question as plain data."""
        return {
            "rows": self.rows,
            "columns": None if self.columns is None else list(self.columns),
            "bins": self.bins,
            "seed": self.seed,
            "mechanism": self.mechanism,
        }

    def prepare(self, setting: Setting) -> Program:
        """Lay out the tables of columns and pairs and calibrate every stage."""
        schema = setting.schema
        names = tuple(schema) if self.columns is None else self.columns
        columns = [schema[name] for name in names]
        stages = tree_stages(
            lay_out(schema, names, self.bins),
            setting,
            epsilon=self.epsilon,
            delta=self.delta,
            mechanism=self.mechanism,
        )

        def finish(releaser: Releaser) -> SyntheticRows:
            tree = stages.ask(releaser)
            count = min(max(1, round(tree.rows)) if self.rows is None else self.rows, _MOST_ROWS)
            drawn = draw_rows(tree, columns, count, public_generator(self.seed))
            return SyntheticRows(
                columns=names,
                values=decode_rows(schema, names, drawn),
                tree=tuple((names[a], names[b]) for a, b in tree.edges),
                noise_std=tree.margin_std / tree.rows,
                pair_noise_std=tree.pair_std / tree.rows,
            )

        return Program(stages.stages, finish, stages.expected_error)


def synthesize(
    rows: int | None = None,
    *,
    columns: Sequence[str] | None = None,
    bins: int = 16,
    seed: int = 0,
    epsilon: float,
    delta: float = 0.0,
    mechanism: NoiseName = "auto",
) -> SynthesisPlan:
    """Plan synthetic records, drawn from noisy tables of columns and of the strongest pairs.

    Args:
      rows: how many; as many as the table has if left out (its noisy number, where that is private).
      columns: which columns they have; all of the schema, the target included, if left out.
      bins: cells per number, at most 64; a small table does better with fewer.
      seed: of the public generator that draws rows from released tables.
      epsilon: the whole budget: 0.2 for the columns' tables, 0.2 for the choice of pairs, 0.6 for
        their tables. More rows cost nothing.
      delta: zero for a pure guarantee; with one, Gaussian noise gains on many columns.
      mechanism: ``laplace``, ``gaussian``, or ``auto``: the one with less noise, stage by stage.

    Guarantees:
      - A record is in one cell of every table. [marginals]
      - The tree of pairs is so many exponential mechanisms. [tree-score] [spanning-tree]
      - Rows follow from what was released. [background-separator]

    >>> synthesize(1_000, epsilon=1.0)
    synthesize(rows=1000, columns=None, bins=16, seed=0, mechanism='auto', epsilon=1)
    """
    names = some_names("columns", columns)
    return SynthesisPlan(rows, names, bins, seed, epsilon, delta, mechanism)
