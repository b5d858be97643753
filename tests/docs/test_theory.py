"""Statements, code and tests speak of the same ids."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ID = r"[a-z0-9]+(?:-[a-z0-9]+)*"


def written() -> set[str]:
    pages = (ROOT / "docs" / "theory").glob("*.md")
    return {found for page in pages for found in re.findall(rf"^### ({ID})$", page.read_text(), re.M)}


def docstrings() -> set[str]:
    found: set[str] = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                found |= set(re.findall(rf"(?<=\S )\[({ID})\](?!\()", ast.get_docstring(node) or ""))
    return found


def marked(kind: str) -> set[str]:
    found: set[str] = set()
    for path in (ROOT / "tests").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.FunctionDef):
                continue
            for mark in node.decorator_list:
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == f"pytest.mark.{kind}":
                    found |= {ast.literal_eval(argument) for argument in mark.args}
    return found


PLACES: dict[str, Callable[[], set[str]]] = {
    "docstrings": docstrings,
    "tests marked proves": lambda: marked("proves"),
    "tests marked refutes": lambda: marked("refutes"),
}


@pytest.mark.parametrize("where", PLACES)
def test_ids_agree_with_the_theory_pages(where: str) -> None:
    ids = PLACES[where]()
    assert ids - written() == set(), f"{where} name statements that docs/theory does not have"
    assert written() - ids == set(), f"{where} lack statements that docs/theory has"


def test_every_statement_has_a_status() -> None:
    for page in (ROOT / "docs" / "theory").glob("*.md"):
        for entry in re.split(r"^### ", page.read_text(), flags=re.M)[1:]:
            name, body = entry.split("\n", 1)
            assert re.search(r"\*Status: (proven|cited)\*", body), name
