"""Serving from the command line, and the keys that are made there."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

import discreet as dc
from tests.cli.shell import shell, told


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Be in a project with one data set."""
    monkeypatch.chdir(tmp_path)
    dc.samples.loans(100).to_csv("loans.csv", index=False)
    dc.samples.loan_schema().save("loans.toml")
    made = shell(
        "protect", "loans.csv", "--schema", "loans.toml", "--dataset", "loans", "--ledger", "loans.db",
        "--epsilon", "1",
    )  # fmt: skip
    assert made.code == 0, made


@pytest.mark.usefixtures("project")
def test_a_key_opens_data_sets_that_are_there() -> None:
    ann = ["keys", "new", "--role", "analyst", "--analyst", "ann"]
    wrong = shell(*ann, "--dataset", "loans", "--dataset", "laons")
    assert wrong.code == 2 and "(loans), got 'laons'" in wrong.err and not wrong.out
    assert told("keys", "list") == []
    assert shell(*ann, "--dataset", "loans").out.startswith("dk_")
    assert [key["datasets"] for key in told("keys", "list")] == [["loans"]]


@pytest.mark.usefixtures("project")
def test_an_address_is_announced_once_it_is_free() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = shell("serve", "--port", port)
    assert done.code == 2 and "already in use" in done.err and "discreet at" not in done.out
    assert "discreet at" not in shell("serve", "--workers", "0").out
