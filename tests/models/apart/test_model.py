"""Models in a process of their own: what one row does to it, no other row sees."""

from __future__ import annotations

import os
import pickle
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.errors import ModelError
from discreet.models.apart import Limits, ModelApart
from discreet.models.files import types_of
from tests.models.apart.mischief import MARK, NAME, Mischief

SCHEMA = dc.Schema(
    {"age": dc.Number(18, 90, missing=False), "income": dc.Number(0, 200_000, missing=False)}
)
ROWS = np.array([[20.0, 1e4], [30.0, 2e4], [40.0, MARK], [50.0, 3e4], [60.0, 4e4]])
LIMITS = Limits(seconds=2, megabytes=512)


def saved(folder: Path, act: str, **options: Any) -> Path:
    from skops.io import dump

    path = folder / f"{act}.skops"
    dump(Mischief(act, **options).fit(), path)
    return path


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Any]:
    made: list[ModelApart] = []

    def make(act: str, **options: Any) -> ModelApart:
        made.append(ModelApart(saved(tmp_path, act, **options), trust=[NAME], limits=LIMITS))
        return made[-1]

    yield make
    for model in made:
        model.close()


def answers(model: ModelApart, rows: Any = ROWS, **options: Any) -> Any:
    return dc.Model(model, **options).bind(SCHEMA).predict(rows)


EXPECTED = np.array([0.2, 0.3, 0.5, 0.5, 0.6])
"""Of rows on which nothing happens, and the middle of the bounds for the marked one."""


def test_types_are_shown_and_must_be_trusted(tmp_path: Path) -> None:
    path = saved(tmp_path, "default")
    assert types_of(path).third_party == (NAME,)
    assert NAME in types_of(path).named
    for trust in ([], ["tests.models.apart.mischief.Other"]):
        with pytest.raises(ModelError, match=f"types that are trusted, got {NAME}"):
            ModelApart(path, trust=trust)
    with pytest.raises(ModelError, match="trust must be a list"):
        ModelApart(path, trust=NAME)
    with pytest.raises(ModelError, match=f"got {NAME}"):
        dc.Model(path)


def test_all_types_are_shown_at_once(tmp_path: Path) -> None:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer
    from skops.io import dump

    from tests.models.apart.mischief import default

    path = tmp_path / "both.skops"
    dump(make_pipeline(FunctionTransformer(default), Mischief().fit()), path)
    with pytest.raises(ModelError, match=r"mischief\.Mischief, .*mischief\.default"):
        ModelApart(path, trust=[NAME])


def test_a_model_apart_is_asked_like_any_other(opened: Any) -> None:
    model = opened("default")
    np.testing.assert_array_equal(answers(model), EXPECTED)
    bound = dc.Model(model).bind(SCHEMA)
    assert bound.form is None and bound.third_party is not None
    assert bound.third_party.kept.grade == "probed"
    assert any("ends a call" in line for line in bound.third_party.kept.assumptions)
    isolated = dc.Model(model, isolated=True).bind(SCHEMA)
    assert isolated.third_party is not None and isolated.third_party.kept.grade == "isolated"
    assert not any("ends a call" in line for line in isolated.third_party.kept.assumptions)
    assert dc.Model(model).fingerprint == dc.Model(pickle.loads(pickle.dumps(model))).fingerprint
    assert model.kind == NAME and not hasattr(model, "decision_function")
    with pytest.raises(ModelError, match="decision_function"):
        dc.Model(model, output="margin", bounds=(0, 1))


@pytest.mark.slow
@pytest.mark.parametrize("act", ["crash", "eat", "leave", "write"])
def test_a_row_that_ends_a_call_gets_the_default_and_no_other_does(opened: Any, act: str) -> None:
    np.testing.assert_array_equal(answers(opened(act)), EXPECTED)


@pytest.mark.slow
@pytest.mark.parametrize("act", ["sleep", "spin"])
def test_a_row_that_takes_for_ever_gets_the_default_and_no_other_does(opened: Any, act: str) -> None:
    np.testing.assert_array_equal(answers(opened(act), ROWS[1:3]), EXPECTED[1:3])


@pytest.mark.slow
def test_nobody_is_called(opened: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        model = opened("call_home", port=server.getsockname()[1])
        if not model.network_closed:
            pytest.skip("the kernel lets no process leave the network here")
        np.testing.assert_array_equal(answers(model), EXPECTED)
        server.settimeout(0.0)
        with pytest.raises(BlockingIOError):
            server.accept()


@pytest.mark.slow
def test_nothing_of_ours_is_seen(opened: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DISCREET_KEY", "dk_secret")
    monkeypatch.setenv("MY_SECRET", "1")
    with (tmp_path / "rows.csv").open("w"):
        assert answers(opened("look_around"))[2] == 0.0


@pytest.mark.slow
def test_a_call_starts_from_the_state_of_the_file(opened: Any) -> None:
    bound = dc.Model(opened("remember")).bind(SCHEMA)
    said = [bound.predict(ROWS)[2] for _ in range(3)]
    assert said == [0.01] * 3
    here = Mischief("remember").fit()
    assert [here.predict_proba(ROWS)[2, 1] for _ in range(3)] == [0.01, 0.02, 0.03]


def test_a_reader_that_crashes_is_told(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"can read, got crash when read\.skops: the reader crashed"):
        ModelApart(saved(tmp_path, "crash when read"), trust=[NAME])


KILLED = """
import sys, numpy as np
from discreet.models.apart import ModelApart
model = ModelApart(sys.argv[1], trust=[sys.argv[2]])
print(model._process._started.pid, flush=True)
model.predict_proba(np.array([[1.0, float(sys.argv[3])]]))
"""


def children(process: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def wait_until(happened: Callable[[], object]) -> bool:
    """Say whether something happens within five minutes, which a busy machine may need."""
    deadline = time.monotonic() + 300
    while not happened() and time.monotonic() < deadline:
        time.sleep(0.05)
    return bool(happened())


@pytest.mark.slow
def test_a_process_ends_with_the_one_that_started_it(tmp_path: Path) -> None:
    arguments = [str(saved(tmp_path, "sleep")), NAME, str(MARK)]
    paths = os.pathsep.join(path for path in sys.path if path)
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, *arguments],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": paths},
    ) as worker:
        assert worker.stdout is not None
        keeper = int(worker.stdout.readline())
        assert wait_until(lambda: children(keeper))
        copies = children(keeper)
        worker.kill()
    assert wait_until(lambda: not any(map(is_running, [keeper, *copies])))


@pytest.mark.slow
def test_a_process_that_was_killed_is_started_again(opened: Any) -> None:
    model = opened("default")
    process = model._process._started
    process.kill()
    process.wait()
    np.testing.assert_array_equal(model.predict_proba(ROWS)[:, 1], EXPECTED)


@pytest.mark.slow
def test_what_a_booster_knows_of_categories_is_known_apart(tmp_path: Path) -> None:
    from tests.models.readers.test_categories import SCHEMA as CATEGORIES
    from tests.models.readers.test_categories import encoded, everything, fitted

    path = tmp_path / "model.ubj"
    fitted("xgboost").save_model(path)
    apart, here = dc.Model(ModelApart(path)), dc.Model(path)
    assert apart.inputs(CATEGORIES) == here.inputs(CATEGORIES)
    bounds = [model.bind(CATEGORIES) for model in (apart, here)]
    said = [bound.predict(encoded(everything(missing=False), bound)) for bound in bounds]
    np.testing.assert_allclose(said[0], said[1], rtol=0, atol=1e-5)
    assert [bound.kind for bound in bounds] == ["opaque", "trees"]
    apart.wrapped.close()


@pytest.mark.slow
def test_onnx_files_are_asked_apart(tmp_path: Path) -> None:
    from tests.models.test_files import onnx_classifier

    path = tmp_path / "model.onnx"
    onnx_classifier(path, np.array([[0.0, 0.01], [0.0, -0.00002]]))
    apart, here = dc.Model(ModelApart(path)), dc.Model(path)
    assert apart.output == "probability" and apart.bind(SCHEMA).columns == ("age", "income")
    np.testing.assert_array_equal(apart.bind(SCHEMA).predict(ROWS), here.bind(SCHEMA).predict(ROWS))
    assert types_of(path).named == ("ONNX",)
    apart.wrapped.close()
