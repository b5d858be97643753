"""A server in a process of its own, for tests that kill it; it pauses after a charge if told to."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import uvicorn

from discreet.service import make_app
from discreet.service.serving import OPTIONS
from discreet.session import Session


def main(project: str) -> None:
    """Serve a project at a free port, and print its address and two new keys."""
    pause, run = float(os.environ.get("DISCREET_TEST_PAUSE", "0")), Session._run

    def paused(session: Session, *rest: Any) -> Any:
        time.sleep(pause)
        return run(session, *rest)

    Session._run = paused  # type: ignore[method-assign]
    app = make_app(project)
    ring = app.state.office.keys
    config = uvicorn.Config(app, port=0, **OPTIONS)
    socket = config.bind_socket()
    keys = ring.new("analyst", analyst="ann")[0], ring.new("owner")[0]
    print(f"http://127.0.0.1:{socket.getsockname()[1]}", *keys, flush=True)
    uvicorn.Server(config).run([socket])


if __name__ == "__main__":
    main(sys.argv[1])
