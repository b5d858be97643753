"""Evaluating answers that speak of one class: which bin of scores, which outcome, which group."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.data import CellContribution, ModelCalls, VectorContribution
from discreet.data.blocks import Block
from discreet.data.state import quietly
from discreet.engines.table import engine_for
from discreet.errors import ArgumentError
from discreet.evaluation.binary.result import BinaryEvaluation
from discreet.evaluation.bins import (
    SplitBins,
    answers_exactly,
    model_answers,
    shares_contribution,
    shares_stage,
    turn_of,
)
from discreet.evaluation.question import EvaluationQuestion
from discreet.explain.clipping import public_rows
from discreet.explain.permutation.losses import Scorer, choose_scorer
from discreet.mechanisms import Noise, count_noise
from discreet.mechanisms.selection.quantiles import QuantileNoise, quantile_noise
from discreet.plans import Program, Releaser, Stage, share_out
from discreet.plans.expected import Expected
from discreet.plans.results.bands import LEVEL
from discreet.schema import FloatArray

_QUANTILE_SHARE = 0.1
_ANCHOR_SHARE = 0.5
"""Of epsilon, for the records on either side of the turn: cells have twice the noise, but add up to
what is known better: sums of many of them are no worse, and those up to the turn are far better."""
_MANY, _OVERALL_SHARE = 5, 0.25
"""From so many groups on, so much of epsilon tells the scores of all records by themselves: added up
over groups they would have the noise of all of these."""
_FINE = 1024
_DECILES = 10
_FEWEST, _MOST = 8, 100
_UNKNOWN_ROWS = 20
_RATE = "a rate's whole range"
_CELLS, _OVERALL = "scores and outcomes", "scores and outcomes of all records"
_FARTHEST_LOGIT = 3.7
_NEAREST, _NEAREST_HATS = 12, 3
"""Knots are no nearer than this part of an even step: hats pay for how steep they are."""


@dataclass(frozen=True)
class BinaryTable:
    """The public layout of a table: bins of scores, for every outcome of every group."""

    question: EvaluationQuestion
    scorer: Scorer | None
    bins: SplitBins

    @property
    def parts(self) -> int:
        """One part for every group and outcome; the class in question comes second."""
        return 2 * self.question.groups.groups

    def part(self, block: Block) -> NDArray[np.int64]:
        """Return where records belong; those without a target or a group belong nowhere."""
        encoded = block[self.question.target]
        if self.scorer is None:  # a score of the second of two values
            outcome, known = encoded == 1, encoded < 2
        else:
            outcome, known = self.scorer.truth(encoded) > 0.5, self.scorer.known(encoded)
        place = self.question.groups.place(block)
        return np.where(known & (place >= 0), 2 * place + outcome, -1)

    def outcome(self, block: Block) -> NDArray[np.int64]:
        """Return the outcome of records, of whatever group; those without a target have none."""
        part = self.part(block)
        return np.where(part < 0, -1, part % 2)

    @property
    def contribution(self) -> VectorContribution:
        """What one record adds."""
        return self._shares(self.parts, self.part)

    @property
    def overall(self) -> VectorContribution:
        """What one record adds to the table of all records."""
        return self._shares(2, self.outcome)

    def _shares(self, parts: int, part: Callable[[Block], NDArray[np.int64]]) -> VectorContribution:
        asked = self.question
        answers = model_answers(asked.model)
        return shares_contribution(
            asked.columns, self.bins, parts, answers=answers, part=part, model=asked.model
        )


def prepare_binary(question: EvaluationQuestion) -> Program:
    """Return the program of one private table of scores, outcomes and groups.

    Guarantees:
      - A record shares one count between two cells: L1 2, L2 sqrt 2 under replace-one, 1 under
        add-remove, whatever the groups. [score-bins]
    """
    schema = question.setting.schema
    scorer = None if question.output == "value" else choose_scorer(question.model, schema)
    table = BinaryTable(question, scorer, _bins(question))
    if question.cuts == "quantile":
        return _adaptive(table)
    stages = _stages(table, question.epsilon, question.delta)

    def finish(releaser: Releaser) -> BinaryEvaluation:
        return _result(table, stages, releaser.answer(*stages))

    return Program(stages, finish, _expected(table, stages))


def _adaptive(table: BinaryTable) -> Program:
    """Return the program that cuts the scores at private quantiles first."""
    question = table.question
    first, rest = share_out(question.epsilon, (_QUANTILE_SHARE, 1 - _QUANTILE_SHARE))
    cuts = _cut_stage(table, first)
    # Laid out by public cuts, as many as there can be: noise and price do not hang on where they are.
    stages = _stages(table, rest, question.delta)

    def finish(releaser: Releaser) -> BinaryEvaluation:
        (found,) = releaser.answer(cuts)
        cut = replace(table, bins=replace(table.bins, knots=_filled_up(found, table)))
        moved = {_CELLS: cut.contribution, _OVERALL: cut.overall}
        asked = [replace(s, contribution=moved.get(s.name, s.contribution)) for s in stages]
        return _result(cut, stages, releaser.answer(*asked))

    return Program((cuts, *stages), finish, _expected(table, stages))


def _cut_stage(table: BinaryTable, epsilon: float) -> Stage[QuantileNoise]:
    """Return the stage that cuts scores of records with a target into parts of about as many.

    Guarantees:
      - A score falls into one cell of a fine public grid. [quantiles]
    """
    question = table.question
    if table.bins.shared:
        raise ArgumentError(
            "cuts must be 'public' for a model whose answers may move with the rows beside them, got "
            "'quantile'. Use dc.Model(model, isolated=True), or public cuts."
        )
    low, high = question.model.bounds.limits
    points = np.concatenate([[low], np.linspace(low, high, _FINE)])
    answers = model_answers(question.model)

    def index(block: Block) -> NDArray[np.int64]:
        cells = np.searchsorted(points[1:-1], answers(block), side="left")
        return np.where(table.part(block) < 0, -1, cells)

    calls = ModelCalls(question.model.third_party, lipschitz=1.0)
    contribution = CellContribution(question.columns, len(points) - 1, index, calls=calls)
    evidence = calls.evidence(question.setting.relation)
    noise = quantile_noise(
        evidence.mark(contribution.certificate),
        points.tolist(),
        parts=table.bins.bins,
        relation=question.setting.relation,
        epsilon=epsilon,
    )
    return Stage("cuts of the scores", contribution, noise)


def _filled_up(cuts: FloatArray, table: BinaryTable) -> tuple[float, ...]:
    """Return as many knots as planned: the ends, the turn, and cuts that are not too near."""
    return _spread([*_marks(table.question), *cuts.tolist()], len(table.bins.knots), _NEAREST)


def _marks(question: EvaluationQuestion) -> list[float]:
    """Return where knots are in any case: at the ends of scores, and where answers turn."""
    low, high = question.model.bounds.limits
    turn = turn_of(_scores_are(question), low, high)
    return [low, high, *([turn] if low < turn < high else [])]


def _spread(candidates: list[float], wanted: int, nearest: int) -> tuple[float, ...]:
    """Return so many knots: candidates in order, but none too near another, then even steps."""
    low, high = candidates[:2]
    least = (high - low) / (nearest * wanted)
    knots: list[float] = []
    for value in (*candidates, *np.linspace(low, high, 8 * wanted).tolist()):
        if len(knots) < wanted and all(abs(value - knot) >= least for knot in knots):
            knots.append(float(value))
    return tuple(sorted(knots))


def _stages(table: BinaryTable, epsilon: float, delta: float) -> tuple[Stage[Noise], ...]:
    """Return the stage of the cells, and those of the sums that most figures are about.

    A hard edge needs exact answers: models that have none are told by cells alone.
    """
    question, marks = table.question, _marks(table.question)
    exact = not table.bins.shared and len(marks) > 2
    anchored = exact and question.focus == "threshold"
    many = anchored and question.groups.groups >= _MANY
    rest = (_ANCHOR_SHARE,) * anchored + (_OVERALL_SHARE,) * many
    shares = (1 - sum(rest), *rest)
    budgets = zip(share_out(epsilon, shares), share_out(delta, shares), strict=True)
    laws: list[Any] = [
        {"epsilon": own, "delta": small, "mechanism": question.mechanism} for own, small in budgets
    ]
    stages = [shares_stage(_CELLS, table.contribution, question.setting, **laws[0])]
    if anchored:
        stages.append(_anchor_stage(table, marks[-1], laws[1]))
    if many:
        stages.append(shares_stage(_OVERALL, table.overall, question.setting, **laws[2]))
    return tuple(stages)


def _anchor_stage(table: BinaryTable, turn: float, law: dict[str, Any]) -> Stage[Noise]:
    """Return the stage that counts records on either side of the turn, by outcome and group.

    Guarantees:
      - A record is in one of its cells or in none. [histogram]
    """
    question, answers = table.question, model_answers(table.question.model)

    def index(block: Block) -> NDArray[np.int64]:
        part = table.part(block)
        return np.where(part < 0, -1, 2 * part + (answers(block) >= turn))

    calls = ModelCalls(question.model.third_party, lipschitz=1.0)
    contribution = CellContribution(question.columns, 2 * table.parts, index, calls=calls)
    relation = question.setting.relation
    certificate = calls.evidence(relation).mark(contribution.certificate)
    noise = count_noise(certificate, relation=relation, **law)
    return Stage("records on either side of the turn", contribution, noise)


def _bins(question: EvaluationQuestion) -> SplitBins:
    """Return bins at scores of public rows and at even steps; hats for answers that are not exact."""
    model, setting = question.model, question.setting
    shared = not answers_exactly(model, setting.relation)
    rows, groups = setting.rows, question.groups.groups
    count = question.bins or suitable_bins(rows, question.epsilon, groups)
    low, high = model.bounds.limits
    half = count // 2 if count < 2 * _DECILES else count // (2 * _DECILES) * _DECILES
    even = np.linspace(low, high, half + 1)
    if (low, high) == (0.0, 1.0):
        few = count < 2 * _DECILES
        crowded = _crowded(half if few else count - half)
        even = np.append(crowded, even) if few else np.append(even, crowded)
    quantiles = np.quantile(_public_scores(question), np.linspace(0, 1, count - half + 2))
    candidates = [*_marks(question), *even.tolist(), *quantiles.tolist()]
    nearest = _NEAREST_HATS if shared else _NEAREST
    return SplitBins(_spread(candidates, count + 1, nearest), shared)


def _crowded(count: int) -> FloatArray:
    """Return probabilities at even steps of their logits: where outcomes are rare, scores crowd."""
    logits = np.linspace(-_FARTHEST_LOGIT, _FARTHEST_LOGIT, count + 1)
    return np.asarray(1.0 / (1.0 + np.exp(-logits)))


def _scores_are(question: EvaluationQuestion) -> str:
    """Return what scores are: probabilities, margins, or scores that are none of both."""
    low, high = question.model.bounds.limits
    if question.output == "margin":
        return "margin"
    return "probability" if low >= 0 and high <= 1 else "score"


def _public_scores(question: EvaluationQuestion) -> FloatArray:
    model = question.model
    rows = np.asfortranarray(public_rows(question.setting.schema, model.columns))
    with quietly(model.pulse is not None):
        scores = engine_for("predict", model)(rows, 1)
    return np.clip(np.nan_to_num(scores, nan=model.fill), *model.bounds.limits)


def suitable_bins(rows: int | None, epsilon: float, groups: int) -> int:
    """Return how many bins suit: more of them tell ties apart, and add noise.

    Inside a bin both outcomes are nearly even, so that what ties change falls as the square of the
    bins, while noise on a sum of cells grows as their root: their sum is least where bins are the
    records, times epsilon, to the power of two fifths. Of the figures some are of groups.
    """
    if rows is None:
        return _UNKNOWN_ROWS
    worth = rows * epsilon / math.sqrt(groups)
    return int(min(max((worth / 8) ** 0.4, _FEWEST), _MOST))


def _expected(table: BinaryTable, stages: tuple[Stage[Noise], ...]) -> dict[str, Expected]:
    """Return how far noise takes the true positive rate of half the records of an even group."""
    cells, *anchors = (stage.noise.half_width(LEVEL) for stage in stages[:2])
    spread = cells**2 * table.bins.size / 2
    if anchors:
        spread = spread * anchors[0] ** 2 / (spread + anchors[0] ** 2)
    rows = table.question.setting.rows
    each = math.sqrt(spread / 2)
    share = 1 / (2 * table.question.groups.groups)
    if rows is None:
        return {"rate of a group": Expected(each / share, 1.0, _RATE, unknown="noise")}
    return {"rate of a group": Expected(each / (share * rows), 1.0, _RATE)}


def _result(
    table: BinaryTable, stages: tuple[Stage[Noise], ...], answers: list[FloatArray]
) -> BinaryEvaluation:
    question, noise = table.question, stages[0].noise
    noisy, *beside = (tuple(np.asarray(answer).tolist()) for answer in answers)
    anchors, overall = [*beside, (), ()][:2]
    stds = [stage.noise.std for stage in stages]
    return BinaryEvaluation(
        columns=question.groups.names,
        groups=question.groups.labels,
        knots=table.bins.knots,
        shared=table.bins.shared,
        counts=noisy,
        noise_std=noise.std,
        half_width=noise.half_width(LEVEL),
        mechanism=noise.name,
        rows=question.rows,
        output=_scores_are(question),
        target=question.target,
        level=LEVEL,
        anchors=anchors,
        anchor_std=stds[1] if anchors else None,
        overall=overall,
        overall_std=stds[2] if overall else None,
        nested=question.groups.nested,
    )
