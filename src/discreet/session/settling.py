"""Storing answers that are paid for: with patience, and without losing them if patience ends.

A release that ended after its reservation is told in words that no row can change.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from discreet.errors import (
    DataChanged,
    LedgerError,
    LedgerUnavailable,
    ReleaseError,
    ReleaseFailed,
    SettlementFailed,
)
from discreet.ledger import Head, Ledger, Reservation, Unsettled
from discreet.plans import Release
from discreet.progress import progress_bar


def failure(
    kind: type[KeyboardInterrupt | ReleaseFailed], reservation: Reservation
) -> KeyboardInterrupt | ReleaseFailed:
    """Return the error of a release that ended after its reservation, in words that are public."""
    spent = f"after its reservation {reservation.id}, which stays spent."
    if kind is KeyboardInterrupt:
        return KeyboardInterrupt(f"The release was interrupted {spent} Nothing was released.")
    if kind is DataChanged:
        return DataChanged(
            f"The data were written to, or went away, while they were read, {spent} Nothing was "
            "released. Call protect again when they stay as they are."
        )
    return ReleaseFailed(
        f"The release failed {spent} "
        "The cause is not shown because it could reveal a row; report the plan you asked."
    )


PATIENCE = 60.0
"""Seconds for which settling is tried again."""

_LONGEST_PAUSE = 2.0


def settle_or_keep(
    ledger: Ledger,
    reservations: Sequence[Reservation],
    releases: Sequence[Release],
    *,
    progress: bool | None,
) -> list[Release]:
    """Store releases; try for a minute, then raise with the answers.

    Guarantees:
      - Whatever keeps the ledger from storing them, the answers come to the caller.
    """
    try:
        texts = [release.dumps() for release in releases]
    except ValueError:  # a number that JSON does not have
        raise failure(ReleaseFailed, reservations[0]) from None
    version = releases[0].version
    try:
        with _ticking(progress):
            heads = _settle(ledger, list(zip(reservations, texts, strict=True)), version)
    except (LedgerError, KeyboardInterrupt) as error:
        kept = [
            ledger.set_aside(reservation, version=version, body=text)
            for reservation, text in zip(reservations, texts, strict=True)
        ]
        raise _failed(error, reservations, releases, kept) from error
    return [release.with_head(head) for release, head in zip(releases, heads, strict=True)]


def settle_later(ledger: Ledger, failed: SettlementFailed | str | Path) -> list[Release]:
    """Store the answers of a settlement that failed, or of the file it was saved to."""
    plain = failed.unsettled if isinstance(failed, SettlementFailed) else _read(Path(failed))
    kept = [Unsettled.from_json(one) for one in plain]
    heads = ledger.settle_unsettled(kept)
    return [Release.loads(k.body).with_head(head) for k, head in zip(kept, heads, strict=True)]


def _settle(ledger: Ledger, settlements: list[tuple[Reservation, str]], version: str) -> list[Head]:
    deadline, pause = time.monotonic() + PATIENCE, 0.02
    while True:
        try:
            return ledger.settle_all(settlements, version=version)
        except LedgerUnavailable:
            if time.monotonic() + pause > deadline:
                raise
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def _failed(
    error: LedgerError | KeyboardInterrupt,
    reservations: Sequence[Reservation],
    releases: Sequence[Release],
    kept: Sequence[Unsettled],
) -> SettlementFailed:
    why = "Storing it was interrupted."
    if isinstance(error, LedgerError):
        why = error.what if isinstance(error, LedgerUnavailable) else str(error)
    names = ", ".join(reservation.id for reservation in reservations)
    return SettlementFailed(
        f"The answer is computed and paid for, but the ledger did not store it. {why} The charge stays"
        f" (reservation {names}), and asking again would charge again. Store the answer later at no"
        " charge: session.settle(failed) in Python, discreet budget settle FILE on the command line.",
        releases=releases,
        reservations=reservations,
        unsettled=[one.to_json() for one in kept],
    )


@contextmanager
def _ticking(show: bool | None) -> Iterator[None]:
    """Show how much patience is left, second by second: the driver waits without a sign."""
    with progress_bar("storing the answer", int(PATIENCE), show) as advance:
        done = threading.Event()
        clock = threading.Thread(target=_tick, args=(done, advance), daemon=True)
        clock.start()
        try:
            yield
        finally:
            done.set()
            clock.join()


def _tick(done: threading.Event, advance: Callable[[int], None]) -> None:
    while not done.wait(1.0):
        advance(1)


def _read(path: Path) -> list[dict[str, str]]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))["unsettled"]
    except OSError as error:
        raise ReleaseError(f"{path} cannot be read: {error.strerror}.") from None
    except (ValueError, TypeError, KeyError, RecursionError):
        found = None
    if not isinstance(found, list) or not found:
        raise ReleaseError(f"{path} must be a file of an answer that could not be stored, got another.")
    return found
