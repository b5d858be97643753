"""A throw-away PostgreSQL server on a socket in a temporary folder."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def find_binaries() -> Path | None:
    """Return the folder of initdb and pg_ctl, wherever the system keeps it."""
    folders = [Path(found).parent for found in [shutil.which("initdb")] if found]
    if config := shutil.which("pg_config"):
        answer = subprocess.run([config, "--bindir"], capture_output=True, text=True, check=True)
        folders.append(Path(answer.stdout.strip()))
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    usable = [folder for folder in folders if (folder / "initdb").exists()]
    return usable[0] if usable else None


@contextmanager
def running_server(binaries: Path, *, durable: bool = False) -> Iterator[str]:
    """Run a server; give the folder of its socket."""
    home = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))
    run = _as_plain_user(home)
    start = f"-k {home} -c listen_addresses=''" + ("" if durable else " -F")
    control = [binaries / "pg_ctl", "-D", home / "data", "-w"]
    try:
        run([binaries / "initdb", "-D", home / "data", "-U", "postgres", "-A", "trust", "-N"])
        run([*control, "-l", home / "log", "-o", start, "start"])
        try:
            yield str(home)
        finally:
            run([*control, "-m", "immediate", "stop"])
    finally:
        shutil.rmtree(home, ignore_errors=True)


def restart(binaries: Path, home: str) -> None:
    """Let a running server crash and start again, by the folder of its socket."""
    where = Path(home)
    control = [binaries / "pg_ctl", "-D", where / "data", "-w", "-l", where / "log"]
    _as_plain_user(where)([*control, "-m", "immediate", "restart"])


def _as_plain_user(home: Path) -> Any:
    # PostgreSQL refuses to run as root.
    options: dict[str, Any] = {"cwd": home, "check": True, "stdout": subprocess.DEVNULL}
    if os.geteuid() == 0:
        names = {entry.pw_name for entry in pwd.getpwall()}
        user = pwd.getpwnam("postgres" if "postgres" in names else "nobody")
        os.chown(home, user.pw_uid, user.pw_gid)
        options |= {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    return lambda command: subprocess.run([str(part) for part in command], **options)
