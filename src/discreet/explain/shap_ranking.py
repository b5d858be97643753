"""Private SHAP rankings: which features mattered most, which costs far less than how much.

Scores are absolute values of the summed attributions; choosing needs noise for the greatest change of
one coordinate only, however many there are.

Deviations from Alissaiei (2026): certified for every bounded model through the interventional value
function; permute-and-flip; a lead that costs nothing; a thresholded mode without assumptions on how
the support changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.errors import ArgumentError
from discreet.explain.shap_diagnosis import diagnose_ranking
from discreet.explain.shap_parts import LEVEL, Explained, Protects, Question
from discreet.explain.shap_planner import ways_to_rank
from discreet.mechanisms import (
    Noise,
    PickedNoise,
    RankingName,
    RankingNoise,
    SupportTest,
    ranking_noise,
)
from discreet.mechanisms.noise import lattice_step
from discreet.mechanisms.ranking import RANKINGS
from discreet.models import as_model
from discreet.numerics import check_choice, check_positive, check_whole
from discreet.parts import size_stage, sum_terms
from discreet.plans import (
    Diagnosis,
    ExactSums,
    Perturbation,
    Plan,
    Program,
    Ranking,
    Releaser,
    Setting,
    Stage,
    Way,
    share_out,
)
from discreet.schema import FloatArray

_STATEMENT = "shap-contribution"


class ShapRankingPlan(Plan):
    """See ``shap_ranking``."""

    kind = "shap_ranking"

    def __init__(
        self,
        question: Question,
        k: int,
        magnitudes: bool,
        threshold: float | None,
        clip: float | None,
        epsilon: float,
        delta: float,
        mechanism: RankingName,
    ) -> None:
        super().__init__(epsilon, delta)
        check_whole("k", k, 1)
        check_choice("mechanism", mechanism, RANKINGS)
        if threshold is not None:
            _check_threshold(threshold, delta, question)
        self.question, self.k, self.magnitudes = question, k, magnitudes
        if clip is not None:
            check_positive("clip", clip, "It bounds what one record says of one feature.")
        self.threshold, self.clip, self.mechanism = threshold, clip, mechanism

    def arguments(self) -> dict[str, Any]:
        """Return the question as plain data."""
        return self.question.to_json() | {
            "k": self.k,
            "magnitudes": self.magnitudes,
            "threshold": self.threshold,
            "clip": self.clip,
            "mechanism": self.mechanism,
        }

    def prepare(self, setting: Setting) -> Program:
        """Choose an engine, certify the vectors of all queries and calibrate the choices."""
        explained = self.question.prepare(setting, centred=False, clip=self.clip, norm="linf")
        if self.threshold is not None:
            return self._thresholded(explained, setting, self.threshold)
        check_whole("k", self.k, 1, len(explained.features), "There are no more features.")
        private_size = explained.rows is None and (self.magnitudes or self.mechanism == "laplace")
        shares = {"ranking": 1.0} | ({"values": 1.0} if self.magnitudes else {})
        shares |= {"size": 0.1 * sum(shares.values())} if private_size else {}
        epsilons = dict(zip(shares, share_out(self.epsilon, tuple(shares.values())), strict=True))
        certificate, terms = sum_terms(explained.contribution, setting, statement=_STATEMENT)
        noise = ranking_noise(
            certificate,
            epsilon=epsilons["ranking"],
            delta=self.delta,
            groups=explained.groups,
            k=self.k,
            mechanism=self.mechanism,
            **terms,
        )
        release = _RankingRelease(
            explained,
            Stage("ranking", explained.contribution, noise),
            _picked_stage(explained, noise, explained.groups * self.k, epsilons.get("values")),
            size_stage(explained.features[0], setting, epsilon=epsilons["size"])
            if private_size
            else None,
        )
        unit = "attribution" + (" times number of records" if explained.rows is None else "")
        errors = {f"{unit} lost by a wrong choice": noise.std / explained.setting_rows}
        return Program(release.stages, release.finish, errors, explained.protects)

    def ways(self, setting: Setting, queries: int) -> tuple[Way, ...]:
        """Compare the ways to rank for many queries with this plan's budget."""
        return ways_to_rank(
            self.question.engine(setting),
            setting,
            queries=queries,
            k=self.k,
            epsilon=self.epsilon,
            delta=self.delta,
        )

    def diagnose(self, setting: Setting, exact: ExactSums) -> Diagnosis:
        """Return gaps and the chance of a right answer, for the curator alone."""
        return diagnose_ranking(
            repr(self),
            self.question,
            setting,
            exact,
            clip=self.clip,
            epsilon=self.epsilon,
            delta=self.delta,
            k=self.k,
            mechanism=self.mechanism,
        )

    def _thresholded(self, explained: Explained, setting: Setting, threshold: float) -> Program:
        if explained.rows is None:
            raise ArgumentError(
                "threshold must be left out under add-remove, where the number of records it is "
                f"multiplied by is private, got {threshold!r}. Use k."
            )
        tested, measured = share_out(self.epsilon, (1.0, 1.0))
        certificate, terms = sum_terms(explained.contribution, setting, statement=_STATEMENT)
        linf = certificate.sensitivity("linf", terms["relation"])
        step = lattice_step(linf / self.epsilon, terms["largest_sum"])
        rounded = certificate.widen(step * (1 + terms["companions"]), "lattice")
        steps = round(threshold * explained.rows / step)
        test = SupportTest(rounded, terms["relation"], tested, self.delta, step, steps)
        values = _picked_stage(explained, test, len(explained.features), measured)
        assert values is not None
        release = _SupportRelease(explained, Stage("support", explained.contribution, test), values)
        errors = {"distance from the threshold that passes": test.std / explained.rows}
        return Program((release.support, values), release.finish, errors, explained.protects)


@dataclass(frozen=True)
class _RankingRelease:
    """Builds a ranking from the picks of one prepared plan."""

    explained: Explained
    ranking: Stage[RankingNoise]
    values: Stage[PickedNoise] | None
    size: Stage[Noise] | None

    @property
    def stages(self) -> tuple[Stage[Perturbation], ...]:
        """All stages that will happen."""
        return tuple(s for s in (self.ranking, self.values, self.size) if s is not None)

    def finish(self, releaser: Releaser) -> Ranking:
        """Pick in one pass over the rows, then measure what was picked."""
        first = (self.ranking,) if self.size is None else (self.ranking, self.size)
        answers = releaser.answer(*first)
        rows = self._rows(answers)
        picks = answers[0][:, :, 0].astype(int)
        values = self._values(releaser, picks, rows)
        return Ranking(
            features=self.explained.features,
            order=tuple(tuple(self.explained.features[i] for i in chosen) for chosen in picks),
            gaps=_gaps(answers[0][:, :, 1] / rows) if self.ranking.noise.kind == "laplace" else None,
            values=values,
            half_width=None if self.values is None else _band(self.values.noise, rows),
            level=LEVEL,
            expected_loss=None if self._unknown_size else self.ranking.noise.std / rows,
            mechanism=self.ranking.noise.name,
        )

    @property
    def _unknown_size(self) -> bool:
        return self.explained.rows is None and self.size is None

    def _rows(self, answers: list[FloatArray]) -> float:
        if self.explained.rows is not None:
            return float(self.explained.rows)
        return 1.0 if self.size is None else max(float(answers[1][0]), 1.0)

    def _values(
        self, releaser: Releaser, picks: Any, rows: float
    ) -> tuple[tuple[float, ...], ...] | None:
        if self.values is None:
            return None
        places = picks + len(self.explained.features) * np.arange(len(picks))[:, None]
        noise = replace(self.values.noise, places=tuple(places.ravel().tolist()))
        (noisy,) = releaser.answer(replace(self.values, noise=noise))
        return tuple(map(tuple, (noisy / rows).reshape(picks.shape).tolist()))


@dataclass(frozen=True)
class _SupportRelease:
    """Builds a ranking of all features above a threshold, if their set is stable."""

    explained: Explained
    support: Stage[SupportTest]
    values: Stage[PickedNoise]

    def finish(self, releaser: Releaser) -> Ranking:
        """Test and release the support, then measure it."""
        (above,) = releaser.answer(self.support)
        places = tuple(int(i) for i in np.flatnonzero(above == 1))
        rows = self.explained.setting_rows
        if np.isnan(above).any() or not places:
            return self._ranking(None if np.isnan(above).any() else (), (), None)
        noise = PickedNoise.of(
            self.support.noise.certificate,
            places,
            relation=self.support.noise.relation,
            epsilon=self.values.noise.epsilon,
            step=self.support.noise.step,
        )
        (noisy,) = releaser.answer(replace(self.values, noise=noise))
        order = np.argsort(-np.abs(noisy), kind="stable")
        names = tuple(self.explained.features[places[i]] for i in order)
        return self._ranking(names, tuple((noisy[order] / rows).tolist()), _band(noise, rows))

    def _ranking(
        self, names: tuple[str, ...] | None, values: tuple[float, ...], band: float | None
    ) -> Ranking:
        return Ranking(
            features=self.explained.features,
            order=(names,),
            gaps=None,
            values=(values,),
            half_width=band,
            level=LEVEL,
            expected_loss=None,
            mechanism=self.support.noise.name,
        )


def _picked_stage(
    explained: Explained, chosen_by: RankingNoise | SupportTest, count: int, epsilon: float | None
) -> Stage[PickedNoise] | None:
    """Return the stage that measures ``count`` places, to be named when they are known."""
    if epsilon is None:
        return None
    noise = PickedNoise.of(
        chosen_by.certificate,
        tuple(range(count)),
        relation=chosen_by.relation,
        epsilon=epsilon,
        step=chosen_by.step,
    )
    return Stage("values", explained.contribution, noise)


def _band(noise: PickedNoise, rows: float) -> float:
    """Return what noise on all picked values stays within at once."""
    return noise.noise.half_width(1 - (1 - LEVEL) / len(noise.places)) / rows


def _gaps(leads: FloatArray) -> tuple[tuple[float | None, ...], ...]:
    return tuple(tuple(None if np.isnan(g) else float(g) for g in row) for row in leads)


def _check_threshold(threshold: float, delta: float, question: Question) -> None:
    check_positive("threshold", threshold, "Features whose attribution exceeds it are released.")
    if delta == 0:
        raise ArgumentError(
            "delta must be positive with a threshold, got 0: a support is released exactly if it is "
            "stable, which a pure guarantee does not allow. Give a delta, or use k."
        )
    if len(question.queries) > 1:
        raise ArgumentError(
            f"x must be one query with a threshold, got {len(question.queries)}. "
            "Release a list of plans instead."
        )


def shap_ranking(
    model: Any,
    x: Any,
    *,
    k: int = 1,
    magnitudes: bool = False,
    threshold: float | None = None,
    clip: float | None = None,
    coalitions: int | None = None,
    seed: int = 0,
    protects: Protects = "background",
    background: Any = None,
    radius: float | Mapping[str, float] | None = None,
    epsilon: float,
    delta: float = 0.0,
    mechanism: RankingName = "auto",
) -> ShapRankingPlan:
    """Plan the ``k`` features that mattered most for a query, the table being the background.

    Args:
      model: an estimator, a pipeline, or a ``dc.Model`` with bounds.
      x: the query, or up to 1,000 of them; see ``shap_values``.
      k: how many features, best first.
      magnitudes: release noisy attributions of the chosen features too, for half of epsilon.
      threshold: instead of k: all features whose absolute attribution exceeds this public number, with
        noisy values, if that set is stable (else nothing); needs a delta.
      clip: bound on one record's attribution of one feature, in the unit of the output; smaller means
        better choices and a bias where records exceed it. Left out, the proven range is used.
      coalitions: see ``shap_values``.
      seed: of the public coalitions.
      protects: ``background`` or ``query``; see ``shap_values``.
      background: public rows, for ``protects="query"`` alone.
      radius: see ``shap_values``.
      epsilon: the whole budget of the plan: all queries, all places, magnitudes included.
      delta: zero for a pure guarantee; with a delta many choices are cheaper together.
      mechanism: ``exponential``, ``permute-and-flip``, ``laplace`` (also gives the noisy lead of each
        choice, for free), or ``auto``: the one that loses least in the worst case.

    Guarantees:
      - Choices are epsilon-differentially private for the bound on one coordinate: (2 - 1/d) r/n for
        a model with range r. [shap-contribution] [top-k]
      - The noisy lead costs nothing beyond. [free-gap]
      - With a threshold: (epsilon, delta) by propose-test-release. [ptr]
    """
    question = Question.of(
        as_model(model),
        x,
        protects=protects,
        background=background,
        radius=radius,
        coalitions=coalitions,
        seed=seed,
    )
    return ShapRankingPlan(question, k, magnitudes, threshold, clip, epsilon, delta, mechanism)
