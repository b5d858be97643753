"""What comes in from outside: addresses with passwords, files that unpack to much or nest deeply."""

from __future__ import annotations

import io
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from discreet.cli.files import load_model
from discreet.cli.output import refuse_passwords
from discreet.errors import ArgumentError, ModelError, SchemaError
from discreet.models import files
from discreet.schema import Schema


@pytest.mark.parametrize(
    "words",
    [
        ["protect", "loans.csv", "--dataset", "postgresql://ann:hunter2@host/db"],
        ["postgresql://ann:hunter2@host/db"],
        ["budget", "--ledger=postgresql://ann:hunter2@host/db"],
        ["release", "histogram", "postgresql://ann:hunter2@host/db", "--epsilon", "1"],
    ],
)
def test_a_password_is_never_echoed(words: list[str], tmp_path: Path) -> None:
    command = [sys.executable, "-c", "from discreet.cli import main; main()", *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == ArgumentError.exit_code
    assert "hunter2" not in done.stdout + done.stderr and "PGPASSWORD" in done.stderr


def test_addresses_without_a_password_pass() -> None:
    words = ["postgresql://ann@host:5432/db", "loans.csv", "a:b@c", "--dataset", "x"]
    refuse_passwords(words)
    with pytest.raises(ArgumentError, match="must have no password"):
        refuse_passwords([*words, "postgresql://ann:secret@host/db"])


def bomb(path: Path, name: str, size: int) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open(name, "w") as file:
        for _ in range(size // 2**20):
            file.write(bytes(2**20))
    return path


def test_a_model_that_unpacks_to_much_is_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_LARGEST_MODEL", 2**24)
    monkeypatch.setattr(files, "_LARGEST_TEXT", 2**22)
    large = bomb(tmp_path / "large.skops", "weights.npy", 2**25)
    wordy = bomb(tmp_path / "wordy.skops", "schema.json", 2**23)
    inner = bomb(tmp_path / "inner.npz", "data.npy", 2**25)
    with zipfile.ZipFile(tmp_path / "nested.skops", "w") as archive:
        archive.write(inner, "matrix.npz")
    for path in (large, wordy, tmp_path / "nested.skops"):
        assert path.stat().st_size < 2**17
        with pytest.raises(ModelError, match="must unpack to at most"):
            load_model(path)


def test_a_model_of_usual_size_is_read(tmp_path: Path) -> None:
    from skops.io import dump

    fitted = LogisticRegression().fit(np.arange(8.0)[:, None], np.arange(8) % 2)
    dump(fitted, tmp_path / "model.skops")
    assert np.array_equal(load_model(tmp_path / "model.skops").coef_, fitted.coef_)


def test_files_that_are_no_models_are_refused(tmp_path: Path) -> None:
    (tmp_path / "model.skops").write_bytes(io.BytesIO(b"PK nothing").getvalue())
    for name in ("model.skops", "none.skops"):
        with pytest.raises(ModelError, match="saved with skops"):
            load_model(tmp_path / name)


def test_a_deeply_nested_schema_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "schema.toml"
    path.write_text("columns = " + "[" * 10_000 + "]" * 10_000)
    with pytest.raises(SchemaError, match="without deep nesting"):
        Schema.load(path)
