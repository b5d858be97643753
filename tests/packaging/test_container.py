"""The container files: clean to their linters, and what they name is there.

No image is built here; the same steps are run by hand in a fresh environment before a release.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer

from discreet.cli import app as command_line
from discreet.service.app import matrix

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
HADOLINT = shutil.which("hadolint", path=str(Path(sys.executable).parent)) or shutil.which("hadolint")
PORT = 8417


def steps(kind: str) -> list[str]:
    """Return what the steps of a kind say, lines that go on put together."""
    whole = DOCKERFILE.replace("\\\n", " ")
    return re.findall(rf"^(?:HEALTHCHECK .*)?{kind} (.*)$", whole, re.MULTILINE)


@pytest.mark.skipif(HADOLINT is None, reason="hadolint is not installed")
def test_the_container_file_is_clean() -> None:
    done = subprocess.run([str(HADOLINT), str(ROOT / "Dockerfile")], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.skipif(HADOLINT is None, reason="hadolint is not installed")
def test_the_linter_finds_a_fault(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text(DOCKERFILE.replace("--no-cache-dir ", ""))
    done = subprocess.run([str(HADOLINT), str(tmp_path / "Dockerfile")], capture_output=True, text=True)
    assert done.returncode != 0 and "DL3042" in done.stdout


def test_what_is_copied_and_installed_is_there() -> None:
    for step in steps("COPY"):
        *sources, _ = step.split()
        assert all((ROOT / source).exists() for source in sources), step
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    copied = {source for step in steps("COPY") for source in step.split()[:-1]}
    assert not copied & set(ignored)
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    (named,) = re.findall(r'"\.\[([a-z,]+)\]"', DOCKERFILE)
    assert set(named.split(",")) <= set(extras)
    readme = {"README.md", "LICENSE", "pyproject.toml", "src", "constraints.txt"}
    assert readme <= {source.removeprefix("./") for source in copied}


def test_the_command_is_one_of_the_command_line() -> None:
    name, *given = json.loads(steps("CMD")[-1])
    assert name == "discreet"
    group: Any = typer.main.get_command(command_line)
    command = group.get_command(typer.Context(group), given[0])
    found = command.make_context("serve", given[1:], resilient_parsing=True).params
    assert (found["host"], found["port"], found["workers"]) == ("0.0.0.0", PORT, 2)
    assert str(found["project"]) == "/project/discreet.toml" and "/project" in steps("WORKDIR")


def test_ports_and_paths_agree() -> None:
    assert steps("EXPOSE") == [str(PORT)]
    (_, _, code) = json.loads(steps("CMD")[0])
    place = re.search(r"http://127\.0\.0\.1:(\d+)(/[a-z0-9/]+)", code)
    assert place is not None and int(place[1]) == PORT
    assert ("GET", place[2], ()) in matrix(), "a path that anybody may ask"
    compile(code, "healthcheck", "exec")
    assert steps("USER") == ["10001"] and "--uid 10001" in DOCKERFILE


def test_the_compose_file_is_one_and_fits() -> None:
    compose_spec = pytest.importorskip("compose_spec", reason="compose-spec is not installed")
    text = (ROOT / "compose.yaml").read_text(encoding="utf-8")
    whole = compose_spec.PyCompose.from_yaml(re.sub(r"\$\{[A-Z_]+:\?[^}]*\}", "secret", text))
    assert sorted(whole.service_names()) == ["database", "service"]
    with pytest.raises(Exception, match="prts"):
        compose_spec.PyCompose.from_yaml(text.replace("ports:", "prts:"))
    yaml = pytest.importorskip("yaml")
    service = yaml.safe_load(text)["services"]["service"]
    assert service["ports"] == [f"127.0.0.1:{PORT}:{PORT}"] and service["build"] == "."
    assert service["volumes"] == ["./project:/project"] and service["user"] == "10001"
    assert set(service["depends_on"]) == {"database"}
    (variables,) = [set(re.findall(r"\$\{([A-Z_]+)", text))]
    assert variables == {"DISCREET_DATABASE_PASSWORD"}
