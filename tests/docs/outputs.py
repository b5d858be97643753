"""What a page's code prints, beside what the page shows in lines after it that begin with ``# >``.

Numbers may differ by a tenth, or by one in the last decimal that is shown, because most of what pages
print is noisy; what is noisier is shown as ``…``, which stands for anything within a line, or, alone on
a line, for any number of lines.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

MARK = "# >"
NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?(?!\w)")
TOLERANCE = 0.1


class Printed(NamedTuple):
    """What one statement of a page printed: the lines it stands on, what is shown, what came out."""

    first: int
    last: int
    shown: list[str]
    printed: list[str]


def script_of(text: str) -> str:
    """Return a page's code on the page's own lines; blocks with prompts are doctests, run as such."""
    script = [""] * (text.count("\n") + 1)
    for block in re.finditer(r"^```python\n(.*?)^```", text, re.M | re.S):
        if not block[1].startswith(">>>"):
            start = text[: block.start(1)].count("\n")
            lines = block[1].splitlines()
            script[start : start + len(lines)] = lines
    return "\n".join(script) + "\n"


def run_page(script: Path) -> list[Printed]:
    """Run a script statement by statement in this process; return what each printed or should."""
    text = script.read_text()
    lines, tree = text.splitlines(), ast.parse(text)
    main = sys.modules["__main__"] = ModuleType("__main__")
    main.__file__ = str(script)
    names: dict[str, Any] = vars(main)
    starts = [node.lineno for node in tree.body[1:]] + [len(lines) + 1]
    found = []
    for node, following in zip(tree.body, starts, strict=True):
        with contextlib.redirect_stdout(io.StringIO()) as heard:
            module = ast.Module([node], [])
            exec(compile(module, script.name, "exec"), names)
        last = node.end_lineno or node.lineno
        shown = [
            line.strip().removeprefix(MARK).removeprefix(" ")
            for line in lines[node.lineno - 1 : following - 1]
            if line.strip().startswith(MARK)
        ]
        printed = [line.rstrip() for line in heard.getvalue().splitlines()]
        if shown or printed:
            found.append(Printed(node.lineno, last, shown, printed))
    return found


def agrees(shown: list[str], printed: list[str]) -> bool:
    """Say whether what a page shows is what came out."""
    if not shown:
        return not printed
    if shown[0] == "…":
        return any(agrees(shown[1:], printed[at:]) for at in range(len(printed) + 1))
    return bool(printed) and same_line(shown[0], printed[0]) and agrees(shown[1:], printed[1:])


def same_line(shown: str, printed: str) -> bool:
    """Say whether two lines are alike but for spaces and for numbers that are close."""
    parts = [NUMBER.sub("\0", part) for part in " ".join(shown.split()).split("…")]
    pattern = "(.*)".join(re.escape(part) for part in parts).replace("\0", f"({NUMBER.pattern})")
    match = re.fullmatch(pattern, " ".join(printed.split()))
    if match is None:
        return False
    kinds = re.findall("\0|…", NUMBER.sub("\0", shown))
    numbers = [text for kind, text in zip(kinds, match.groups(), strict=True) if kind == "\0"]
    return all(close(one, other) for one, other in zip(NUMBER.findall(shown), numbers, strict=True))


def close(shown: str, printed: str) -> bool:
    """Say whether a printed number is what was shown, but for a tenth or one in its last decimal.

    >>> close("0.30", "0.31"), close("1,205", "1,250"), close("4", "5"), close("100", "150")
    (True, True, False, False)
    """
    one, other = (float(text.replace(",", "")) for text in (shown, printed))
    digits = len(shown.partition("e")[0].partition(".")[2])
    last = 10.0**-digits if digits and "e" not in shown else 0.0
    return abs(one - other) <= TOLERANCE * max(abs(one), abs(other)) + 1.01 * last


def printed_by(page: Path, folder: Path) -> list[Printed]:
    """Run a page in a process and a folder of its own; return what its statements printed."""
    (folder / "example.py").write_text(script_of(page.read_text()))
    command = [sys.executable, __file__, "example.py", "printed.json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [Printed(*part) for part in json.loads((folder / "printed.json").read_text())]


if __name__ == "__main__":
    import matplotlib

    matplotlib.use("agg")
    Path(sys.argv[2]).write_text(json.dumps(run_page(Path(sys.argv[1]))))
