"""Private SHAP importance: the mean absolute SHAP value of every feature over the table.

The records are what is explained; the background they are explained against must be public or
released already, so that one record enters once: through its own vector of absolute values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.certificates import Box
from discreet.data import VectorContribution
from discreet.data.blocks import Block
from discreet.errors import ArgumentError
from discreet.explain.shap_parts import LEVEL, read_background
from discreet.explain.shapley.engines import Engine, choose_engine
from discreet.mechanisms import Noise, NoiseName
from discreet.models import Model, as_model
from discreet.numerics import check_choice, check_whole
from discreet.parts import noisy_mean, size_stage, sum_stage
from discreet.plans import Attribution, Plan, Program, Releaser, Setting, Stage, share_out
from discreet.schema import FloatArray

_VALUES_SHARE, _SIZE_SHARE = 0.9, 0.1


class ShapImportancePlan(Plan):
    """See ``shap_importance``."""

    kind = "shap_importance"

    def __init__(
        self,
        model: Model,
        background: Any,
        coalitions: int | None,
        seed: int,
        epsilon: float,
        delta: float,
        mechanism: NoiseName,
    ) -> None:
        super().__init__(epsilon, delta)
        check_choice("mechanism", mechanism, ("auto", "laplace", "gaussian"))
        if coalitions is not None:
            check_whole("coalitions", coalitions, 1, 2**20)
        check_whole("seed", seed, 0)
        if background is None:
            raise ArgumentError(
                "background must be public rows or a released dc.background(...), got none. "
                "Release a background first: it serves all later explanations."
            )
        self.model, self.mechanism = model, mechanism
        self.background = read_background(background)
        self.coalitions, self.seed = coalitions, seed

    def arguments(self) -> dict[str, Any]:
        """Return the question as plain data."""
        return {
            "model": self.model.describe(),
            "background": self.background.digest,
            "coalitions": self.coalitions,
            "seed": self.seed,
            "mechanism": self.mechanism,
        }

    def prepare(self, setting: Setting) -> Program:
        """Choose an engine, certify a record's absolute attributions and calibrate the noise."""
        model = self.model.bind(setting.schema)
        engine = choose_engine(model, setting.schema, coalitions=self.coalitions, seed=self.seed)
        background = self.background.encode(setting.schema, model.columns, check=False)
        contribution = importance_contribution(engine, background)
        shares = (_VALUES_SHARE, _SIZE_SHARE) if setting.rows is None else (1.0,)
        epsilons = share_out(self.epsilon, shares)
        values = sum_stage(
            "importance",
            contribution,
            setting,
            statement="shap-importance",
            epsilon=epsilons[0],
            delta=self.delta,
            mechanism=self.mechanism,
        )
        size = None
        if setting.rows is None:
            size = size_stage(model.columns[0], setting, epsilon=epsilons[1])
        release = _ImportanceRelease(engine, setting.rows, values, size)
        unit = "importance" + (" times number of records" if setting.rows is None else "")
        return Program(
            (values,) if size is None else (values, size),
            release.finish,
            {unit: values.noise.std / (setting.rows or 1)},
        )


@dataclass(frozen=True)
class _ImportanceRelease:
    """Builds the importances from the noisy sums of one prepared plan."""

    engine: Engine
    rows: int | None
    values: Stage[Noise]
    size: Stage[Noise] | None

    def finish(self, releaser: Releaser) -> Attribution:
        """Ask for all stages in one pass over the rows, divide, and raise negative values to zero."""
        stages = (self.values,) if self.size is None else (self.values, self.size)
        answers = releaser.answer(*stages)
        reach = self.values.contribution.certificate.sensitivity("linf", "add-remove")
        mean = noisy_mean(
            answers[0],
            self.values.noise,
            rows=self.rows,
            noisy_size=None if self.size is None else float(answers[1][0]),
            size_noise=None if self.size is None else self.size.noise,
            region=Box(-reach, reach),
            level=1 - (1 - LEVEL) / len(answers[0]),
        )
        return Attribution(
            features=self.engine.model.columns,
            values=(tuple(np.maximum(mean.values, 0.0).tolist()),),
            base_values=None,
            predictions=None,
            data=None,
            half_width=mean.half_width,
            level=LEVEL,
            noise_std=mean.std,
            quantity=f"mean |SHAP value| ({self.engine.name} engine)",
        )


def importance_contribution(engine: Engine, background: FloatArray) -> VectorContribution:
    """Return what one explained record adds: |phi(record; background)|.

    Guarantees:
      - The certificate of rows against a public background. [shap-importance]
    """
    proven = engine.certify_rows(background)
    explain = engine.against(background)

    def compute(block: Block) -> FloatArray:
        return np.abs(explain(np.ascontiguousarray(block.values)))

    return VectorContribution(
        columns=engine.model.columns,
        size=engine.features,
        region=Box(0.0, proven.sensitivity("linf", "add-remove")),
        fill=0.0,
        compute=compute,
        foreign=engine.foreign,
        grain=engine.grain,
        proven=proven,
    )


def shap_importance(
    model: Any,
    *,
    background: Any,
    coalitions: int | None = None,
    seed: int = 0,
    epsilon: float,
    delta: float = 0.0,
    mechanism: NoiseName = "auto",
) -> ShapImportancePlan:
    """Plan the mean absolute SHAP value of every feature over all records of the table.

    Args:
      model: an estimator, a pipeline, or a ``dc.Model`` with bounds.
      background: public rows, or a released ``dc.background(...)``, which records are explained
        against. The table itself cannot be its own background: a record would enter twice.
      coalitions: see ``shap_values``.
      seed: of the public coalitions.
      epsilon: the whole budget of the plan, the number of records under add-remove included.
      delta: zero for a pure guarantee; with a delta Gaussian noise gains on many features.
      mechanism: ``laplace``, ``gaussian``, or ``auto``: the one with less noise.

    Guarantees:
      - Replacing one of n records moves every importance by at most r/n for a model with range r, in
        L1 and L2 as SHAP values themselves. [shap-importance]
    """
    return ShapImportancePlan(as_model(model), background, coalitions, seed, epsilon, delta, mechanism)
