"""What docstrings say, for help and pages: a first line, the entries of ``Args:``, an opening.

A docstring can also be read from its source, because to import what it belongs to may take seconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from inspect import cleandoc
from pathlib import Path

_ENTRY = re.compile(r"^  (\w+): (.*)$")
_SENTENCE = re.compile(r"(?<=[.])\s+(?=[A-Z`])")
_SOURCES = Path(__file__).parents[1]


def headline(docstring: str) -> str:
    """Return the first line, of a plan without its verb.

    >>> headline("Plan noisy counts.")
    'Noisy counts.'
    """
    first = cleandoc(docstring).split("\n", 1)[0].removeprefix("Plan ")
    return first[:1].upper() + first[1:]


def entries(docstring: str) -> dict[str, str]:
    """Return what the section ``Args:`` says of every argument.

    >>> entries('''Plan it.
    ...
    ... Args:
    ...   bins: how many,
    ...     at most.
    ...   clip: whether.
    ... ''')
    {'bins': 'how many, at most.', 'clip': 'whether.'}
    """
    _, _, section = cleandoc(docstring).partition("\nArgs:\n")
    found: dict[str, str] = {}
    for line in section.split("\n\n")[0].splitlines():
        entry = _ENTRY.match(line)
        if entry:
            found[entry[1]] = entry[2]
        elif found:
            found[list(found)[-1]] += f" {line.strip()}"
    return found


def unmarked(text: str) -> str:
    """Return a text without the marks around code."""
    return text.replace("``", "")


def opening(entry: str, least: int = 40, words: Iterable[str] = ()) -> str:
    """Return the first sentence of an entry, for a line of help.

    Further ones follow if it is very short, or until all ``words`` that the entry explains are in it.

    >>> opening("the number of cells, all of which have the same width. ``auto`` decides.")
    'The number of cells, all of which have the same width.'
    >>> opening("``whole`` adds curves of records as they are. ``centred`` clips.", words=["centred"])
    'whole adds curves of records as they are. centred clips.'
    """
    said, *rest = _SENTENCE.split(entry)
    wanted = [word for word in words if word in entry]
    while rest and (len(said) < least or any(word not in said for word in wanted)):
        said += f" {rest.pop(0)}"
    return unmarked(said[:1].upper() + said[1:])


def read_docstring(module: str, name: str) -> str:
    """Return the docstring of a function or a class of ours from the source of its module."""
    place = _SOURCES.joinpath(*module.split("."))
    source = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    start = rf'^(?:class|def) {name}\b.*?^    """(.*?)"""'
    found = re.search(start, source.read_text(encoding="utf-8"), re.M | re.S)
    return cleandoc(found[1]) if found else ""
