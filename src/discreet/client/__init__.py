"""Ask a server of data sets: the verbs of a session, without its rows."""

from discreet.client.connecting import connect, connect_async
from discreet.client.server import AsyncServer, Server
from discreet.client.session import AsyncRemoteSession, ModelElsewhere, RemoteModel, RemoteSession

__all__ = [
    "AsyncRemoteSession",
    "AsyncServer",
    "ModelElsewhere",
    "RemoteModel",
    "RemoteSession",
    "Server",
    "connect",
    "connect_async",
]
