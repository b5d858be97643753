"""Private SHAP importance: the mean absolute SHAP value of every feature over the table.

The records are what is explained; the background they are explained against must be public or
released already, so that one record enters once: through its own vector of absolute values.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from discreet.data import ModelCalls, VectorContribution
from discreet.data.blocks import Block
from discreet.explain.clipping import (
    choose_clip,
    clip_vectors,
    clipped,
    clipped_lipschitz,
    mixed_rows,
    moved_by_clip,
    public_rows,
)
from discreet.explain.shap.engines import ShapEngine, choose_engine
from discreet.explain.shap.parts import (
    Coalitions,
    Seed,
    VectorClip,
    need_background,
)
from discreet.mechanisms import sum_noise
from discreet.plans import Attribution, Program, Releaser, Setting
from discreet.plans.expected import OUTPUT, of_mean
from discreet.plans.held import FittedModel, Rows
from discreet.plans.kinds import UNSAID, Delta, Epsilon, NoiseChoice
from discreet.plans.parts import PartPlan
from discreet.plans.results.bands import LEVEL, at_once
from discreet.plans.stages import MeanStages
from discreet.privacy.certificate import Box, Certificate
from discreet.privacy.relation import ADD_REMOVE
from discreet.schema import FloatArray


class shap_importance(PartPlan):
    """Plan the mean absolute SHAP value of every feature over all records of the table.

    Args:
      model: an estimator, a pipeline, or a ``dc.Model`` with bounds.
      background: public rows, or a released ``dc.background(...)``, which records are explained
        against. The table itself cannot be its own background: a record would enter twice.
      clip: bound on the length of one record's vector; ``auto`` and None as for ``shap_values``.
      coalitions: see ``shap_values``.
      seed: of the public coalitions.
      epsilon: the whole budget of the plan, the number of records under add-remove included.
      delta: zero for a pure guarantee; with a delta Gaussian noise gains on many features.
      mechanism: ``laplace``, ``gaussian``, ``linf``, or ``auto``: the one with less noise.

    Guarantees:
      - Replacing one of n records moves every importance by at most r/n for a model with range r, in
        L1 and L2 as SHAP values themselves. [shap-importance]
    """

    model: FittedModel
    _: KW_ONLY
    background: Annotated[Any, Rows(need_background, mark="rows ")]
    clip: VectorClip = "auto"
    coalitions: Coalitions = None
    seed: Seed = 0
    epsilon: Epsilon = UNSAID
    delta: Delta = 0.0
    mechanism: NoiseChoice = "auto"

    clips: ClassVar = (("clip", None),)

    def prepare_whole(self, setting: Setting) -> Program:
        """Choose an engine, certify a record's absolute attributions and calibrate the noise."""
        model = self.model.bind(setting.schema)
        engine = choose_engine(model, setting.schema, coalitions=self.coalitions, seed=self.seed)
        background = self.background.encode(setting.schema, model.columns, check=False)
        clip = self._clip(engine, background, setting)
        contribution = importance_contribution(engine, background, clip)
        stages = MeanStages.of(
            "importance",
            contribution,
            setting,
            counted=model.columns[0] if setting.rows is None else None,
            statement="shap-importance",
            epsilon=self.epsilon,
            delta=self.delta,
            mechanism=self.mechanism,
        )
        error = of_mean(
            stages.sums.noise.half_width,
            setting.rows,
            model.bounds.width,
            OUTPUT,
            bias=self._bias(engine, background, contribution, setting),
            together=engine.features,
        )
        release = _ImportanceRelease(engine, setting.rows, stages)
        return Program(stages.all, release.finish, {"importance": error})

    def _bias(
        self, engine: ShapEngine, background: FloatArray, clipped: VectorContribution, setting: Setting
    ) -> float:
        """Return what a clip that was given changes on public rows; a chosen one leaves them whole."""
        if self.clip is None or self.clip == "auto":
            return 0.0
        return moved_by_clip(importance_contribution(engine, background), clipped, setting.schema)

    def _clip(self, engine: ShapEngine, background: FloatArray, setting: Setting) -> float | None:
        if self.clip != "auto":
            return self.clip

        def noise_of(certificate: Certificate) -> float:
            noise = sum_noise(
                certificate,
                relation=setting.relation,
                epsilon=self.epsilon,
                delta=self.delta,
                mechanism=self.mechanism,
                largest_sum=1.0,
            )
            return noise.std

        rows = public_rows(setting.schema, engine.model.columns)
        rows = np.concatenate([rows, mixed_rows(rows, background)])
        return choose_clip(
            np.abs(engine.against(background)(rows)),
            engine.certify_rows(background),
            "l2",
            noise_of=noise_of,
        )


@dataclass(frozen=True)
class _ImportanceRelease:
    """Builds the importances from the noisy sums of one prepared plan."""

    engine: ShapEngine
    rows: int | None
    stages: MeanStages

    def finish(self, releaser: Releaser) -> Attribution:
        """Ask for all stages in one pass over the rows, divide, and clip to what is feasible."""
        answers = releaser.answer(*self.stages.all)
        bound = self.stages.sums.contribution.certificate.sensitivity("linf", ADD_REMOVE)
        mean, each = (
            self.stages.divide(answers, self.rows, Box(-bound, bound), level).within(0.0, bound)
            for level in (at_once(LEVEL, len(answers[0])), LEVEL)
        )
        return Attribution(
            features=self.engine.model.columns,
            values=(tuple(mean.values.tolist()),),
            base_values=None,
            predictions=None,
            data=None,
            half_width=mean.half_width,
            level=LEVEL,
            noise_std=mean.std,
            quantity=f"mean |SHAP value| ({self.engine.name} engine)",
            half_width_each=each.half_width,
        )


def importance_contribution(
    engine: ShapEngine, background: FloatArray, clip: float | None = None
) -> VectorContribution:
    """Return what one explained record adds: |phi(record; background)|, shrunk to length ``clip``.

    Guarantees:
      - The certificate of rows against a public background. [shap-importance]
    """
    proven = clipped(engine.certify_rows(background), clip, "l2")
    explain = engine.against(background)

    def compute(block: Block) -> FloatArray:
        vectors = np.abs(explain(np.ascontiguousarray(block.values)))
        return vectors if clip is None else clip_vectors(vectors, clip, "l2")

    lipschitz = clipped_lipschitz(engine.lipschitz, clip, "l2", engine.features)
    return VectorContribution(
        columns=engine.model.columns,
        size=engine.features,
        region=Box(0.0, proven.sensitivity("linf", ADD_REMOVE)),
        fill=0.0,
        compute=compute,
        proven=proven,
        calls=ModelCalls(engine.third_party, lipschitz),
    )
