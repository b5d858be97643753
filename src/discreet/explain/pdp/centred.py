"""Records' curves as level and centred curve: one noisy number, and a short vector.

A record's curve is its mean over the grid (the level, one number as wide as the output) plus the rest
(its centred ICE curve, or shape, which sums to zero). Shapes of real models are much shorter than the
widest thinkable one, so that shrinking the few long ones into a public ball lowers the noise several
times. Both are one vector with one certificate; the level is weighted so that a point of the curve has
the least noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from discreet.data import VectorContribution
from discreet.data.blocks import Block
from discreet.explain.pdp.contribution import Curves
from discreet.models import BoundModel
from discreet.numerics import up
from discreet.privacy.certificate import Bounds, Box, Certificate, Norm
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE
from discreet.schema import FloatArray

ShapeNorm = Literal["l1", "l2"]
BALLS: dict[Norm, ShapeNorm] = {"l1": "l1", "l2": "l2", "linf": "l2"}
"""The ball in which shapes cost least, by the norm that noise is calibrated in."""

_HAIR = 1e-14


@dataclass(frozen=True)
class Shape:
    """How curves over ``points`` grid points are taken apart, measured from the middle of the bounds.

    Args:
      points: the number of grid points.
      half: half the output's range.
      clip: how far a curve may be from its own mean: on average over the grid in absolute value
        (``l1``, for Laplace noise) or in root mean square (``l2``, for Gaussian noise).
      norm: of the ball that shapes are shrunk into.
    """

    points: int
    half: float
    clip: float
    norm: ShapeNorm

    @property
    def radius(self) -> float:
        """The radius of the ball; no shape is longer than a curve between the bounds can be."""
        clip = min(self.clip, self.half)
        return clip * (self.points if self.norm == "l1" else math.sqrt(self.points))

    @property
    def weight(self) -> float:
        """What the level is multiplied with; this one leaves the least noise on a point.

        A point's noise is (w h + C) sqrt(1 + 1/w^2) for Laplace, least at w^3 = C/h, and
        sqrt((w^2 h^2 + C^2)(1 + 1/w^2)) for Gaussian noise, least at w^2 = C/h. [pdp-centred]
        """
        ratio = self.radius / self.half
        return float(ratio ** (1 / 3)) if self.norm == "l1" else math.sqrt(ratio)

    @property
    def spread(self) -> float:
        """The noise on a point of the curve, in units of the noise on one released number."""
        return math.sqrt(1 / self.weight**2 + 1 - 1 / self.points)

    def certify(self) -> Certificate:
        """Certify the sum of weighted levels and of shrunken centred curves.

        Guarantees:
          - Adding or removing a record moves it by L1 w h + C in an L1 ball and w h + sqrt(m) C in an
            L2 ball, L2 sqrt(w^2 h^2 + C^2/2) and sqrt(w^2 h^2 + C^2), Linf the greater of w h and C/2
            or C; replacing one by twice as much. [pdp-centred]
        """
        level, ball = self.weight * self.half, self.radius
        if self.norm == "l1":
            one = (level + ball, math.hypot(level, ball / math.sqrt(2)), max(level, ball / 2))
        else:
            one = (level + math.sqrt(self.points) * ball, math.hypot(level, ball), max(level, ball))
        certificate = Certificate(
            ("pdp-centred",),
            self.points + 1,
            {
                REPLACE_ONE: Bounds(*(up(2 * bound) for bound in one)),
                ADD_REMOVE: Bounds(*(up(bound) for bound in one)),
            },
        )
        return certificate.widen(_HAIR * max(level, ball)).assume(
            f"a record's curve is clipped to {min(self.clip, self.half):.4g} around its own mean "
            "(bands hold the noise, and what this changes on rows drawn from the schema)"
        )

    def split(self, curves: FloatArray) -> FloatArray:
        """Return every row's weighted level, then its shrunken shape."""
        from discreet.engines.kernels.curves import split_level

        out = np.empty((len(curves), self.points + 1), order="F")
        ready = np.asfortranarray(curves)
        split_level(ready, self.half, self.weight, self.radius, self.norm == "l1", out)
        return out

    def join(self, vectors: FloatArray) -> FloatArray:
        """Return curves from (sums of) levels and centred curves; noise off the zero sum is cut."""
        shapes = vectors[..., 1:] - vectors[..., 1:].mean(axis=-1, keepdims=True)
        return np.asarray(vectors[..., :1] / self.weight + shapes)

    def contribution(self, model: BoundModel, curves: Curves) -> VectorContribution:
        """Return what one record adds: its level and its centred curve.

        Guarantees:
          - If answers of a model move by g with the rows beside them, a coordinate moves by at most
            4 m g in an L1 ball and sqrt(m) g in an L2 ball. [pdp-centred]
        """
        bound = max(self.weight * self.half, self.radius)
        lipschitz = 4 * self.points if self.norm == "l1" else math.sqrt(self.points)

        def compute(block: Block) -> FloatArray:
            return self.split(curves(block))

        return VectorContribution(
            columns=model.columns,
            size=self.points + 1,
            region=Box(-bound, bound),
            fill=0.0,
            compute=compute,
            proven=self.certify(),
            calls=curves.calls(lipschitz),
        )
