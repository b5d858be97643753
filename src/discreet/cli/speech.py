"""Errors in the words of whoever typed a command: options, where a sentence speaks of arguments.

Sentences are written once, for Python (``epsilon must be positive``, ``Use mechanism='laplace'``). The
command that was run knows how each of its arguments is typed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from discreet import PLANS
from discreet.errors import DiscreetError

_PROMISE = ("epsilon", "delta", "rho")
"""Names before numbers that tell an amount, not what to type."""

_PHRASES = (
    (r"Ledger\.open\(\.\.\., anew=True\), on the command line protect --anew", "protect --anew"),
    (r"session\.settle\(failed\) in Python, (discreet budget settle FILE) on the command line", r"\1"),
    (r"Use dc\.Schema\(columns, target=\.\.\.\)", 'Write target = "..." at the top of its file'),
    (r"^url must", "--server must"),
    (r" insecure=True sends it anyway\.", ""),
    (r"^(Interrupted.*) server\.job\(\S+\) gets the answer, and asking", r"\1 Asking"),
    (r"protect\(\.\.\., (\w+=[^)]*)\)", r"\1"),
    (r"dc\.Model\((?:model|\.\.\.), ((?:[^()]|\([^()]*\))*)\)", r"\1"),
    ("A mapping from columns gives each its own", "column=number gives each column its own"),
    (r"\bsession\.(\w+)\b(?!\()", r"discreet \1"),
    (r"=\(low, high\)|=\.\.\.", "='low,high'"),
)
"""Calls of Python, and what is left of them where words are typed."""

_GIVEN = re.compile(r"""(?<![\w'"-])(\w+)=(?:(['"])(.*?)\2|(True|False|None)\b|(-?[\d.]*\d)\b)""")
_SUBJECT = re.compile(r"^(\w+)((?:(?:, | and )\w+)*)(?= must )")
_PLAN = re.compile(r"\bdc\.(\w+)(\([^()]*\))?")


def speak(error: DiscreetError, typed: Mapping[str, str]) -> DiscreetError:
    """Let an error speak of options; ``typed`` has how every argument of the command is typed."""
    error.args = (in_options(str(error), typed), *error.args[1:])
    return error


def in_options(sentence: str, typed: Mapping[str, str]) -> str:
    """Return a sentence about arguments as one about options.

    >>> in_options("epsilon must be positive, got 0.", {"epsilon": "--epsilon"})
    '--epsilon must be positive, got 0.'
    >>> in_options("delta must be positive, got 0. Or use mechanism='laplace'.", {})
    'delta must be positive, got 0. Or use --mechanism laplace.'
    >>> in_options("The median is p=50.", {"p": "p"}), in_options("It has epsilon=2 left.", {})
    ('The median is p 50.', 'It has epsilon=2 left.')
    """
    for call, instead in _PHRASES:
        sentence = re.sub(call, instead, sentence)
    sentence = _SUBJECT.sub(lambda found: _subjects(found[0], typed), sentence)
    sentence = _GIVEN.sub(lambda found: _given(found, typed), sentence)
    return _PLAN.sub(lambda found: _plan(found), sentence)


def _subjects(names: str, typed: Mapping[str, str]) -> str:
    return re.sub(r"\w+", lambda name: typed.get(name[0], name[0]), names)


def _given(found: re.Match[str], typed: Mapping[str, str]) -> str:
    name, _, word, given, number = found.groups()
    option = typed.get(name, f"--{name.strip('_').replace('_', '-')}")
    if number is not None:
        return found[0] if name in _PROMISE or name not in typed else f"{option} {number}"
    if given in ("True", "False"):
        return option if given == "True" else option.replace("--", "--no-", 1)
    return f"{option} {'none' if given else word}"


def _plan(found: re.Match[str]) -> str:
    """Return the command of a plan; of what can only be had in Python, the name."""
    name = found[1]
    return f"discreet release {name.replace('_', '-')}" if name in PLANS else found[0]
