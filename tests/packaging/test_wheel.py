"""What is installed: the package and nothing else, with its types, and a page that stands alone."""

from __future__ import annotations

import email
import os
import re
import site
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

SCRIPT = """
import discreet as dc

schema = dc.Schema({"age": dc.Number(18, 90, step=1), "home": dc.Category("rent", "own")})
session: dc.Session = dc.protect({"age": [20.0]}, schema, dataset="d", epsilon=1.0, ledger=":memory:")
plan = dc.histogram("age", epsilon=0.5)
reveal_type(session.price(plan).affordable)
release = session.release(plan)
reveal_type(release.title)
reveal_type(session.release([plan]))
dc.report(release, session=session).save("page.html")
"""
SLIPS = """
dc.Number("18", 90)
session.price(3)
release.guarantees
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [
        sys.executable,
        "-m",
        "hatchling",
        "build",
        "--target",
        "wheel",
        "--directory",
        str(folder),
    ]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (made,) = folder.glob("*.whl")
    return made


@pytest.mark.slow
def test_the_wheel_has_the_package_and_nothing_else(wheel: Path) -> None:
    source = ROOT / "src"
    tracked = {
        str(path.relative_to(source))
        for path in source.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    held = set(zipfile.ZipFile(wheel).namelist())
    assert {name for name in held if not re.match(r"discreet-[^/]*\.dist-info/", name)} == tracked
    assert {"discreet/py.typed", "discreet/privacy/statements.json"} <= held
    assert {Path(name).suffix for name in tracked} == {
        *(".py", ".typed", ".html", ".json"),
        *(".css", ".js", ".svg"),  # the page of the service
    }
    assert any(name.endswith("licenses/LICENSE") for name in held)


@pytest.mark.slow
def test_the_page_of_an_index_stands_alone(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as held:
        (name,) = [name for name in held.namelist() if name.endswith("METADATA")]
        told = email.message_from_bytes(held.read(name))
    page = told.get_payload()
    assert isinstance(page, str) and told["Description-Content-Type"] == "text/markdown"
    assert page.startswith("# discreet") and "dc.protect(records, schema" in page
    assert re.findall(r"\]\((?!https?:|#)", page) == [], "nothing on it is looked for beside it"
    assert "The curve that left the table" not in page, "a picture that is left out has no caption"


@pytest.mark.slow
def test_a_user_s_script_is_typed_by_the_wheel(wheel: Path, tmp_path: Path) -> None:
    python = environment_with(wheel, tmp_path / "env")
    right, wrong = tmp_path / "right.py", tmp_path / "wrong.py"
    right.write_text(SCRIPT)
    wrong.write_text(SCRIPT + SLIPS)
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--python-executable",
        str(python),
        "--no-color",
    ]
    command += ["--cache-dir", str(tmp_path / "cache")]
    outside = {
        name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "MYPYPATH")
    }
    said = [
        subprocess.run(
            [*command, script.name], cwd=tmp_path, capture_output=True, text=True, env=outside
        )
        for script in (right, wrong)
    ]
    assert said[0].returncode == 0, said[0].stdout + said[0].stderr
    revealed = re.findall(r'Revealed type is "([^"]+)"', said[0].stdout)
    assert revealed[:2] == ["bool", "str"] or revealed[:2] == ["builtins.bool", "builtins.str"]
    assert "Release]" in revealed[2] and "list[" in revealed[2]
    lines = SCRIPT.count("\n") + 1 + 1
    errors = re.findall(r"wrong\.py:(\d+): error", said[1].stdout)
    assert [int(line) for line in errors] == [lines, lines + 1, lines + 2], said[1].stdout


def environment_with(wheel: Path, folder: Path) -> Path:
    """Return the interpreter of an environment with the wheel, and behind it what is installed."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    with zipfile.ZipFile(wheel) as held:
        held.extractall(packages)
    beside = [path for path in site.getsitepackages() if Path(path).exists()]
    (packages / "beside.pth").write_text("\n".join(beside) + "\n")
    return folder / "bin" / "python"
