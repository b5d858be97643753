"""The service: owners publish data sets, analysts ask within their shares, auditors look.

    app = make_app("discreet.toml")      # an ASGI application, for uvicorn or any other server

``discreet serve`` runs it. It is a skin of ``Session``: every answer is priced, reserved, noisy and
stored as there, and what a request cannot do there it cannot do here.
"""

from discreet.service.app import make_app

__all__ = ["make_app"]
