"""Shadow models: train as the owner would, with and without a record, and see what that does.

The attacker knows the kind of model, its parameters and rows like the owner's. He trains *shadow*
models with the record and without it, and asks of a model he is shown which kind it resembles:

* ``confidence``: how sure the model is of the record's class (Yeom et al. 2018); the threshold is
  chosen on half of the shown models.
* ``likelihood ratio``: normal laws, fitted to what the shadow models of either kind show, tell how much
  likelier the shown model is with the record (LiRA, Carlini et al. 2022), with a threshold of zero.

``others`` are the rows beside the record: *known* ones are the same in every model, as the definition
of privacy has it; *drawn* ones are fresh in every model, so that the record must show beside them. He
is told them either way: what a private tree's leaf counts is compared with the rows in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from discreet.audit.attacks.ceiling import NOTHING_PROMISED, Ceiling
from discreet.audit.attacks.scoring import AttackResult, score_attack
from discreet.audit.attacks.simulated.encoded import EncodedTable, prepared
from discreet.numerics import check_choice, check_whole
from discreet.randomness import SimulatedNoise, public_generator
from discreet.schema import Category, FloatArray, Number, Schema
from discreet.trees.forest import random_forest
from discreet.trees.plan import TreePlan, decision_tree
from discreet.trees.result import RandomForest

ShadowAttack = Literal["confidence", "likelihood ratio"]
Others = Literal["known", "drawn"]
Train = Callable[[FloatArray, int], FloatArray]
"""Trains on encoded rows, the class last, with a seed; returns what the attacker sees of the model:
first its confidence in the record's class, then whatever else the model tells."""

RECORD = np.array([0.9, 0.15, 0.8, 0.0])
"""Where the first column is large the class is 1; this record says otherwise."""

_COLUMNS = len(RECORD) - 1
_FLIPPED = 0.1
_SURE = 1e-3
_FEWEST = 20


@dataclass(frozen=True)
class Learner:
    """Something that is trained on private rows.

    Args:
      name: as ``private tree``.
      ceiling: what its promise implies for one replaced row.
      train: does it.
    """

    name: str
    ceiling: Ceiling
    train: Train


def attack_training(
    learner: Learner,
    *,
    attack: ShadowAttack = "likelihood ratio",
    others: Others = "known",
    rows: int = 60,
    shadows: int = 100,
    shown: int = 100,
    seed: int = 0,
) -> AttackResult:
    """Ask of trained models whether ``RECORD`` was among their rows.

    Args:
      learner: what is attacked.
      attack: how.
      others: whether the rows beside the record are known or drawn anew for every model.
      rows: that a model is trained on.
      shadows: models of either kind that the attacker trains.
      shown: models of either kind that he is shown.
      seed: of rows and noise.
    """
    check_choice("attack", attack, ("confidence", "likelihood ratio"))
    check_choice("others", others, ("known", "drawn"))
    check_whole("rows", rows, 2)
    for name, count in (("shadows", shadows), ("shown", shown)):
        check_whole(name, count, _FEWEST, hint="Fewer cannot be told from chance.")
    target = f"{learner.name}, {others} rows"
    here, gone = (
        _seen(learner.train, others, rows, shadows + shown, seed, member) for member in (True, False)
    )
    if attack == "confidence":
        shown_scores = -here[shadows:, 0], -gone[shadows:, 0]
        if here[:shadows, 0].mean() >= gone[:shadows, 0].mean():
            shown_scores = here[shadows:, 0], gone[shadows:, 0]
        return score_attack(*shown_scores, learner.ceiling, attack=attack, target=target)
    ratio = _fitted_ratio(here[:shadows], gone[:shadows])
    scores = ratio(here[shadows:]), ratio(gone[shadows:])
    return score_attack(*scores, learner.ceiling, attack=attack, target=target, threshold=0.0)


def plain_tree(depth: int | None = None) -> Learner:
    """Return scikit-learn's tree, which promises nothing."""
    from sklearn.tree import DecisionTreeClassifier

    def train(rows: FloatArray, seed: int) -> FloatArray:
        model = DecisionTreeClassifier(max_depth=depth, random_state=seed)
        return _plain_view(model.fit(rows[:, :-1], rows[:, -1]))

    return Learner("scikit-learn tree", NOTHING_PROMISED, train)


def plain_forest(trees: int = 10) -> Learner:
    """Return scikit-learn's forest, which promises nothing."""
    from sklearn.ensemble import RandomForestClassifier

    def train(rows: FloatArray, seed: int) -> FloatArray:
        model = RandomForestClassifier(trees, random_state=seed, n_jobs=1)
        return _plain_view(model.fit(rows[:, :-1], rows[:, -1]))

    return Learner("scikit-learn forest", NOTHING_PROMISED, train)


def private_tree(*, epsilon: float, delta: float = 0.0, depth: int = 2, rows: int = 60) -> Learner:
    """Return our tree: the plan's own splits, counts and noise."""
    plan = decision_tree("class", depth=depth, epsilon=epsilon, delta=delta)
    return private_learner("private tree", plan, rows)


def private_forest(
    *, epsilon: float, delta: float = 0.0, trees: int = 3, depth: int = 2, rows: int = 60
) -> Learner:
    """Return our forest."""
    plan = random_forest("class", trees=trees, depth=depth, epsilon=epsilon, delta=delta)
    return private_learner("private forest", plan, rows)


def private_learner(
    name: str, plan: TreePlan, rows: int, table: type[EncodedTable] = EncodedTable
) -> Learner:
    """Return a plan that trains trees as a learner.

    Args:
      name: of the learner.
      plan: of a tree or a forest on the class.
      rows: that it is trained on.
      table: what answers its stages.
    """
    schema = training_schema()
    program = prepared(plan, schema, rows)

    def train(given: FloatArray, seed: int) -> FloatArray:
        model = program.finish(table(tuple(schema), given, SimulatedNoise(seed)))
        return np.array([*_private_view(model), *_residual(model, given[1:])])

    return Learner(name, Ceiling(plan.epsilon, plan.delta), train)


def training_schema() -> Schema:
    """Return the public facts of the rows that models are trained on."""
    numbers = {f"number {place}": Number(0.0, 1.0, missing=False) for place in range(_COLUMNS)}
    return Schema({**numbers, "class": Category("0", "1", missing=False, other=False)}, target="class")


def draw_rows(generator: np.random.Generator, rows: int) -> FloatArray:
    """Return encoded rows like the owner's: the class says whether the first column is large."""
    numbers = generator.random((rows, _COLUMNS))
    large = numbers[:, 0] > 0.5
    classes = large ^ (generator.random(rows) < _FLIPPED)
    return np.column_stack([numbers, classes])


def _seen(train: Train, others: Others, rows: int, models: int, seed: int, member: bool) -> FloatArray:
    """Return models x what is seen of them; another row stands where the record would.

    Beside known rows that one is of the other class: neighbours that are as far apart as they can be.
    """
    known = draw_rows(public_generator(seed), rows)
    known[0, -1] = 1.0 - RECORD[-1]
    drawn = public_generator(2 * seed + 1 + member)
    seen = []
    for trial in range(models):
        table = known.copy() if others == "known" else draw_rows(drawn, rows)
        if member:
            table[0] = RECORD
        seen.append(train(table, 2 * (seed * models + trial) + member))
    return np.array(seen)


def _plain_view(model: Any) -> FloatArray:
    """Return the logit of the confidence of a scikit-learn model."""
    classes = list(model.classes_)
    if RECORD[-1] not in classes:
        return np.array([_logit(0.0)])
    shares = model.predict_proba(RECORD[None, :-1])[0]
    return np.array([_logit(float(shares[classes.index(RECORD[-1])]))])


def _private_view(model: Any) -> FloatArray:
    """Return the logit of the confidence, and the noisy totals of the classes over all leaves."""
    share = float(model.encoded_shares(RECORD[None, :-1])[0, int(RECORD[-1])])
    leaves = np.array(model.left) == np.arange(len(model.left))
    return np.array([_logit(share), *np.array(model.counts)[leaves].sum(axis=0)])


def _residual(model: Any, others: FloatArray) -> FloatArray:
    """Return what the record's leaf counts of its class beyond the rows beside it; a tree's alone.

    Which rows a tree of a forest counted, its nodes do not say.
    """
    if isinstance(model, RandomForest):
        return np.empty(0)
    (leaf,) = model.leaf_of(RECORD[None, :-1])
    alike = (model.leaf_of(others[:, :-1]) == leaf) & (others[:, -1] == RECORD[-1])
    return np.array([model.counts[leaf][int(RECORD[-1])] - alike.sum()])


def _logit(share: float) -> float:
    inside = min(max(share, _SURE), 1.0 - _SURE)
    return math.log(inside / (1.0 - inside))


def _fitted_ratio(here: FloatArray, gone: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """Return the logarithm of the ratio of two normal laws with the covariance that both share.

    What never varies, as a count without noise, gets a small variance instead of none.
    """
    middle, move = (here.mean(axis=0) + gone.mean(axis=0)) / 2, here.mean(axis=0) - gone.mean(axis=0)
    spread = (_covariance(here) + _covariance(gone)) / 2
    floor = 1e-6 * (1.0 + np.abs(move)) ** 2
    direction = np.linalg.solve(spread + np.diag(floor), move)
    return lambda seen: np.asarray((seen - middle) @ direction)


def _covariance(values: FloatArray) -> FloatArray:
    return np.atleast_2d(np.cov(values, rowvar=False))
