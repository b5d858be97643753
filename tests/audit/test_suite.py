"""The runner: what it runs, what it keeps, when it fails."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from discreet.audit.finding import Check, Effort, Finding, finding_from_json, registry_of
from discreet.audit.suite import AuditReport, run
from discreet.errors import ArgumentError
from discreet.reporting.audit_page import audit_page


def check(name: str, held: bool = True, *, quick: bool = True, seen: list[str] | None = None) -> Check:
    def look(effort: Effort) -> Finding:
        if seen is not None:
            seen.append(name)
        found = 0.9 if held else 1.7
        return Finding("", "exact", held, 1.0, found, "epsilon", f"{found} was reached", 12)

    return Check(name, "exact", "a mechanism", look, quick)


def raising(name: str, error: BaseException) -> Check:
    def look(effort: Effort) -> Finding:
        raise error

    return Check(name, "hunt", "a plan", look)


def test_all_that_holds_holds() -> None:
    report = run(registry_of([check("a"), check("b")]))
    assert report.held and report.exit_code == 0
    assert [found.check for found in report.findings] == ["a", "b"]
    assert report.findings[0].tightness == 0.9 and report.findings[0].seconds >= 0
    assert "none broken" in str(report)


def test_one_broken_promise_is_enough() -> None:
    report = run(registry_of([check("a"), check("b", held=False)]))
    assert not report.held and report.exit_code == 1
    assert [found.check for found in report.broken] == ["b"]


def test_a_check_that_raises_is_not_called_fine() -> None:
    report = run(registry_of([check("a"), raising("b", RuntimeError("no"))]))
    assert report.exit_code == 1 and "RuntimeError" in report.broken[0].said
    assert math.isnan(report.broken[0].tightness)


def test_an_empty_audit_does_not_hold() -> None:
    assert not AuditReport("quick", (), False, "now", "0").held
    with pytest.raises(ArgumentError, match="only must be part of the name"):
        run(registry_of([check("a")]), only="z")


def test_levels_and_names_choose() -> None:
    seen: list[str] = []
    checks = registry_of([check("one", seen=seen), check("two", quick=False, seen=seen)])
    run(checks)
    assert seen == ["one"]
    run(checks, level="full", only="TW")
    assert seen == ["one", "two"]
    with pytest.raises(ArgumentError, match="level must be"):
        run(checks, level="slow")  # type: ignore[arg-type]


def test_names_are_unique() -> None:
    with pytest.raises(ArgumentError, match="twice"):
        registry_of([check("a"), check("a")])


def test_an_interrupted_audit_keeps_what_it_found_and_goes_on(tmp_path: Path) -> None:
    seen: list[str] = []
    journal = tmp_path / "audit.jsonl"
    first = [check("a", seen=seen), raising("b", KeyboardInterrupt()), check("c", seen=seen)]
    report = run(registry_of(first), journal=journal)
    assert report.partial and report.exit_code == 130 and not report.held
    second = [check("a", seen=seen), check("b", seen=seen), check("c", seen=seen)]
    again = run(registry_of(second), journal=journal)
    assert seen == ["a", "b", "c"] and again.held
    assert [found.check for found in again.findings] == ["a", "b", "c"]


def test_a_line_that_was_cut_off_is_run_again(tmp_path: Path) -> None:
    journal = tmp_path / "audit.jsonl"
    run(registry_of([check("a"), check("b")]), journal=journal)
    text = journal.read_text().rstrip("\n")
    journal.write_text(text[:-30])
    seen: list[str] = []
    run(registry_of([check("a", seen=seen), check("b", seen=seen)]), journal=journal)
    assert seen == ["b"]


def test_a_journal_can_be_cut_off_anywhere_and_often(tmp_path: Path) -> None:
    journal = tmp_path / "audit.jsonl"
    registry = registry_of([check("a"), check("b"), check("c")])
    run(registry, journal=journal)
    text = journal.read_text()
    header = text.index("\n") + 1
    for kept in (0, *range(header, len(text), 7), text.rindex("}"), len(text)):
        journal.write_text(text[:kept])
        assert run(registry_of([check("a")]), journal=journal).held
        seen: list[str] = []
        again = run(registry_of([check("a", seen=seen), check("b")]), journal=journal)
        assert again.held and seen == [], "what was added after the cut is read back"


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"seed": -1}, "seed must be a whole number of at least 0, got -1"),
        ({"effort": 5}, "effort must be an Effort, got 5"),
        ({"journal": 5}, "journal must be the path of a file, got 5"),
        ({"checks": [check("a")]}, "checks must be a registry with checks in it, got"),
        ({"checks": {}}, "checks must be a registry with checks in it, got {}"),
        ({"checks": {"a": 5}}, "checks must be a registry"),
    ],
)
def test_arguments_that_no_audit_has_are_refused(wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(ArgumentError, match=told):
        run(**({"checks": registry_of([check("a")])} | wrong))


def test_a_journal_of_another_audit_is_refused(tmp_path: Path) -> None:
    journal = tmp_path / "audit.jsonl"
    run(registry_of([check("a")]), journal=journal)
    with pytest.raises(ArgumentError, match="journal must be of an audit"):
        run(registry_of([check("a")]), journal=journal, level="full")
    journal.write_text("nonsense")
    with pytest.raises(ArgumentError, match="that an audit wrote"):
        run(registry_of([check("a")]), journal=journal)


def test_what_could_not_be_run_is_tried_again(tmp_path: Path) -> None:
    journal = tmp_path / "audit.jsonl"
    assert run(registry_of([raising("a", OSError())]), journal=journal).exit_code == 1
    assert run(registry_of([check("a")]), journal=journal).held


def test_a_report_is_plain_data_a_frame_and_a_page() -> None:
    report = run(registry_of([check("a"), raising("<b>", ValueError())]))
    plain = json.loads(json.dumps(report.to_json()))
    assert [finding_from_json(found).check for found in plain["findings"]] == ["a", "<b>"]
    assert math.isnan(finding_from_json(plain["findings"][1]).found)
    assert list(report.to_frame().held) == [True, False]
    html = audit_page(report).html
    assert "&lt;b&gt;" in html and "<b>" not in html and "90 percent of the promise" in html
