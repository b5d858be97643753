"""Statements in brief, and sentences that never say less than what was proven."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from discreet.privacy.statements import at_most, known_statements, statements, statements_html


def test_every_statement_says_something_in_plain_words() -> None:
    for one in statements().values():
        assert 20 < len(one.says) < 720 and one.status in ("proven", "cited")
        assert "](" not in one.says and "**" not in one.says and one.page.startswith("docs/theory/")


def test_statements_of_other_versions_are_left_out() -> None:
    assert [one.id for one in known_statements(("pdp", "of-another-version"))] == ["pdp"]
    assert statements_html(("of-another-version",)) is None


@given(st.floats(1e-12, 1e12))
def test_a_told_bound_is_never_below_the_proven_one(bound: float) -> None:
    said = float(at_most(bound).replace(",", ""))
    assert bound <= said <= 1.0011 * bound
