"""The service: owners publish data sets, analysts ask within their shares, auditors look.

    app = make_app("discreet.toml")      # an ASGI application, for uvicorn or any other server

``discreet serve`` runs it. It is a skin of ``Session``: every answer is priced, reserved, noisy and
stored as there, and what a request cannot do there it cannot do here.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.service.app import make_app as make_app

__all__ = ["make_app"]


def __getattr__(name: str) -> Any:
    # Imported when it is asked for: the process that only watches workers needs no routes.
    if name != "make_app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from discreet.service.app import make_app

    return make_app
