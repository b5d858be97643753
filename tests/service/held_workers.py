"""Two workers that hold a question after its charge while a file is there; for tests that kill one."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI

from discreet.service import serving
from discreet.session import Session

HOLD = "DISCREET_TEST_HOLD"
"""Names the file; a worker that holds a question leaves one with its process number beside it."""


def app() -> FastAPI:
    """Return the service of a worker."""
    hold, run = Path(os.environ[HOLD]), Session._run

    def held(session: Session, *rest: Any) -> Any:
        while hold.exists():
            hold.with_name(f"held-{os.getpid()}").touch()
            time.sleep(0.02)
        return run(session, *rest)

    Session._run = held  # type: ignore[method-assign]
    return serving.app_of_environment()


def main(project: str, port: str) -> None:
    """Serve a project as ``discreet serve --workers 2`` does."""
    os.environ[serving.PROJECT_VARIABLE] = project
    uvicorn.run(f"{__spec__.name}:app", factory=True, port=int(port), workers=2, **serving.OPTIONS)


if __name__ == "__main__":
    main(*sys.argv[1:])
