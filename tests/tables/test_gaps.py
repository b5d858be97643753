"""Answers about columns with gaps: missing and unlisted values are counted as what they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc

ROWS, NO_BMI, NO_SEX, OTHER_SEX = 3000, 307, 159, 40
SCHEMA = dc.Schema({"bmi": dc.Number(10, 60), "sex": dc.Category("f", "m")})


def people() -> pd.DataFrame:
    draw = np.random.default_rng(0)
    sex: Any = draw.choice(["f", "m"], ROWS).astype(object)
    sex[400 : 400 + NO_SEX], sex[600 : 600 + OTHER_SEX] = None, "d"
    bmi = draw.normal(27, 5, ROWS)
    bmi[:NO_BMI] = np.nan
    return pd.DataFrame({"bmi": bmi, "sex": sex})


@pytest.fixture(scope="module")
def session() -> dc.Session:
    terms: Any = {"epsilon": 1e5, "delta": 1e-3, "ledger": ":memory:", "seed": 1, "progress": False}
    return dc.protect(people(), SCHEMA, dataset="people", **terms)


def counts(session: dc.Session, **asked: Any) -> dict[str, float]:
    frame = session.release(dc.histogram(epsilon=50, **asked)).value.to_frame()
    return dict(zip(frame.iloc[:, 0], frame["count"], strict=True))


@pytest.mark.parametrize("ranges", [False, True])
def test_missing_numbers_have_a_cell_of_their_own(session: dc.Session, ranges: bool) -> None:
    found = counts(session, columns="bmi", bins=10, ranges=ranges)
    present = people()["bmi"].dropna()
    assert found["(missing)"] == NO_BMI
    assert found["[35, 40)"] == present.between(35, 40, inclusive="left").sum()
    assert sum(found.values()) == ROWS


def test_a_range_holds_no_missing_ones(session: dc.Session) -> None:
    release: Any = session.release(dc.histogram("bmi", bins=16, ranges=True, epsilon=50))
    assert release.value.range(10, 60).value == pytest.approx(ROWS - NO_BMI)


@pytest.mark.parametrize("ranges", [False, True])
def test_missing_and_unlisted_categories_are_no_first_category(
    session: dc.Session, ranges: bool
) -> None:
    found = counts(session, columns="sex", ranges=ranges)
    assert found == {
        **people()["sex"].value_counts()[["f", "m"]].to_dict(),
        "(other)": OTHER_SEX,
        "(missing)": NO_SEX,
    }


def test_entropies_count_missing_as_a_value(session: dc.Session) -> None:
    shares = people()["sex"].value_counts(dropna=False, normalize=True)
    release: Any = session.release(dc.entropy("sex", epsilon=50))
    assert release.value.value == pytest.approx(-np.sum(shares * np.log2(shares)), abs=0.01)
    both: Any = session.release(dc.mutual_information("bmi", "sex", epsilon=50))
    assert 0 <= both.value.value < 0.1


def test_rows_that_are_made_up_have_as_many_gaps(session: dc.Session) -> None:
    made: Any = session.release(dc.synthesize(rows=ROWS, epsilon=50))
    frame = made.value.to_frame()
    assert frame["bmi"].isna().sum() == pytest.approx(NO_BMI, abs=3)
    assert frame["sex"].isna().sum() == pytest.approx(NO_SEX, abs=3)
    assert (frame["sex"] == "(other)").sum() == pytest.approx(OTHER_SEX, abs=3)


def test_deniable_rows_keep_gaps(session: dc.Session) -> None:
    plan = dc.deniable_rows(200, columns=["sex"], gamma=4.0, epsilon=400, delta=1e-5)
    release: Any = session.release(plan)
    frame = release.value.to_frame()
    assert set(frame["sex"].dropna()) <= {"f", "m", "(other)"}
    assert len(frame) > 0


@pytest.mark.parametrize("kind", ["mean", "sample"])
def test_backgrounds_have_as_many_gaps(session: dc.Session, kind: Any) -> None:
    release: Any = session.release(dc.background(kind, epsilon=50))
    frame = release.value.to_frame()
    assert frame["bmi"].isna().mean() == pytest.approx(NO_BMI / ROWS, abs=0.02)
    assert frame["sex"].isna().mean() == pytest.approx(NO_SEX / ROWS, abs=0.02)
    present = frame["bmi"].dropna()
    assert present.mean() == pytest.approx(27, abs=1)


def gone(rows: Any) -> Any:
    """Answer .9 where the bmi is missing, and in proportion to it elsewhere."""
    return np.where(np.isnan(rows[:, 0]), 0.9, rows[:, 0] / 60)


def test_dependences_have_a_cell_for_missing_values(session: dc.Session) -> None:
    model = dc.Model(gone, bounds=(0, 1), name="gone")
    background: Any = session.release(dc.background("sample", epsilon=50)).value
    plan = dc.shap_dependence(model, "bmi", background=background, epsilon=200)
    release: Any = session.release(plan)
    frame = release.value.to_frame()
    missing, usual = frame.iloc[-1], frame[frame.iloc[:, 0].between(25, 29)].iloc[0]
    assert np.isnan(missing.iloc[0])
    assert missing.iloc[1] == pytest.approx(0.9 - 0.9 * 0.45 - 0.1 * 0.9, abs=0.03)
    assert usual.iloc[1] == pytest.approx(0.0, abs=0.1)


def test_functions_of_callers_are_shown_gaps(session: dc.Session) -> None:
    """Explainers and utilities of rows get frames in which missing values are missing."""

    def share(frame: Any) -> Any:
        return [frame["bmi"].isna().mean(), frame["sex"].isna().mean()]

    plan = dc.any_curve(
        share,
        grid=[0.0, 1.0],
        bounds=(0, 1),
        subsets=30,
        name="share",
        epsilon=200,
        mechanism="laplace",
    )
    release: Any = session.release(plan)
    assert np.array(release.value.y) == pytest.approx([NO_BMI / ROWS, NO_SEX / ROWS], abs=0.02)

    def lacks(columns: Any, candidates: Any) -> Any:
        return np.column_stack([pd.isna(columns[name]) for name in candidates]).astype(float)

    choice = dc.choose(lacks, ["sex", "bmi"], bounds=(0, 1), name="lacks", epsilon=50)
    chosen: Any = session.release(choice)
    assert chosen.value.winner == "bmi"
