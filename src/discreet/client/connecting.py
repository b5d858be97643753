"""``connect``: from an address and a key to a server, or to one of its data sets at once."""

from __future__ import annotations

import ipaddress
import os
import re
from typing import Any, overload
from urllib.parse import SplitResult, urlsplit

from discreet.arguments import check_flag, shown
from discreet.client.driving import AwaitedLine, BlockingLine
from discreet.client.server import AsyncServer, Server
from discreet.client.session import AsyncRemoteSession, RemoteSession
from discreet.errors import ArgumentError
from discreet.numerics import check_positive

KEY_VARIABLE = "DISCREET_KEY"

_KEY = re.compile(r"[A-Za-z0-9_.~+/=-]{8,512}")
_ADDRESS = "url must be the address of a server, such as https://data.example.org, got "


@overload
def connect(
    url: str,
    *,
    key: str | None = ...,
    dataset: None = ...,
    timeout: float = ...,
    insecure: bool = ...,
    progress: bool | None = ...,
    transport: Any = ...,
) -> Server: ...
@overload
def connect(
    url: str,
    *,
    key: str | None = ...,
    dataset: str,
    timeout: float = ...,
    insecure: bool = ...,
    progress: bool | None = ...,
    transport: Any = ...,
) -> RemoteSession: ...
def connect(
    url: str,
    *,
    key: str | None = None,
    dataset: str | None = None,
    timeout: float = 30.0,
    insecure: bool = False,
    progress: bool | None = None,
    transport: Any = None,
) -> Server | RemoteSession:
    """Return a server of data sets, or one of its data sets, to ask without having the rows.

    Args:
      url: the server's address.
      key: yours, as the owner gave it to you; from the environment variable ``DISCREET_KEY`` if left
        out. It is sent to this address alone and shown nowhere.
      dataset: the name of a data set, to have its session at once.
      timeout: seconds to wait for a reply, besides what a question takes.
      insecure: send the key without encryption to another machine than this one.
      progress: show how far questions are; by default on a terminal and in a notebook.
      transport: a transport of httpx in the place of the network.

    Raises:
      ArgumentError: if the address is none, or the key would travel without encryption.
      NotAuthenticated: if the server does not know the key, or it expired or was revoked.
      ServerUnreachable: if no server of discreet answers there.
    """
    line = BlockingLine(*_checked(url, key, timeout, insecure), transport)
    try:
        server = Server(line, progress=progress)
        server.meet()
        return server if dataset is None else server.dataset(dataset)
    except BaseException:
        line.close()
        raise


async def connect_async(
    url: str,
    *,
    key: str | None = None,
    dataset: str | None = None,
    timeout: float = 30.0,
    insecure: bool = False,
    progress: bool | None = None,
    transport: Any = None,
) -> AsyncServer | AsyncRemoteSession:
    """Return a server, or one of its data sets, whose verbs are awaited; see ``connect``."""
    line = AwaitedLine(*_checked(url, key, timeout, insecure), transport)
    try:
        server = AsyncServer(line, progress=progress)
        await server.meet()
        return server if dataset is None else await server.dataset(dataset)
    except BaseException:
        await line.close()
        raise


def _checked(url: str, key: str | None, timeout: float, insecure: bool) -> tuple[str, str, float]:
    """Return address, key and seconds, once they were looked at; no text tells of the key."""
    check_flag(insecure=insecure)
    check_positive("timeout", timeout)
    address = check_address(url, insecure)
    found = os.environ.get(KEY_VARIABLE) if key is None else key
    if found is None:
        raise ArgumentError(f"key must be given, or stand in {KEY_VARIABLE}, got none.")
    if not isinstance(found, str) or not _KEY.fullmatch(found.strip()):
        raise ArgumentError("key must be as the owner's 'discreet keys new' printed it, got another.")
    return address, found.strip(), float(timeout)


def check_address(url: str, insecure: bool = False) -> str:
    """Return the address of a server, or raise if it is none, or not safe for a key."""
    parts = _split(url)
    if parts.username is not None or parts.password is not None:
        raise ArgumentError(f"{_ADDRESS}one with a user or a password. A key is given by itself.")
    if parts.query or parts.fragment:
        raise ArgumentError(f"{_ADDRESS}one with a query. Leave out what follows ? or #.")
    if parts.scheme == "http" and not insecure and not _is_here(parts.hostname or ""):
        raise ArgumentError(
            f"url must begin with https:// for another machine than this one, got http://"
            f"{parts.hostname}: the key would travel for all to read. insecure=True sends it anyway."
        )
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url) if isinstance(url, str) else None
        usable = parts is not None and parts.scheme in ("http", "https") and parts.hostname
        if parts is not None and usable and (parts.port is None or parts.port):
            return parts
    except ValueError:  # a port that is none
        pass
    raise ArgumentError(f"{_ADDRESS}{shown(url)}.")


def _is_here(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
