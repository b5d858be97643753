"""The example runs as it stands, and its curves are those of the boosters themselves."""

from __future__ import annotations

import importlib.util
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

SCRIPT = Path(__file__).parents[2] / "examples" / "boosters_with_categories.py"
INSTALLED = ["histogram boosting"] + [
    name for name in ("XGBoost", "LightGBM", "CatBoost") if importlib.util.find_spec(name.lower())
]


def exact_curve(script: dict[str, Any], name: str) -> list[float]:
    """Return the mean answer of a booster on the private rows with every home type in turn."""
    public, private = script["draw"](4_000, seed=1), script["draw"](20_000, seed=2)
    model = script["BOOSTERS"][name](public, public["defaulted"])
    show = script["as_texts" if name == "CatBoost" else "as_categories"]
    means = []
    for home in script["SCHEMA"]["home type"].values:
        rows = private.assign(**{"home type": home})
        if name == "CatBoost":  # what it is shown for values that are missing
            rows["region"] = rows["region"].fillna("north")
        means.append(float(model.predict_proba(show(rows))[:, 1].mean()))
    return means


@pytest.mark.slow
def test_it_runs_and_tells_the_truth(capsys: pytest.CaptureFixture[str]) -> None:
    script = runpy.run_path(str(SCRIPT))
    releases = script["main"]()
    printed = capsys.readouterr().out
    assert list(releases) == INSTALLED
    for name, release in releases.items():
        assert release.guarantee.grade == "proven"
        curve = release.value.to_frame()
        assert curve["home type"].tolist()[-2:] == ["(other)", "(missing)"]
        np.testing.assert_allclose(curve["value"][:4], exact_curve(script, name), atol=0.01)
        assert f"{name} gets\n  age: number" in printed
    assert (
        "home type: values, coded by the model as mortgage=0, own=1, rent=2, with parents=3" in printed
    )
