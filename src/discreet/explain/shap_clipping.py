"""Clipping records' vectors: how much less noise it allows, and where to clip, from public facts.

The proven range covers the worst record of the worst model. Real vectors are much shorter, so that
shrinking the few long ones lowers the noise several times for a small bias. Where to clip is decided on
rows drawn from the schema, with the model and the query, all of which are public: the length at which
bias and noise together are least there. No private row has a say.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from discreet.certificates import Ball, Bounds, Certificate, Relation
from discreet.numerics import check_choice, check_positive
from discreet.schema import FloatArray, Schema

ClipNorm = Literal["l2", "linf"]
Clip = float | Literal["auto"] | None
NoiseOf = Callable[[Certificate], float]

PUBLIC_ROWS = 128
_QUANTILES = (0.5, 0.65, 0.8, 0.9, 0.95, 0.99, 1.0)
_HAIR = 1e-14


def check_clip(clip: Clip, norm: str = "l2") -> None:
    """Raise unless ``clip`` is a positive number, "auto" or None."""
    check_choice("clip_norm", norm, ("l2", "linf"))
    if clip is not None and clip != "auto":
        check_positive("clip", clip, "Or use clip='auto', or clip=None for the proven range.")


def public_rows(schema: Schema, columns: tuple[str, ...]) -> FloatArray:
    """Return encoded rows anybody can draw from the schema."""
    places = [schema.position(name) for name in columns]
    return np.ascontiguousarray(schema.draw(PUBLIC_ROWS)[:, places])


def clip_vectors(vectors: FloatArray, clip: float, norm: ClipNorm) -> FloatArray:
    """Return vectors (last axis) shrunk into a ball, or clipped coordinate by coordinate."""
    flat = np.nan_to_num(vectors.reshape(-1, vectors.shape[-1]), nan=0.0)
    inside = Ball(clip, "l2").clip(flat) if norm == "l2" else np.clip(flat, -clip, clip)
    return inside.reshape(vectors.shape)


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
        if relation == "add-remove":  # a vector of its own: no two of them are compared
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


def choose_clip(
    vectors: FloatArray,
    certificate: Certificate,
    norm: ClipNorm,
    *,
    rows: int | None,
    noise_of: NoiseOf,
) -> float | None:
    """Return where to clip, or None if the proven range serves better.

    Args:
      vectors: what public rows would add, rows x features.
      certificate: of the sum of unclipped vectors.
      norm: of the clip.
      rows: the public number of records; if private, nine tenths of public vectors are kept whole,
        provided that this lowers the noise.
      noise_of: the noise on a sum with a given certificate.
    """
    order = 2 if norm == "l2" else np.inf
    lengths = np.linalg.norm(vectors, order, axis=1)
    if rows is None:
        usual = float(np.quantile(lengths, 0.9)) or None
        less = noise_of(clipped(certificate, usual, norm)) < noise_of(certificate)
        return usual if less else None

    def error(clip: float | None) -> float:
        kept = vectors if clip is None else clip_vectors(vectors, clip, norm)
        # Absolute values: private rows are spread otherwise, so that losses need not cancel.
        lost = np.mean(np.abs(kept - vectors), axis=0)
        size = np.sqrt(np.mean(lost**2)) if norm == "l2" else lost.max()
        return math.hypot(float(size), noise_of(clipped(certificate, clip, norm)) / rows)

    options: list[float | None] = [None, *(float(np.quantile(lengths, q)) for q in _QUANTILES)]
    return min((clip for clip in options if clip is None or clip > 0), key=error)


def common_clip(clips: Sequence[float | None]) -> float | None:
    """Return one clip for queries that were not tried themselves: the median, None counting as inf."""
    ordered = sorted(math.inf if clip is None else clip for clip in clips)
    middle = ordered[len(ordered) // 2]
    return None if middle == math.inf else middle
