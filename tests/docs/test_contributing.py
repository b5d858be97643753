"""CONTRIBUTING names only what exists: paths, names of the code, commands and layers."""

from __future__ import annotations

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

from tests.docs.test_words import resolves

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXAMPLE = re.compile(r"ice[_-]variance")
"""The explainer that the page adds: it is not there, but the folders it goes to are."""

SHELVES = (ROOT, ROOT / "src" / "discreet", ROOT / "tests" / "laws")
"""What paths on the page start from."""

LIBRARIES = {"np", "numpy", "pytest", "mark", "var", "mean", "axis", "self", "None"}
"""Words of Python and of other packages."""

PATH = re.compile(r"^[\w./*-]+(/|\.(py|md|toml|txt))$|^\.\w+$|^tests/\w+$")


def quoted() -> list[str]:
    """Return what stands between backticks, layers aside."""
    return sorted({text for text in re.findall(r"`([^`\n]+)`", PAGE) if "◄" not in text})


def is_there(path: str) -> bool:
    """Say whether a path, or a pattern of paths, leads somewhere; of the example its folder."""
    if path == ".venv":
        return path in (ROOT / ".gitignore").read_text()
    if EXAMPLE.search(path):
        return (ROOT / path).parent.is_dir()
    return any(any(shelf.glob(path.rstrip("/"))) for shelf in SHELVES) or path in _anywhere()


@cache
def _anywhere() -> set[str]:
    """Return the names of files that every room has."""
    return {name for name in ("plan.py", "registry.py") if any((ROOT / "src").rglob(name))}


@cache
def defined() -> set[str]:
    """Return every name that code of ours defines: functions, classes, arguments, fields, variables."""
    found = {mark.split("(")[0] for mark in SETTINGS["tool"]["pytest"]["ini_options"]["markers"]}
    files = [path for room in ("src", "tests") for path in (ROOT / room).rglob("*.py")]
    for node in (node for path in files for node in ast.walk(ast.parse(path.read_text()))):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
                found.add(name)
            case ast.Name(id=name, ctx=ast.Store()):
                found.add(name)
    return found


def unknown_names(text: str) -> set[str]:
    """Return the names in an expression that nobody defines."""
    if text.startswith("discreet."):
        return set() if resolves(text) else {text}
    used = set(re.findall(r"[A-Za-z_]\w*", re.sub(r'"[^"]*"', "", text)))
    return {name for name in used if not EXAMPLE.search(name)} - defined() - LIBRARIES


def faults(text: str) -> set[str]:
    """Return what a quotation names and is not there."""
    words = text.split()
    if words[0] == "make":
        makefile = (ROOT / "Makefile").read_text()
        return {word for word in words[1:] if not re.search(rf"^{word}:", makefile, re.M)}
    if words[0] in ("python", "pytest"):
        return {word for word in words[1:] if "/" in word and not is_there(word)}
    if PATH.match(text):
        return set() if is_there(text) else {text}
    if re.search(r"\w", text) is None or text in ("Args:", "Guarantees:", "*Status: proven*", "raw_"):
        return set()
    return unknown_names(text)


@pytest.mark.parametrize("text", quoted())
def test_what_the_page_names_exists(text: str) -> None:
    assert faults(text) == set()


@pytest.mark.parametrize(
    "text",
    [
        "tables/histogram.py",
        "tests/laws/test_nothing_*.py",
        "explain/nothing/",
        "discreet.nothing",
        "NoSuchContribution",
        "ModelCalls(engine.third_party, no_such=1)",
        "make nothing",
        "python docs/nothing.py",
        "src/discreet/nothing/ice_variance.py",
    ],
)
def test_what_does_not_exist_is_noticed(text: str) -> None:
    assert faults(text)


def test_the_layers_are_those_that_are_checked() -> None:
    contract = SETTINGS["tool"]["importlinter"]["contracts"][0]
    checked = [set(re.findall(r"\w+", layer)) for layer in reversed(contract["layers"])]
    (line,) = re.findall(r"`([^`]*◄[^`]*)`", PAGE)
    assert [set(re.findall(r"\w+", layer)) for layer in line.split("◄")] == checked
