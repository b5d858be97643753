"""Private permutation importance: how much worse a model gets when a feature tells it nothing.

The importance of a feature is the mean loss with its values permuted among records, less the mean
loss. Permuted by a public order, a record enters its own loss and that of the record which got its
value; drawn from values that are public or released already, it enters its own alone.

Deviations from "Tailoring Differential Privacy to Any Explainer" (2024): the loss is subtracted,
released once beside all features; noise for all features is calibrated jointly; several permutations
are averaged at no price; targets are clipped as well as answers; a ranking is chosen, or read off sums
that the K-norm mechanism releases; and under add-remove, where an order of rows protects nobody, values
are drawn.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from typing import Annotated, Any, ClassVar, Literal, get_args

from discreet.engines.table import engine_for
from discreet.errors import ArgumentError
from discreet.explain.clipping import Clip
from discreet.explain.permutation.contribution import (
    PermutedLosses,
    clip_bias,
    ranking_clip,
    ranking_stage,
    value_noise,
)
from discreet.explain.permutation.losses import Draws, Scoring, choose_scorer
from discreet.explain.permutation.release import (
    Marginals,
    RankingRelease,
    ValueRelease,
    prepare_release,
)
from discreet.explain.shap.bounds.records import PUBLIC_BACKGROUND
from discreet.explain.shap.parts import read_background
from discreet.mechanisms import Noise, NoiseName
from discreet.mechanisms.additive.registry import noise_names
from discreet.mechanisms.selection.ranking import ORDERS, OrderName
from discreet.mechanisms.selection.registry import tells_gap
from discreet.numerics import check_choice, check_whole
from discreet.plans import Program, Setting, Stage, share_out
from discreet.plans.expected import of_mean, of_mean_choice
from discreet.plans.held import FittedModel, Rows
from discreet.plans.kinds import UNSAID, Delta, Epsilon, OneOf, Positive, Whole, checked_later
from discreet.plans.parts import PartPlan
from discreet.plans.stages import size_stage
from discreet.plans.stages.counts import SIZE_SHARE
from discreet.plans.stages.parts import may_lack, part_stage

Sampling = Literal["auto", "permutation", "marginal"]
Wanted = Literal["values", "ranking"]

_MARGINAL_SHARE = 0.2
_LOSS = "the greatest loss"
_CLIPS = "Or use 'auto', or None for the greatest loss."
_MECHANISMS = tuple(dict.fromkeys((*noise_names(), *ORDERS)))


class permutation_importance(PartPlan):
    """Plan how much a model's mean loss grows when the values of a feature are permuted.

    Args:
      model: an estimator, a pipeline, or a ``dc.Model`` with bounds. The schema names the target;
        losses are those of records that have one, values are permuted among all.
      scoring: ``squared_error`` or ``absolute_error`` of values, ``brier``, ``log_loss`` (at most
        log 100 for a record) or ``zero_one`` of probabilities; ``auto`` is ``squared_error`` or
        ``brier``.
      repeats: permutations that are averaged; more of them cost time, not privacy.
      sampling: ``permutation`` permutes values among the records (replace-one alone); ``marginal``
        draws them from ``background``, which halves the bound and holds under both relations, for
        parts, groups and persons. ``auto`` permutes where that is allowed and no background is given.
      release: ``values`` with noise bands, or the ``ranking`` alone, which is cheaper.
      k: how many features a ranking has, best first; all of them if left out.
      background: public rows or a released ``dc.background(...)`` to draw from. Left out where values
        are drawn, noisy counts of every feature are released first, for a fifth of epsilon; groups
        share them.
      clip: lower the greatest loss of one record to this: less noise, and a bias where records exceed
        it. ``auto`` takes what ranks rows drawn from the schema best, for rankings of models whose
        output is a value (replace-one); None the greatest loss.
      seed: of the public order or the draws.
      epsilon: the whole budget of the plan; a tenth of it is for the number of records where that is
        private: under add-remove, and where the target may be missing.
      delta: zero for a pure guarantee; with a delta Gaussian noise gains on many features.
      mechanism: ``laplace``, ``gaussian``, ``linf``, or ``auto``: the least noise; for a ranking
        ``exponential``, ``permute-and-flip``, ``laplace`` (tells the gaps too), ``sorted`` (or
        ``sorted linf`` and so on, with that noise) or ``auto``, which sorts noisy sums where most of
        the order is wanted: each moves by no more than the others, so that the K-norm mechanism
        (``linf``) has less than half the width of Laplace noise.

    Guarantees:
      - Replacing one of n records moves a mean permuted loss by at most 2 L/n and the mean loss by
        L/n, L the greatest loss, however many repeats. [pfi] [pfi-loss-once]
      - Drawn from public or released values L/n each, and half of it under add-remove. [pfi-marginal]
      - A ranking needs the bound of one permuted loss. [pfi-ranking] [box]
      - Records without a target change none of it; how many have one is private. [pfi-part] [part]
    """

    model: FittedModel
    _: KW_ONLY
    scoring: Annotated[Scoring, OneOf(get_args(Scoring), by=checked_later)] = "auto"
    repeats: Annotated[int, Whole(1, 1_000)] = 5
    sampling: Annotated[Sampling, OneOf(get_args(Sampling))] = "auto"
    release: Annotated[Wanted, OneOf(get_args(Wanted))] = "values"
    k: Annotated[int | None, Whole(1, optional=True)] = None
    background: Annotated[Any, Rows(read_background, optional=True)] = None
    clip: Annotated[Clip, Positive(auto=True, optional=True, hint=_CLIPS)] = "auto"
    seed: Annotated[int, Whole(0, 2**64 - 1)] = 0
    epsilon: Epsilon = UNSAID
    delta: Delta = 0.0
    mechanism: Annotated[NoiseName | OrderName, OneOf(_MECHANISMS, by=checked_later)] = "auto"

    clips: ClassVar = (("clip", None),)

    def settle(self) -> dict[str, Any]:
        """Check what belongs to rankings alone, and to values that are drawn alone."""
        ranked = self.release == "ranking"
        check_choice("mechanism", self.mechanism, ORDERS if ranked else noise_names())
        if self.k is not None and not ranked:
            raise ArgumentError(f"k must be left out unless release='ranking', got {self.k!r}.")
        if self.background is not None and self.sampling == "permutation":
            raise ArgumentError(
                "background must be left out of sampling='permutation', got rows: values come from the "
                "table. Use 'auto' or 'marginal'."
            )
        return {}

    def prepare_whole(self, setting: Setting) -> Program:
        """Choose a loss and an engine, certify what a record adds and calibrate the noise."""
        if self.sampling == "permutation" and not _may_permute(setting):
            raise ArgumentError(
                "sampling must be 'auto' or 'marginal' for parts, groups and persons and under "
                "add-remove, got 'permutation': without one record others have other partners, and no "
                "bound holds."
            )
        shares = self._shares(setting)
        permuted, marginals = self._permuted_losses(setting, shares)
        if self.release == "ranking":
            return self._ranked(permuted, marginals, setting, shares)
        epsilon, delta = shares["answer"]
        law: NoiseName = self.mechanism  # type: ignore[assignment]  # checked for this release
        difference = value_noise(permuted, setting, epsilon=epsilon, delta=delta, mechanism=law)
        size = _size(setting, permuted, shares)
        rows = _public_rows(setting)
        release = ValueRelease(permuted, rows, difference, size)
        error = of_mean(
            difference.half_width,
            rows,
            self._greatest_loss(permuted, setting),
            _LOSS,
            bias=self._bias(permuted, setting),
            together=len(permuted.measured),
        )
        return prepare_release(release, marginals, {"importance": error}, self._assumed)

    def _ranked(
        self,
        permuted: PermutedLosses,
        marginals: Marginals | None,
        setting: Setting,
        shares: dict[str, tuple[float, float]],
    ) -> Program:
        features = len(permuted.model.columns)
        k = features if self.k is None else self.k
        check_whole("k", k, 1, features, "There are no more features.")
        epsilon, delta = shares["answer"]
        law: OrderName = self.mechanism  # type: ignore[assignment]  # checked for this release
        stage = ranking_stage(permuted, setting, k=k, epsilon=epsilon, delta=delta, mechanism=law)
        if self.clip == "auto" and setting.rows is not None:
            spread = stage.noise.spread / setting.rows
            clip = ranking_clip(permuted, setting.schema, k=k, spread=spread)
            scorer = choose_scorer(permuted.model, setting.schema, self.scoring, clip)
            permuted = replace(permuted, scorer=scorer)
            stage = ranking_stage(permuted, setting, k=k, epsilon=epsilon, delta=delta, mechanism=law)
        size = _size(setting, permuted, shares)
        rows = _public_rows(setting)
        release = RankingRelease(permuted, rows, stage, size)
        lost = of_mean_choice(stage.noise.std, rows, self._greatest_loss(permuted, setting), _LOSS)
        errors = {"importance lost by a wrong choice": lost}
        return prepare_release(release, marginals, errors, self._assumed)

    def _drawn(self, setting: Setting) -> bool:
        """Say whether values are drawn, and not permuted among the records."""
        if self.sampling == "auto":
            return self.background is not None or not _may_permute(setting)
        return self.sampling == "marginal"

    @property
    def _assumed(self) -> tuple[str, ...]:
        return () if self.background is None else (PUBLIC_BACKGROUND,)

    def _greatest_loss(self, permuted: PermutedLosses, setting: Setting) -> float:
        return choose_scorer(permuted.model, setting.schema, self.scoring, None).most

    def _bias(self, permuted: PermutedLosses, setting: Setting) -> float:
        """Return what a clip that was given changes on public rows."""
        if self.clip is None or self.clip == "auto":
            return 0.0
        whole = choose_scorer(permuted.model, setting.schema, self.scoring, None)
        return clip_bias(permuted, replace(permuted, scorer=whole), setting.schema)

    def _shares(self, setting: Setting) -> dict[str, tuple[float, float]]:
        """Return what every stage may spend; the number of records is Laplace and needs no delta."""
        own_values = self._drawn(setting) and self.background is None
        # A ranking says nothing that has to be divided, unless it tells gaps.
        divided = self.release == "values" or tells_gap(self.mechanism)
        weights = {"marginals": _MARGINAL_SHARE} if own_values else {}
        weights |= {"size": SIZE_SHARE} if _public_rows(setting) is None and divided else {}
        weights = {"answer": 1 - sum(weights.values())} | weights
        epsilons = share_out(self.epsilon, tuple(weights.values()))
        deltas = share_out(self.delta, tuple(w * (n != "size") for n, w in weights.items()))
        return dict(zip(weights, zip(epsilons, deltas, strict=True), strict=True))

    def _permuted_losses(
        self, setting: Setting, shares: dict[str, tuple[float, float]]
    ) -> tuple[PermutedLosses, Marginals | None]:
        schema, model = setting.schema, self.model.bind(setting.schema)
        clip = None if self.clip == "auto" else self.clip
        scorer = choose_scorer(model, schema, self.scoring, clip)
        marginals, draws = None, None
        if self.background is not None:
            rows = self.background.encode(schema, model.columns, check=False)
            draws = Draws.of(rows, self.seed)
        elif self._drawn(setting):
            marginals = Marginals.of(setting, model.columns, self.seed, *shares["marginals"])
            draws = marginals.unknown()
        assert schema.target is not None
        engine = engine_for("permute", model)
        permuted = PermutedLosses(model, engine, scorer, schema.target, self.repeats, self.seed, draws)
        return permuted, marginals


def _may_permute(setting: Setting) -> bool:
    """Say whether all other records keep their places, and so their partners."""
    return setting.relation.rows_public and setting.relation.keeps_places


def _size(
    setting: Setting, permuted: PermutedLosses, shares: dict[str, tuple[float, float]]
) -> Stage[Noise] | None:
    if "size" not in shares:
        return None
    if may_lack(setting.schema[permuted.target]):
        return part_stage((permuted.target,), setting, epsilon=shares["size"][0])
    return size_stage(permuted.model.columns[0], setting, epsilon=shares["size"][0])


def _public_rows(setting: Setting) -> int | None:
    """Return how many records have a target, if that is public."""
    target = setting.schema.target
    return None if target is not None and may_lack(setting.schema[target]) else setting.rows
