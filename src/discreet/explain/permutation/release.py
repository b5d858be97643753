"""From noisy sums to importances and rankings; values to draw may have to be released first."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from discreet.explain.permutation.contribution import (
    PermutedLosses,
    ranking_contribution,
    value_contribution,
)
from discreet.explain.permutation.losses import Draws
from discreet.explain.permutation.noise import Difference, Order
from discreet.mechanisms import Noise
from discreet.plans import (
    Attribution,
    Expected,
    Perturbation,
    Program,
    Ranking,
    Releaser,
    Setting,
    Shared,
    Stage,
)
from discreet.plans.results.bands import LEVEL, at_once
from discreet.plans.stages import noisy_mean
from discreet.plans.stages.marginals import PairTables, TreeStages, tree_stages
from discreet.plans.stages.tree_rows import draw_rows
from discreet.privacy.certificate import Box
from discreet.randomness import public_generator
from discreet.schema import FloatArray

_BINS, _ROWS = 20, 1_000


@dataclass(frozen=True)
class Marginals:
    """Values to draw from that are themselves released: noisy counts of every feature's cells."""

    stages: TreeStages
    setting: Setting
    seed: int

    @classmethod
    def of(
        cls, setting: Setting, columns: tuple[str, ...], seed: int, epsilon: float, delta: float
    ) -> Marginals:
        """Lay out the cells and calibrate their noise."""
        cells = tuple(setting.schema[name].bins(_BINS) for name in columns)
        layout = PairTables(columns, cells, ())
        return cls(tree_stages(layout, setting, epsilon=epsilon, delta=delta), setting, seed)

    def unknown(self) -> Draws:
        """Return public values in place of those that are not released yet, to plan with."""
        schema, names = self.setting.schema, self.stages.layout.names
        return Draws.of(schema.draw(_ROWS)[:, [schema.position(n) for n in names]], self.seed)

    def ask(self, releaser: Releaser) -> Draws:
        """Release the counts and draw values from them.

        Guarantees:
          - Made of released counts and a public seed: what is drawn costs nothing more. [marginals]
        """
        tree = self.stages.ask(releaser)
        columns = [self.setting.schema[name] for name in self.stages.layout.names]
        rows = draw_rows(tree, columns, _ROWS, public_generator(self.seed))
        return Draws.of(rows, self.seed)


@dataclass(frozen=True)
class ValueRelease:
    """Builds importances from the noisy sums of one prepared plan."""

    permuted: PermutedLosses
    rows: int | None
    difference: Difference
    size: Stage[Noise] | None

    def with_draws(self, draws: Draws) -> ValueRelease:
        """Return it with values to draw that are known by now."""
        known, weight = replace(self.permuted, draws=draws), self.difference.weight
        stage = replace(self.difference.stage, contribution=value_contribution(known, weight))
        return replace(self, permuted=known, difference=replace(self.difference, stage=stage))

    @property
    def stages(self) -> tuple[Stage[Perturbation], ...]:
        """The sums, and the number of records where it is private."""
        return (self.difference.stage,) if self.size is None else (self.difference.stage, self.size)

    def finish(self, releaser: Releaser) -> Attribution:
        """Release sums in one pass over the rows; divide."""
        answers = releaser.answer(*self.stages)
        used, most = list(self.permuted.measured), self.permuted.scorer.most
        mean, each = (
            noisy_mean(
                self.difference.importances(answers[0]),
                self.difference,  # type: ignore[arg-type]  # a std and a half width are all it needs
                rows=self.rows,
                noisy_size=None if self.size is None else float(answers[1][0]),
                size_noise=None if self.size is None else self.size.noise,
                region=Box(-most, most),
                level=level,
            )
            for level in (at_once(LEVEL, len(used)), LEVEL)
        )
        values = np.zeros(len(self.permuted.model.columns))  # what the model does not read is exact
        values[used] = mean.values
        return Attribution(
            features=self.permuted.model.columns,
            values=(tuple(values.tolist()),),
            base_values=None,
            predictions=None,
            data=None,
            half_width=mean.half_width,
            level=LEVEL,
            noise_std=mean.std,
            quantity=f"permutation importance ({self.permuted.scorer.name})",
            half_width_each=each.half_width,
        )


@dataclass(frozen=True)
class RankingRelease:
    """Builds a ranking from the picks of one prepared plan."""

    permuted: PermutedLosses
    rows: int | None
    stage: Stage[Order]
    size: Stage[Noise] | None

    def with_draws(self, draws: Draws) -> RankingRelease:
        """Return it with values to draw that are known by now."""
        known = replace(self.permuted, draws=draws)
        stage = replace(self.stage, contribution=ranking_contribution(known))
        return replace(self, permuted=known, stage=stage)

    @property
    def stages(self) -> tuple[Stage[Perturbation], ...]:
        """The choice, and the number of records where it is private and needed."""
        return (self.stage,) if self.size is None else (self.stage, self.size)

    def finish(self, releaser: Releaser) -> Ranking:
        """Pick."""
        noise, answers = self.stage.noise, releaser.answer(*self.stages)
        chosen = answers[0][0]
        rows = self._rows(answers)
        gaps = None
        if noise.tells_gap:
            assert rows is not None
            gaps = (tuple(None if np.isnan(gap) else float(gap / rows) for gap in chosen[:, 1]),)
        features = self.permuted.model.columns
        return Ranking(
            features=features,
            order=(tuple(features[int(place)] for place in chosen[:, 0]),),
            gaps=gaps,
            values=None,
            half_width=None,
            level=LEVEL,
            expected_loss=None if rows is None else noise.std / rows,
            mechanism=noise.name,
        )

    def _rows(self, answers: list[FloatArray]) -> float | None:
        if self.size is None:
            return None if self.rows is None else float(self.rows)
        return max(float(answers[1][0]), 1.0)


def prepare_release(
    release: ValueRelease | RankingRelease,
    marginals: Marginals | None,
    expected: dict[str, Expected],
    assumed: tuple[str, ...],
) -> Program:
    """Return the question, after values to draw have been released, if there are none."""

    def program(known: ValueRelease | RankingRelease) -> Program:
        return Program(known.stages, known.finish, expected, assumptions=assumed)

    if marginals is None:
        return program(release)

    def ask(releaser: Releaser) -> Program:
        return program(release.with_draws(marginals.ask(releaser)))

    return Shared(marginals.stages.stages, program(release), ask).program()
