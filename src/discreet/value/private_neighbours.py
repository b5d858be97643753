"""Threshold-KNN data values under joint differential privacy: noisy counts for all, values for owners.

A test point is predicted by the share of its label among the records within ``radius`` of it. The
Shapley value of a record depends on the others through two counts per test point alone: how many are
near, and how many of these have its label (Wang et al. 2023). So noisy counts are released once, to
anybody; every owner adds his own record to them and finds its value. Nobody else may see that value:
it is made of the record.

Test points are public, so it is known how many of them one record can be near: if z is near two of them
they are within 2 radius of each other. At most B, the most test points in such a ball, move.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.data import VectorContribution
from discreet.data.blocks import Block
from discreet.errors import ArgumentError
from discreet.numerics import up
from discreet.plans import Program, Releaser, Result, Setting
from discreet.plans.expected import RECORDS, of_count
from discreet.plans.results.result import is_table
from discreet.plans.results.valuation import Valuation
from discreet.plans.stages import sum_stage
from discreet.privacy.certificate import Bounds, Box, Certificate
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE
from discreet.randomness import public_generator
from discreet.schema import Category, FloatArray
from discreet.schema.files import from_plain
from discreet.value.private_rows import TestSet, encode_rows

if TYPE_CHECKING:
    import pandas as pd

_FAR = 1e100
_DRAWS = 64
_RADIUS_POINTS = 1_000
_QUANTITY = "threshold-KNN Shapley value (share of the right label)"
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True)
class NeighbourCounts(Result):
    """Noisy counts around public test points, from which owners find the values of their records.

    Attributes:
      right: noisy number of near records with the test point's label, for every test point.
      wrong: noisy number of near records with another label.
      noise_std: standard deviation of the noise on a count.
      radius: how far a near record is at most, in rows scaled by the schema.
      test: the public test points as the schema encodes them: features, then the target.
      facts: the public schema, as JSON.

    Guarantees:
      - The counts are differentially private and may be shown to anybody. A value found with them is a
        function of them and of its own record: shown to the record's owner alone, all values together
        keep every other record private, whoever joins forces. [tknn-owner]
    """

    right: tuple[float, ...]
    wrong: tuple[float, ...]
    noise_std: float
    radius: float
    test: tuple[tuple[float, ...], ...]
    facts: str

    @property
    def extent(self) -> str:
        """The number of test points."""
        return f"{len(self.right):,} test points"

    def fits_together(self) -> bool:
        """Return whether every test point has its counts and a value of every column."""
        schema = from_plain(json.loads(self.facts))
        points = len(self.right)
        return len(self.wrong) == points > 0 and is_table(self.test, points, len(schema.features) + 1)

    @property
    def test_set(self) -> TestSet:
        """The public test points."""
        schema = from_plain(json.loads(self.facts))
        assert schema.target is not None
        return TestSet(schema, (*schema.features, schema.target), np.array(self.test))

    def appraise(self, rows: Any) -> Valuation:
        """Return the values of records of the table: for their owners, each its own alone.

        Args:
          rows: a frame with the schema's columns, target included. Only whoever may see the rows can
            ask, and each value goes to the owner of its row.
        """
        test = self.test_set
        encoded = encode_rows(rows, test.schema, test.columns, "rows")
        near, right = near_and_right(test, encoded, self.radius)
        counts = np.array([self.right, self.wrong])
        values = owner_values(counts, near, right, test.classes or 2, self.noise_std)
        draw = public_generator(0)
        spread = [
            owner_values(
                counts + draw.normal(0.0, self.noise_std, counts.shape),
                near,
                right,
                test.classes or 2,
                self.noise_std,
            )
            for _ in range(_DRAWS)
        ]
        return Valuation(
            records=tuple(range(len(values))),
            values=tuple(values.tolist()),
            half_width=None,
            level=1.0,
            noise_std=tuple(np.std(spread, axis=0).tolist()),
            sampling_std=0.0,
            audience="owner",
            method="tknn",
            quantity=_QUANTITY,
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per test point, in their order, the test point as index: the noisy counts."""
        import pandas as pd

        frame = pd.DataFrame({"right": self.right, "wrong": self.wrong})
        return frame.rename_axis("test_point")

    def plot(self, ax: Any = None, *, title: str | None = None) -> Any:
        """Draw the noisy counts of all test points."""
        from discreet.plans.results.pictures.valuation import NeighbourDisplay

        return NeighbourDisplay(self).plot(ax, title=title)


def count_program(test: TestSet, radius: float, setting: Setting, **terms: Any) -> Program:
    """Find how many test points one record can be near, and calibrate.

    Args:
      test: the public test points.
      radius: how far a near record is at most.
      setting: the public facts.
      terms: ``epsilon``, ``delta`` and ``mechanism``.
    """
    contribution = count_contribution(test, radius)
    stage = sum_stage("counts", contribution, setting, statement="tknn-counts", **terms)

    def finish(releaser: Releaser) -> NeighbourCounts:
        (noisy_counts,) = releaser.answer(stage)
        right, wrong = noisy_counts.reshape(2, -1)
        return NeighbourCounts(
            right=tuple(right.tolist()),
            wrong=tuple(wrong.tolist()),
            noise_std=stage.noise.std,
            radius=radius,
            test=tuple(map(tuple, test.encoded.tolist())),
            facts=json.dumps(setting.schema.to_json()),
        )

    error = of_count(stage.noise.half_width, setting.rows, RECORDS)
    return Program((stage,), finish, {"count": error})


def owner_values(
    counts: FloatArray, near: BoolArray, right: BoolArray, classes: int, noise_std: float
) -> FloatArray:
    """Return the value of every owner's record from noisy counts, its own share of them taken out.

    A count says nothing below its noise: fewer near records than that are taken for that many, at the
    share of a guess. Free, since nothing but noisy counts and the own record is read.
    """
    from discreet.value.engines.neighbours import value_from_counts  # compiles: slow to import

    others = np.maximum(counts.sum(axis=0) - near, 0.0)  # near records count themselves
    same = np.clip(counts[0] - right, 0.0, others)
    missing = np.maximum(noise_std - others, 0.0)
    found = value_from_counts(others + missing, same + missing / classes, right, classes)
    return np.asarray(np.where(near, found, 0.0).mean(axis=1))


def near_and_right(test: TestSet, encoded: FloatArray, radius: float) -> tuple[BoolArray, BoolArray]:
    """Return, records x test points, who is near, and who is near and has the label.

    A distance is made from its own two rows alone: a record's answer is its own, whatever rows stand
    beside it, where a matrix product could round otherwise with other batch_rows.
    """
    from discreet.value.engines.neighbours import near_and_right as compare  # compiles: slow to import

    near, right = compare(*test.split(encoded), test.x, test.y, radius)
    return near, near & right


def reachable_points(test: TestSet, radius: float) -> int:
    """Return B: at most how many test points one record can be near.

    Guarantees:
      - Whoever is near two test points, they are within twice the radius of each other. [tknn-counts]
    """
    if radius > _FAR:
        return len(test.x)
    x, most = test.x, 0
    furthest = up(2 * radius, 4) ** 2 * (1 + 1e-9) + 1e-12  # squares of distances are rounded
    for point in x:
        most = max(most, int((((x - point) ** 2).sum(axis=1) <= furthest).sum()))
    return most


def certify_counts(test: TestSet, radius: float) -> Certificate:
    """Certify the counts of all test points together.

    Guarantees:
      - A record adds one to one of two counts of at most B test points: adding or removing it moves L1
        B, L2 sqrt B; replacing it L1 2 B, L2 sqrt(2 B); no count by more than one. [tknn-counts]
    """
    most = reachable_points(test, radius)
    return Certificate(
        ("tknn-counts",),
        2 * len(test.y),
        {
            REPLACE_ONE: Bounds(2.0 * most, up(math.sqrt(2.0 * most)), 1.0),
            ADD_REMOVE: Bounds(float(most), up(math.sqrt(most)), 1.0),
        },
    )


def count_contribution(test: TestSet, radius: float) -> VectorContribution:
    """Return what one record adds: one to the right or the wrong count of every test point near it."""

    def compute(block: Block) -> FloatArray:
        near, right = near_and_right(test, block.values, radius)
        return np.hstack([right, near & ~right]).astype(np.float64)

    proven = certify_counts(test, radius)
    size, region = 2 * len(test.y), Box(0.0, 1.0)
    return VectorContribution(test.columns, size, region, 0.0, compute, proven, calls=None)


def default_radius(test: TestSet) -> float:
    """Return the distance within which three tenths of the pairs of public test points lie."""
    if len(test.y) < 2:
        raise ArgumentError("radius must be given for a single test point, got None.")
    x = test.x[:_RADIUS_POINTS]
    distances = np.concatenate(
        [np.sqrt(((x[i + 1 :] - x[i]) ** 2).sum(axis=1)) for i in range(len(x) - 1)]
    )
    return max(float(np.quantile(distances, 0.3)), 1e-6)


def check_labels(test: TestSet) -> None:
    """Raise unless the target is a category."""
    if not isinstance(test.schema[test.columns[-1]], Category):
        raise ArgumentError(
            "The target must be a category for method='tknn', got a number. Use method='layered'."
        )
