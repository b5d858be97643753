"""Private SHAP values: all attributions of a query, with noise that fits how far a record moves them.

Interventional values are a mean over background records of phi(x; z), so any bounded model - trees
included - has a certificate that shrinks with the number of records. Queries of one plan share one
pass over the rows and are priced together.

Deviations from Alissaiei (2026): the interventional value function instead of one evaluated at the
background's mean (that one is a single release: ``background(kind="mean")``), certified noise for
every bounded model, no bootstrap; projection onto the efficiency hyperplane only where it is public.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, get_args

import numpy as np

from discreet.explain.clipping import Clip, ClipNorm
from discreet.explain.shap.parts import (
    Coalitions,
    Explained,
    PublicRows,
    Seed,
    ShapQuestion,
    Side,
    VectorClip,
    check_sides,
    without_background,
)
from discreet.explain.shap.planner import NoiseStd, value_strategies
from discreet.explain.shap.queries import Query, Radius
from discreet.mechanisms import NoiseName, sum_noise
from discreet.plans import Attribution, Program, Releaser, Result, Setting, Strategy
from discreet.plans.held import FittedModel
from discreet.plans.kinds import UNSAID, Delta, Epsilon, NoiseChoice, OneOf, RealNumber
from discreet.plans.parts import PartPlan
from discreet.plans.results.attribution import OfQueries
from discreet.plans.results.bands import LEVEL, at_once
from discreet.plans.stages import MeanStages, NoisyMean
from discreet.privacy.certificate import Bounds, Certificate
from discreet.schema import FloatArray


@dataclass(frozen=True)
class Measured:
    """Attributions on which noise is put, and what the noise may cost."""

    question: ShapQuestion
    clip: Clip
    norm: ClipNorm
    epsilon: float
    delta: float
    mechanism: NoiseName = "auto"

    def explain(self, setting: Setting, *, centred: bool = True) -> Explained:
        """Return what is added up; where it is clipped is decided for the noise it will get."""

        def noise_of(certificate: Certificate) -> float:
            return self._noise(
                certificate, setting, self.epsilon, self.delta, len(self.question.queries)
            )

        return self.question.prepare(
            setting, centred=centred, clip=self.clip, norm=self.norm, noise_of=noise_of
        )

    def noise_std(self, setting: Setting) -> NoiseStd:
        """Return the noise on a value as a function of epsilon, delta and the number of queries."""
        explained = self.explain(setting)
        one = explained.contribution.certificate.restrict(len(explained.features))

        def noise_std(epsilon: float, delta: float, count: int) -> float:
            return self._noise(one, setting, epsilon, delta, count) / (setting.rows or 1)

        return noise_std

    def _noise(
        self, certificate: Certificate, setting: Setting, epsilon: float, delta: float, queries: int
    ) -> float:
        """Return the noise on a sum for so many queries with the certificate of one."""
        many = replace(
            certificate,
            size=queries * certificate.size,
            bounds={
                relation: Bounds(queries * b.l1, math.sqrt(queries) * b.l2, b.linf)
                for relation, b in certificate.bounds.items()
            },
        )
        return sum_noise(
            many,
            relation=setting.relation,
            epsilon=epsilon,
            delta=delta,
            mechanism=self.mechanism,
            largest_sum=1.0,
        ).std


class shap_values(PartPlan):
    """Plan the SHAP values of one or several queries, with the table as the background.

    Args:
      model: an estimator, a pipeline, or a ``dc.Model`` with bounds.
      x: the query: a mapping, a row, or a frame of up to 1,000 rows, which are answered together; a
        pandas frame's index is that of the result's frame, and is not stored.
      clip: bound on one record's vector, in the unit of the output: less noise for a bias where
        records exceed it. ``auto`` takes the length at which both together are least on rows drawn
        from the schema; None the proven range, without any bias.
      clip_norm: ``l2`` shrinks a vector into a ball, ``linf`` clips each coordinate.
      base_value: the mean prediction, if it is public (released before, say); then values are
        projected so that they add up to f(x) - base_value, which lowers their noise for free.
      coalitions: masks of the kernel engine; its default is exact for up to ten features. Linear
        models and sums of trees need none; giving a number forces the kernel engine.
      seed: of the public coalitions.
      protects: ``background`` (the table) or ``query``: x is sealed, a public ``background`` explains
        it, and the guarantee is for one value of x moved by at most ``radius``. Linear and logistic
        models.
      background: public rows, for ``protects="query"`` alone.
      radius: one number or one per column, in the columns' units; whole ranges if left out.
      epsilon: the whole budget of the plan: all queries, and the number of records under add-remove.
      delta: zero for a pure guarantee; with a delta Gaussian noise gains on many numbers.
      mechanism: ``laplace``, ``gaussian``, ``linf``, or ``auto``: the one with less noise.

    Guarantees:
      - For a model with range r, replacing one of n records moves the values by at most
        (2 - 1/d) r/n in Linf. [shap-contribution]
      - At most ``exact_l1(d) r/n`` in L1 [shap-l1] and pi r/n in L2. [shap-l2]
      - With sampled coalitions the same from the operator in use. [shap-masks]
      - With ``protects="query"``: a value moved by at most radius moves the vector as the linear and
        logistic certificates say. [shap-linear-query] [shap-logistic-query]
    """

    model: FittedModel
    x: Query
    _: KW_ONLY
    clip: VectorClip = "auto"
    clip_norm: Annotated[ClipNorm, OneOf(get_args(ClipNorm))] = "l2"
    base_value: Annotated[float | None, RealNumber(optional=True)] = None
    coalitions: Coalitions = None
    seed: Seed = 0
    protects: Side = "background"
    background: PublicRows = None
    radius: Radius = None
    epsilon: Epsilon = UNSAID
    delta: Delta = 0.0
    mechanism: NoiseChoice = "auto"

    clips: ClassVar = (("clip", None),)

    def settle(self) -> dict[str, Any]:
        """Check that there is a public background where, and only where, the query is protected."""
        check_sides(self.protects, self.background, self.radius)
        return {}

    def arguments(self) -> dict[str, Any]:
        """Return the arguments that define the answer, as plain data."""
        return without_background(super().arguments())

    @cached_property
    def measured(self) -> Measured:
        """Whose attributions get noise, and how much."""
        question = ShapQuestion(
            self.model, self.x, self.background, self.radius, self.coalitions, self.seed
        )
        return Measured(question, self.clip, self.clip_norm, self.epsilon, self.delta, self.mechanism)

    def label(self, value: Result) -> Result:
        """Return the answers with the index of the frame that was asked about."""
        return value.labelled(self.x.labels) if isinstance(value, OfQueries) else value

    def prepare_whole(self, setting: Setting) -> Program:
        """Choose an engine, certify the vectors of all queries and calibrate the noise."""
        explained = self.measured.explain(setting)
        stages = MeanStages.of(
            "values",
            explained.contribution,
            setting,
            counted=explained.features[0] if explained.rows is None else None,
            statement="shap-contribution",
            epsilon=self.epsilon,
            delta=self.delta,
            mechanism=self.mechanism,
        )
        release = _ValuesRelease(explained, stages, self.base_value)
        errors = {"attribution": explained.expect(stages.sums.noise.half_width)}
        return Program(stages.all, release.finish, errors, explained.protects, explained.relation)

    def strategies(self, setting: Setting, queries: int) -> tuple[Strategy, ...]:
        """Compare the strategies to explain many queries with this plan's budget."""
        explained = self.measured.explain(setting)
        if explained.sealed or self._asked_of_some:
            return ()
        return value_strategies(
            explained.engine,
            setting,
            queries=queries,
            noise_std=self.measured.noise_std(setting),
            epsilon=self.epsilon,
            delta=self.delta,
        )


@dataclass(frozen=True)
class _ValuesRelease:
    """Builds the attributions from the noisy sums of one prepared plan."""

    explained: Explained
    stages: MeanStages
    base_value: float | None

    def finish(self, releaser: Releaser) -> Attribution:
        """Ask for all stages in one pass over the rows, then divide and put the centres back."""
        explained = self.explained
        answers = releaser.answer(*self.stages.all)
        mean, each = (
            self._feasible(explained.mean(answers, self.stages, level, summed=self._total is not None))
            for level in (at_once(LEVEL, len(answers[0])), LEVEL)
        )
        values: FloatArray = mean.values.reshape(explained.centres.shape)
        return Attribution(
            features=explained.features,
            values=tuple(map(tuple, values.tolist())),
            base_values=tuple(self._base(values).tolist()),
            predictions=None
            if explained.predictions is None
            else tuple(explained.predictions.tolist()),
            data=explained.data,
            half_width=mean.half_width,
            level=LEVEL,
            noise_std=mean.std,
            quantity=f"SHAP value ({explained.engine.name} engine)",
            half_width_each=each.half_width,
        )

    @property
    def _total(self) -> FloatArray | None:
        """What the values of every query add up to, if it is public."""
        predictions = self.explained.predictions
        if self.base_value is None or predictions is None:
            return None
        return predictions - self.base_value

    def _feasible(self, mean: NoisyMean) -> NoisyMean:
        """Return what is feasible, and adds up if what it adds up to is public."""
        if self._total is not None:
            return self._adding_up(mean, self._total)
        return mean.within(*self.explained.limits)

    def _base(self, values: FloatArray) -> FloatArray:
        """Return what the values start from."""
        predictions = self.explained.predictions
        if predictions is None:  # a sealed query: the background's mean prediction is public
            assert self.explained.base_values is not None
            return self.explained.base_values
        if self.base_value is not None:
            return np.full(len(values), self.base_value)
        return np.asarray(predictions - values.sum(axis=1))

    def _adding_up(self, mean: NoisyMean, wanted: FloatArray) -> NoisyMean:
        """Return feasible values that add up: all of a query are shifted alike, then clipped.

        The shift of plain projection lowers the noise; by what clipping changes it the band is widened.
        """
        low, high = self.explained.limits
        shape = self.explained.centres.shape
        values = mean.values.reshape(shape)
        shift = _shift_to(wanted, values, low.reshape(shape), high.reshape(shape))
        plain = (wanted - values.sum(axis=1)) / shape[1]
        by, wider = (np.repeat(x, shape[1]) for x in (shift, np.abs(shift - plain)))
        return mean.moved(by, wider).within(low, high)


def _shift_to(wanted: FloatArray, values: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return by how much every row has to be shifted so that, clipped, it adds up as wanted."""
    least, most = (low - values).min(axis=1), (high - values).max(axis=1)
    for _ in range(100):
        middle = (least + most) / 2
        below = np.clip(values + middle[:, None], low, high).sum(axis=1) < wanted
        least, most = np.where(below, middle, least), np.where(below, most, middle)
    return np.asarray((least + most) / 2)
