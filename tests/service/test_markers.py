"""Values planted in rows are nowhere: no answer, header, log, metric, error, job or file has one."""

from __future__ import annotations

import base64
import io
import logging
import os
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from .conftest import World, plan

MARKER = 73519.258137
SECOND = 61.53482917
PATHS = [
    "/v1/datasets",
    "/v1/datasets/loans",
    "/v1/datasets/loans/budget",
    "/v1/datasets/loans/history",
    "/v1/datasets/loans/verification",
    "/v1/datasets/loans/releases",
    "/v1/jobs",
    "/v1/models",
    "/v1/audit",
    "/metrics",
    "/openapi.json",
]
ENDS = ["", "/picture.svg", "/picture.png", "/picture.svg?dark=true", "/table.csv", "/page"]


def spellings(value: float) -> set[bytes]:
    """Return how a number may be written, to its last digit: fewer are found by chance."""
    digits = repr(value)
    whole, part = digits.split(".")
    texts = {digits, f"{int(whole):,}.{part}", f"{whole},{part}", f"{whole[0]}.{whole[1:]}{part}"}
    spelled = {text.encode() for text in texts}
    spelled |= {digits.encode("utf-16-le"), digits.encode().hex().encode()}
    spelled |= {base64.b64encode(b" " * n + digits.encode())[4:-4] for n in range(3)}
    return spelled | {struct.pack(order, value) for order in ("<d", ">d")}


MARKS = spellings(MARKER) | spellings(SECOND)


def marks_in(content: bytes) -> list[bytes]:
    return [mark for mark in MARKS if mark in content]


def planted(folder: Path) -> None:
    """Put values that nobody else has into one record of the loans."""
    lines = (folder / "loans.csv").read_text().splitlines()
    names, cells = lines[0].split(","), lines[7].split(",")
    for name, value in (("income", MARKER), ("age", SECOND)):
        cells[names.index(name)] = repr(value)
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


@pytest.fixture
def deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, bytes]]:
    """What was in files that were deleted meanwhile; temporary ones lie beside the project."""
    aside, found, unlink = tmp_path / "aside", {}, os.unlink
    aside.mkdir()
    monkeypatch.setenv("TMPDIR", str(aside))
    monkeypatch.setattr(tempfile, "tempdir", None)

    def read_first(path: Any, *rest: Any, **more: Any) -> None:
        if not more and os.path.isfile(path):
            found[str(path)] = Path(path).read_bytes()
        unlink(path, *rest, **more)

    monkeypatch.setattr(os, "unlink", read_first)
    monkeypatch.setattr(os, "remove", read_first)
    yield found


def asked(world: World, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Ask and look at all there is; return every answer."""
    curve = plan("partial_dependence", model="risk", features="age", epsilon=0.5)
    answers = [
        world.ask("ann", plan("histogram", columns="income", bins=4, epsilon=0.5)),
        world.ask("ann", curve),
        world.ask("ann", plan("mean", column="age", epsilon=0.5)),
        world.ask("ann", plan("histogram", columns="nothing", epsilon=0.5)),
        *broken(world, monkeypatch),
    ]
    assert [one.status_code for one in answers] == [200, 200, 200, 422, 410]
    owner, (first, second) = world.client("owner"), [answers[n].json() for n in (0, 1)]
    jobs = [f"/v1/jobs/{one['id']}" for one in owner.get("/v1/jobs").json()]
    places = [f"/v1/datasets/loans/releases/{one['releases'][0]['id']}" for one in (first, second)]
    paths = [*PATHS, *jobs, *(place + end for place in places for end in ENDS)]
    answers += [owner.get(path) for path in paths]
    answers += [world.client("auditor").get(path) for path in PATHS]
    answers.append(world.client("ann").post("/v1/datasets/loans/price", json={"plans": [curve]}))
    assert len(jobs) >= 4 and {one.status_code for one in answers} <= {200, 403, 404, 410, 422}
    return answers


def test_a_planted_value_is_nowhere(
    world: World,
    deleted: dict[str, bytes],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    planted(world.folder)
    (world.folder / "audit.json").write_text('{"checks": []}')
    caplog.set_level(logging.DEBUG)
    answers = asked(world, monkeypatch)
    said = [part for one in answers for part in (one.content, str(one.headers).encode())]
    drawn = [one.content for one in answers if one.headers["content-type"] == "image/png"]
    assert len(drawn) == 2
    said += [str(Image.open(io.BytesIO(one)).info).encode() for one in drawn]
    said += [text.encode() for text in (caplog.text, *capfd.readouterr())]
    kept = [p for p in world.folder.rglob("*") if p.is_file() and p.name != "loans.csv"]
    said += [path.read_bytes() for path in kept] + list(deleted.values())
    assert [found for text in said if (found := marks_in(text))] == []


def test_the_search_finds_what_is_there(world: World) -> None:
    planted(world.folder)
    assert repr(MARKER).encode() in marks_in((world.folder / "loans.csv").read_bytes())
    for said in (f"age: {SECOND}", "income 73,519.258137", f"{MARKER:.10e}", f"{SECOND:.9e}"):
        assert marks_in(said.encode()), said
    assert marks_in(b"x" + struct.pack("<d", MARKER)) and marks_in(repr(SECOND).encode("utf-16-le"))
    assert marks_in(base64.b64encode(f"a record with {MARKER} in it".encode()))
