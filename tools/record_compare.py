"""Compare two recordings case by case and part by part, to the last digit."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import record_names

PARTS = ("plan", "price", "sums", "value", "guarantee", "stages", "cost", "diagnosis", "error")
EQUAL, NAMES, OTHER = "equal", "equal but for names", "different"
_TOKEN = re.compile(r"\bsealed [0-9a-f]{16}\b")
"""What stands for a sealed query: drawn anew for every plan."""


def renamed(plain: Any) -> Any:
    """Return something that was recorded, as it would be called now."""
    if isinstance(plain, Mapping):
        plain = split_up(plain)
        return {record_names.FIELDS.get(key, key): renamed(value) for key, value in plain.items()}
    if isinstance(plain, list):
        return [renamed(entry) for entry in plain]
    if not isinstance(plain, str):
        return plain
    plain = record_names.TEXTS.get(plain, plain)
    for old, new in record_names.WORDS.items():
        plain = plain.replace(old, new)
    return in_any_order(_TOKEN.sub("sealed", plain))


def in_any_order(text: str) -> str:
    """Return a question as its text has it, with sorted arguments: their order is the declaration's."""
    name, mark, rest = text.partition("(")
    asked = mark and name.isidentifier() and rest.endswith(")")
    return f"{name}({', '.join(sorted(rest[:-1].split(', ')))})" if asked else text


def split_up(plain: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a plan's description with the entries of a list under names of their own."""
    arguments = plain.get("arguments")
    listed, names = record_names.SPLIT.get(str(plain.get("kind")), ("", ()))
    if not isinstance(arguments, Mapping) or listed not in arguments:
        return plain
    others = {name: value for name, value in arguments.items() if name != listed}
    return {**plain, "arguments": dict(zip(names, arguments[listed], strict=True)) | others}


def parts_of(case: dict[str, Any]) -> dict[str, Any]:
    """Return the parts of a case that are compared, and those it has."""
    release = case.get("release", {})
    found = {"value": release.get("value"), "guarantee": release.get("guarantee")}
    found |= {"stages": release.get("stages")} | {
        name: case.get(name) for name in PARTS if name in case
    }
    return {name: value for name, value in found.items() if value is not None}


def judge(name: str, old: Any, new: Any) -> str:
    """Return whether a part is equal, equal but for names, or different."""
    if old == new:
        return EQUAL
    if name == "plan" and isinstance(old, dict) and isinstance(new, dict):
        # A key is a digest of all else: it follows the names.
        old, new = ({k: v for k, v in plain.items() if k != "key"} for plain in (old, new))
    return NAMES if renamed(old) == renamed(new) else OTHER


def first_difference(old: Any, new: Any, place: str = "") -> str:
    """Return where two plain things part, with what stands there."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            if key not in old or key not in new:
                return f"{place}.{key} only in the {'new' if key in new else 'old'} one"
            if old[key] != new[key]:
                return first_difference(old[key], new[key], f"{place}.{key}")
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (one, other) in enumerate(zip(old, new, strict=True)):
            if one != other:
                return first_difference(one, other, f"{place}[{index}]")
    return f"{place}: {str(old)[:300]} -> {str(new)[:300]}"


def judged(old: dict[str, Any], new: dict[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """Yield case, part, judgement and the first difference of all that both recordings have."""
    for family in old:
        for case, before in old[family].items():
            after = new.get(family, {}).get(case)
            if after is None:
                continue
            one, other = parts_of(before), parts_of(after)
            for name in PARTS:
                if name not in one and name not in other:
                    continue
                found = judge(name, one.get(name), other.get(name))
                told = (
                    first_difference(renamed(one.get(name)), renamed(other.get(name)))
                    if found == OTHER
                    else ""
                )
                yield case, name, found, told


def compare(old: dict[str, Any], new: dict[str, Any], show: int) -> int:
    """Print counts and the first differences; return 1 if there is any, or a case is missing."""
    tally: Counter[tuple[str, str]] = Counter()
    differences = []
    for case, name, found, told in judged(old, new):
        tally[name, found] += 1
        if found == OTHER:
            differences.append(f"{case}\n    {name}{told}")
    print(f"{'part':<12}{EQUAL:>8}{NAMES:>22}{OTHER:>12}")
    for name in PARTS:
        print(f"{name:<12}{tally[name, EQUAL]:>8}{tally[name, NAMES]:>22}{tally[name, OTHER]:>12}")
    absent = [
        f"{case} | missing" for family in old for case in old[family] if case not in new.get(family, {})
    ]
    print(f"{sum(len(cases) for cases in old.values())} cases, {len(absent)} not in the new recording")
    print(*[*differences, *absent][:show], sep="\n")
    return int(bool(differences or absent))
