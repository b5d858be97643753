"""The command line says what declarations say: every argument of every plan is an option."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import KW_ONLY
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest
import typer
from sklearn.linear_model import LogisticRegression
from skops.io import dump
from typer.testing import CliRunner

import discreet as dc
from discreet.cli import app
from discreet.cli.commands import (
    ACTIONS,
    BATCH,
    COMMANDS,
    PYTHON_ONLY,
    Questions,
    make_command,
    typed_plans,
)
from discreet.cli.questions import help_of, question
from discreet.docstrings import headline, opening, read_docstring, unmarked
from discreet.errors import ArgumentError
from discreet.plans import Program, Setting
from discreet.plans.declaration import DeclaredPlan, arguments_of
from discreet.plans.held import FittedModel, Function, Rows, Table
from discreet.plans.kinds import (
    Columns,
    Delta,
    Epsilon,
    Flag,
    Interval,
    OneOf,
    PerColumn,
    Positive,
    Switch,
    TextList,
    Values,
    Whole,
)
from discreet.plans.registry import find_plan

TYPED = sorted(typed_plans().values())


def options(action: str, name: str) -> dict[str, Any]:
    """Return the parameters of a command by the names of the arguments they stand for."""
    command = Questions(action).make(name.replace("_", "-"))
    return {parameter.name: parameter for parameter in command.params}


@pytest.mark.parametrize("name", TYPED)
def test_every_argument_is_an_option_with_its_help(name: str) -> None:
    made = {action: options(action, name) for action in ACTIONS}
    for argument in arguments_of(find_plan(name)):
        if f"{name}.{argument.name}" in PYTHON_ONLY:
            assert not argument.required, "without it the plan cannot be asked for at all"
            continue
        for parameters in made.values():
            told = parameters[argument.name]
            assert told.required == argument.required
            assert told.help == help_of(argument) and opening(argument.help)[1:] in told.help


def test_help_explains_every_word_that_may_be_typed() -> None:
    curve = next(a for a in arguments_of(find_plan("partial_dependence")) if a.name == "curve")
    said = help_of(curve)
    assert "centred adds their means" in said and "auto takes" in said and "One of" not in said


def test_what_is_not_on_the_command_line_has_a_reason() -> None:
    for entry, reason in PYTHON_ONLY.items():
        plan, _, name = entry.partition(".")
        arguments = {argument.name: argument for argument in arguments_of(find_plan(plan))}
        assert reason and (not name or name in arguments)
        if not name:
            functions = [a for a in arguments.values() if isinstance(a.kind, Function)]
            assert any(argument.required for argument in functions)
    assert set(TYPED) | {e for e in PYTHON_ONLY if "." not in e} == set(dc.PLANS)


def test_lists_of_commands_say_what_docstrings_say() -> None:
    listed = Questions("release").commands
    for command, name in typed_plans().items():
        assert listed[command].help == unmarked(headline(find_plan(name).__doc__ or ""))
    for home, function in COMMANDS.values():
        assert read_docstring(home, function)
    assert listed[BATCH].help and "most-frequent" in listed and "choose" not in listed


def test_a_list_of_commands_imports_no_plan() -> None:
    script = (
        "import sys\nfrom discreet.cli import app\n"
        "try: app()\nexcept SystemExit: pass\n"
        "print(*[m for m in sys.modules if m == 'numpy' or m.startswith('discreet.')])"
    )
    for words in (["--help"], ["release", "--help"], ["version"]):
        done = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True)
        known = "docstrings cli cli.commands cli.output errors"
        assert set(done.stdout.splitlines()[-1].split()) <= {f"discreet.{n}" for n in known.split()}


class Kept:
    """Rows, as a plan keeps them."""

    def __init__(self, rows: Any) -> None:
        self.rows = rows

    def to_json(self) -> Any:
        """Return them as plain data."""
        return np.asarray(self.rows).tolist()


class survey(DeclaredPlan):
    """Plan an answer of ``everything``.

    Args:
      model: fitted.
      x: what is asked about.
      first: columns.
      columns: more of them.
      bins: how many cells, in all columns or in each.
      order: of a category.
      levels: some numbers.
      bounds: two ends.
      clip: how far, or ``auto``.
      k: how many.
      tidy: whether.
      sure: whether, or as ``tidy``.
      where: a table.
      epsilon: the budget.
      delta: zero.
      mechanism: of noise.
    """

    model: FittedModel
    x: Annotated[Any, Rows(Kept, inline=True, also="query")]
    first: Annotated[Any, Columns()]
    columns: Annotated[Any, Columns()]
    _: KW_ONLY
    bins: Annotated[Any, PerColumn()] = 20
    order: Annotated[Sequence[str] | None, TextList(optional=True)] = None
    levels: Annotated[Sequence[float] | None, Values(optional=True)] = None
    bounds: Annotated[Any, Interval(optional=True)] = None
    clip: Annotated[Any, Positive(auto=True, optional=True)] = "auto"
    k: Annotated[int, Whole(1, 9)] = 1
    tidy: Switch = True
    sure: Annotated[bool | None, Flag(optional=True)] = None
    where: Annotated[Any, Table(optional=True)] = None
    epsilon: Epsilon
    delta: Delta = 0.0
    mechanism: Annotated[str, OneOf(("auto", "laplace"))] = "auto"

    def prepare(self, setting: Setting) -> Program:
        raise NotImplementedError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a model, a query and a table."""
    monkeypatch.chdir(tmp_path)
    dump(LogisticRegression().fit(np.arange(8.0)[:, None], np.arange(8) % 2), tmp_path / "m.skops")
    (tmp_path / "query.json").write_text("[1, 2]")
    (tmp_path / "table.csv").write_text("a\n1\n")
    return tmp_path


def made_by(declared: type[DeclaredPlan], words: Sequence[str]) -> Any:
    """Return the plan that a command makes of words."""
    made: list[Any] = []

    def keep(plan: Any) -> None:
        made.append(plan)

    command = typer.Typer()
    command.command()(question(declared, keep))
    done = CliRunner().invoke(command, list(words), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return made[0]


def typed(*words: str) -> Any:
    """Return the plan of all kinds that words make."""
    return made_by(survey, ["--model", "m.skops", "--query", "query.json", *words])


SAME: list[tuple[str, Any]] = [
    ("age", dc.histogram("age", epsilon=0.5)),
    (
        "age job --bins age=3 --no-clip",
        dc.histogram(["age", "job"], bins={"age": 3}, clip=False, epsilon=0.5),
    ),
    ("age --ranges", dc.histogram("age", ranges=True, epsilon=0.5)),
    ("age --given job", dc.entropy("age", given="job", epsilon=0.5)),
    ("age --order inf", dc.entropy("age", order=math.inf, epsilon=0.5)),
    ("a b --base nats", dc.mutual_information("a", "b", base="nats", epsilon=0.5)),
    ("a b c", dc.mutual_information("a", ["b", "c"], epsilon=0.5)),
    (
        "age 50 --candidate 20 --candidate 30.5",
        dc.percentile("age", 50, candidates=[20, 30.5], epsilon=0.5),
    ),
    ("age 0.25 0.75", dc.quantiles("age", [0.25, 0.75], epsilon=0.5)),
    ("job --mechanism laplace", dc.most_frequent("job", mechanism="laplace", epsilon=0.5)),
    (
        "y --feature a --feature b --depth 2",
        dc.decision_tree("y", features=["a", "b"], depth=2, epsilon=0.5),
    ),
    ("y --bins 8", dc.additive_model("y", bins=8, epsilon=0.5)),
    ("y --interactions 2", dc.additive_model("y", interactions=2, epsilon=0.5)),
    ("y --rows whole --seed 3", dc.random_forest("y", rows="whole", seed=3, epsilon=0.5)),
    ("y --choose held-out", dc.fit("y", choose="held-out", epsilon=0.5)),
    ("--kind mean --clip 2", dc.background("mean", clip=2, epsilon=0.5)),
    ("--rows 20 --column a", dc.synthesize(20, columns=["a"], epsilon=0.5)),
    ("9 --gamma 3 --delta 1e-6", dc.deniable_rows(9, gamma=3, epsilon=0.5, delta=1e-6)),
    (
        "a b --point 0 --point 3 --delta 1e-6",
        dc.functional_mean(["a", "b"], points=[0, 3], epsilon=0.5, delta=1e-6),
    ),
]


@pytest.mark.parametrize(("words", "plan"), SAME, ids=lambda part: str(part)[:30])
def test_words_make_the_plan_of_python(words: str, plan: Any) -> None:
    made = made_by(type(plan), [*words.split(), "--epsilon", "0.5"])
    assert made == plan and made.key == plan.key


def test_what_is_left_out_keeps_its_default(folder: Path) -> None:
    plan = typed("age", "job", "--epsilon", "1")
    assert plan == survey(plan.model, [1, 2], "age", "job", epsilon=1.0)
    assert plan.first == ("age",) and plan.columns == ("job",) and not plan.model.isolated


def test_every_kind_is_read_from_words(folder: Path) -> None:
    words = "a b c --bins a=5 --bins b=9 --order 007 --order x --level 1 --level 2.5 --bounds 0,1.5"
    more = "--clip 2 --k 3 --no-tidy --sure --where table.csv --epsilon .5 --delta 1e-6 --isolated"
    plan = typed(*words.split(), *more.split(), "--mechanism", "laplace")
    told = plan.arguments()
    assert (told["first"], told["columns"], told["bins"]) == (["a"], ["b", "c"], {"a": 5, "b": 9})
    assert (told["order"], told["levels"], told["bounds"]) == (["007", "x"], [1, 2.5], [0.0, 1.5])
    assert (told["clip"], told["k"], told["tidy"], told["sure"]) == (2.0, 3, False, True)
    assert plan.where.value == Path("table.csv") and plan.model.isolated
    assert (plan.epsilon, plan.delta, plan.mechanism) == (0.5, 1e-6, "laplace")
    fewer = typed("a", "b", "--epsilon", "1", "--bins", "7", "--clip", "none")
    assert fewer.bins == 7 and fewer.clip is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--k", "many"], "k must be a whole number of at least 1 and at most 9, got 'many'."),
        (["--clip", "-1"], "clip must be a positive finite number, got -1. Or use clip='auto'."),
        (["--mechanism", "x"], "mechanism must be one of auto, laplace, got 'x'."),
        (["--bins", "5", "--bins", "6"], "bins must be one number, or column=number"),
        (["--bounds", "2,1"], "must"),
        (["--epsilon", "0"], "epsilon must be a positive finite number, got 0."),
    ],
)
def test_a_wrong_value_gets_the_sentence_of_the_plan(folder: Path, words: list[str], said: str) -> None:
    with pytest.raises(ArgumentError) as told:
        typed("a", "b", "--epsilon", "1", *words)
    assert said in str(told.value)


def test_help_names_files_choices_and_defaults() -> None:
    command = make_command("survey", question(survey, lambda plan: None))
    told = {parameter.name: parameter for parameter in command.params}
    assert command.help == "An answer of everything."
    assert told["model"].help.startswith("A file of skops, XGBoost (.json, .ubj)")
    assert told["model"].help.endswith("CARD#NAME of a card, or a name of --server's: fitted.")
    assert told["x"].opts == ["--query", "--x"]
    assert told["clip"].help == "How far, or auto. Or none."
    assert told["mechanism"].help == "Of noise. One of auto, laplace."
    assert told["levels"].opts == ["--level"] and told["bins"].default == ["20"]
    assert told["tidy"].opts == ["--tidy"] and told["tidy"].secondary_opts == ["--no-tidy"]


def test_what_python_alone_can_ask_is_said() -> None:
    for name, reason in PYTHON_ONLY.items():
        if "." not in name:
            with pytest.raises(ArgumentError, match=f"must be asked in Python: {reason}"):
                CliRunner().invoke(app, ["price", name.replace("_", "-")], catch_exceptions=False)
