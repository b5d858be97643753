"""Amounts are whole units, added without rounding."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from discreet.privacy.accounting import Amount, total

UNITS = st.integers(0, 2**62)
AMOUNTS = st.builds(Amount, UNITS, UNITS)


@given(AMOUNTS, AMOUNTS)
def test_sums_are_exact(a: Amount, b: Amount) -> None:
    assert (a + b) - b == a
    assert total([a, b, a]) == Amount(2 * a.loss + b.loss, 2 * a.delta + b.delta)
    assert (a + b).to_json() == {
        name: f"{Decimal(getattr(a, name) + getattr(b, name)).scaleb(-12).normalize():f}"
        for name in ("loss", "delta")
    }


@given(AMOUNTS, AMOUNTS)
def test_fits_asks_for_both_parts(a: Amount, budget: Amount) -> None:
    assert a.fits(budget) == (a.loss <= budget.loss and a.delta <= budget.delta)
    assert a.fits(a)


def test_a_charge_is_rounded_up_and_a_budget_down() -> None:
    assert Amount.charge(1e-13, 1.5e-12) == Amount(1, 2)
    assert Amount.budget(1e-13, 1.5e-12) == Amount(0, 1)
    assert total([]) == Amount()
