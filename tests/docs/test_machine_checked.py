"""What the theory pages call machine-checked is checked by a machine, as they say, and can fail."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROOFS = ROOT / "tests" / "proofs"
ID = r"[a-z0-9]+(?:-[a-z0-9]+)*"

METHODS = {"proved": "solver", "holds_everywhere": "ball arithmetic", "every_case": "enumeration"}
"""What settles a statement for all values, by the function that a check calls."""

FAULTS = {"counterexample", "fails_somewhere", "failing_case"}
"""What finds a counterexample, a point or a case, and fails if there is none."""


def entries() -> dict[str, str]:
    """Return the text of every statement."""
    found = {}
    for page in sorted((ROOT / "docs" / "theory").glob("*.md")):
        for entry in re.split(r"^### ", page.read_text(), flags=re.M)[1:]:
            name, body = entry.split("\n", 1)
            found[name] = re.split(r"^## ", body, flags=re.M)[0]
    return found


def page_marks() -> dict[str, tuple[set[str], str]]:
    """Return the methods and the module of every statement that carries the mark."""
    found = {}
    for name, body in entries().items():
        marks = re.findall(r"Machine-checked: (\*[^(]*\*) \(`tests/proofs/(\w+)\.py`\)\.", body)
        assert len(marks) <= 1 and body.count("Machine-checked") == len(marks), name
        if marks:
            methods, module = marks[0]
            found[name] = set(re.findall(r"\*([^*]+)\*", methods)), module
    return found


def proof_tests() -> list[tuple[str, str, dict[str, set[str]], set[str]]]:
    """Return module, name, marks and called functions of every test of a proof."""
    found = []
    for path in sorted(PROOFS.glob("test_*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                called = {
                    call.func.id
                    for call in ast.walk(node)
                    if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
                }
                found.append((path.stem, node.name, marks_of(node), called))
    return found


def marks_of(node: ast.FunctionDef) -> dict[str, set[str]]:
    """Return the statements a test names, by kind of mark."""
    found: dict[str, set[str]] = defaultdict(set)
    for mark in node.decorator_list:
        kind = (
            mark.func.attr
            if isinstance(mark, ast.Call) and isinstance(mark.func, ast.Attribute)
            else ""
        )
        if isinstance(mark, ast.Call) and kind in ("checks", "refutes"):
            found[kind] |= {ast.literal_eval(argument) for argument in mark.args}
    return found


def test_marks_on_pages_are_those_of_the_proofs() -> None:
    checked: dict[str, tuple[set[str], str]] = {}
    for module, name, marks, called in proof_tests():
        for statement in marks.get("checks", ()):
            methods = {METHODS[function] for function in called & METHODS.keys()}
            assert methods, f"{name} settles nothing for all values"
            known, home = checked.get(statement, (set(), module))
            assert home == module, f"{statement} is checked in {home} and in {module}"
            checked[statement] = known | methods, module
    assert page_marks() == checked


def test_every_check_has_a_fault_that_is_found() -> None:
    checks: set[str] = set()
    faults: set[str] = set()
    for _, name, marks, called in proof_tests():
        assert bool(marks.get("checks")) != bool(marks.get("refutes")), f"{name} is one or the other"
        if marks.get("refutes"):
            assert called & FAULTS, f"{name} looks for no counterexample"
        checks |= marks.get("checks", set())
        faults |= marks.get("refutes", set())
    assert checks == faults


def test_the_number_that_is_stated_is_the_number_of_marks() -> None:
    text = (ROOT / "docs" / "theory" / "foundation.md").read_text()
    stated = re.findall(r"(\d+) of the (\d+) statements are \*machine-checked\*", text)
    assert stated == [(str(len(page_marks())), str(len(entries())))]
