"""What SHAP plans share: who is explained, against whom, and what one record adds.

Two sides can be protected. *The background* (the table): queries are public, every record adds its
own attributions phi(x; z). *The query*: a public background explains a sealed query, one value of
which may move by a radius; no row of the table is read, its budget pays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, get_args

import numpy as np

from discreet.data import SealedContribution, VectorContribution
from discreet.errors import ArgumentError
from discreet.explain.clipping import (
    Clip,
    ClipNorm,
    NoiseOf,
)
from discreet.explain.shap.bounds.records import PUBLIC_BACKGROUND
from discreet.explain.shap.contribution import clip_bias, query_clips, query_contribution
from discreet.explain.shap.engines import (
    MOST_BACKGROUND,
    ShapEngine,
    choose_engine,
)
from discreet.explain.shap.queries import (
    Queries,
    SealedQueries,
    certify_sealed,
    read_queries,
    sealed_bound,
)
from discreet.models import Model
from discreet.plans import Release, Result, Setting
from discreet.plans.expected import OUTPUT, Band, Expected, of_mean
from discreet.plans.held import Rows
from discreet.plans.kinds import OneOf, Positive, Whole
from discreet.plans.stages import MeanStages, NoisyMean
from discreet.privacy.certificate import Box
from discreet.privacy.relation import REPLACE_ONE, Relation
from discreet.schema import FloatArray, Schema

Protects = Literal["background", "query"]

_CLIP_HINT = "Or use clip='auto', or clip=None for the proven range."
MOST_NUMBERS = 2**16
"""Queries times features of one plan."""


def check_sides(protects: Protects, background: Queries | None, radius: Any) -> None:
    """Raise unless there is a public background exactly where the query is protected."""
    if protects == "query" and background is None:
        raise ArgumentError(
            "background must be a public frame when protects='query', got none. "
            "Give public rows, or the rows of a released dc.background(...)."
        )
    if protects == "background" and not (background is None and radius is None):
        raise ArgumentError(
            "background and radius must be left out unless protects='query': "
            "the background is the protected table."
        )


def without_background(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return what is written of a plan about queries: no background if that is the table itself."""
    unused = ("background", "radius") if arguments["protects"] == "background" else ()
    return {name: plain for name, plain in arguments.items() if name not in unused}


@dataclass(frozen=True)
class ShapQuestion:
    """What plans about queries have in common: who is explained by what, and against whom."""

    model: Model
    queries: Queries | SealedQueries
    background: Queries | None
    radius: Any
    coalitions: int | None
    seed: int

    def engine(self, setting: Setting) -> ShapEngine:
        """Bind the model to the schema and choose its engine."""
        model = self.model.bind(setting.schema)
        return choose_engine(model, setting.schema, coalitions=self.coalitions, seed=self.seed)

    def prepare(
        self,
        setting: Setting,
        *,
        centred: bool,
        clip: Clip = None,
        norm: ClipNorm = "l2",
        noise_of: NoiseOf | None = None,
    ) -> Explained:
        """Bind the model, choose an engine, decide where to clip and certify what is added up."""
        engine = self.engine(setting)
        if len(self.queries) * engine.features > MOST_NUMBERS:
            raise ArgumentError(
                f"x must have at most {MOST_NUMBERS // engine.features} rows for "
                f"{engine.features} features, got {len(self.queries)}. Ask for several plans."
            )
        if isinstance(self.queries, SealedQueries):
            return self._of_sealed(engine, setting.schema)
        rows = self.queries.encode(setting.schema, engine.model.columns)
        clips = query_clips(engine, rows, setting, clip, norm, centred, noise_of)
        contribution = query_contribution(engine, rows, centred=centred, clips=clips, norm=norm)
        centres = np.stack(
            [
                engine.centre(query) if centred and own is None else np.zeros(engine.features)
                for query, own in zip(rows, clips, strict=True)
            ]
        )
        return Explained(
            engine,
            contribution,
            centres=centres,
            predictions=engine.predict(rows),
            data=self.queries.shown(engine.model.columns),
            base_values=None,
            rows=setting.rows,
            protects="one record of the table",
            bias=clip_bias(engine, rows, clip, contribution, setting.schema),
        )

    def _of_sealed(self, engine: ShapEngine, schema: Schema) -> Explained:
        assert isinstance(self.queries, SealedQueries) and self.background is not None
        sealed, columns, count = self.queries, engine.model.columns, len(self.queries)
        sealed.reveal().check_names(schema, columns)
        background = self.background.encode(schema, columns, check=False)
        proven, radius = certify_sealed(engine, schema, self.radius)
        explain = engine.against(background)
        base = float(np.mean(engine.predict(background)))
        bound = sealed_bound(engine, background)

        def compute() -> FloatArray:
            return explain(sealed.reveal().encode(schema, columns, check=False)).ravel()

        return Explained(
            engine,
            # Only one of several queries has the value that moves.
            SealedContribution(
                count * engine.features,
                Box(-bound, bound),
                0.0,
                compute,
                replace(proven, size=count * engine.features).assume(PUBLIC_BACKGROUND),
            ),
            centres=np.zeros((count, engine.features)),
            predictions=None,
            data=None,
            base_values=np.full(count, base),
            rows=1,
            protects=f"one value of the query, moved by at most {radius}",
            relation=REPLACE_ONE,
        )


@dataclass(frozen=True)
class Explained:
    """A question made ready: what is added up, and what is public around it.

    ``rows`` is what a sum is divided by, None if that is private; ``bias`` what a clip that is not
    made for these queries moves attributions of public rows by.
    """

    engine: ShapEngine
    contribution: VectorContribution | SealedContribution
    centres: FloatArray
    predictions: FloatArray | None
    data: tuple[tuple[Any, ...], ...] | None
    base_values: FloatArray | None
    rows: int | None
    protects: str
    relation: Relation | None = None
    bias: float = 0.0

    @property
    def sealed(self) -> bool:
        """Whether the query is what is protected."""
        return isinstance(self.contribution, SealedContribution)

    @property
    def features(self) -> tuple[str, ...]:
        """The features, in order."""
        return self.engine.model.columns

    @property
    def groups(self) -> int:
        """The number of queries."""
        return len(self.centres)

    def expect(self, band: Band) -> Expected:
        """Return how far noise and clip take all attributions together."""
        size = self.engine.model.bounds.width
        return of_mean(band, self.rows, size, OUTPUT, bias=self.bias, together=self.contribution.size)

    @property
    def limits(self) -> tuple[FloatArray, FloatArray]:
        """Between what every attribution lies, one after the other.

        Guarantees:
          - Every record's vector is inside the contribution's region around the centre, and so is
            their mean. [feasible]
        """
        region, centres = self.contribution.region, self.centres.ravel()
        assert isinstance(region, Box)
        return centres + region.low, centres + region.high

    def mean(
        self,
        answers: Sequence[FloatArray],
        stages: MeanStages,
        level: float,
        *,
        summed: bool = False,
    ) -> NoisyMean:
        """Return the noisy attributions, one after the other, not yet inside their limits."""
        region = self.contribution.region
        assert isinstance(region, Box)
        mean = stages.divide(answers, self.rows, region, level, summed=summed)
        return mean.moved(self.centres.ravel())

    @property
    def setting_rows(self) -> float:
        """What an error in a sum is divided by to be one of an attribution; one if private."""
        return float(self.rows or 1)


def read_background(rows: Any) -> Queries:
    """Return public rows to explain against: a frame, an array, or a released background.

    Guarantees:
      - A release from a simulation keeps its stamp. [background-separator]
    """
    if isinstance(rows, Queries):  # of a plan that is made again; stamped if it has to be
        return rows
    value = rows.value if isinstance(rows, Release) else rows
    read = read_queries(value.to_frame() if isinstance(value, Result) else value, most=MOST_BACKGROUND)
    return read.stamped(isinstance(rows, Release) and rows.guarantee.simulation)


def need_background(rows: Any) -> Queries:
    """Return the background of plans whose records are what is explained: they cannot be both."""
    if rows is None:
        raise ArgumentError(
            "background must be public rows or a released dc.background(...), got none. "
            "Release a background first: it serves all later explanations."
        )
    return read_background(rows)


Coalitions = Annotated[int | None, Whole(1, 2**20, optional=True)]
Seed = Annotated[int, Whole(0)]
Side = Annotated[Protects, OneOf(get_args(Protects))]
PublicRows = Annotated[Any, Rows(read_background, mark="rows ", optional=True)]
VectorClip = Annotated[Clip, Positive(auto=True, optional=True, hint=_CLIP_HINT)]
