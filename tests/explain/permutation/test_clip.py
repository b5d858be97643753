"""The clip of a ranking: chosen by public rows, for values alone."""

from __future__ import annotations

import discreet as dc
from discreet.explain.permutation.contribution import ranking_clip
from tests.explain.permutation.cases import TINY, permuted


def test_a_clip_ranks_public_rows_best() -> None:
    """Answers that are far apart on few rows: clipped where noise is great, not where it is small."""
    schema = dc.Schema(
        {
            "a": dc.Number(0, 1, missing=False),
            "b": dc.Number(0, 1, missing=False),
            "y": dc.Number(0, 1000, missing=False),
        },
        target="y",
    )
    model = dc.Model(
        lambda rows: 100 * rows[:, 0] + 40 * rows[:, 1], bounds=(0, 1000), name="far from its bounds"
    )
    case = permuted(model, schema)
    clip = ranking_clip(case, schema, k=2, spread=5e4)
    assert clip == 250.0**2  # permutations move answers by 100 at most, but targets may be farther
    assert ranking_clip(case, schema, k=2, spread=1e-9) is None
    settings = {"release": "ranking", "epsilon": 1.0}
    setting = dc.plans.Setting(schema, "replace-one", 1_000)
    spreads = {
        str(clip): dc.permutation_importance(model, clip=clip, **settings)
        .prepare(setting)
        .stages[0]
        .noise.spread
        for clip in ("auto", None)
    }
    assert spreads["auto"] < 0.1 * spreads["None"]


def test_classes_are_not_clipped() -> None:
    model = dc.Model(lambda rows: rows[:, 0] / 2, output="probability", bounds=(0, 1), name="half")
    assert ranking_clip(permuted(model), TINY, k=2, spread=1.0) is None
