"""Evaluating a classifier of many classes: lay out its tables, calibrate, read what was released."""

from __future__ import annotations

import numpy as np

from discreet.errors import ArgumentError, ModelError
from discreet.evaluation.bins import SplitBins, answers_exactly
from discreet.evaluation.classes.result import ClassEvaluation
from discreet.evaluation.classes.table import SHARES, SHARES_WITH_REST, ClassTable
from discreet.evaluation.question import EvaluationQuestion
from discreet.mechanisms import Noise
from discreet.plans import Program, Releaser, Stage
from discreet.plans.expected import Expected
from discreet.plans.results.bands import LEVEL
from discreet.schema import Category, FloatArray, Schema
from discreet.schema.raw import category_text, plain_text

_BINS = 10


def prepare_classes(question: EvaluationQuestion) -> Program:
    """Return the program of the private tables of a classifier.

    Guarantees:
      - A record has a whole weight of one in all tables, in one group. [class-tables]
    """
    table = lay_out_classes(question)
    stage = question.stage(
        "classes",
        table.contribution,
        statement="class-tables",
        instead="evaluate one class at a time: dc.Model(model, class_=..., isolated=True).",
    )

    def finish(releaser: Releaser) -> ClassEvaluation:
        return read_tables(question, table, stage.noise, releaser.answer(stage)[0])

    return Program((stage,), finish, {"accuracy": _expected(table, stage)})


def lay_out_classes(question: EvaluationQuestion) -> ClassTable:
    """Return the tables a question asks for."""
    schema, models = question.setting.schema, question.models
    column = schema[question.target]
    if not isinstance(column, Category):
        raise ArgumentError(
            f"target must be a category for a classifier of many classes, got the number "
            f"{question.target!r}. Declare its classes in the schema."
        )
    exact = all(answers_exactly(model, question.setting.relation) for model in models)
    count = question.bins or _BINS
    # The highest of K probabilities is never below their mean.
    highest = np.linspace(1 / len(models), 1.0, count + 1)
    return ClassTable(
        setting=question.setting,
        models=models,
        target=question.target,
        truths=len(column.values),
        places=class_places(schema, question.target, question.names),
        groups=question.groups,
        bins=SplitBins(tuple(highest.tolist()), not exact),
        rest=SplitBins(tuple(np.linspace(0.0, 1.0, count + 1).tolist()), not exact)
        if question.one_vs_rest
        else None,
    )


def class_places(schema: Schema, target: str, names: tuple[object, ...]) -> tuple[int, ...]:
    """Return which value of the target every class of a model is."""
    column = schema[target]
    assert isinstance(column, Category)
    texts = [plain_text(category_text(value)) for value in column.values]
    places = []
    for name in names:
        wanted = plain_text(category_text(name))
        if wanted not in texts:
            raise ModelError(
                f"model must predict values of the schema's target, got the class {name!r}. "
                "Give the target the classes the model was fitted on."
            )
        places.append(texts.index(wanted))
    return tuple(places)


def _expected(table: ClassTable, stage: Stage[Noise]) -> Expected:
    weight, rows = table.weights["confusion"], table.setting.rows
    half = stage.noise.half_width_of_sums(LEVEL) / weight * (table.given * table.groups.groups) ** 0.5
    return Expected(half / (rows or 1), 1.0, "a rate's whole range", unknown=None if rows else "noise")


def read_tables(
    question: EvaluationQuestion, table: ClassTable, noise: Noise, noisy: FloatArray
) -> ClassEvaluation:
    """Return what noisy tables say."""
    column = table.setting.schema[table.target]
    assert isinstance(column, Category)
    blocks = noisy.reshape(table.groups.groups, table.block)
    counts = {
        name: tuple((blocks[:, part] / table.weights[name]).ravel().tolist())
        for name, part in table.parts.items()
    }
    return ClassEvaluation(
        target=table.target,
        columns=question.groups.names,
        groups=question.groups.labels,
        truths=column.labels[: table.truths],
        given=tuple(column.labels[place] for place in table.places),
        soft=table.soft,
        knots=table.bins.knots,
        confusion=counts["confusion"],
        calibration=counts["calibration"],
        rest_knots=() if table.rest is None else table.rest.knots,
        rest=counts.get("rest", ()),
        shares=tuple((SHARES if table.rest is None else SHARES_WITH_REST).values()),
        stds=tuple(noise.std / weight for weight in table.weights.values()),
        mechanism=noise.name,
        rows=question.rows,
        level=LEVEL,
        nested=question.groups.nested,
    )
