"""Pages that can drift are checked: examples run, names and codes are documented."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer

import discreet
from discreet import errors
from discreet.cli import app
from tests.docs.outputs import agrees, printed_by, script_of

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_print_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    if not script_of(page.read_text()).strip():
        pytest.skip("no Python on this page")
    for part in printed_by(page, tmp_path):
        assert not part.shown or agrees(part.shown, part.printed), f"line {part.first}: {part}"


def test_extras_are_named_as_they_are_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = set(project["optional-dependencies"])
    rows = re.search(r"\| extra \| for \|\n(.*?)\n\n", PAGES[0].read_text(), re.S)
    assert rows is not None
    named = " ".join(line.split("|")[1] for line in rows[1].splitlines())
    assert set(re.findall(r"`(\w+)`", named)) == declared
    files = [*PAGES, *(ROOT / "src").rglob("*.py")]
    told = {name for file in files for name in re.findall(r"discreet\[(\w+)\]", file.read_text())}
    assert told and told <= declared


def test_every_public_name_is_in_the_reference() -> None:
    text = (ROOT / "docs" / "reference.md").read_text()
    assert [name for name in discreet.__all__ if f"`{name}`" not in text] == []


def test_every_public_name_has_a_docstring() -> None:
    assert [name for name in discreet.__all__ if not getattr(discreet, name).__doc__] == []


def test_every_audit_is_in_the_reference_and_in_a_guide() -> None:
    reference = (ROOT / "docs" / "reference.md").read_text()
    guides = " ".join(page.read_text() for page in PAGES)
    for name in discreet.audit.__all__:
        assert f"`{name}" in reference and name in guides, name
        assert getattr(discreet.audit, name).__doc__, name


def test_every_error_is_in_the_reference() -> None:
    text = (ROOT / "docs" / "reference.md").read_text()
    classes = [errors.DiscreetError]
    for kind in classes:  # a class without a code of its own is its parent to whoever reads the code
        classes.extend(child for child in kind.__subclasses__() if "code" in vars(child))
    rows = [f"| `{kind.code}` | `{kind.__name__}` | {kind.exit_code} |" for kind in classes]
    assert [row for row in rows if row not in text] == []
    assert (
        len({kind.code for kind in classes})
        == len({kind.exit_code for kind in classes})
        == len(classes)
    )


@pytest.mark.parametrize(
    "script",
    [
        "generate_cli.py",
        "generate_reference.py",
        "generate_claims.py",
        "generate_statements.py",
        "generate_routes.py",
        pytest.param("generate_people.py", marks=pytest.mark.slow),  # asks every plan of persons
    ],
)
def test_generated_pages_are_up_to_date(script: str) -> None:
    check = [sys.executable, str(ROOT / "docs" / script), "--check"]
    assert subprocess.run(check, check=False).returncode == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_of_a_page_exist_with_their_options(page: Path) -> None:
    text = page.read_text().replace("\\\n", " ")
    for line in re.findall(r"^\$ discreet (.*)", text, re.M):
        words = shlex.split(line, comments=True)
        command: Any = typer.main.get_command(app)
        while hasattr(command, "get_command") and words:
            name, *words = words
            command = command.get_command(typer.Context(command), name)
            assert command is not None, f"{name} is no command: {line}"
        command.make_parser(typer.Context(command)).parse_args(words)


def test_lists_of_commands_have_names_and_whole_sentences() -> None:
    text = (ROOT / "docs" / "cli.md").read_text()
    assert "* `budget`: " in text and re.findall(r"^\* ``|^\* `[a-z-]+`: .*\.\.\.$", text, re.M) == []


@pytest.mark.parametrize(
    "page", [*PAGES, *sorted((ROOT / "docs").glob("*.md"))], ids=lambda page: page.name
)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_modules_stay_small() -> None:
    lengths = {str(path): len(path.read_text().splitlines()) for path in (ROOT / "src").rglob("*.py")}
    assert {path: length for path, length in lengths.items() if length > 400} == {}
