"""A private background: rows to explain with, released once and free to use for ever.

Explainers that fill left-out features from a background read the private table only through it. So a
background that was released makes every later explanation, of any model and any query, post-processing.

* ``mean``: the noisy mean of every number and the noisy shares of every category. A record
  contributes its numbers, scaled to [-1, 1], and one cell of every category.
* ``sample``: noisy tables of all columns and of the pairs that belong together most (a tree, chosen
  privately), and rows drawn from them. The rows resemble records; none of them is one.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import ArgumentError
from discreet.explain.clipping import moved_by_clip
from discreet.explain.shap.engines import MOST_BACKGROUND, choose_engine
from discreet.explain.shap.queries import read_queries
from discreet.mechanisms import Noise, NoiseName
from discreet.mechanisms.additive.registry import noise_names
from discreet.models import as_model
from discreet.numerics import check_choice, check_positive, check_whole
from discreet.plans import Attribution, Plan, Program, Releaser, Result, Setting, Stage, share_out
from discreet.plans.expected import of_mean
from discreet.plans.results.result import is_table
from discreet.plans.stages.counts import size_stage
from discreet.plans.stages.marginals import MOST_BINS, lay_out, tree_stages
from discreet.plans.stages.row_means import draw_mean_rows, half_width, mean_contribution
from discreet.plans.stages.sums import sum_stage
from discreet.plans.stages.tree_rows import decode_rows, draw_rows
from discreet.randomness import public_generator
from discreet.schema import FloatArray, Number, Schema
from discreet.schema.files import from_plain

if TYPE_CHECKING:
    import pandas as pd

_BINS = 16
_ROWS = {"sample": 200, "mean": 100}
_MOST_ROWS = 1_000_000
_MEAN_SHARE, _SIZE_SHARE = 0.9, 0.1


@dataclass(frozen=True)
class Background(Result):
    """Rows that stand for a private table wherever an explainer wants a background.

    Attributes:
      kind: ``mean`` or ``sample``.
      columns: the columns, in schema order, without the target.
      values: the rows, in original values.
      tree: the pairs of columns whose tables the rows were drawn from.
      noise_std: for every column the standard deviation of the noise on its mean (a number of kind
        ``mean``, in its own unit) or on the share of one of its cells.
      pair_noise_std: the same for the share of a cell of a pair; zero if there is no pair.
      facts: the public schema the rows follow, as JSON.

    Guarantees:
      - Made of released numbers and a public seed alone: whatever is done with it reveals nothing
        more of the records. It protects them; not a query, not a model's training set.
        [background-separator]
    """

    kind: str
    columns: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]
    tree: tuple[tuple[str, str], ...]
    noise_std: tuple[float, ...]
    pair_noise_std: float
    facts: str

    def __len__(self) -> int:
        return len(self.values)

    def fits_together(self) -> bool:
        """Return whether every row has a value of every column of the schema."""
        known = from_plain(json.loads(self.facts)).features
        wide = is_table(self.values, len(self), len(self.columns)) and len(self) > 0
        return wide and len(self.noise_std) == len(self.columns) and known == self.columns

    @property
    def rows(self) -> pd.DataFrame:
        """The rows as a frame of original values, ready for any explainer."""
        import pandas as pd

        by_column = zip(self.columns, zip(*self.values, strict=True), strict=True)
        return pd.DataFrame({name: list(values) for name, values in by_column})

    def to_frame(self) -> pd.DataFrame:
        """Return ``rows``."""
        return self.rows

    def encoded(self, schema: Schema) -> FloatArray:
        """Return the rows as a model sees them: numbers as they are, categories as codes."""
        parts = []
        for name, values in zip(self.columns, zip(*self.values, strict=True), strict=True):
            column = schema[name]
            numbers = isinstance(column, Number)
            parts.append(np.array(values) if numbers else column.encode(np.array(values, dtype=object)))
        return np.column_stack(parts).astype(np.float64)

    def explain(
        self, model: Any, x: Any, *, coalitions: int | None = None, seed: int = 0
    ) -> Attribution:
        """Return SHAP values of any number of rows against this background: free, for ever.

        Args:
          model: an estimator, a pipeline, or a ``dc.Model`` with bounds.
          x: rows to explain, as ``shap_values`` takes them; up to 100,000.
          coalitions: masks of the kernel engine; its default is exact for up to ten features.
          seed: of the masks.

        Guarantees:
          - Reads no private row. [background-separator]
        """
        schema = from_plain(json.loads(self.facts))
        bound = as_model(model).bind(schema)
        engine = choose_engine(bound, schema, coalitions=coalitions, seed=seed)
        queries = read_queries(x, most=MOST_BACKGROUND)
        encoded = queries.encode(schema, bound.columns)
        rows = self.encoded(schema)[:, [self.columns.index(name) for name in bound.columns]]
        base = float(np.mean(engine.predict(rows)))
        return Attribution(
            features=bound.columns,
            values=tuple(map(tuple, engine.against(rows)(encoded).tolist())),
            base_values=(base,) * len(queries),
            predictions=tuple(engine.predict(encoded).tolist()),
            data=queries.shown(bound.columns),
            half_width=None,
            level=1.0,
            noise_std=None,
            quantity=f"SHAP value against the released background ({self.kind})",
        )

    def to_shap(self) -> Any:
        """Return a ``shap.maskers.Independent`` over all rows."""
        try:
            from shap.maskers import Independent
        except ImportError:
            raise ArgumentError(
                "shap must be installed to make a masker, got none. Install discreet[shap]."
            ) from None
        return Independent(self.rows, max_samples=len(self))

    def plot(self, ax: Any = None, *, title: str | None = None) -> Any:
        """Draw how the rows are spread in every column."""
        from discreet.plans.results.pictures.background import BackgroundDisplay

        return BackgroundDisplay(self.rows).plot(ax, title=title)


class BackgroundPlan(Plan):
    """See ``background``."""

    kind = "background"

    def __init__(
        self,
        method: str,
        rows: int | None,
        bins: int | None,
        clip: float | None,
        seed: int,
        epsilon: float,
        delta: float,
        mechanism: NoiseName,
    ) -> None:
        super().__init__(epsilon, delta)
        check_choice("kind", method, tuple(_ROWS))
        check_choice("mechanism", mechanism, noise_names())
        check_whole("seed", seed, 0)
        self.method, self.seed, self.mechanism = method, seed, mechanism
        self.rows = _ROWS[method] if rows is None else rows
        check_whole("rows", self.rows, 1, _MOST_ROWS)
        self.bins, self.clip = _BINS if bins is None else bins, clip
        check_whole("bins", self.bins, 2, MOST_BINS)
        if clip is not None:
            check_positive("clip", clip, "It is the greatest length of a row of scaled numbers.")
        for name, given, other in (("bins", bins, "sample"), ("clip", clip, "mean")):
            if given is not None and method != other:
                raise ArgumentError(
                    f"{name} must be left out of kind={method!r}, got {given!r}. "
                    f"It belongs to kind={other!r}."
                )

    def arguments(self) -> dict[str, Any]:
        """Return the question as plain data."""
        own = {"bins": self.bins} if self.method == "sample" else {"clip": self.clip}
        shared = {"rows": self.rows, "seed": self.seed, "mechanism": self.mechanism}
        return {"kind": self.method, **own, **shared}

    def prepare(self, setting: Setting) -> Program:
        """Lay out what a record contributes and calibrate every stage."""
        if not setting.schema.features:
            raise ArgumentError("schema must have a column besides the target, got none.")
        prepare = self._prepare_mean if self.method == "mean" else self._prepare_sample
        return prepare(setting)

    def _prepare_sample(self, setting: Setting) -> Program:
        schema, names = setting.schema, setting.schema.features
        layout = lay_out(schema, names, self.bins)
        stages = tree_stages(
            layout, setting, epsilon=self.epsilon, delta=self.delta, mechanism=self.mechanism
        )

        def finish(releaser: Releaser) -> Background:
            tree = stages.ask(releaser)
            drawn = draw_rows(
                tree, [schema[name] for name in names], self.rows, public_generator(self.seed)
            )
            return Background(
                kind="sample",
                columns=names,
                values=decode_rows(schema, names, drawn),
                tree=tuple((names[a], names[b]) for a, b in tree.edges),
                noise_std=(tree.margin_std / tree.rows,) * len(names),
                pair_noise_std=tree.pair_std / tree.rows,
                facts=_facts(schema),
            )

        return Program(stages.stages, finish, stages.expected_error)

    def _prepare_mean(self, setting: Setting) -> Program:
        schema, names = setting.schema, setting.schema.features
        epsilons = [self.epsilon]
        if setting.rows is None:
            epsilons = share_out(self.epsilon, (_MEAN_SHARE, _SIZE_SHARE))
        sums: Stage[Noise] = sum_stage(
            "means",
            mean_contribution(schema, self.clip),
            setting,
            statement="background-mean",
            epsilon=epsilons[0],
            delta=self.delta,
            mechanism=self.mechanism,
        )
        counts = [size_stage(names[0], setting, epsilon=e) for e in epsilons[1:]]
        spread = [_unit(schema, name) * sums.noise.std for name in names]
        if not all(map(math.isfinite, spread)):
            wide = names[spread.index(math.inf)]
            raise ArgumentError(
                f"column {wide!r} must have a range whose noise is a finite number, got a wider one. "
                "Use another unit."
            )

        def finish(releaser: Releaser) -> Background:
            noisy, *noisy_size = releaser.answer(sums, *counts)
            size = max(1.0, float(noisy_size[0][0] if setting.rows is None else setting.rows))
            drawn = draw_mean_rows(schema, noisy / size, self.rows, public_generator(self.seed))
            return Background(
                kind="mean",
                columns=names,
                values=decode_rows(schema, names, drawn),
                tree=(),
                noise_std=tuple(std / size for std in spread),
                pair_noise_std=0.0,
                facts=_facts(schema),
            )

        bias = 0.0
        if self.clip is not None:
            bias = moved_by_clip(
                mean_contribution(schema), mean_contribution(schema, self.clip), schema
            )
        unit = "half a column's range"
        error = of_mean(sums.noise.half_width, setting.rows, 1.0, unit, bias=bias)
        return Program((sums, *counts), finish, {"scaled mean or share": error})


def _facts(schema: Schema) -> str:
    """Return the public facts about the features alone."""
    return json.dumps(Schema({name: schema[name] for name in schema.features}).to_json())


def _unit(schema: Schema, name: str) -> float:
    column = schema[name]
    return half_width(column) if isinstance(column, Number) else 1.0


def background(
    kind: str = "sample",
    *,
    rows: int | None = None,
    bins: int | None = None,
    clip: float | None = None,
    seed: int = 0,
    epsilon: float,
    delta: float = 0.0,
    mechanism: NoiseName = "auto",
) -> BackgroundPlan:
    """Plan rows to explain with, in place of the private ones: paid once, used for ever.

    All columns of the schema but the target take part.

    Args:
      kind: ``sample`` draws rows from noisy tables of the columns and of the pairs that depend on
        each other most; ``mean`` takes every number at its noisy mean, categories by noisy shares.
      rows: how many rows; 200 of kind ``sample``, 100 of kind ``mean``, which has a single row if
        there is no category.
      bins: cells per number of kind ``sample`` (16), at most 64. Fewer are taken if the pairs of very
        many columns would have more than four million cells; a small table does better with fewer.
        Beyond 200 columns only pairs of columns near each other in the schema are compared.
      clip: of kind ``mean``, the greatest length of a row of scaled numbers (each between -1 and 1, the
        ends of its range); longer rows are shortened, which lowers noise and, if many are, biases the
        means towards the middle. None by default: whether it pays depends on the records.
      seed: of the public generator that draws rows from released tables.
      epsilon: the whole budget of the plan. Kind ``sample`` gives 0.2 to the columns' tables, 0.2 to
        the choice of pairs and 0.6 to their tables; ``mean`` under add-remove 0.1 to the number of
        records.
      delta: zero for a pure guarantee.
      mechanism: ``laplace``, ``gaussian``, or ``auto``: the one with less noise, stage by stage.

    Guarantees:
      - A record is in one cell of every table. [marginals]
      - A record moves a pair's score by at most two (one under add-remove), and the tree is so many
        exponential mechanisms. [tree-score] [spanning-tree]
      - Means move as little as numbers and cells do together. [background-mean]
      - Rows, and all explanations with them, follow from what was released. [background-separator]

    >>> background("mean", epsilon=1.0)
    background(kind='mean', clip=None, rows=100, seed=0, mechanism='auto', epsilon=1)
    """
    return BackgroundPlan(kind, rows, bins, clip, seed, epsilon, delta, mechanism)
