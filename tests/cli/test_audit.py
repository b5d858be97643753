"""Commands that try to break the product and list what papers claim."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreet.audit.claims import find_claim, register
from discreet.audit.claims.claim import Claim, Evidence, judged
from discreet.audit.faults.registry import FAULTS
from discreet.audit.suite import product_checks
from discreet.cli import app
from discreet.errors import ArgumentError

RUNNER = CliRunner()
CHEAP = "exact: permute-and-flip"


def test_a_check_of_the_product_passes(tmp_path: Path) -> None:
    page = tmp_path / "audit.html"
    done = RUNNER.invoke(app, ["audit", "--quick", "--only", CHEAP, "--out", str(page)])
    assert done.exit_code == 0, done.output
    assert "none broken" in done.stdout and "permute-and-flip" in page.read_text()


def test_a_planted_fault_does_not_pass() -> None:
    name = "histogram with 1/epsilon under replacement"
    done = RUNNER.invoke(app, ["audit", "--planted", name, "--json"])
    assert done.exit_code == 1
    plain = json.loads(done.stdout)
    assert not plain["held"] and plain["findings"][0]["found"] == pytest.approx(2.0)


def test_checks_and_faults_are_listed() -> None:
    plain = json.loads(RUNNER.invoke(app, ["audit", "--list", "--json"]).stdout)
    assert set(plain["faults"]) == set(FAULTS) and CHEAP in plain["checks"]


def test_reports_are_data_or_pages_in_folders_that_exist(tmp_path: Path) -> None:
    data = tmp_path / "audit.json"
    assert RUNNER.invoke(app, ["audit", "--only", CHEAP, "--out", str(data)]).exit_code == 0
    assert json.loads(data.read_text())["held"]
    for wrong in ("audit.pdf", "nowhere/audit.html"):
        done = RUNNER.invoke(app, ["audit", "--out", str(tmp_path / wrong)])
        assert isinstance(done.exception, ArgumentError) and "--out must" in str(done.exception)


def test_a_report_that_cannot_be_written_is_shown(tmp_path: Path) -> None:
    (tmp_path / "full.json").symlink_to("/dev/full")
    done = RUNNER.invoke(app, ["audit", "--only", CHEAP, "--out", str(tmp_path / "full.json")])
    assert done.exception is not None and "none broken" in done.stdout


def test_every_mechanism_plan_and_kind_of_audit_is_on_trial() -> None:
    from discreet import PLANS
    from discreet.audit.finding import KINDS
    from discreet.mechanisms.additive.registry import NOISES
    from discreet.mechanisms.selection.registry import ON_SCORES, ON_STABILITY

    checks = product_checks()
    assert {check.kind for check in checks.values()} == set(KINDS)
    asked = " ; ".join(f"{name}, {check.subject}" for name, check in checks.items())
    missing = [name for name in (*NOISES, *ON_SCORES, *ON_STABILITY, *PLANS) if name not in asked]
    assert missing == []


def test_claims_are_listed_with_verdicts() -> None:
    done = RUNNER.invoke(app, ["claims"])
    assert done.exit_code == 0
    assert all(claim.id in done.stdout for claim in register().values())
    assert f"{len(register())} claims" in done.stdout
    told = json.loads(RUNNER.invoke(app, ["claims", "--paper", "ma-2026", "--json"]).stdout)
    assert len(told) == sum(claim.paper == "ma-2026" for claim in register().values()) > 20


def test_one_claim_is_told_and_run() -> None:
    done = RUNNER.invoke(app, ["claims", "ma-2026-algorithm-1", "--run"])
    assert done.exit_code == 0
    assert "Verdict: false" in done.stdout and "The loss of a replaced record is 2" in done.stdout
    wrong = RUNNER.invoke(app, ["claims", "ma-2026-algorithm-7"])
    assert "Did you mean ma-2026-algorithm-1" in str(wrong.exception)


def test_evidence_that_comes_to_another_verdict_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    said = Claim(
        "peers-wrong",
        "peers",
        "here",
        "It holds.",
        "holds",
        "No.",
        "",
        lambda t: Evidence("false", "no", {}),
    )
    monkeypatch.setattr("discreet.cli.about.claims.find_claim", lambda id: said)
    assert RUNNER.invoke(app, ["claims", "peers-wrong", "--run"]).exit_code == 1
    assert RUNNER.invoke(app, ["claims", "peers-wrong"]).exit_code == 0


def test_claims_bring_what_they_must() -> None:
    with pytest.raises(ArgumentError, match="must have evidence"):
        Claim("peers-nothing", "peers", "here", "It holds.", "holds", "So.")
    with pytest.raises(ArgumentError, match="id must be peers-"):
        Claim("other", "peers", "here", "It holds.", "not reproducible", "So.")
    with pytest.raises(ArgumentError, match="id must be that of a claim"):
        find_claim("nothing at all")
    assert judged(1.0, 1.0 + 1e-12) == "holds" and judged(1.0, 1.01) == "false"
