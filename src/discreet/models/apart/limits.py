"""What a model's process may use, and how it is cut off from everything else.

All of it is set inside the process, before it reads a file or a row. What the system does not know is
left out, and told where it matters (the network).
"""

from __future__ import annotations

import ctypes
import math
import os
import signal
from dataclasses import dataclass
from typing import Any

from discreet.numerics import check_whole

PATIENCE = 8
"""How much longer than a call of many records one of a single record may take."""

_WAITING = 2
"""Seconds on the clock per second of a processor: what waits or sleeps is ended, too."""

_ROOM = 2
"""How much more memory than a call of many records one of a single record may take."""

LOADING_SECONDS = 120.0
"""How long a file may take to be read, on the clock."""

_LOADING_BYTES = 2**34
_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000
_DIE_WITH_PARENT = 1


@dataclass(frozen=True)
class Limits:
    """What a model may take for one call, which has one public number of rows.

    Args:
      seconds: of a processor; twice as many on the clock.
      megabytes: of memory, beside what the model itself takes.

    A call for one record may take eight times as long and twice the memory, so that no record's answer
    depends on those it shared a call with. [own-process]
    """

    seconds: int = 4
    megabytes: int = 1_024

    def __post_init__(self) -> None:
        check_whole("seconds", self.seconds, 1, 86_400)
        check_whole("megabytes", self.megabytes, 1)

    def of_call(self, alone: bool) -> CallLimits:
        """Return the limits of a call for many records, or for one."""
        seconds = float(self.seconds * (PATIENCE if alone else 1))
        room = self.megabytes * 2**20 * (_ROOM if alone else 1)
        return CallLimits(seconds, seconds * _WAITING, room)


@dataclass(frozen=True)
class CallLimits:
    """What one call may take: seconds of a processor, seconds on the clock, bytes besides the model."""

    processor: float
    clock: float
    memory: int

    def enter(self) -> None:
        """Hold the calling process to them from now on; the clock is somebody else's."""
        import resource

        whole = math.ceil(self.processor)
        _set(resource.RLIMIT_CPU, whole, whole)
        taken = _address_space()
        if taken is not None:
            _set(resource.RLIMIT_AS, taken + self.memory, taken + self.memory)


def take_leave(parent: int) -> bool:
    """Prepare a process that will run code of others; return whether it has no network.

    It ends with its parent, leaves no image of its memory behind and writes no file.
    """
    import resource

    end_with(parent)
    _set(resource.RLIMIT_CORE, 0, 0)
    _set(resource.RLIMIT_FSIZE, 0, 0)
    if _address_space() is not None:
        _set(resource.RLIMIT_AS, _LOADING_BYTES, resource.RLIM_INFINITY)
    return _leave_network()


def end_with(parent: int) -> None:
    """End when the parent ends, however it does."""
    call = getattr(ctypes.CDLL(None), "prctl", None)
    if call is not None:
        call(_DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it ended before that was said
        os._exit(1)


def _leave_network() -> bool:
    """Move to a network without any other machine in it, if the kernel allows that."""
    call = getattr(ctypes.CDLL(None), "unshare", None)
    if call is None:
        return False
    return bool(call(_NEW_NETWORK) == 0 or call(_NEW_USER | _NEW_NETWORK) == 0)


def _address_space() -> int | None:
    """Return how much of it the process has; None where the system does not tell, nor limits it."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return None


def _set(what: Any, soft: int, hard: int) -> None:
    import resource

    most = resource.getrlimit(what)[1]
    if most != resource.RLIM_INFINITY:
        soft, hard = min(soft, most), most if hard == resource.RLIM_INFINITY else min(hard, most)
    resource.setrlimit(what, (soft, hard))
