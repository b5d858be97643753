"""The dictionary agrees with the code, and private words give way to those of the literature."""

from __future__ import annotations

import importlib
import inspect
import re
import typing
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
DICTIONARY = ROOT / "docs" / "notation.md"
NAME = re.compile(r"^(discreet(?:\.\w+)*)(?:\((\w+)(?:=\"([\w-]+)\")?\))?$")


class Word(typing.NamedTuple):
    """A word of ours: how it is found, the field's word, and how many places still have it."""

    pattern: str
    instead: str
    left: int


WORDS = {
    "box": Word(r"\bbox noise\b|\bshape of a box\b|\"box\"", "K-norm mechanism", 0),
    "companions": Word(r"\bcompanions?\b|\bcompany\b", "batch rows", 0),
    "grain": Word(r"\bgrain\b", "batch error", 0),
    "gain": Word(r"\bgain\b", "Lipschitz constant", 0),
    "bends": Word(r"\bbends?\b|\bbent\b", "adaptive knots", 0),
    "bought": Word(r"\b(bought|buys?)\b", "private quantile grid", 0),
    "coins": Word(r"\bcoins?\b", "exact Bernoulli(exp(−x)) sampling", 0),
    "ballots": Word(r"\bballots?\b", "Borda aggregation", 0),
    "level and shape": Word(r"\blevels? and (the )?shapes?\b|\bshape clip\b", "ICE", 4),
    "reach": Word(r"\breach(es)?\b", "radius", 1),
    "ladder": Word(r"\bladders?\b|\brungs?\b", "step grid", 0),
    "lead": Word(r"\bleads?\b(?! (to|from|nowhere|somewhere|on)\b)", "noisy gap", 0),
    "picked": Word(r"\bpicked\b", "select-then-measure", 0),
    "billed": Word(r"\bbill(ed|s)?\b", "zCDP composition", 0),
    "word": Word(r"author's word", "user-asserted sensitivity", 0),
    "honest": Word(r"\bhonest\b", "hierarchical shrinkage", 0),
    "offered": Word(r"\boffer(s|ed)?\b", "candidate splits", 0),
    "strength": Word(r"\bstrengths?\b", "L2 penalty", 0),
    "worth": Word(r"\bworths? of\b", "utility of a coalition", 0),
    "exchanged": Word(r"\bexchang(e|es|ed|ing)\b", "permutation importance", 0),
    "foreign": Word(r"\bforeign\b", "third-party code", 0),
    "ways": Word(r"\bways\b|\bclass way\b", "strategies", 0),
}
"""``left`` may only fall: whoever takes a word out lowers it."""

EXCEPTIONS = {
    r"\[coins\]|### coins|\*coins\*": "ids of statements stay",
    r"stability-ladder|coreset-billing": "ids of statements stay",
    r"foreign (key|column)s?": "a database's word",
    r"capital gain|information gain|INFORMATION_GAIN|^\| bill ": "a column, a criterion",
    r"([`\"'])gain\1": "the name of a criterion",
}

GENERATED = re.compile(r"<!-- written by docs/.*?<!-- written by hand", re.S)
"""What docstrings say again."""


def cells(line: str) -> list[str]:
    """Return the cells of a row of a table."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def rows() -> list[list[str]]:
    """Return the rows of all tables of the dictionary that name a term."""
    lines = DICTIONARY.read_text().splitlines()
    found = [cells(line) for line in lines if line.startswith("|") and not line.startswith("|--")]
    return [row for row in found if len(row) == 5 and row[0] != "term"]


def names() -> list[str]:
    """Return every name of the code that the dictionary has."""
    return [name for row in rows() for name in re.findall(r"`([^`]+)`", row[2])]


def found(path: str) -> Any:
    """Return what a dotted name leads to, a field of a frozen class included."""
    parts = path.split(".")
    thing: Any = importlib.import_module(parts[0])
    for i, part in enumerate(parts[1:], start=2):
        if hasattr(thing, part):
            thing = getattr(thing, part)
        elif part in getattr(thing, "__dataclass_fields__", {}):
            thing = thing.__dataclass_fields__[part]
        else:
            thing = importlib.import_module(".".join(parts[:i]))
    return thing


def values(annotation: Any) -> set[Any]:
    """Return all that a nest of literals allows; nothing if it allows any text."""
    if typing.get_origin(annotation) is typing.Literal:
        return set(typing.get_args(annotation))
    return set().union(*(values(part) for part in typing.get_args(annotation)))


def resolves(name: str) -> bool:
    """Say whether a name of the dictionary is in the code."""
    match = NAME.match(name)
    if match is None:
        return False
    try:
        thing = found(match[1])
    except (ImportError, AttributeError):
        return False
    if match[2] is None:
        return True
    wanted = inspect.signature(thing).parameters.get(match[2])
    allowed = values(typing.get_type_hints(thing).get(match[2])) if wanted and match[3] else set()
    return wanted is not None and (not allowed or match[3] in allowed)


def words_of(text: str) -> str:
    """Return a text in lower case with the words of identifiers apart and lines joined."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text).replace("_", " ")
    return re.sub(r"[\s#]+", " ", apart).lower()


def texts() -> dict[str, str]:
    """Return what people read and what programmers write, without what may stay or is a copy."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    kept = {}
    for path in [*(ROOT / "src").rglob("*.py"), *pages]:
        text = "" if path.name == "cli.md" else GENERATED.sub("", path.read_text())
        for exception in EXCEPTIONS:
            text = re.sub(exception, "", text, flags=re.M)
        kept[str(path.relative_to(ROOT))] = words_of(text)
    return kept


def test_the_dictionary_has_rows_and_names() -> None:
    assert len(rows()) > 40
    assert [row[0] for row in rows() if not (row[1] and "`" in row[2])] == []


@pytest.mark.parametrize("name", sorted(set(names())))
def test_every_name_of_the_dictionary_is_in_the_code(name: str) -> None:
    assert resolves(name)


@pytest.mark.parametrize(
    "name",
    [
        "discreet.nothing",
        "discreet.histogram(nothing)",
        'discreet.histogram(mechanism="nothing")',
        "discreet.Guarantee.nothing",
        "numpy.sum",
    ],
)
def test_a_name_that_is_not_in_the_code_is_noticed(name: str) -> None:
    assert not resolves(name)


@pytest.fixture(scope="module")
def read() -> dict[str, str]:
    return texts()


@pytest.mark.parametrize("word", WORDS)
def test_private_words_only_become_fewer(word: str, read: dict[str, str]) -> None:
    pattern = re.compile(WORDS[word].pattern)
    places = {path: n for path, text in read.items() if (n := len(pattern.findall(text)))}
    assert sum(places.values()) <= WORDS[word].left, f"say {WORDS[word].instead!r} instead: {places}"


@pytest.mark.parametrize("word", WORDS)
def test_the_field_s_word_is_in_the_dictionary(word: str) -> None:
    assert any(WORDS[word].instead in row[0] for row in rows())


def test_words_are_found_in_identifiers_and_across_lines() -> None:
    text = words_of('class BoxNoise:\n    """Split into level and\n    # shape."""\n    worth_of = 1\n')
    assert all(re.search(WORDS[word].pattern, text) for word in ("box", "level and shape", "worth"))
