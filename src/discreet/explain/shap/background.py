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
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from discreet.errors import ArgumentError
from discreet.explain.clipping import moved_by_clip
from discreet.explain.shap.engines import MOST_BACKGROUND, choose_engine
from discreet.explain.shap.parts import Seed
from discreet.explain.shap.queries import read_queries
from discreet.models import as_model
from discreet.plans import Attribution, Program, Releaser, Result, Setting
from discreet.plans.expected import of_mean
from discreet.plans.kinds import UNSAID, Delta, Epsilon, NoiseChoice, OneOf, Positive, Whole
from discreet.plans.parts import WherePlan
from discreet.plans.results.result import is_table
from discreet.plans.stages.marginals import MOST_BINS, lay_out, tree_stages
from discreet.plans.stages.means import MeanStages, draw_mean_rows, half_width, mean_contribution
from discreet.plans.stages.tree_rows import decode_rows, draw_rows
from discreet.randomness import public_generator
from discreet.schema import MISSING, Date, FloatArray, Number, Schema
from discreet.schema.files import from_plain

if TYPE_CHECKING:
    import pandas as pd

_BINS = 16
_ROWS = {"sample": 200, "mean": 100}
_MOST_ROWS = 1_000_000
_CLIPPED = "It is the greatest length of a row of scaled numbers."


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

    @property
    def extent(self) -> str:
        """The number of rows."""
        return f"{len(self):,} rows"

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
        frame = pd.DataFrame({name: list(values) for name, values in by_column})
        schema = from_plain(json.loads(self.facts))
        for name in self.columns:
            if isinstance(schema[name], Date):
                frame[name] = pd.to_datetime(frame[name], format="ISO8601")
        return frame

    def to_frame(self) -> pd.DataFrame:
        """Return ``rows``."""
        return self.rows

    def encoded(self, schema: Schema) -> FloatArray:
        """Return the rows as a model sees them: numbers as they are, categories as codes."""
        parts = []
        for name, values in zip(self.columns, zip(*self.values, strict=True), strict=True):
            column = schema[name]
            numbers = isinstance(column, Number) and not isinstance(column, Date)
            parts.append(_codes(values) if numbers else column.encode(np.array(values, dtype=object)))
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
        found = Attribution(
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
        return found.labelled(queries.labels)

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
        from discreet.plans.results.pictures.attribution import BackgroundDisplay

        return BackgroundDisplay(self.rows).plot(ax, title=title)


class background(WherePlan):
    """Plan rows to explain with in place of the private ones: paid for once, used for ever.

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
      mechanism: ``laplace``, ``gaussian``, ``linf``, or ``auto``: the least noise, stage by stage.

    Guarantees:
      - A record is in one cell of every table. [marginals]
      - A record moves a pair's score by at most two (one under add-remove), and the tree is so many
        exponential mechanisms. [tree-score] [spanning-tree]
      - Means move as little as numbers and cells do together. [background-mean]
      - Rows, and all explanations with them, follow from what was released. [background-separator]

    >>> background("mean", epsilon=1.0)
    background(kind='mean', rows=100, clip=None, seed=0, mechanism='auto', epsilon=1)
    """

    kind: Annotated[str, OneOf(tuple(_ROWS))] = "sample"
    _: KW_ONLY
    rows: Annotated[int | None, Whole(1, _MOST_ROWS, optional=True)] = None
    bins: Annotated[int | None, Whole(2, MOST_BINS, optional=True)] = None
    clip: Annotated[float | None, Positive(optional=True, hint=_CLIPPED)] = None
    seed: Seed = 0
    epsilon: Epsilon = UNSAID
    delta: Delta = 0.0
    mechanism: NoiseChoice = "auto"

    def settle(self) -> dict[str, Any]:
        """Give every kind as many rows and cells as serve it, and refuse what belongs to the other."""
        for name, other in (("bins", "sample"), ("clip", "mean")):
            if getattr(self, name) is not None and self.kind != other:
                raise ArgumentError(
                    f"{name} must be left out of kind={self.kind!r}, got {getattr(self, name)!r}. "
                    f"It belongs to kind={other!r}."
                )
        cells = _BINS if self.kind == "sample" and self.bins is None else self.bins
        return {"rows": _ROWS[self.kind] if self.rows is None else self.rows, "bins": cells}

    def arguments(self) -> dict[str, Any]:
        """Return the arguments that define the answer, without the other kind's."""
        other = "clip" if self.kind == "sample" else "bins"
        return {name: plain for name, plain in super().arguments().items() if name != other}

    def prepare_whole(self, setting: Setting) -> Program:
        """Lay out what a record contributes and calibrate every stage."""
        if not setting.schema.features:
            raise ArgumentError("schema must have a column besides the target, got none.")
        assert self.rows is not None  # settled
        prepare = self._prepare_mean if self.kind == "mean" else self._prepare_sample
        return prepare(setting, self.rows)

    def _prepare_sample(self, setting: Setting, rows: int) -> Program:
        schema, names = setting.schema, setting.schema.features
        assert self.bins is not None  # settled
        layout = lay_out(schema, names, self.bins)
        stages = tree_stages(
            layout, setting, epsilon=self.epsilon, delta=self.delta, mechanism=self.mechanism
        )

        def finish(releaser: Releaser) -> Background:
            tree = stages.ask(releaser)
            drawn = draw_rows(tree, [schema[name] for name in names], rows, public_generator(self.seed))
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

    def _prepare_mean(self, setting: Setting, rows: int) -> Program:
        schema, names = setting.schema, setting.schema.features
        stages = MeanStages.of(
            "means",
            mean_contribution(schema, self.clip),
            setting,
            counted=names[0] if setting.rows is None else None,
            statement="background-mean",
            epsilon=self.epsilon,
            delta=self.delta,
            mechanism=self.mechanism,
        )
        noise = stages.sums.noise
        spread = [_unit(schema, name) * noise.std for name in names]
        if not all(map(math.isfinite, spread)):
            wide = names[spread.index(math.inf)]
            raise ArgumentError(
                f"column {wide!r} must have a range whose noise is a finite number, got a wider one. "
                "Use another unit."
            )

        def finish(releaser: Releaser) -> Background:
            noisy, *noisy_size = releaser.answer(*stages.all)
            size = max(1.0, float(noisy_size[0][0] if setting.rows is None else setting.rows))
            drawn = draw_mean_rows(schema, noisy / size, rows, public_generator(self.seed))
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
        error = of_mean(noise.half_width, setting.rows, 1.0, unit, bias=bias)
        return Program(stages.all, finish, {"scaled mean or share": error})


def _codes(values: tuple[Any, ...]) -> FloatArray:
    """Return numbers as they are, off their step grid too; a missing one by its code."""
    return np.array([MISSING if value is None else value for value in values], dtype=np.float64)


def _facts(schema: Schema) -> str:
    """Return the public facts about the features alone."""
    return json.dumps(Schema({name: schema[name] for name in schema.features}).to_json())


def _unit(schema: Schema, name: str) -> float:
    column = schema[name]
    return half_width(column) if isinstance(column, Number) else 1.0
