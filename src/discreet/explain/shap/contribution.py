"""What one background record adds to an explanation: its attributions of every query, clipped.

A clip of a query is the given one, or the best on rows drawn from the schema and on mixtures of these
with the query, which are all public.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from discreet.data import ModelCalls, VectorContribution
from discreet.data.blocks import Block
from discreet.explain.clipping import (
    Clip,
    ClipNorm,
    NoiseOf,
    choose_clip,
    clip_vectors,
    clipped,
    clipped_lipschitz,
    common_clip,
    mixed_rows,
    moved_by_clip,
    public_rows,
)
from discreet.explain.shap.engines import ShapEngine
from discreet.plans import Setting
from discreet.privacy.certificate import Box, Certificate
from discreet.privacy.relation import ADD_REMOVE
from discreet.schema import FloatArray, Schema

_TRIED = 16
"""So many queries of a batch decide where it is clipped."""


def query_contribution(
    engine: ShapEngine,
    queries: FloatArray,
    *,
    centred: bool,
    clips: Sequence[float | None],
    norm: ClipNorm = "l2",
) -> VectorContribution:
    """Return what one background record adds: phi(x; z) of every query, one after the other.

    Args:
      engine: computes and certifies the vectors.
      queries: encoded public queries.
      centred: measure unclipped vectors from the middle of what is possible.
      clips: per query, shrink its vector to this length; None leaves it whole.
      norm: of ``clips``.

    Guarantees:
      - The certificates of the queries, stacked. [shap-contribution]
      - With a clip, those of the ball or the box as well. [mean-replace] [sum-addremove]
    """
    proven = [
        clipped(engine.certify(query, centred=centred and clip is None), clip, norm)
        for query, clip in zip(queries, clips, strict=True)
    ]
    bound = max(c.sensitivity("linf", ADD_REMOVE) for c in proven)
    explain, size = engine.of_queries(queries), queries.size
    centres = [engine.centre(query) for query in queries]

    def compute(block: Block) -> FloatArray:
        vectors = explain(np.ascontiguousarray(block.values))
        for place, clip in enumerate(clips):
            if clip is not None:
                vectors[:, place] = clip_vectors(vectors[:, place], clip, norm)
            elif centred:
                vectors[:, place] -= centres[place]
        return vectors.reshape(len(block), size)

    lipschitz = max(clipped_lipschitz(engine.lipschitz, clip, norm, engine.features) for clip in clips)
    return VectorContribution(
        columns=engine.model.columns,
        size=size,
        region=Box(-bound, bound),
        fill=0.0,
        compute=compute,
        proven=reduce(Certificate.stack, proven),
        calls=ModelCalls(engine.third_party, lipschitz),
    )


def query_clips(
    engine: ShapEngine,
    queries: FloatArray,
    setting: Setting,
    clip: Clip,
    norm: ClipNorm,
    centred: bool,
    noise_of: NoiseOf | None,
) -> list[float | None]:
    """Return every query's clip: the given one, or the best on public rows."""
    if clip != "auto":
        return [clip] * len(queries)
    assert noise_of is not None
    tried = queries[:: -(-len(queries) // _TRIED)]
    public = public_rows(setting.schema, engine.model.columns)
    vectors = engine.of_queries(tried)(public)
    found = [
        choose_clip(
            np.concatenate([vectors[:, place], _near(engine, query, public)]),
            engine.certify(query, centred=centred),
            norm,
            noise_of=noise_of,
        )
        for place, query in enumerate(tried)
    ]
    return found if len(tried) == len(queries) else [common_clip(found)] * len(queries)


def clip_bias(
    engine: ShapEngine, queries: FloatArray, clip: Clip, clipped: VectorContribution, schema: Schema
) -> float:
    """Return what a given clip moves the attributions of public rows by."""
    if clip is None or clip == "auto":  # one that is chosen leaves public rows whole
        return 0.0
    whole = query_contribution(engine, queries, centred=False, clips=[None] * len(queries))
    return moved_by_clip(whole, clipped, schema)


def _near(engine: ShapEngine, query: FloatArray, public: FloatArray) -> FloatArray:
    """Return the vectors of rows that share values with the query."""
    mixed = mixed_rows(public, query[None, :])
    return np.asarray(engine.of_queries(query[None, :])(mixed)[:, 0])
