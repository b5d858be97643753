"""Measure the shape of a tree: rooms, names, and the lines that only carry arguments.

    python tools/sizes.py                  this tree
    python tools/sizes.py OLD NEW          two checkouts, side by side

Everything but the modules a record passes is read from the source, so that any checkout can be
measured. *Carrying* counts lines of code that hand on arguments which are declared elsewhere: of plans
``__init__`` and ``arguments``, the bodies of functions that return a plan, and the ``ask_`` functions
of the command line. *Declared* are the signatures or fields of plans, each of which stands once.
"""

from __future__ import annotations

import ast
import io
import os
import statistics
import subprocess
import sys
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parents[1]
MOST_MODULES, MOST_IN_A_FOLDER = 240, 15

PASSED = """
import sys, discreet as dc
from sklearn.tree import DecisionTreeRegressor
frame, schema = dc.samples.loans(500), dc.samples.loan_schema()
model = DecisionTreeRegressor(max_depth=3).fit(schema.draw(50)[:, :-1], range(50))
session = dc.protect(frame, schema, dataset="d", epsilon=9.0, ledger=":memory:", seed=1, progress=False)
plan = dc.partial_dependence(model, "age", epsilon=1.0)
seen = set()
sys.setprofile(lambda frame, event, arg: seen.add(frame.f_code.co_filename))
session.release(plan)
sys.setprofile(None)
print(len({name for name in seen if "/discreet/" in name and name.endswith(".py")}))
"""


@dataclass(frozen=True)
class Module:
    """A module of the package: where it is, and what stands in it."""

    name: str
    folder: str
    text: str
    tree: ast.Module

    @property
    def is_package(self) -> bool:
        """Whether it is the ``__init__`` of a folder."""
        return self.name == "__init__"

    @property
    def dotted(self) -> str:
        """The name it is imported by."""
        return self.folder if self.is_package else f"{self.folder}.{self.name}"


def modules_of(root: Path) -> list[Module]:
    """Return the modules of a checkout, in the order of their paths."""
    source = root / "src"
    found = []
    for path in sorted((source / "discreet").rglob("*.py")):
        folder = ".".join(path.parent.relative_to(source).parts)
        text = path.read_text()
        found.append(Module(path.stem, folder, text, ast.parse(text)))
    return found


def folder_sizes(modules: list[Module]) -> dict[str, int]:
    """Return how many modules lie in every folder, ``__init__`` aside."""
    sizes: dict[str, int] = defaultdict(int)
    for module in modules:
        sizes[module.folder] += not module.is_package
    return dict(sizes)


def classes_of_one_name(modules: list[Module]) -> dict[str, list[str]]:
    """Return the public classes whose name another one has, with their modules."""
    homes: dict[str, list[str]] = defaultdict(list)
    for module in modules:
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(module.dotted)
    return {name: where for name, where in homes.items() if len(where) > 1}


def hidden_modules(modules: list[Module]) -> list[str]:
    """Return the modules whose name their package binds to something else."""
    names = {module.dotted for module in modules}
    hidden = set()
    for module in modules:
        if module.is_package:
            bound = {f"{module.folder}.{name}" for name in _bound(module)}
            hidden |= bound & names
    return sorted(hidden)


def _bound(package: Module) -> Iterator[str]:
    """Yield the names a package binds to what is no module of that name: at once, or when asked."""
    for node in ast.walk(package.tree):
        if isinstance(node, ast.ImportFrom) and node.module != package.folder:
            yield from (alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.Dict):  # a table of names and the modules they are found in
            for key, value in zip(node.keys, node.values, strict=True):
                place, name = (getattr(part, "value", None) for part in (value, key))
                if isinstance(name, str) and place not in (f"{package.folder}.{name}", None):
                    yield name


def private_imports(modules: list[Module]) -> list[str]:
    """Return where a module takes a private name from another one."""
    return sorted(
        f"{module.dotted} takes {alias.name} from {node.module}"
        for module in modules
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("discreet")
        for alias in node.names
        if alias.name.startswith("_") and not alias.name.startswith("__")
    )


def plan_classes(modules: list[Module]) -> dict[str, ast.ClassDef]:
    """Return the classes that are plans, however far below ``Plan``."""
    classes = {n.name: n for m in modules for n in m.tree.body if isinstance(n, ast.ClassDef)}
    plans = {"Plan"}
    while True:
        more = {name for name, node in classes.items() if plans & {_last(base) for base in node.bases}}
        if more <= plans:
            return {name: classes[name] for name in plans if name in classes}
        plans |= more


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def carried_lines(modules: list[Module]) -> dict[str, int]:
    """Return how many lines of code carry arguments, and how many declare them."""
    plans = plan_classes(modules)
    counts = {"__init__": 0, "arguments": 0, "factories": 0, "ask_": 0, "declared": 0}
    for node in plans.values():
        for part in node.body:
            if isinstance(part, ast.FunctionDef) and part.name in ("__init__", "arguments"):
                counts[part.name] += _code_lines(part)
            elif isinstance(part, ast.AnnAssign) and "ClassVar" not in ast.dump(part.annotation):
                counts["declared"] += _length(part)
    for function in _functions(modules):
        if function.name.startswith("ask_"):
            counts["ask_"] += _code_lines(function)
        elif _returns(function) & set(plans) and not function.name.startswith("_"):
            counts["factories"] += _code_lines(function) - _signature(function)
            counts["declared"] += _signature(function)
    return counts


def _functions(modules: list[Module]) -> Iterator[ast.FunctionDef]:
    for module in modules:
        yield from (node for node in module.tree.body if isinstance(node, ast.FunctionDef))


def _returns(function: ast.FunctionDef) -> set[str]:
    if function.returns is None:
        return set()
    return {_last(node) for node in ast.walk(function.returns) if isinstance(node, ast.expr)}


def _length(node: ast.stmt) -> int:
    assert node.end_lineno is not None
    return node.end_lineno - node.lineno + 1


def _code_lines(function: ast.FunctionDef) -> int:
    """Return the lines of a function without its docstring."""
    documented = ast.get_docstring(function) is not None
    return _length(function) - (_length(function.body[0]) if documented else 0)


def _signature(function: ast.FunctionDef) -> int:
    return function.body[0].lineno - function.lineno


def comment_density(modules: list[Module]) -> float:
    """Return comments per hundred lines of code; marks for tools are none."""
    comments = code = 0
    for module in modules:
        lines = set()
        for token in tokenize.generate_tokens(io.StringIO(module.text).readline):
            if token.type == tokenize.COMMENT:
                comments += not token.string.startswith(("# noqa", "# type:"))
            elif token.type in (tokenize.NAME, tokenize.NUMBER, tokenize.OP):
                lines.add(token.start[0])
        code += len(lines)
    return 100 * comments / code


def passed_modules(root: Path) -> int:
    """Return how many modules run while the rows of a partial dependence are released."""
    place = os.environ | {"PYTHONPATH": str(root / "src")}
    done = subprocess.run([sys.executable, "-c", PASSED], env=place, capture_output=True, text=True)
    return int(done.stdout) if done.returncode == 0 else -1


def measure(root: Path) -> dict[str, str]:
    """Return every measure of a checkout, as text."""
    modules = modules_of(root)
    folders, carried = folder_sizes(modules), carried_lines(modules)
    fullest = max(folders, key=lambda name: folders[name])
    declared = carried.pop("declared")
    return {
        "modules": str(len(modules)),
        "modules in the fullest folder": f"{folders[fullest]} ({fullest})",
        "folders with more than 15": str(sum(size > MOST_IN_A_FOLDER for size in folders.values())),
        "lines": str(sum(module.text.count("\n") for module in modules)),
        "lines of a module, median": f"{statistics.median(m.text.count(chr(10)) for m in modules):g}",
        "lines that carry arguments": str(sum(carried.values())),
        **{f"  {name}": str(count) for name, count in carried.items()},
        "lines that declare arguments": str(declared),
        "public class names used twice": str(len(classes_of_one_name(modules))),
        "hidden modules": str(len(hidden_modules(modules))),
        "imports of private names": str(len(private_imports(modules))),
        "modules a row passes (PDP)": str(passed_modules(root)),
        "comments per 100 lines": f"{comment_density(modules):.1f}",
    }


def main() -> None:
    """Print the measures of one checkout or of several."""
    roots = [Path(given) for given in sys.argv[1:]] or [HERE]
    found = [measure(root) for root in roots]
    width = max(len(text) for column in found for text in column.values()) + 2
    for name in found[0]:
        print(f"{name:<34}" + "".join(f"{column[name]:>{width}}" for column in found))


if __name__ == "__main__":
    main()
