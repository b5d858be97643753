"""An answer that was paid for and could not be stored: kept with a seal until it can be.

Settling later trusts nobody who had the answer meanwhile: the seal, made with the ledger's key when the
answer was computed, holds for this reservation, version and text alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from discreet.errors import ReleaseError
from discreet.ledger.chain import Chain, body_digest
from discreet.ledger.checks import check_body, check_label
from discreet.ledger.records import Reservation


@dataclass(frozen=True, slots=True)
class Unsettled:
    """A release's text, whose reservation it is, and the seal over both."""

    reservation: str
    dataset: str
    version: str
    body: str
    seal: str = ""

    @classmethod
    def of(cls, reservation: Reservation, version: str, body: str) -> Unsettled:
        """Return the text of a reservation's release, once it is checked."""
        check_label("version", version)
        check_body(body)
        return cls(reservation.id, reservation.dataset, version, body)

    def sealed(self, chain: Chain) -> Unsettled:
        """Return it with the ledger's seal."""
        return Unsettled(self.reservation, self.dataset, self.version, self.body, self._seal(chain))

    def check_seal(self, chain: Chain) -> None:
        """Raise unless the seal is of this ledger and of this very text."""
        if not chain.is_sealed("unsettled", {**self._fields(), "seal": self.seal}):
            raise ReleaseError(
                f"The answer of reservation {self.reservation!r} must be as it was set aside, got one"
                " that was edited or is of another ledger. Nothing was stored."
            )

    def to_json(self) -> dict[str, str]:
        """Return it as plain data."""
        return asdict(self)

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Unsettled:
        """Return what ``to_json`` wrote."""
        names = ("reservation", "dataset", "version", "body", "seal")
        if not isinstance(plain, Mapping) or not all(
            isinstance(plain.get(name), str) for name in names
        ):
            raise ReleaseError(
                "An answer that was set aside must have reservation, dataset, version, body and seal,"
                " got something else. Give the file as it was written."
            )
        return cls(*(plain[name] for name in names))

    def _seal(self, chain: Chain) -> str:
        return chain.seal("unsettled", self._fields())

    def _fields(self) -> dict[str, str]:
        return {
            "reservation": self.reservation,
            "dataset": self.dataset,
            "version": self.version,
            "body_digest": body_digest(self.body),
        }
