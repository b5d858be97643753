"""Rows have one door, and every room that leads to it is known."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"


def importers(sources: dict[str, str], target: str) -> set[str]:
    """Return the modules that import ``target`` or something from it."""
    found = set()
    for module, text in sources.items():
        for node in ast.walk(ast.parse(text)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
            if target in names:
                found.add(module)
    return found


def project() -> dict[str, str]:
    return {
        ".".join(path.relative_to(SOURCE).with_suffix("").parts): path.read_text()
        for path in SOURCE.rglob("*.py")
    }


def doors(sources: dict[str, str]) -> dict[str, set[str]]:
    return {
        "rows": importers(sources, "discreet.data.rows"),
        "engine": importers(sources, "discreet.data.add_up")
        | importers(sources, "discreet.data.engine.add_up"),
    }


AUDITS = {
    "rows": {"discreet.audit.faults.hunted_stages", "discreet.audit.hunting.rows"},
    "engine": {"discreet.audit.hunting.moves", "discreet.audit.hunting.runs"},
}
"""They open tables that are public or made up, and seal them themselves; no session is asked."""

ALLOWED = {
    "rows": {
        "discreet.data.at_once",
        "discreet.data.engine",
        "discreet.data.quality",
        *AUDITS["rows"],
    },
    "engine": {
        "discreet.data.__init__",
        "discreet.session.releaser",
        "discreet.session.session",
        *AUDITS["engine"],
    },
}


@pytest.mark.proves("one-door")
def test_only_the_engine_opens_rows_and_only_the_session_runs_the_engine() -> None:
    assert doors(project()) == ALLOWED


@pytest.mark.refutes("one-door")
def test_a_second_door_is_seen() -> None:
    planted = {**project(), "discreet.reporting.peek": "from discreet.data.rows import open_rows"}
    assert doors(planted) != ALLOWED


def test_only_owners_check_a_table() -> None:
    """A session refuses analysts, and the command takes a file that its caller can read anyway."""
    found = importers(project(), "discreet.data.quality.check_table")
    assert found == {"discreet.session.session", "discreet.cli.curator"}


def test_audits_open_no_table_of_a_session() -> None:
    for module in AUDITS["rows"] | AUDITS["engine"]:
        assert "discreet.session" not in project()[module]


def test_unsealing_happens_in_one_place() -> None:
    callers = [module for module, text in project().items() if ".unseal(" in text]
    assert callers == ["discreet.data.rows"]
