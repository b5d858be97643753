"""The published way to private SHAP values, as labelled baselines: f at the background's mean.

The value function is v(S) = f(x on S, mean of the background elsewhere); noise is added to the
attributions of each query. Two calibrations:

* ``gaussian`` (Mechanism A of Alissaiei 2026): certified by the operator bound. For trees that bound
  does not shrink with the number of records, because a mean that crosses a split jumps.
* ``bootstrap`` (Mechanism B, Algorithm 1): noise from resampled private rows. A heuristic: it is
  stamped ``certified: false`` and refused unless the owner allows heuristics.

``shap_values`` and ``background`` are better in every respect; these exist to be compared with. The
published third way, Gaussian noise and then the argmax, is ``release.value.ranking(1)``.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, get_args

import numpy as np

from discreet.data import WholeContribution
from discreet.engines.shapley.bootstrap import bootstrap_sensitivity
from discreet.engines.shapley.kernel import kernel_values
from discreet.errors import ArgumentError
from discreet.explain.shap.bounds.operator import bound_logistic_background, bound_operator_range
from discreet.explain.shap.engines import KernelEngine, choose_engine
from discreet.explain.shap.parts import Seed
from discreet.explain.shap.queries import Queries, read_queries
from discreet.mechanisms import sum_noise
from discreet.mechanisms.lattice import lattice_step
from discreet.numerics import check_positive, check_probability
from discreet.plans import Attribution, Perturbation, Program, Releaser, Setting, Stage
from discreet.plans.declaration import DeclaredPlan
from discreet.plans.expected import OUTPUT, Expected
from discreet.plans.held import FittedModel, Rows
from discreet.plans.kinds import UNSAID, Epsilon, OneOf, Positive, Probability, Whole
from discreet.plans.results.bands import LEVEL
from discreet.privacy.accounting import ApproximateEvent
from discreet.privacy.certificate import Ball, Bounds, Box, Certificate
from discreet.privacy.relation import REPLACE_ONE, Relation
from discreet.randomness import IntArray, NoiseSource
from discreet.schema import FloatArray

Method = Literal["gaussian", "bootstrap"]
_NOTHING_PROVEN = "nothing is proven: the noise was calibrated on the private rows themselves"
_HAIR = 1 + 1e-9
"""What clipping and the mean lose in floats."""


def _one_query(x: Any) -> Queries:
    query = read_queries(x)
    if len(query) != 1:
        raise ArgumentError(f"x must be one query for a baseline, got {len(query)}.")
    return query


def _positive_delta(name: str, delta: Any) -> float:
    check_probability(name, delta)
    check_positive(name, delta, "The published mechanisms add Gaussian noise.")
    return float(delta)


class shap_baseline(DeclaredPlan):
    """Plan SHAP values as they were published, to compare with ``shap_values``.

    Args:
      model: an estimator, a pipeline, or a ``dc.Model`` with bounds.
      x: one query.
      method: ``gaussian`` (certified) or ``bootstrap`` (heuristic: refused unless the owner protects
        the table with ``heuristics=True``, and stamped ``certified: false``).
      clip: radius of the L2 ball records are shrunk into, in encoded units.
      coalitions: number of masks.
      resamples: of the bootstrap.
      seed: of the masks and the bootstrap.
      epsilon: the whole budget of the plan.
      delta: must be positive.

    Guarantees:
      - ``gaussian``: the operator bound, for logistic models with the change of the mean, for all
        others with the whole range. [shap-operator] [shap-logistic-background]
      - ``bootstrap``: none.
    """

    model: FittedModel
    x: Annotated[Any, Rows(_one_query, inline=True, also="query")]
    _: KW_ONLY
    method: Annotated[Method, OneOf(get_args(Method))] = "gaussian"
    clip: Annotated[float, Positive(hint="Records are shrunk into an L2 ball of this radius.")]
    coalitions: Annotated[int, Whole(1, 2**20)] = 400
    resamples: Annotated[int, Whole(2)] = 400
    seed: Seed = 0
    epsilon: Epsilon = UNSAID
    delta: Annotated[float, Probability(by=_positive_delta)] = 0.0

    whole_only: ClassVar = "It is taken from the literature, for all records."

    def prepare(self, setting: Setting) -> Program:
        """Certify the attributions at the mean, or refrain from it, and calibrate."""
        if setting.rows is None:
            raise ArgumentError(
                "A baseline must know the number of records, which add-remove keeps private. "
                "Use dc.shap_values, or a data set with relation='replace-one'."
            )
        model = self.model.bind(setting.schema)
        engine = choose_engine(model, setting.schema, coalitions=self.coalitions, seed=self.seed)
        assert isinstance(engine, KernelEngine)
        # The publication knows numbers alone: what is missing gets a public value.
        query = model.filled(self.x.encode(setting.schema, model.columns))
        stage = (
            self._gaussian(engine, query, setting.rows)
            if self.method == "gaussian"
            else self._bootstrap(engine, query)
        )
        prediction = float(engine.predict(query)[0])

        def finish(releaser: Releaser) -> Attribution:
            noisy = releaser.answer(stage)[0]
            return Attribution(
                features=model.columns,
                values=(tuple(noisy.tolist()),),
                base_values=(prediction - float(noisy.sum()),),
                predictions=(prediction,),
                data=self.x.shown(model.columns),
                half_width=width,
                level=LEVEL,
                noise_std=stage.noise.std,
                quantity=f"SHAP value at the mean (baseline: {self.method})",
                half_width_each=stage.noise.std * math.sqrt(2 * math.log(2 / (1 - LEVEL))),
            )

        width = stage.noise.std * math.sqrt(2 * math.log(2 * engine.features / (1 - LEVEL)))
        error = Expected(width, engine.model.bounds.width, OUTPUT, joint=True)
        return Program((stage,), finish, {"attribution": error})

    def _gaussian(self, engine: KernelEngine, query: FloatArray, rows: int) -> Stage[Perturbation]:
        def attributions(records: FloatArray) -> FloatArray:
            return self._at_mean(engine, query, records)

        certificate = self._certify(engine, rows)
        bound = _largest_attribution(engine)
        contribution = WholeContribution(
            engine.model.columns,
            engine.features,
            Box(-bound, bound),
            0.0,
            attributions,
            certificate,
            pulse=engine.pulse,
        )
        noise = sum_noise(
            certificate,
            relation=REPLACE_ONE,
            epsilon=self.epsilon,
            delta=self.delta,
            mechanism="gaussian",
            largest_sum=bound,
        )
        return Stage("values", contribution, noise)

    def _certify(self, engine: KernelEngine, rows: int) -> Certificate:
        form = engine.model.weighted_sum
        if form is not None:
            found = bound_logistic_background(
                form.weights, engine.masks, clip=self.clip * _HAIR, rows=rows, slope=form.slope
            )
        else:
            found = bound_operator_range(engine.masks, engine.box)
        return found.widen(2 * engine.rounding, "shap-rounding")

    def _bootstrap(self, engine: KernelEngine, query: FloatArray) -> Stage[Perturbation]:
        found = bound_operator_range(engine.masks, engine.box)
        greatest = found.sensitivity("l2", REPLACE_ONE)

        def attributions_and_scale(records: FloatArray) -> FloatArray:
            seen = bootstrap_sensitivity(
                engine.predictor,
                query[0],
                Ball(self.clip, "l2").clip(engine.model.filled(records)),
                engine.masks,
                greatest=greatest,
                resamples=self.resamples,
                seed=self.seed,
            )
            scale = seen.noise_scale(self.epsilon, self.delta)
            return np.append(self._at_mean(engine, query, records), scale)

        unproven = Certificate(
            (),
            engine.features + 1,
            {REPLACE_ONE: Bounds(greatest, greatest, greatest)},
            (_NOTHING_PROVEN,),
            certified=False,
        )
        coarse = _BootstrapNoise(unproven, self.epsilon, self.delta, 1.0)
        most = max(
            _largest_attribution(engine), 100 * coarse.std
        )  # the last coordinate is the noise's own scale
        contribution = WholeContribution(
            engine.model.columns,
            engine.features + 1,
            Box(-most, most),
            0.0,
            attributions_and_scale,
            unproven,
            pulse=engine.pulse,
        )
        return Stage("values", contribution, replace(coarse, step=lattice_step(most, most)))

    def _at_mean(self, engine: KernelEngine, query: FloatArray, records: FloatArray) -> FloatArray:
        clipped = Ball(self.clip, "l2").clip(engine.model.filled(records))
        found = kernel_values(
            engine.predictor, query, clipped, engine.masks, value="mean", bounds=engine.box
        )
        return np.asarray(found[0])


@dataclass(frozen=True)
class _BootstrapNoise:
    """Gaussian noise whose scale is the last coordinate of the sum: private, and so proves nothing."""

    certificate: Certificate
    epsilon: float
    delta: float
    step: float
    relation: Relation = REPLACE_ONE

    name = "gaussian, bootstrap-calibrated (heuristic)"

    @property
    def events(self) -> tuple[ApproximateEvent]:
        """What the accountant is told: what the publication hopes for."""
        return (ApproximateEvent(self.epsilon, self.delta, self.name),)

    @property
    def std(self) -> float:
        """An upper bound: the real scale is private."""
        return (
            self.certificate.sensitivity("l2", self.relation)
            * math.sqrt(2 * math.log(1.25 / self.delta))
            / self.epsilon
        )

    def release(self, raw_steps: IntArray, source: NoiseSource) -> FloatArray:
        """Return the attributions with noise of the private scale."""
        scale = max(1.0, float(raw_steps[-1]))
        noisy = np.asarray(raw_steps[:-1]) + source.gaussian(scale, len(raw_steps) - 1)
        return noisy.astype(np.float64) * self.step


def _largest_attribution(engine: KernelEngine) -> float:
    """Return a bound on every attribution."""
    return float(np.abs(engine.masks.operator).sum(axis=1).max()) * engine.box.magnitude * 1.01
