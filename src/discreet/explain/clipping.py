"""Clipping records' vectors: how much less noise it allows, and where to clip, from public facts.

The proven range covers the worst record of the worst model. Vectors of a given model and query are
much shorter, so that a clip lowers the noise several times. How long they can be is tried out on rows
drawn from the schema and on mixtures of these with the query: the model and the query are public, and
no private row has a say.
Records whose vector is longer than that of any of these rows are shortened, which biases the answer;
noise bands do not speak of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from discreet.data import VectorContribution
from discreet.data.blocks import Block
from discreet.data.state import quietly
from discreet.numerics import up
from discreet.privacy.certificate import Ball, Bounds, Certificate
from discreet.privacy.relation import ADD_REMOVE, Relation
from discreet.randomness import public_generator
from discreet.schema import FloatArray, Schema

ClipNorm = Literal["l2", "linf"]
Clip = float | Literal["auto"] | None
NoiseOf = Callable[[Certificate], float]

PUBLIC_ROWS = 256
_ROOM = 1.05
_LEAST = 1e-2
_HAIR = 1e-14
_FLAT = 0.05
_MIXING_SEED = 20_260_416


def public_rows(schema: Schema, columns: tuple[str, ...]) -> FloatArray:
    """Return encoded rows anybody can draw from the schema."""
    places = [schema.position(name) for name in columns]
    return np.ascontiguousarray(schema.draw(PUBLIC_ROWS)[:, places])


def curve_size(curve: FloatArray, whole: float) -> tuple[float, str]:
    """Return a public size of a curve, and its name: its rise on public rows, unless that is flat."""
    rise = float(np.ptp(curve))
    if rise >= _FLAT * whole:
        return rise, "the rise of the curve on public rows"
    return _FLAT * whole, f"{_FLAT:.0%} of the output's range (public rows have a flatter curve)"


def mixed_rows(rows: FloatArray, others: FloatArray) -> FloatArray:
    """Return rows that share more and more of their values with rows of ``others``.

    Uniform rows differ from a query everywhere; records may resemble it, and then a few features
    carry all of the difference.
    """
    draw = public_generator(_MIXING_SEED)
    partners = others[draw.integers(len(others), size=len(rows))]
    shared = draw.random(rows.shape) < np.linspace(0.0, 1.0, len(rows))[:, None]
    return np.where(shared, partners, rows)


def clip_vectors(vectors: FloatArray, clip: float, norm: ClipNorm) -> FloatArray:
    """Return vectors (last axis) shrunk into a ball, or clipped coordinate by coordinate."""
    # Row by row in memory: else the last bit of a length may depend on how many rows there are.
    flat = np.ascontiguousarray(np.nan_to_num(vectors.reshape(-1, vectors.shape[-1]), nan=0.0))
    inside = Ball(clip, "l2").clip(flat) if norm == "l2" else np.clip(flat, -clip, clip)
    return inside.reshape(vectors.shape)


def clipped_lipschitz(lipschitz: float, clip: float | None, norm: ClipNorm, features: int) -> float:
    """Return the Lipschitz constant of a coordinate of a clipped vector.

    Guarantees:
      - A box moves no coordinate further; a ball moves no vector further in L2, hence no coordinate by
        more than sqrt(d) times what a coordinate moved. [lattice]
    """
    return lipschitz if clip is None or norm != "l2" else up(math.sqrt(features) * lipschitz)


def clipped(certificate: Certificate, clip: float | None, norm: ClipNorm) -> Certificate:
    """Return what holds of a sum after clipping each vector.

    Guarantees:
      - A box moves no two vectors apart in any norm, a ball none in L2, so the smaller of the own and
        the region's bound holds there. [mean-replace] [sum-addremove]
    """
    if clip is None:
        return certificate
    region = Ball(clip, norm).certify(certificate.size)
    found: dict[Relation, Bounds] = {}
    for relation, own in region.bounds.items():
        exact = certificate.bounds[relation]
        if relation.edits == 1:  # a vector of its own: no two of them are compared
            found[relation] = own
        elif norm == "l2":
            found[relation] = Bounds(own.l1, min(own.l2, exact.l2), own.linf)
        else:
            least = [min(getattr(own, n), getattr(exact, n)) for n in ("l1", "l2", "linf")]
            found[relation] = Bounds(*least)
    joined = (*certificate.statements, *region.statements)
    shown = Certificate(joined, certificate.size, found, certificate.assumptions)
    # A hair for what shrinking loses in floats.
    return shown.widen(_HAIR * clip).assume(f"a record's vector is clipped to {clip:.4g} ({norm})")


def moved_by_clip(whole: VectorContribution, clipped: VectorContribution, schema: Schema) -> float:
    """Return how far a clip moves a coordinate of public rows on average; losses need not cancel."""
    block = Block(0, whole.columns, np.asfortranarray(public_rows(schema, whole.columns)))
    with quietly(whole.pulse is not None):
        lost = np.nan_to_num(whole.compute(block) - clipped.compute(block))
    return float(np.abs(lost).mean(axis=0).max())


def choose_clip(
    vectors: FloatArray, certificate: Certificate, norm: ClipNorm, *, noise_of: NoiseOf
) -> float | None:
    """Return where to clip, or None if the proven range serves as well.

    No vector of a public row is shortened, and a twentieth is left as room: private rows may be
    concentrated anywhere, so what is usual among public ones is no guide to them. Lengths that are
    nothing but rounding (a model that is constant on public rows) say nothing at all.

    Args:
      vectors: what public rows would add, rows x features.
      certificate: of the sum of unclipped vectors.
      norm: of the clip.
      noise_of: the noise on a sum with a given certificate.
    """
    longest = float(np.linalg.norm(vectors, 2 if norm == "l2" else np.inf, axis=1).max())
    if longest < _LEAST * certificate.sensitivity("linf", ADD_REMOVE):
        return None
    clip = _ROOM * longest
    return clip if noise_of(clipped(certificate, clip, norm)) < noise_of(certificate) else None


def common_clip(clips: Sequence[float | None]) -> float | None:
    """Return one clip for queries that were not tried themselves: the median, None counting as inf."""
    ordered = sorted(math.inf if clip is None else clip for clip in clips)
    middle = ordered[len(ordered) // 2]
    return None if middle == math.inf else middle
