"""The page is self-contained, states the promise, and shows no row."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

import discreet as dc
from discreet.errors import ArgumentError, ReleaseError

SCHEMA = dc.Schema(
    {
        "size": dc.Number(0, 2, step=1, missing=False),
        "<kind>": dc.Category("<b>", "b", missing=False, other=False),
    }
)


@pytest.fixture
def session() -> dc.Session:
    frame = pd.DataFrame({"size": [0, 1, 2] * 5, "<kind>": ["<b>", "b", "x"] * 5})
    return dc.protect(frame, SCHEMA, dataset="shapes & sizes", epsilon=2.0, ledger=":memory:")


def test_a_page_of_releases(session: dc.Session, tmp_path: Path) -> None:
    model = dc.Model(lambda rows: rows[:, 0] / 2, bounds=(0, 1))
    releases = session.release(
        [
            dc.histogram(["size", "<kind>"], epsilon=0.5),
            dc.partial_dependence(model, "<kind>", epsilon=0.5),
        ]
    )
    page = dc.report(releases, session=session, title="A & B", note="a note")
    html = page.html
    assert html.count("<svg") == 2 and "A &amp; B" in html and "a note" in html
    assert "epsilon=0.5 (pure)" in html and "shapes &amp; sizes" in html and "50 % spent" in html
    assert "<b>" not in html, "names from the schema are escaped"
    assert re.findall(r'(?:src|href)="(?!#|data:)', html) == [], "nothing is loaded from elsewhere"
    links = set(re.findall(r'href="#(statement-[^"]+)"', html))
    assert links and all(f'id="{link}"' in html for link in links), "links lead to statements"
    assert f"<summary>{html.count('<dt id=')} statements</summary>" in html, (
        "folded until one is asked for"
    )
    assert "Replacing one record moves these" in html and "prefers-color-scheme: dark" in html
    assert 'aria-label="Histogram of size and &lt;kind&gt;, ' in html
    assert page.save(tmp_path / "page.html").read_text() == html == page._repr_html_()
    with pytest.raises(ReleaseError, match="cannot be written"):
        page.save(tmp_path / "no" / "page.html")


def test_one_release_without_a_session(session: dc.Session) -> None:
    page = dc.report(session.release(dc.histogram("size", epsilon=0.5)))
    assert page.html.count("<svg") == 1 and "Budget of" not in page.html


def test_wrong_arguments() -> None:
    with pytest.raises(ArgumentError, match="releases must be"):
        dc.report([])
