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
from dataclasses import KW_ONLY, dataclass, fields
from typing import Annotated, Any, ClassVar, Literal, get_args

import numpy as np

from discreet.arguments import as_list, shown
from discreet.errors import ArgumentError
from discreet.mechanisms import RankingNoise, ranking_noise
from discreet.mechanisms.additive.registry import noise_names
from discreet.mechanisms.selection.ranking import RANKINGS
from discreet.models.fingerprint import Kept
from discreet.plans import Diagnosis, ExactSums, Program, Releaser, Setting, Stage
from discreet.plans.declaration import DeclaredPlan
from discreet.plans.diagnosis import spread_and_noise
from discreet.plans.expected import GREATEST, Expected, of_choice
from discreet.plans.held import Estimator, Table, find_object
from discreet.plans.kinds import (
    UNSAID,
    Delta,
    Epsilon,
    Objects,
    OneOf,
    Positive,
    RealNumber,
    Values,
    Whole,
    checked_later,
)
from discreet.plans.results.bands import LEVEL, at_once
from discreet.plans.results.valuation import RecordRanking, Valuation
from discreet.plans.stages import sum_stage
from discreet.privacy.relation import REPLACE_ONE
from discreet.value.engines.scores import SCORES, Score, named_score
from discreet.value.engines.utilities import Utility
from discreet.value.private_design import (
    MOST_ROUNDS,
    Audience,
    Rotations,
    certify_values,
    choose_design,
)
from discreet.value.private_layered import (
    ALONE,
    Coreset,
    CoresetKind,
    LayeredValues,
    check_records,
    check_rounds,
    check_rows,
    layer_limits,
    seeded,
    try_out,
)
from discreet.value.private_neighbours import check_labels, count_program, default_radius
from discreet.value.private_rows import TestSet, keep_rows, read_test

Method = Literal["layered", "tknn"]
Jobs = Annotated[int | None, Whole(-(2**10), 2**10, optional=True, identifies=False)]

PROTECTS = {
    "owner": "one record of the table from all but its owner, if each value goes to its owner alone",
    "public": "one record of the table",
}
_SCALED = "It is a distance of rows scaled by the schema."
_MECHANISMS = tuple(dict.fromkeys((*noise_names(), *RANKINGS)))
_REFITTED = ("model", "test", "score", "empty", "l2_penalty", "row_clip", "rounds", "seed")
"""What decides the utilities of coalitions, besides the table: a coreset knows them again by it."""

_OF_LAYERED = (*_REFITTED[2:], "clip", "decay")
"""What says nothing to ``tknn``, whatever is given."""


def _places(name: str, records: Any) -> tuple[int, ...]:
    listed = (records,) if isinstance(records, int | np.integer) else as_list(name, records)
    whole = all(isinstance(i, int | np.integer) and not isinstance(i, bool) and i >= 0 for i in listed)
    if not listed or not whole or len(set(listed)) < len(listed):
        raise ArgumentError(
            f"{name} must be different places of records, counted from 0, got {shown(records)}."
        )
    return tuple(int(i) for i in listed)


@dataclass(frozen=True)
class ScoreKind(OneOf):
    """A score by its name, or one of the caller's, which is known by its value."""

    def check(self, name: str, value: Any) -> Any:
        """Return the name, or the score, kept."""
        if isinstance(value, Score):
            return Kept(name, value)
        return value if isinstance(value, Kept) else named_score(value).name

    def plain(self, value: Any) -> Any:
        """Return the name, or the fingerprint."""
        return value.fingerprint if isinstance(value, Kept) else value

    def read(self, name: str, plain: Any, objects: Objects) -> Any:
        """Return the name, or the score with this fingerprint."""
        return plain if plain in self.allowed else find_object(name, plain, objects)


class data_shapley(DeclaredPlan):
    """Plan the data Shapley values of records: what each contributes to a model's score.

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
      mechanism: ``laplace``, ``gaussian``, ``linf`` or ``auto``; for ``top`` and ``bottom`` the law of
        a pick.

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

    model: Annotated[Any, Estimator(optional=True)] = None
    _: KW_ONLY
    test: Annotated[Any, Table(keep_rows)]
    records: Annotated[int | Sequence[int] | None, Values(by=_places, optional=True)] = None
    method: Annotated[Method, OneOf(get_args(Method))] = "layered"
    audience: Annotated[Audience, OneOf(get_args(Audience))] = "owner"
    score: Annotated[str | Score, ScoreKind(SCORES)] = "accuracy"
    empty: Annotated[float | None, RealNumber(optional=True)] = None
    clip: Annotated[float | None, Positive(optional=True)] = None
    decay: Annotated[float, Positive()] = 1.0
    rounds: Annotated[int, Whole(1, MOST_ROUNDS)] = 4
    top: Annotated[int | None, Whole(1, optional=True)] = None
    bottom: Annotated[int | None, Whole(1, optional=True)] = None
    l2_penalty: Annotated[float | None, Positive(optional=True)] = None
    row_clip: Annotated[float | None, Positive(optional=True)] = None
    radius: Annotated[float | None, Positive(optional=True, hint=_SCALED)] = None
    coreset: Annotated[Coreset | None, CoresetKind(optional=True)] = None
    seed: Annotated[int, Whole(0)] = 0
    n_jobs: Jobs = None
    epsilon: Epsilon = UNSAID
    delta: Delta = 0.0
    mechanism: Annotated[str, OneOf(_MECHANISMS, by=checked_later)] = "auto"

    whole_only: ClassVar = "What a record is worth depends on all of them."

    def settle(self) -> dict[str, Any]:
        """Check what either method, a ranking and its audience need of the others."""
        if self.method == "tknn":
            return self._settle_counts()
        self._refuse("radius", hint="It belongs to method='tknn'.")
        if self.top is not None and self.bottom is not None:
            raise ArgumentError("bottom must be left out if top is given, got both. Ask for two plans.")
        if self.picks is not None and self.audience == "owner":
            raise ArgumentError(
                "audience must be public for a ranking, got owner: a ranking of records has no owner."
            )
        return {}

    def _settle_counts(self) -> dict[str, Any]:
        """Refuse what counts for all owners cannot have, and forget what says nothing to them."""
        given = ("model", "records", "top", "bottom", "coreset")
        self._refuse(*given, hint="Its counts serve every owner.")
        if self.audience == "public":
            raise ArgumentError(
                "audience must be owner for method='tknn', got public: a value is made of its record. "
                "The counts are public; values for all to see need method='layered'."
            )
        return {field.name: field.default for field in fields(self) if field.name in _OF_LAYERED}

    def _refuse(self, *names: str, hint: str) -> None:
        for name in names:
            if getattr(self, name) is not None:
                raise ArgumentError(
                    f"{name} must be left out for method={self.method!r}, got one. {hint}"
                )

    @property
    def picks(self) -> tuple[str, int] | None:
        """Which end of a ranking is asked for, and how many of it; None if values are."""
        if self.top is not None:
            return "top", self.top
        return None if self.bottom is None else ("bottom", self.bottom)

    @property
    def curator_only(self) -> bool:
        """Values for owners pass through the curator's hands, and through no analyst's."""
        return self.method == "layered" and self.audience == "owner"

    def prepare(self, setting: Setting) -> Program:
        """Lay out coalitions or test points, find how far one record moves the answers, calibrate."""
        if self.method == "tknn":
            test = read_test(self.test.value, setting.schema)
            check_labels(test)
            return count_program(test, self.radius_for(test), setting, **self._terms)
        asked = self.lay_out(setting)
        if self.picks is not None:
            return self._ranking_program(asked, *self.picks)
        return self._value_program(asked, setting)

    def diagnose(self, setting: Setting, exact: ExactSums) -> Diagnosis:
        """Return the exact spread of the answers beside their noise, for the curator alone."""
        if self.picks is not None:
            raise ArgumentError("plan must be one that can be diagnosed, got a ranking of records.")
        (stage,) = self.prepare(setting).stages
        return spread_and_noise(self, stage, exact)

    def radius_for(self, test: TestSet) -> float:
        """Return the radius: as given, or from the public test points."""
        return default_radius(test) if self.radius is None else self.radius

    def lay_out(self, setting: Setting) -> LayeredValues:
        """Return the layered values of a table: coalitions, clips and certificate; reads no row.

        Guarantees:
          - The certificate covers every record that is not the audience's own. [shapley-design]
        """
        n = check_rows(setting)
        check_rounds(self.rounds, n)
        wanted = check_records(self.records, n)  # type: ignore[arg-type]  # settled to a tuple
        test = read_test(self.test.value, setting.schema)
        utility = self._utility(test)
        stability = utility.certificate()
        clips = layer_limits(n, utility.width, self.clip, self.decay, stability, self.audience)
        draw = choose_design if self.coreset is None else Rotations
        design = draw(n, wanted, self.rounds, self.seed)
        certificate = certify_values(design, clips, stability, self.audience)
        if utility.fast is None:
            certificate = certificate.graded("isolated", *ALONE)
        # Utilities depend on how rows are scaled, too; clips are taken after them.
        scaled = {"schema": setting.schema.to_json(), "columns": list(test.columns)}
        told = self.arguments()
        refits = {name: told[name] for name in _REFITTED} | scaled
        return LayeredValues(
            test, utility, design, clips, certificate, refits, self.n_jobs, self.coreset, self.audience
        )

    def _utility(self, test: TestSet) -> Utility:
        """Return the utility on the public test set, tried on public rows."""
        utility = Utility(
            seeded(None if self.model is None else self.model.value),
            test.x,
            test.y,
            score=self.score.value if isinstance(self.score, Kept) else self.score,
            empty=self.empty,
            l2_penalty=self.l2_penalty,
            row_clip=self.row_clip,
            classes=None if test.classes is None else np.arange(test.classes, dtype=np.float64),
        )
        try_out(utility, test)
        return utility

    @property
    def _terms(self) -> dict[str, Any]:
        return {"epsilon": self.epsilon, "delta": self.delta, "mechanism": self.mechanism}

    def _value_program(self, asked: LayeredValues, setting: Setting) -> Program:
        stage = sum_stage(
            "values", asked.contribution(), setting, statement="shapley-design", **self._terms
        )
        noise = stage.noise

        def finish(releaser: Releaser) -> Valuation:
            (noisy_values,) = releaser.answer(stage)
            return Valuation(
                records=asked.design.records,
                values=tuple(noisy_values.tolist()),
                half_width=noise.half_width(LEVEL),
                level=LEVEL,
                noise_std=(noise.std,) * len(noisy_values),
                sampling_std=asked.design.sampling_error(asked.clips),
                audience=self.audience,
                method="layered",
                quantity=f"Shapley value ({asked.utility.score.name})",
                half_width_all=noise.half_width(at_once(LEVEL, len(noisy_values))),
            )

        error = Expected(noise.half_width(LEVEL), asked.largest, GREATEST)
        return Program((stage,), finish, {"value": error}, PROTECTS[self.audience])

    def _ranking_program(self, asked: LayeredValues, end: str, k: int) -> Program:
        # Scores are absolute values there: lifted by the largest they are never negative.
        contribution = asked.contribution(scale=1.0 if end == "top" else -1.0, shift=2 * asked.largest)
        noise = ranking_noise(
            asked.certificate,
            relation=REPLACE_ONE,
            k=k,
            largest_sum=contribution.region.magnitude,
            **self._terms,
        )
        stage: Stage[RankingNoise] = Stage("ranking", contribution, noise)

        def finish(releaser: Releaser) -> RecordRanking:
            (selected,) = releaser.answer(stage)
            records = asked.design.records
            chosen = tuple(str(records[int(place)]) for place in selected[0, :, 0])
            gaps = [None if np.isnan(gap) else float(gap) for gap in selected[0, :, 1]]
            return RecordRanking(
                features=tuple(map(str, records)),
                order=(chosen,),
                gaps=(tuple(gaps),) if noise.tells_gap else None,
                values=None,
                half_width=None,
                level=LEVEL,
                expected_loss=noise.std,
                mechanism=noise.name,
            )

        lost = of_choice(noise.std, asked.largest, GREATEST)
        return Program((stage,), finish, {"loss of value of a pick": lost})
