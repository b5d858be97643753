"""The tree keeps its shape: few modules in a folder, and every name one meaning.

What is not there yet is written down, and may only shrink: whoever mends an entry takes it out.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import discreet
from tools.sizes import (
    MOST_IN_A_FOLDER,
    MOST_MODULES,
    Module,
    classes_of_one_name,
    folder_sizes,
    hidden_modules,
    modules_of,
    private_imports,
)


@cache
def modules() -> list[Module]:
    """Return the modules of this checkout, read when they are first asked for."""
    return modules_of(Path(__file__).parents[2])


MODULES_YET = 520
MOST_OF_AN_AUDIT = 140
FULL_FOLDERS_YET: dict[str, int] = {}
CLASSES_TWICE_YET: dict[str, int] = {}
HIDDEN_YET = 0
PRIVATE_IMPORTS_YET = 0


def test_there_are_few_modules() -> None:
    """A question or a source may have a module of its own; what tries to break them counts apart."""
    audit = [module for module in modules() if module.dotted.startswith("discreet.audit")]
    own = ("discreet.audit", "discreet.data.sources")
    product = [module for module in modules() if not module.dotted.startswith(own)]
    shared = len(product) - len(set(discreet.PLANS.values()))
    assert shared <= max(MOST_MODULES, MODULES_YET)
    assert len(audit) <= MOST_OF_AN_AUDIT


def test_a_folder_is_seen_at_a_glance() -> None:
    full = {
        name: size
        for name, size in folder_sizes(modules()).items()
        if size > max(MOST_IN_A_FOLDER, FULL_FOLDERS_YET.get(name, 0))
    }
    assert full == {}, "lay modules that belong together into a folder of their own, or merge them"


def test_public_classes_have_names_of_their_own() -> None:
    twice = {
        name: where
        for name, where in classes_of_one_name(modules()).items()
        if len(where) > CLASSES_TWICE_YET.get(name, 1)
    }
    assert twice == {}


def test_no_module_is_hidden_by_what_its_package_exports() -> None:
    hidden = hidden_modules(modules())
    assert len(hidden) <= HIDDEN_YET, hidden


def test_private_names_stay_in_their_modules() -> None:
    taken = private_imports(modules())
    assert len(taken) <= PRIVATE_IMPORTS_YET, taken


def test_what_is_measured_is_seen(tmp_path: Path) -> None:
    """A package with one of each fault."""
    package = tmp_path / "src" / "discreet"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(
        "from discreet.first import first\nfrom discreet import third\n"
        "HOMES = {'second': 'discreet.first', 'third': 'discreet.third'}\n"
    )
    (package / "first.py").write_text("class Twice: ...\nclass _Own: ...\ndef first(): ...\n")
    (package / "second.py").write_text("from discreet.first import _Own\nclass Twice: ...\n")
    (package / "third.py").write_text("from discreet.first import first as _first\nclass _Own: ...\n")
    modules = modules_of(tmp_path)
    assert folder_sizes(modules) == {"discreet": 3}
    assert classes_of_one_name(modules) == {"Twice": ["discreet.first", "discreet.second"]}
    assert hidden_modules(modules) == ["discreet.first", "discreet.second"]
    assert private_imports(modules) == ["discreet.second takes _Own from discreet.first"]
