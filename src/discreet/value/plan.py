"""``data_shapley``: data valuation of a private table, privately.

Two methods. ``layered`` refits any model on public coalitions and adds noise to clipped values.
``tknn`` counts around public test points, with noise, and owners find their values from the counts.
Two audiences. ``owner``: a value is shown to the owner of its record and to nobody else; then what a
record does to its own value need not be hidden, and the promise is *joint* differential privacy: all
other owners together, pooling their values, learn next to nothing of the record. ``public``: anybody
may see all values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from discreet.arguments import as_list, shown
from discreet.errors import ArgumentError
from discreet.mechanisms import Noise, RankingNoise, ranking_noise
from discreet.numerics import check_choice, check_positive, check_whole
from discreet.plans import Diagnosis, ExactSums, Plan, Program, Releaser, Setting, Stage
from discreet.plans.diagnosis import spread_and_noise
from discreet.plans.expected import GREATEST, Expected, of_choice
from discreet.plans.results.bands import at_once
from discreet.plans.results.valuation import RecordRanking, Valuation
from discreet.plans.stages import sum_stage
from discreet.privacy.relation import REPLACE_ONE
from discreet.value.coreset import Coreset
from discreet.value.engines.scores import Score
from discreet.value.private_design import Audience
from discreet.value.private_layered import LayeredQuestion, LayeredValues, lay_out
from discreet.value.private_neighbours import NeighbourPlan

Method = Literal["layered", "tknn"]

PROTECTS = {
    "owner": "one record of the table from all but its owner, if each value goes to its owner alone",
    "public": "one record of the table",
}
_LEVEL = 0.95


class LayeredPlan(Plan):
    """See ``data_shapley``."""

    kind = "data_shapley"

    def __init__(
        self,
        game: LayeredQuestion,
        records: tuple[int, ...] | None,
        audience: Audience,
        picks: tuple[str, int] | None,
        coreset: Coreset | None,
        epsilon: float,
        delta: float,
        mechanism: str,
    ) -> None:
        super().__init__(epsilon, delta)
        if picks is not None and audience == "owner":
            raise ArgumentError(
                "audience must be public for a ranking, got owner: a ranking of records has no owner."
            )
        self.game, self.records, self.audience, self.picks = game, records, audience, picks
        self.coreset, self.mechanism = coreset, mechanism

    def arguments(self) -> dict[str, Any]:
        """Return the question as plain data; what a coreset remembers is no part of it."""
        return {
            **self.game.described,
            "records": None if self.records is None else list(self.records),
            "coalitions": "own" if self.coreset is None else "shared",
            "audience": self.audience,
            "ranking": None if self.picks is None else list(self.picks),
            "mechanism": self.mechanism,
        }

    @property
    def curator_only(self) -> bool:
        """Values for owners pass through the curator's hands, and through no analyst's."""
        return self.audience == "owner"

    def prepare(self, setting: Setting) -> Program:
        """Draw the coalitions, find how far one record moves the values, and calibrate."""
        asked = lay_out(self.game, self.records, self.audience, self.coreset, setting)
        if self.picks is not None:
            return self._ranking_program(asked)
        stage = sum_stage(
            "values",
            asked.contribution(),
            setting,
            statement="shapley-design",
            epsilon=self.epsilon,
            delta=self.delta,
            mechanism=self.mechanism,  # type: ignore[arg-type]  # checked there, with a sentence
        )

        def finish(releaser: Releaser) -> Valuation:
            (noisy_values,) = releaser.answer(stage)
            return self._valuation(asked, stage.noise, noisy_values)

        error = Expected(stage.noise.half_width(_LEVEL), asked.reach, GREATEST)
        return Program((stage,), finish, {"value": error}, PROTECTS[self.audience])

    def diagnose(self, setting: Setting, exact: ExactSums) -> Diagnosis:
        """Return the exact spread of the values beside their noise, for the curator alone."""
        if self.picks is not None:
            raise ArgumentError("plan must be one that can be diagnosed, got a ranking of records.")
        (stage,) = self.prepare(setting).stages
        return spread_and_noise(self, stage, exact)

    def _valuation(self, asked: LayeredValues, noise: Noise, noisy_values: Any) -> Valuation:
        return Valuation(
            records=asked.design.records,
            values=tuple(noisy_values.tolist()),
            half_width=noise.half_width(_LEVEL),
            level=_LEVEL,
            noise_std=(noise.std,) * len(noisy_values),
            sampling_std=asked.design.sampling_error(asked.clips),
            audience=self.audience,
            method="layered",
            quantity=f"Shapley value ({asked.utility.score.name})",
            half_width_all=noise.half_width(at_once(_LEVEL, len(noisy_values))),
        )

    def _ranking_program(self, asked: LayeredValues) -> Program:
        assert self.picks is not None
        end, k = self.picks
        # Scores are absolute values there: lifted by their reach they are never negative.
        contribution = asked.contribution(scale=1.0 if end == "top" else -1.0, shift=2 * asked.reach)
        noise = ranking_noise(
            asked.certificate,
            relation=REPLACE_ONE,
            epsilon=self.epsilon,
            delta=self.delta,
            k=k,
            mechanism=self.mechanism,  # type: ignore[arg-type]  # checked there, with a sentence
            largest_sum=contribution.region.magnitude,
        )
        stage: Stage[RankingNoise] = Stage("ranking", contribution, noise)

        def finish(releaser: Releaser) -> RecordRanking:
            (picked,) = releaser.answer(stage)
            records = asked.design.records
            chosen = tuple(str(records[int(place)]) for place in picked[0, :, 0])
            gaps = [None if np.isnan(gap) else float(gap) for gap in picked[0, :, 1]]
            return RecordRanking(
                features=tuple(map(str, records)),
                order=(chosen,),
                gaps=(tuple(gaps),) if noise.tells_gap else None,
                values=None,
                half_width=None,
                level=_LEVEL,
                expected_loss=noise.std,
                mechanism=noise.name,
            )

        lost = of_choice(noise.std, asked.reach, GREATEST)
        return Program((stage,), finish, {"loss of value of a pick": lost})


def data_shapley(
    model: Any = None,
    *,
    test: Any,
    records: int | Sequence[int] | None = None,
    method: Method = "layered",
    audience: Audience = "owner",
    score: str | Score = "accuracy",
    empty: float | None = None,
    clip: float | None = None,
    decay: float = 1.0,
    rounds: int = 4,
    top: int | None = None,
    bottom: int | None = None,
    l2_penalty: float | None = None,
    row_clip: float | None = None,
    radius: float | None = None,
    coreset: Coreset | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
    epsilon: float,
    delta: float = 0.0,
    mechanism: str = "auto",
) -> LayeredPlan | NeighbourPlan:
    """Plan the data Shapley values of records of the table, for a model's score.

    Args:
      model: an unfitted scikit-learn estimator, for ``layered``. It is fitted on rows scaled by the
        schema: numbers to [0, 1], one column for every value of a category.
      test: public rows with the target, on which models are scored. They are not protected.
      records: places of the records to be valued, counted from 0; None for all. Fewer values have
        less noise each.
      method: ``layered``, for any model, or ``tknn``: counts of near records, for all owners at once.
      audience: who will see a value: ``owner``, the owner of its record alone, or ``public``.
      score: a name (accuracy, log-loss, brier, r2) or a score with a public range.
      empty: the utility of a coalition of nobody, and of one on which no model can be fitted; the score
        of a guess if left out, which a score of your own does not have.
      clip: c: a marginal in a coalition of k records counts at most c / k; 0.1, or a
        tenth of the score's range if that is less, if left out. Less clip, less noise, more bias.
      decay: clips fall like c / k^decay. More than one favours small coalitions, where a record moves
        most and others are seldom in: less noise, and values that are no longer Shapley's mean.
      rounds: how often every layer is drawn; more take longer and cost nothing.
      top: release the names of so many best records instead of values.
      bottom: the same of the worst.
      l2_penalty: by which logistic and ridge regression are provably stable; see ``Utility``.
      row_clip: greatest norm of a row, for the same proof.
      radius: for ``tknn``: how far a near record is at most, in scaled rows; from the public test
        points if left out.
      coreset: values all records by the same coalitions and remembers their refits for later plans;
        each plan is charged in full, and a single value has more noise than from coalitions of its own.
      seed: of the public coalitions.
      n_jobs: workers for the refits.
      epsilon: the whole budget of the plan.
      delta: zero for a pure guarantee.
      mechanism: ``laplace``, ``gaussian`` or ``auto``; for ``top`` and ``bottom`` the law of a pick.

    Guarantees:
      - How far one record moves all released values together follows from the public coalitions: from
        those that contain it, and for ``public`` from its own value besides. [shapley-design]
      - For ``owner`` the promise is joint: everybody but a record's owner, pooling all other values,
        cannot tell what the record is. [joint-values]
      - Nothing is taken off for the sampling of coalitions: one layer holds everybody, so that every
        record is in some coalition for certain. [amplification-cap]
      - Counts of ``tknn`` are priced for all test points together. [tknn-counts] [tknn-owner]

    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> plan = data_shapley(LogisticRegression(), test=np.zeros((1, 2)), records=3, epsilon=1.0)
    >>> plan.arguments()["records"], plan.arguments()["audience"]
    ([3], 'owner')
    """
    check_choice("method", method, ("layered", "tknn"))
    check_choice("audience", audience, ("owner", "public"))
    if method == "tknn":
        given = {"model": model, "records": records, "top": top, "bottom": bottom, "coreset": coreset}
        _refuse(given, "tknn", "Its counts serve every owner.")
        if audience == "public":
            raise ArgumentError(
                "audience must be owner for method='tknn', got public: a value is made of its record. "
                "The counts are public; values for all to see need method='layered'."
            )
        return NeighbourPlan(test, radius, epsilon, delta, mechanism)
    _refuse({"radius": radius}, "layered", "It belongs to method='tknn'.")
    if clip is not None:
        check_positive("clip", clip)
    check_positive("decay", decay)
    check_whole("rounds", rounds, 1)
    check_whole("seed", seed, 0)
    if coreset is not None and not isinstance(coreset, Coreset):
        raise ArgumentError(f"coreset must be a dc.Coreset, got {shown(coreset)}. Or leave it out.")
    if n_jobs is not None:
        check_whole("n_jobs", n_jobs, -(2**10), 2**10)
    game = LayeredQuestion(
        model, test, score, empty, l2_penalty, row_clip, clip, decay, rounds, seed, n_jobs
    )
    picks = _picks(top, bottom)
    places = _places(records)
    return LayeredPlan(game, places, audience, picks, coreset, epsilon, delta, mechanism)


def _refuse(given: dict[str, Any], method: str, hint: str) -> None:
    for name, value in given.items():
        if value is not None:
            raise ArgumentError(f"{name} must be left out for method={method!r}, got one. {hint}")


def _picks(top: int | None, bottom: int | None) -> tuple[str, int] | None:
    if top is not None and bottom is not None:
        raise ArgumentError("bottom must be left out if top is given, got both. Ask for two plans.")
    if top is None and bottom is None:
        return None
    end, count = ("top", top) if top is not None else ("bottom", bottom)
    assert count is not None
    check_whole(end, count, 1)
    return end, count


def _places(records: int | Sequence[int] | None) -> tuple[int, ...] | None:
    if records is None:
        return None
    listed = (records,) if isinstance(records, int | np.integer) else as_list("records", records)
    whole = all(isinstance(i, int | np.integer) and not isinstance(i, bool) and i >= 0 for i in listed)
    if not listed or not whole or len(set(listed)) < len(listed):
        raise ArgumentError(
            f"records must be different places of records, counted from 0, got {shown(records)}."
        )
    return tuple(int(i) for i in listed)
