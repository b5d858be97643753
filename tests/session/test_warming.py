"""What a release needs is compiled before the charge, and an interruption until then costs nothing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import discreet as dc
from discreet.data.engine import sum_block
from discreet.session import warming
from discreet.session.warming import compile_ahead

Open = Callable[..., dc.Session]

SCRIPT = """
import sys, warnings
warnings.simplefilter("ignore")
from numba.core.dispatcher import Dispatcher
import discreet as dc
from discreet.ledger import Ledger
from tests.laws import world

def compiled():
    return {
        (name, kernel, str(signature))
        for name, module in list(sys.modules.items()) if name.startswith("discreet.")
        for kernel, value in list(vars(module).items()) if isinstance(value, Dispatcher)
        for signature in value.signatures
    }

seen = []
reserve = Ledger.reserve_all
def watched(self, *given, **options):
    seen.append(compiled())
    return reserve(self, *given, **options)
Ledger.reserve_all = watched
session = dc.protect(
    world.table(), world.SCHEMA, dataset="d", epsilon=1e6, ledger=":memory:", progress=False
)
background = world.draw_rows(20, 3)
plans = {
    "curve of a network": lambda: dc.partial_dependence(world.model("network"), "age", epsilon=1.0),
    "curve of trees": lambda: dc.partial_dependence(world.model("trees"), "age", epsilon=1.0),
    "shap of trees": lambda: dc.shap_values(world.model("trees"), background[:1], epsilon=1.0),
    "importance": lambda: dc.shap_importance(
        world.model("network"), background=background, clip=None, epsilon=1.0
    ),
    "permutation": lambda: dc.permutation_importance(world.model("trees"), epsilon=1.0),
}
for name, plan in plans.items():
    session.release(plan())
    late = sorted(compiled() - seen[-1])
    print(name, len(seen[-1]), late)
    assert not late, (name, late)
assert len(seen[-1]) > len(seen[0])
"""


@pytest.mark.slow
def test_nothing_is_compiled_after_the_charge() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_interruption_until_then_costs_nothing(
    open_session: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*given: object) -> None:
        raise KeyboardInterrupt

    session = open_session()
    before = len(session.history())
    monkeypatch.setattr(warming, "sum_block", stop)
    with pytest.raises(KeyboardInterrupt, match="Nothing was spent"):
        session.release(dc.histogram("home", epsilon=0.25))
    assert session.remaining.loss == 1.0 and len(session.history()) == before
    monkeypatch.setattr(warming, "sum_block", sum_block)
    session.release(dc.histogram("home", epsilon=0.25))
    assert session.remaining.loss == 0.75


def test_code_of_others_is_not_called_for_it(
    open_session: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Public rows told all there is to know when the model was bound."""
    asked: list[int] = []

    def model(rows: Any) -> Any:
        asked.append(len(rows))
        return rows[:, 0] / 100

    during: list[int] = []

    def counted(*given: Any) -> None:
        before = len(asked)
        compile_ahead(*given)
        during.append(len(asked) - before)

    monkeypatch.setattr("discreet.session.session.compile_ahead", counted)
    plan = dc.partial_dependence(dc.Model(model, bounds=(0, 1), name="m"), "age", epsilon=0.1)
    open_session().release(plan)
    assert during == [0] and len(asked) > 0
