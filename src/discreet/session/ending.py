"""How a release that ended after its reservation is told: in words that no row can change."""

from __future__ import annotations

from discreet.errors import ReleaseFailed
from discreet.ledger import Reservation


def failure(
    kind: type[KeyboardInterrupt | ReleaseFailed], reservation: Reservation
) -> KeyboardInterrupt | ReleaseFailed:
    """Return the error of a release that ended after its reservation, in words that are public."""
    spent = f"after its reservation {reservation.id}, which stays spent."
    if kind is KeyboardInterrupt:
        return KeyboardInterrupt(f"The release was interrupted {spent} Nothing was released.")
    return ReleaseFailed(
        f"The release failed {spent} "
        "The cause is not shown because it could reveal a row; report the plan you asked."
    )
