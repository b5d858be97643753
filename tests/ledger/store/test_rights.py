"""Ledger and key are for their owner's eyes; what may only be read can be read."""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from discreet.errors import LedgerError, LedgerUnavailable
from discreet.ledger import Ledger
from discreet.privacy.accounting.filters import Amount
from tests.ledger.backends import Backend, make_terms
from tests.ledger.store.test_migrations import check_upgraded, write_version_1

NOBODY = 65534


def mode(path: Path | str) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


def files_of(path: Path) -> list[Path]:
    return [path, *(path.with_name(path.name + end) for end in ("-wal", "-shm"))]


@contextmanager
def loose_umask() -> Iterator[None]:
    before = os.umask(0)
    try:
        yield
    finally:
        os.umask(before)


def test_a_new_ledger_is_its_owners(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with loose_umask(), Ledger.open(path) as ledger:
        ledger.register(make_terms())
        assert [mode(file) for file in files_of(path)] == [0o600] * 3
        assert mode(f"{path}.key") == 0o600


def test_an_old_ledger_is_closed_to_others(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with Ledger.open(path) as ledger:
        ledger.register(make_terms())
        for file in files_of(path):
            file.chmod(0o644)
        with Ledger.open(path) as again:
            assert again.balance("adult").spent == Amount()
            assert [mode(file) for file in files_of(path)] == [0o600] * 3


@pytest.mark.parametrize("rights", [0o644, 0o640, 0o602, 0o660])
def test_a_key_that_others_can_use_is_refused(backend: Backend, rights: int) -> None:
    with backend.open() as ledger:
        ledger.register(make_terms())
    backend.key.chmod(rights)
    with pytest.raises(LedgerUnavailable) as caught:
        backend.open()
    assert f"The key {backend.key} must be readable by its owner alone, got mode 0{rights:o}" in str(
        caught.value
    )
    (line,) = re.findall(r"chmod 600 \S+", str(caught.value))
    assert os.system(line) == 0
    with backend.open() as ledger:
        assert ledger.verify().ok


def test_the_chmod_line_is_quoted(tmp_path: Path) -> None:
    path = tmp_path / "my ledger.db"
    Ledger.open(path).close()
    Path(f"{path}.key").chmod(0o644)
    with pytest.raises(LedgerUnavailable, match=r"chmod 600 '.*/my ledger\.db\.key' \("):
        Ledger.open(path)


def test_what_is_on_a_read_only_disk_is_read_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    path = tmp_path / "a.db"
    Ledger.open(path).close()
    path.chmod(0o644)
    monkeypatch.setattr(Path, "chmod", refuse)
    with Ledger.open(path) as ledger:
        assert ledger.datasets() == []


# -- a user without rights


@pytest.fixture
def shelf() -> Iterator[Path]:
    """A folder that another user may enter."""
    folder = Path(tempfile.mkdtemp(prefix="shelf-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@contextmanager
def as_other_user(*owned: Path) -> Iterator[None]:
    """Be somebody without root's rights, who owns these files."""
    if os.geteuid() != 0:
        yield
        return
    for path in owned:
        os.chown(path, NOBODY, NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@contextmanager
def read_only(shelf: Path, name: str) -> Iterator[None]:
    shelf.chmod(0o555)
    try:
        with as_other_user(shelf, *shelf.glob(f"{name}*")):
            yield
    finally:
        shelf.chmod(0o755)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can play two users")
def test_a_ledger_of_somebody_else_that_all_can_read_is_refused(shelf: Path) -> None:
    path = shelf / "a.db"
    Ledger.open(path).close()
    path.chmod(0o666)
    with as_other_user(shelf), pytest.raises(LedgerUnavailable) as caught:
        Ledger.open(path)
    assert "must be readable by its owner alone, got mode 0666" in str(caught.value)
    assert "a SQLite ledger is for one user of a machine; PostgreSQL is for several" in str(
        caught.value
    )


@pytest.mark.parametrize("address", ["file:{0}?mode=ro", "{0}"])
def test_a_ledger_in_a_read_only_folder_is_read(shelf: Path, address: str) -> None:
    path = shelf / "a.db"
    with Ledger.open(path) as ledger:
        ledger.register(make_terms())
        head = ledger.settle(
            ledger.reserve("adult", Amount(7), plan_key="k", note={}), version="", body="{}"
        )
    with read_only(shelf, "a.db"), Ledger.open(address.format(path)) as ledger:
        assert ledger.balance("adult").spent == Amount(7)
        assert ledger.verify(heads=[head]).ok
        stored = ledger.find_release("adult", version="", plan_key="k")
        assert stored is not None and stored.body == "{}"
        with pytest.raises(LedgerUnavailable, match="is read-only"):
            ledger.reserve("adult", Amount(1), plan_key="k", note={})
    with Ledger.open(path) as ledger:
        assert ledger.balance("adult").spent == Amount(7)


def test_a_reader_in_a_read_only_folder_sees_what_others_write(shelf: Path) -> None:
    path = shelf / "a.db"
    with Ledger.open(path) as ledger:
        ledger.register(make_terms())
    with read_only(shelf, "a.db"):
        reader = Ledger.open(f"file:{path}?mode=ro")
        assert reader.balance("adult").spent == Amount()
    with Ledger.open(path) as writer:
        writer.reserve("adult", Amount(7), plan_key="k", note={})
        with read_only(shelf, "a.db"):
            assert reader.balance("adult").spent == Amount(7)
    with read_only(shelf, "a.db"):
        assert reader.balance("adult").spent == Amount(7)
        reader.close()


def test_a_ledger_that_was_not_closed_is_not_read_without_its_journal(shelf: Path) -> None:
    path = shelf / "a.db"
    ledger = Ledger.open(path)
    ledger.register(make_terms())
    kept = {end: Path(f"{path}{end}").read_bytes() for end in ("", "-wal")}
    ledger.close()
    for end, content in kept.items():
        Path(f"{path}{end}").write_bytes(content)
    with read_only(shelf, "a.db"), pytest.raises(LedgerUnavailable, match="Copy both to a folder"):
        Ledger.open(f"file:{path}?mode=ro")


# -- older formats, where nothing may be written


def lose_key(backend: Backend) -> str:
    backend.key.unlink()
    return backend.where


def ask_to_read(backend: Backend) -> str:
    return f"file:{backend.where}?mode=ro"


@pytest.mark.parametrize("limit", [lose_key, ask_to_read])
def test_an_older_ledger_is_read_from_an_upgraded_copy(
    sqlite_backend: Backend, limit: Callable[[Backend], str]
) -> None:
    write_version_1(sqlite_backend)
    before = Path(sqlite_backend.where).read_bytes()
    with Ledger.open(limit(sqlite_backend)) as ledger:
        assert ledger.balance("adult", "ann").spent == Amount(10, 1)
        assert [entry.kind for entry in ledger.history("adult")][:2] == ["register", "reserve"]
        if limit is ask_to_read:
            check_upgraded(ledger)
        with pytest.raises(LedgerError):
            ledger.reserve("adult", Amount(1), plan_key="k", note={})
    assert Path(sqlite_backend.where).read_bytes() == before
    assert sqlite_backend.rows("SELECT number FROM discreet_migrations") == [(1,)]


def test_an_older_ledger_on_a_server_needs_its_key_once(server_backend: Backend) -> None:
    write_version_1(server_backend)
    server_backend.key.unlink()
    with pytest.raises(LedgerUnavailable, match="Put the key file back"):
        server_backend.open()
    assert server_backend.rows("SELECT number FROM discreet_migrations") == [(1,)]
