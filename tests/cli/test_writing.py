"""Files are refused before anything is charged; what fails later has been shown."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import discreet as dc
from discreet.cli.writing import PICTURES, TABLES, check_file, check_folder, draw, write_table
from discreet.errors import ArgumentError, ReleaseError
from tests.cli.shell import left, protect_loans, shell, told

ASK = ["release", "histogram", "age", "--bins", "4", "--epsilon", "0.5"]


@pytest.fixture(scope="module")
def protected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("protected")
    protect_loans(where)
    return where


@pytest.fixture
def folder(protected: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a protected data set of its own, where commands are run."""
    shutil.copytree(protected, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--plot", "out/age.png"], "--plot must be in a folder that exists, got out/age.png."),
        (["--out", "out/age.json"], "--out must be in a folder that exists, got out/age.json."),
        (["--plot", "age.bmp"], "--plot must end with .png, .svg, .pdf, .jpg or .webp, got age.bmp."),
        (["--plot", "age"], "--plot must end with .png"),
        (["--table", "age.xlsx"], "--table must end with .csv or .parquet, got age.xlsx."),
        (["--out", "."], "--out must be a file, got the folder ."),
        (["--out", "/proc/age.json"], "--out must be in a folder that can be written, got /proc"),
    ],
)
def test_what_cannot_be_written_is_refused_and_free(folder: Path, words: list[str], said: str) -> None:
    done = shell(*ASK, *words)
    assert (done.code, done.out) == (2, "") and said in done.err
    assert left() == "5"


def test_an_answer_is_shown_before_it_is_written(folder: Path) -> None:
    (folder / "full.json").symlink_to("/dev/full")
    (folder / "full.png").symlink_to("/dev/full")
    done = shell(*ASK, "--out", "full.json", "--plot", "full.png", "--table", "age.csv")
    assert done.code == ReleaseError.exit_code and "18 to 35" in done.out and left() == "4.5"
    assert "full.json cannot be written" in done.err and "full.png cannot be written" in done.err
    assert "asking again costs nothing" in done.err and "Traceback" not in done.err
    assert (folder / "age.csv").read_text().startswith("age,count,low,high")
    assert shell(*ASK, "--out", "age.json", "--plot", "age.png").code == 0 and left() == "4.5"


def test_a_project_that_cannot_be_written_registers_nothing(folder: Path) -> None:
    words = ["--schema", "schema.toml", "--dataset", "other", "--ledger", "other.db", "--epsilon", "1"]
    done = shell("protect", "loans.csv", *words, "--project", "none/discreet.toml")
    assert done.code == 2 and "--project must be in a folder that exists" in done.err
    assert not (folder / "other.db").exists()


def test_every_ending_is_written(folder: Path) -> None:
    told(*ASK, "--out", "age.json")
    release = dc.Release.load(folder / "age.json")
    for ending in PICTURES:
        draw(release.plot, folder / f"age{ending}")
        assert (folder / f"age{ending}").stat().st_size > 1_000
    for ending in TABLES:
        write_table(release, folder / f"age{ending}")
        assert (folder / f"age{ending}").stat().st_size > 50


def test_checks_leave_no_trace(tmp_path: Path) -> None:
    check_file("--out", tmp_path / "new.json", (".json",))
    check_folder("--out", tmp_path)
    check_file("--out", None)
    check_folder("--out", None)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ArgumentError, match="--out must be a folder that exists"):
        check_folder("--out", tmp_path / "none")


def test_whoever_stops_reading_does_not_stop_the_files(folder: Path) -> None:
    import subprocess
    import sys

    run = f"{sys.executable} -c 'from discreet.cli import main; main()' {' '.join(ASK)} --out age.json"
    command = f"set -o pipefail; {run} | true"
    subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, check=False)
    assert dc.Release.load(folder / "age.json").plan["kind"] == "histogram"
