"""Values planted in rows are nowhere: no answer, header, log, metric, error, job or file has one."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from .conftest import World, plan

MARKER = "73519.25"
SECOND = "61.5"


def planted(folder: Path) -> None:
    """Put values that nobody else has into one record of the loans."""
    lines = (folder / "loans.csv").read_text().splitlines()
    names, cells = lines[0].split(","), lines[7].split(",")
    for name, value in (("income", MARKER), ("age", SECOND)):
        cells[names.index(name)] = value
    lines[7] = ",".join(cells)
    (folder / "loans.csv").write_text("\n".join(lines) + "\n")


def broken(world: World, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Let an engine fail with the record in its error, after the charge."""
    from discreet.session.releaser import PaidReleaser

    def fail(self: Any, *_: Any, **__: Any) -> Any:
        raise ValueError(f"cannot use income={MARKER}, age={SECOND}")

    with monkeypatch.context() as failing:
        failing.setattr(PaidReleaser, "answer", fail)
        return [world.ask("ann", plan("mean", column="income", epsilon=0.4))]


def test_a_planted_value_is_nowhere(
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    planted(world.folder)
    caplog.set_level(logging.DEBUG)
    answers = [
        world.ask("ann", plan("histogram", columns="income", bins=4, epsilon=0.5)),
        world.ask("ann", plan("partial_dependence", model="risk", features="age", epsilon=0.5)),
        world.ask("ann", plan("mean", column="age", epsilon=0.5)),
        world.ask("ann", plan("histogram", columns="nothing", epsilon=0.5)),
        *broken(world, monkeypatch),
    ]
    assert [one.status_code for one in answers] == [200, 200, 200, 422, 410]
    id_ = answers[0].json()["releases"][0]["id"]
    paths = [
        "/v1/datasets",
        "/v1/datasets/loans",
        "/v1/datasets/loans/budget",
        "/v1/datasets/loans/history",
        "/v1/datasets/loans/releases",
        "/v1/jobs",
        "/metrics",
        *(f"/v1/datasets/loans/releases/{id_}/{end}" for end in ("picture.svg", "table.csv", "page")),
    ]
    answers += [world.client("owner").get(path) for path in paths]
    said = [part for one in answers for part in (one.text, str(one.headers))]
    said += [caplog.text, *capfd.readouterr()]
    kept = [p for p in world.folder.rglob("*") if p.is_file() and p.name != "loans.csv"]
    said += [path.read_bytes().decode("latin-1") for path in kept]
    assert not any(MARKER in text or f"age={SECOND}" in text for text in said)
