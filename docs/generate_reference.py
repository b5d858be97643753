"""Write the plans of docs/reference.md from their declarations; ``--check`` says whether it is old."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import discreet
from discreet.cli.commands import PYTHON_ONLY, as_typed

PAGE = Path(__file__).parent / "reference.md"
BEGIN = "<!-- written by docs/generate_reference.py -->\n"
END = "<!-- written by hand from here on -->\n"


def render_plans() -> str:
    """Return a section for every plan."""
    return "\n".join(_section(plan) for plan in discreet.describe_plans().values())


def render() -> str:
    """Return the whole page with its plans as they are declared now."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{render_plans()}\n{END}{after}"


def _section(plan: dict[str, Any]) -> str:
    name = plan["name"]
    typed = f"On the command line: `discreet release {as_typed(name)}`."
    if name in PYTHON_ONLY:
        typed = f"In Python alone: {PYTHON_ONLY[name]}."
    table = ["| argument | kind | default | meaning |", "|---|---|---|---|"]
    table += [_row(name, argument) for argument in plan["arguments"]]
    return "\n".join([f"### `{name}`", "", _marked(plan["summary"]), typed, "", *table, ""])


def _row(plan: str, argument: dict[str, Any]) -> str:
    reason = PYTHON_ONLY.get(f"{plan}.{argument['name']}")
    said = argument["help"] + (f" In Python alone: {reason}." if reason else "")
    called = argument["name"] + ("" if argument["positional"] else "=")
    cells = [f"`{called}`", _kind(argument), _default(argument), _marked(said)]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _kind(argument: dict[str, Any]) -> str:
    if "choices" in argument:
        return ", ".join(f"`{choice}`" for choice in argument["choices"])
    told = argument["kind"]
    if "low" in argument:
        told += f" from {argument['low']}" + (f" to {argument['high']}" if "high" in argument else "")
    words = ["`auto`"] if argument.get("auto") else []
    if argument.get("optional") and argument.get("default") is not None:
        words.append("`None`")  # where it is the default, leaving it out says the same
    return ", or ".join([str(told), *words])


def _default(argument: dict[str, Any]) -> str:
    if argument["required"]:
        return "required"
    default = argument["default"]
    return "" if default is None or default == [] else f"`{default}`"


def _marked(text: str) -> str:
    return text.replace("``", "`")


if __name__ == "__main__":
    if "--check" in sys.argv:
        old = "docs/reference.md is old: run python docs/generate_reference.py"
        sys.exit(0 if PAGE.read_text() == render() else old)
    PAGE.write_text(render())
