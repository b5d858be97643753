"""Errors of commands speak of options; no call of Python is left in what a shell can see."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from discreet.cli.commands import as_typed
from discreet.cli.speech import in_options
from discreet.plans.declaration import arguments_of
from discreet.plans.registry import declared_plans, find_plan

ROOT = Path(__file__).parents[2] / "src" / "discreet"

PYTHON = re.compile(r"""\b\w+=['"]|=(?:True|False|None)\b|\bdc\.|\bsession\.|\w\(\.\.\.|[\w)]\(model""")
"""What only a program could type."""

UNSEEN = {
    "cli/speech.py",  # what it looks for
    "markup.py",  # HTML
    "plans/results/pictures/svg.py",  # SVG
    "data/table.py",  # a sealed table is no file
    "estimators",  # scikit-learn's faces
    "engines",  # used alone
    "audit",  # functions are audited
    "plans/stages/aggregate.py",  # explainers are functions
    "models/readers/native.py",  # an open session of ONNX is an object
    "plans/held.py",  # objects by fingerprint are brought in Python
    "value/private_layered.py",  # a coreset lives in a process
    "session/checking.py",  # lists of plans
    "session/opening.py",  # seeds and ledgers in memory
    "schema/schema.py",  # a schema made in Python
    "schema/levels.py",  # the same
    "schema/conditions/condition.py",  # conditions joined in Python
}
"""Rooms and modules whose sentences about Python are for Python."""


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("epsilon must be positive, got 0.", "--epsilon must be positive, got 0."),
        ("x must have income, got none.", "--query must have income, got none."),
        ("columns must be names, got 1.", "columns must be names, got 1."),
        ("x and epsilon must be left out.", "--query and --epsilon must be left out."),
        ("clip must be one. Or use clip='auto'.", "clip must be one. Or use --clip auto."),
        (
            "Use dc.Model(model, output='margin', bounds=...).",
            "Use --output margin, --bounds low,high.",
        ),
        ("Use dc.Model(model, bounds=(low, high)) now.", "Use --bounds low,high now."),
        ("one at a time: dc.Model(..., isolated=True).", "one at a time: --isolated."),
        ("allow it with protect(..., heuristics=True); so.", "allow it with --heuristics; so."),
        ("Use dc.shap_values, or dc.histogram(...) of it.", None),
        ("This plan costs epsilon=9 and delta=0.", "This plan costs epsilon=9 and delta=0."),
        ("session.price takes several.", "discreet price takes several."),
        ("Or use epsilon=None.", "Or use --epsilon none."),
        ("without consistent=False.", "without --no-consistent."),
    ],
)
def test_sentences(sentence: str, said: str | None) -> None:
    typed = {"epsilon": "--epsilon", "x": "--query", "columns": "columns"}
    instead = "Use discreet release shap-values, or discreet release histogram of it."
    assert in_options(sentence, typed) == (said or instead)


def messages() -> list[tuple[str, str]]:
    """Return every text of our modules but docstrings, with whatever is put in left out."""
    found = []
    for path in sorted(ROOT.rglob("*.py")):
        place = str(path.relative_to(ROOT))
        if not any(place == unseen or place.startswith(f"{unseen}/") for unseen in UNSEEN):
            found += [(place, text) for text in _texts(ast.parse(path.read_text()))]
    return found


def _texts(tree: ast.Module) -> list[str]:
    nodes = list(ast.walk(tree))
    told = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    texts = [node for node in nodes if isinstance(node, ast.Constant | ast.JoinedStr)]
    return [text for text in map(_text, (n for n in texts if id(n) not in told)) if " " in text]


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) if isinstance(part, ast.Constant) else "'…'" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def all_options() -> dict[str, str]:
    """Return every argument of every plan as an option."""
    plans = [find_plan(name) for name in declared_plans()]
    return {a.name: f"--{as_typed(a.name)}" for plan in plans for a in arguments_of(plan)}


def test_no_call_of_python_reaches_the_shell() -> None:
    typed, asked = all_options(), messages()
    assert len(asked) > 500, "the sentences were not found"
    spoken = [(place, in_options(text, typed)) for place, text in asked]
    assert [(place, text) for place, text in spoken if PYTHON.search(text)] == []


def test_a_call_of_python_would_be_noticed() -> None:
    assert PYTHON.search(in_options("Ask session.price(plan).", {}))
    assert PYTHON.search("Use mechanism='auto'.") and not PYTHON.search("It has epsilon=2 left.")
