"""Private SHAP rankings: which features mattered most.

Scores are absolute values of the summed attributions. Choosing needs noise for the greatest change of
one coordinate only, however many there are, once for every place: far less than noise on all values for
the first place, and no less for many places. Then all values are released, and sorted.

Deviations from Alissaiei (2026): certified for every bounded model through the interventional value
function; permute-and-flip; a noisy gap that costs nothing; a thresholded mode without assumptions on
how the support changes.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from functools import cached_property
from typing import Annotated, Any

from discreet.errors import ArgumentError
from discreet.explain.clipping import ClipNorm
from discreet.explain.shap.choices import (
    Ranked,
    SelectedRelease,
    SortedRelease,
    SupportRelease,
    diagnose_ranking,
    selected_stage,
)
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
from discreet.explain.shap.planner import ranking_strategies
from discreet.explain.shap.queries import Query, Radius
from discreet.explain.shap.values import Measured
from discreet.mechanisms import Noise, NoiseName, RankingName, SupportTest, ranking_noise
from discreet.mechanisms.lattice import certify_rounded, lattice_step
from discreet.mechanisms.selection.ranking import ORDERS, SORTED, OrderName, as_picks, sorting_is_better
from discreet.mechanisms.selection.registry import tells_gap
from discreet.numerics import check_whole
from discreet.plans import Diagnosis, ExactSums, Program, Result, Setting, Stage, Strategy, share_out
from discreet.plans.expected import OUTPUT, of_choice, of_mean_choice
from discreet.plans.held import FittedModel
from discreet.plans.kinds import UNSAID, Delta, Epsilon, OneOf, Positive, Switch, Whole
from discreet.plans.parts import WherePlan
from discreet.plans.results.attribution import OfQueries
from discreet.plans.stages import MeanStages, size_stage, sum_terms
from discreet.plans.stages.counts import SIZE_SHARE
from discreet.privacy.certificate import Certificate

_STATEMENT = "shap-contribution"
_RELEASED = "Features whose attribution exceeds it are released."


class shap_ranking(WherePlan):
    """Plan the ``k`` features that mattered most for a query, with the table as the background.

    Args:
      model: an estimator, a pipeline, or a ``dc.Model`` with bounds.
      x: the query, or up to 1,000 of them; see ``shap_values``.
      k: how many features, best first.
      magnitudes: release noisy attributions of the chosen features too, for half of epsilon.
      threshold: instead of k: all features whose absolute attribution exceeds this public number, with
        noisy values, if that set is stable (else nothing); needs a delta. ``clip="auto"`` then means
        no clip.
      clip: bound on one record's attribution of one feature, in the unit of the output: better choices
        for a bias where records exceed it; ``auto`` and None as for ``shap_values``.
      coalitions: see ``shap_values``.
      seed: of the public coalitions.
      protects: ``background`` or ``query``; see ``shap_values``.
      background: public rows, for ``protects="query"`` alone.
      radius: see ``shap_values``.
      epsilon: the whole budget of the plan: all queries, all places, magnitudes included.
      delta: zero for a pure guarantee; with a delta many choices are cheaper together.
      mechanism: ``exponential`` (one shot of Gumbel noise), ``permute-and-flip``, ``laplace`` (also
        gives the noisy gap of each choice, for free), ``sorted``: noise on all values, in L2 where
        there is a delta, whose order is then free, and so are the values (``sorted laplace`` and so on
        say which noise); or ``auto``: the one that
        puts the least noise on a score, picks for the first one or two and ``sorted`` for many.

    Guarantees:
      - Choices are epsilon-differentially private for the bound on one coordinate: (2 - 1/d) r/n for
        a model with range r. [shap-contribution] [top-k]
      - The noisy gap costs nothing beyond. [free-gap]
      - Sorted: as ``shap_values`` with the same budget; an order follows from what was released.
        [shap-l1] [shap-l2]
      - With a threshold: (epsilon, delta) by propose-test-release. [ptr]
    """

    model: FittedModel
    x: Query
    _: KW_ONLY
    k: Annotated[int, Whole(1)] = 1
    magnitudes: Switch = False
    threshold: Annotated[float | None, Positive(optional=True, hint=_RELEASED)] = None
    clip: VectorClip = "auto"
    coalitions: Coalitions = None
    seed: Seed = 0
    protects: Side = "background"
    background: PublicRows = None
    radius: Radius = None
    epsilon: Epsilon = UNSAID
    delta: Delta = 0.0
    mechanism: Annotated[OrderName, OneOf(ORDERS)] = "auto"

    def settle(self) -> dict[str, Any]:
        """Check what protecting a query, and what a threshold, need of the others."""
        check_sides(self.protects, self.background, self.radius)
        if self.threshold is not None and self.delta == 0:
            raise ArgumentError(
                "delta must be positive with a threshold, got 0: a support is released exactly if it "
                "is stable, which a pure guarantee does not allow. Give a delta, or use k."
            )
        if self.threshold is not None and len(self.x) > 1:
            raise ArgumentError(
                f"x must be one query with a threshold, got {len(self.x)}. "
                "Release a list of plans instead."
            )
        return {}

    def arguments(self) -> dict[str, Any]:
        """Return the arguments that define the answer, as plain data."""
        return without_background(super().arguments())

    @cached_property
    def question(self) -> ShapQuestion:
        """Who is explained by what, and against whom."""
        return ShapQuestion(
            self.model, self.x, self.background, self.radius, self.coalitions, self.seed
        )

    def label(self, value: Result) -> Result:
        """Return the answers with the index of the frame that was asked about."""
        return value.labelled(self.x.labels) if isinstance(value, OfQueries) else value

    def prepare_whole(self, setting: Setting) -> Program:
        """Choose an engine, certify the vectors of all queries and calibrate the choices."""
        if self.threshold is not None:
            return self._thresholded(self._explain(setting), setting, self.threshold)
        release = self.choose(setting)
        explained = release.explained
        width = explained.engine.model.bounds.width
        errors = {
            "attribution lost by a wrong choice": of_mean_choice(
                release.lost, explained.rows, width, OUTPUT
            )
        }
        return Program(release.asked, release.finish, errors, explained.protects, explained.relation)

    def choose(self, setting: Setting) -> SelectedRelease | SortedRelease:
        """Return picks, or sorted sums where a public rule says that they are right more often."""
        law = as_picks(self.mechanism)
        if law is None:
            return self._sorted(setting, SORTED[self.mechanism])
        picks = self._selected(setting, law)
        if self.mechanism != "auto":
            return picks
        sums = self._sorted(setting, "auto")
        return sums if sorting_is_better(picks.ranking.noise, sums.stages.sums.noise.std) else picks

    def _selected(self, setting: Setting, mechanism: RankingName) -> SelectedRelease:
        explained = self._explain(setting)
        check_whole("k", self.k, 1, len(explained.features), "There are no more features.")
        shares = {"ranking": 1.0} | ({"values": 1.0} if self.magnitudes else {})
        if explained.rows is None and (self.magnitudes or tells_gap(mechanism)):
            shares["size"] = SIZE_SHARE * sum(shares.values())
        parts = share_out(self.epsilon, tuple(shares.values()))
        epsilons = dict(zip(shares, parts, strict=True))
        certificate, terms = sum_terms(explained.contribution, setting, statement=_STATEMENT)
        noise = ranking_noise(
            certificate,
            epsilon=epsilons["ranking"],
            delta=self.delta,
            groups=explained.groups,
            k=self.k,
            mechanism=mechanism,
            **terms,
        )
        return SelectedRelease(
            explained,
            Stage("ranking", explained.contribution, noise),
            selected_stage(explained, noise, explained.groups * self.k, epsilons.get("values")),
            _size(explained, setting, epsilons.get("size")),
        )

    def _sorted(self, setting: Setting, law: NoiseName) -> SortedRelease:
        """Return values as ``shap_values`` plans them; a private size is for their unit alone."""
        values = replace(self._measured("l2" if self.clip == "auto" else "linf"), mechanism=law)
        explained = values.explain(setting, centred=setting.rows is not None)
        check_whole("k", self.k, 1, len(explained.features), "There are no more features.")
        stages = MeanStages.of(
            "ranking",
            explained.contribution,
            setting,
            counted=explained.features[0] if explained.rows is None and self.magnitudes else None,
            statement=_STATEMENT,
            epsilon=self.epsilon,
            delta=self.delta,
            mechanism=law,
        )
        return SortedRelease(explained, stages, self.k)

    def _measured(self, norm: ClipNorm) -> Measured:
        return Measured(self.question, self.clip, norm, self.epsilon, self.delta)

    def strategies(self, setting: Setting, queries: int) -> tuple[Strategy, ...]:
        """Compare the strategies to rank for many queries with this plan's budget."""
        explained = self._explain(setting)
        if explained.sealed or self._asked_of_some:
            return ()
        return ranking_strategies(
            explained.engine,
            setting,
            moved=explained.contribution.certificate.sensitivity("linf", setting.relation),
            noise_std=self._measured("l2").noise_std(setting),
            queries=queries,
            k=self.k,
            epsilon=self.epsilon,
            delta=self.delta,
        )

    def diagnose(self, setting: Setting, exact: ExactSums) -> Diagnosis:
        """Return gaps and the chance of a right answer, for the curator alone."""
        if self.threshold is not None:
            raise ArgumentError("plan must have k instead of a threshold to be diagnosed.")
        if self._asked_of_some:
            raise ArgumentError(
                "plan must rank for all records to be diagnosed, got one with where. Leave it out."
            )

        def ranked(seed: int) -> Ranked:
            other = replace(self, seed=seed)
            release = other.choose(setting)
            stage = release.stages.sums if isinstance(release, SortedRelease) else release.ranking
            whole = other.question.prepare(setting, centred=False)
            return Ranked(release.explained, whole, stage.noise)

        return diagnose_ranking(repr(self), ranked, self.seed, exact)

    def _explain(self, setting: Setting) -> Explained:
        """Return what is ranked; where it is clipped is decided for this plan's own noise."""

        def noise_of(certificate: Certificate) -> float:
            noise = ranking_noise(
                certificate,
                relation=setting.relation,
                epsilon=self.epsilon / len(self.x),
                k=min(self.k, certificate.size),
                mechanism=as_picks(self.mechanism) or "auto",
                largest_sum=1.0,
            )
            return noise.std

        # A threshold speaks of whole attributions, not of clipped ones.
        clip = None if self.threshold is not None and self.clip == "auto" else self.clip
        return self.question.prepare(setting, centred=False, clip=clip, norm="linf", noise_of=noise_of)

    def _thresholded(self, explained: Explained, setting: Setting, threshold: float) -> Program:
        if explained.rows is None:
            raise ArgumentError(
                "threshold must be left out under add-remove, where the number of records it is "
                f"multiplied by is private, got {threshold!r}. Use k."
            )
        bound = explained.contribution.region.magnitude
        if threshold >= bound:
            raise ArgumentError(
                f"threshold must be below what an attribution can be here, {bound:.4g}, "
                f"got {threshold!r}. Lower it, or raise clip."
            )
        tested, measured = share_out(self.epsilon, (1.0, 1.0))
        certificate, terms = sum_terms(explained.contribution, setting, statement=_STATEMENT)
        linf = certificate.sensitivity("linf", terms["relation"])
        step = lattice_step(linf / self.epsilon, terms["largest_sum"])
        rounded = certify_rounded(certificate, step, terms["batch_rows"])
        steps = round(threshold * explained.rows / step)
        test = SupportTest(rounded, terms["relation"], tested, self.delta, step, steps)
        values = selected_stage(explained, test, len(explained.features), measured)
        assert values is not None
        release = SupportRelease(explained, Stage("support", explained.contribution, test), values)
        width = explained.engine.model.bounds.width
        errors = {
            "distance from the threshold that passes": of_choice(
                test.std / explained.rows, width, OUTPUT
            )
        }
        return Program(
            (release.support, values), release.finish, errors, explained.protects, explained.relation
        )


def _size(explained: Explained, setting: Setting, epsilon: float | None) -> Stage[Noise] | None:
    if epsilon is None:
        return None
    return size_stage(explained.features[0], setting, epsilon=epsilon)
