"""The page of the service in a real browser, against a live server over a small project."""

from __future__ import annotations

import json
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from discreet.service import make_app
from discreet.service.asked.desks import Desks
from discreet.session import Session
from tests.service.conftest import Server, World, plan, write_project

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

PAGE = Path(dc.__file__).parent / "service" / "page"
CHROMIUM = shutil.which("chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
in_browser = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One service for all tests of this page: each analyst has a share of her own."""
    folder = tmp_path_factory.mktemp("project")
    app = make_app(write_project(folder, epsilon=20.0))
    ring, owner = app.state.office.keys, app.state.office.desks.owner("loans")
    for analyst, share in {"ann": 8.0, "eve": 0.3, "dan": 0.2}.items():
        owner.allot(analyst, epsilon=share)
    keys = {name: ring.new("analyst", analyst=name)[0] for name in ("ann", "eve", "dan")}
    keys |= {"owner": ring.new("owner")[0], "auditor": ring.new("auditor")[0]}
    made = World(folder, app, keys, Server(app))
    yield made
    made.close()


def left(world: World, analyst: str) -> float:
    return float(world.office.desks.owner("loans").seat(analyst).remaining.loss)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


Enter = Callable[..., Any]


@pytest.fixture
def enter(world: World, browser: Any) -> Iterator[Enter]:
    """Open the page as somebody; nothing may go wrong in it but what the server refuses."""
    contexts, faults = [], []

    def go(who: str | None, place: str = "", *, width: int = 1200, scheme: str = "light") -> Any:
        context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
        contexts.append(context)
        if who is not None:
            kept = f"sessionStorage.setItem('discreet.key', {json.dumps(world.keys[who])})"
            context.add_init_script(kept)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
        page.goto(f"{world.server.url}/#/{place}")
        page.wait_for_selector("h1")
        return page

    yield go
    for context in contexts:
        context.close()
    assert [text for text in faults if "status of 4" not in text and "net::" not in text] == []


def compose(page: Any, column: str, epsilon: str, question: str = "histogram") -> None:
    """Fill in a question about one column, and wait for its price."""
    page.evaluate(f"location.hash = '#/d/loans/ask/{question}'")
    page.get_by_role("checkbox", name=column, exact=True).check()
    page.get_by_label("epsilon as a number").fill(epsilon)
    costs(page, epsilon)


def costs(page: Any, epsilon: str) -> None:
    """Wait for the price of so much."""
    sync_api.expect(page.locator(".cost")).to_have_text(f"epsilon {epsilon}")


def pictures(page: Any, number: int = 1) -> None:
    """Wait until so many pictures are drawn."""
    shown = page.locator(".picture img")
    sync_api.expect(shown).to_have_count(number)
    sizes = "(all) => Promise.all(all.map(async (one) => (await one.decode(), one.naturalWidth)))"
    assert min(shown.evaluate_all(sizes)) > 100


@in_browser
def test_a_wrong_key_is_refused_and_a_right_one_forgotten(world: World, enter: Enter) -> None:
    page = enter(None)
    page.get_by_label("Key").fill("dk_wrong")
    page.get_by_role("button", name="Sign in").click()
    page.get_by_text("This key is not known here").wait_for()
    page.get_by_label("Key").fill(world.keys["ann"])
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("heading", name="Data sets").wait_for()
    assert (
        page.get_by_role("meter", name="Whole").get_attribute("aria-valuetext").endswith("of 20 left")
    )
    assert page.get_by_role("meter", name="Yours").get_attribute("aria-valuenow") == "100"
    page.get_by_role("button", name="Sign out").click()
    page.get_by_text("the key is forgotten").wait_for()
    assert page.evaluate("sessionStorage.length + localStorage.length") == 0
    page.reload()
    page.get_by_label("Key").wait_for()


@in_browser
def test_a_question_is_priced_released_shown_and_saved(
    world: World, enter: Enter, tmp_path: Path
) -> None:
    page, before = enter("ann", "d/loans"), left(world, "ann")
    page.get_by_role("link", name="Ask", exact=True).click()
    page.get_by_label("What do you want to know?").fill("noisy counts")
    page.get_by_role("link", name=re.compile("^Histogram")).click()
    page.get_by_text("Choose columns.").wait_for()
    compose(page, "home", "0.5")
    assert page.get_by_text("95% band, each value").is_visible()
    wide = page.locator(".errors strong").inner_text()
    page.get_by_label("epsilon as a number").fill("2")
    costs(page, "2")
    assert page.locator(".errors strong").inner_text() != wide
    assert left(world, "ann") == before, "a price is free"
    page.get_by_role("button", name="Release").click()
    pictures(page)
    assert left(world, "ann") == before - 2
    told = page.locator("article.release").inner_text()
    assert "Paid epsilon 2." in told and "no answer would become more than 7.39 times as likely" in told
    page.get_by_text("You have asked this already").wait_for()
    sync_api.expect(page.locator(".facts")).to_contain_text("Costsnothing")
    page.get_by_role("button", name="Release").click()
    page.get_by_text("Answered before, so it was free.").wait_for()
    assert left(world, "ann") == before - 2
    page.get_by_text("Certificate: what was proven").click()
    page.get_by_text("Replacing one record moves these 3 numbers by at most 2 in L1").wait_for()
    page.get_by_text("The numbers").click()
    page.get_by_role("rowheader", name="mortgage").wait_for()
    kept = {}
    for name in ("JSON", "CSV", "PNG", "Page"):
        with page.expect_download() as download:
            page.get_by_role("button", name=name, exact=True).click()
        file = tmp_path / download.value.suggested_filename
        download.value.save_as(file)
        kept[name] = file.read_bytes()
    assert dc.Release.loads(kept["JSON"].decode()).plan["arguments"]["columns"] == ["home"]
    assert kept["CSV"].startswith(b"home,") and kept["PNG"].startswith(b"\x89PNG")
    assert b"<!doctype html>" in kept["Page"][:20]


@in_browser
def test_a_data_set_that_cannot_be_asked_is_told_with_its_reason(enter: Enter) -> None:
    page = enter("owner", "d/loans")

    def listed(route: Any) -> None:
        answer = route.fetch()
        route.fulfill(
            response=answer, json=[*answer.json(), {"dataset": "gone", "reason": "No ledger."}]
        )

    page.route("**/v1/datasets", listed)
    for place, title in {"": "Data sets", "audit": "Audit", "keys": "Keys"}.items():
        page.evaluate(f"location.hash = '#/{place}'")
        sync_api.expect(page).to_have_title(f"{title} · discreet")
        assert page.get_by_text("gone").is_visible() and page.get_by_text("loans").first.is_visible()
        assert page.get_by_text("No ledger.").is_visible() == (title == "Data sets")


@in_browser
def test_pasted_records_keep_their_columns_and_numbers_their_size(enter: Enter) -> None:
    page = enter("ann", "d/loans/ask/shap_values")
    page.get_by_label("Model").select_option("risk")
    page.get_by_label("Query: how to give it").select_option("paste")
    records = page.get_by_label("Query: records as CSV or JSON")
    sent: list[Any] = []
    page.on("request", lambda asked: sent.append(asked.post_data_json) if asked.post_data else None)

    def asked(text: str) -> Any:
        before = len(sent)
        records.fill(text)
        sync_api.expect(page.locator("#price-told:not([aria-busy])")).to_be_visible()
        return sent[-1]["plans"][0]["arguments"]["x"] if len(sent) > before else None

    assert asked(",age,income\n7,40,5000\n") == [{"age": 40, "income": 5000}]
    assert asked("age,income\n,5000\n") == [{"age": None, "income": 5000}]
    assert asked('age;income\n40;"5000"') == [{"age": 40, "income": 5000}]
    assert asked("age") is None
    page.evaluate("location.hash = '#/d/loans/ask/histogram'")
    page.get_by_role("checkbox", name="age", exact=True).check()
    page.get_by_text("optional arguments").click()
    for text, told in {
        "1,000": "Bins must be written without commas, as 1000.",
        "2,5": "whole number",
    }.items():
        page.get_by_label("Bins").fill(text)
        page.locator("#price-told").get_by_text(told).wait_for()


@in_browser
def test_the_slider_moves_the_price(world: World, enter: Enter) -> None:
    page = enter("ann")
    compose(page, "purpose", "0.5")
    page.get_by_label("How much epsilon to spend").focus()
    page.keyboard.press("End")
    costs(page, "8")
    page.keyboard.press("Home")
    costs(page, "0.001")
    assert page.locator("svg.band.wide-band").count() == 1
    assert "An error of 5% from epsilon" in page.locator(".usable").inner_text()


@in_browser
def test_whoever_asks_too_much_reads_what_would_fit(world: World, enter: Enter) -> None:
    page, before = enter("eve"), left(world, "eve")
    compose(page, "home", "4")
    page.get_by_text("This costs more than is left.").wait_for()
    page.get_by_role("button", name="Release").click()
    said = page.locator(".note.bad")
    said.wait_for()
    assert re.search(
        r"It costs epsilon 4, and epsilon 0.3 is left\. Nothing was spent\.", said.inner_text()
    )
    assert re.search(r"With epsilon 0.3 it would fit, and give count ± \d+", said.inner_text())
    assert left(world, "eve") == before
    said.get_by_role("button", name="Use 0.3").click()
    costs(page, "0.3")
    page.get_by_role("button", name="Release").click()
    page.locator("article.release").wait_for()
    assert left(world, "eve") == 0
    page.get_by_role("checkbox", name="age", exact=True).check()
    page.get_by_text("Nothing is left.").wait_for()


@in_browser
def test_a_retry_never_pays_twice(world: World, enter: Enter) -> None:
    """The answer gets lost on its way; whoever asks again sends the same name of the question."""
    page, before = enter("ann"), left(world, "ann")
    compose(page, "purpose", "0.25")
    names = []

    def lose(route: Any) -> None:
        if route.request.method != "POST":
            return route.continue_()
        names.append(route.request.headers["idempotency-key"])
        if len(names) > 1:
            return route.continue_()
        route.fetch()
        return route.abort()

    page.route("**/v1/datasets/loans/releases", lose)
    page.get_by_role("button", name="Release").click()
    page.get_by_text("The server cannot be reached.").wait_for()
    page.get_by_role("button", name="Release").click()
    page.locator("article.release").wait_for()
    assert len(names) == 2 and len(set(names)) == 1
    assert left(world, "ann") == before - 0.25


@in_browser
def test_phases_are_told_and_a_question_is_cancelled_before_it_is_paid(enter: Enter) -> None:
    """The server's answers are played: a real question would be done too soon."""
    page, job = enter("ann"), {"id": "j", "dataset": "loans", "state": "running", "phase": "queued"}
    phases, cancelled = iter(["queued", "preparing"]), []

    def play(route: Any) -> None:
        if route.request.method == "DELETE":
            cancelled.append(route.request.url)
        job["phase"] = next(phases, "preparing")
        route.fulfill(status=202, json={"job": job})

    compose(page, "home", "0.4")
    page.route("**/v1/datasets/loans/releases", play)
    page.route("**/v1/jobs/j*", play)
    page.get_by_role("button", name="Release").click()
    sync_api.expect(page.locator("[aria-current=step]")).to_have_text("Preparing")
    page.get_by_role("button", name="Cancel").click()
    page.get_by_text("Cancelled before anything was paid.").wait_for()
    assert len(cancelled) == 1


@in_browser
def test_a_question_that_was_cancelled_may_be_asked_again(
    world: World, enter: Enter, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, before, go_on = enter("ann"), left(world, "ann"), threading.Event()
    ready = Session._made_ready

    def slow(session: Session, plans: Any) -> Any:
        go_on.wait(60)
        return ready(session, plans)

    monkeypatch.setattr(Session, "_made_ready", slow)
    compose(page, "home", "0.15")
    page.get_by_role("button", name="Release").click()
    page.get_by_role("button", name="Cancel").click()
    page.get_by_text("Cancelled before anything was paid.").wait_for()
    go_on.set()
    assert left(world, "ann") == before
    page.get_by_role("button", name="Release").click()
    page.locator("article.release").wait_for()
    assert round(before - left(world, "ann"), 6) == 0.15


@in_browser
def test_whoever_gets_a_larger_share_asks_again_without_a_reload(world: World, enter: Enter) -> None:
    page = enter("dan")
    compose(page, "home", "0.7")
    page.get_by_role("button", name="Release").click()
    page.locator(".note.bad").wait_for()
    world.office.desks.owner("loans").allot("dan", epsilon=2.0)
    page.get_by_role("button", name="Release").click()
    page.locator("article.release").wait_for()
    assert round(left(world, "dan"), 6) == 1.3


@in_browser
def test_an_estimator_that_is_yet_to_be_fitted_can_be_chosen(enter: Enter) -> None:
    page = enter("ann", "d/loans/ask/data_shapley")
    fields = page.locator(".question .field", has_text="Model").locator("select")
    assert {"plain", "risk"} <= {*fields.first.locator("option").all_inner_texts()}
    page.evaluate("location.hash = '#/d/loans/ask/partial_dependence'")
    page.locator("[data-plan=partial_dependence]").wait_for()
    assert "plain" not in page.locator(".question .field select").first.all_inner_texts()[0]


@in_browser
def test_two_releases_are_compared(enter: Enter) -> None:
    page = enter("ann")
    for epsilon in ("0.01", "0.02"):
        compose(page, "home", epsilon)
        page.get_by_role("button", name="Release").click()
        page.locator("article.release").wait_for()
        page.evaluate("location.hash = '#/d/loans/ledger'")
        page.get_by_role("heading", name="Ledger").wait_for()
    page.evaluate("location.hash = '#/d/loans/releases'")
    page.get_by_label(re.compile("Compare Histogram of home.*epsilon 0.01")).check()
    page.get_by_label(re.compile("Compare Histogram of home.*epsilon 0.02")).check()
    page.get_by_role("button", name="Compare these two").click()
    pictures(page, 2)
    row = page.get_by_role("row", name=re.compile("^Epsilon")).inner_text()
    assert "0.01" in row and "0.02" in row and "differs" in row


@in_browser
def test_an_owner_allots_and_revokes(world: World, enter: Enter) -> None:
    page = enter("owner", "d/loans/budget")
    allot = page.get_by_role("form", name="Allot")
    allot.get_by_label("Analyst").fill("bob")
    allot.get_by_label("Epsilon").fill("0.75")
    allot.get_by_role("button", name="Allot").click()
    page.get_by_role("rowheader", name="bob").wait_for()
    assert left(world, "bob") == 0.75
    page.get_by_role("link", name="Keys").click()
    page.get_by_role("heading", name="New key").wait_for()
    page.get_by_label("Analyst", exact=True).fill("bob")
    page.get_by_role("button", name="Make a key").click()
    key = page.get_by_label("The new key").input_value()
    assert world.office.keys.open(key).analyst == "bob"
    revoke = page.get_by_role("button", name="Revoke the key of bob")
    revoke.click()
    page.get_by_role("button", name="Leave it").click()
    assert world.office.keys.open(key), "nothing happens until it is confirmed"
    revoke.click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    page.get_by_text("revoked", exact=True).wait_for()
    with pytest.raises(dc.errors.DiscreetError):
        world.office.keys.open(key)
    assert key not in page.content()


@in_browser
def test_an_owners_number_that_is_none_makes_no_key_and_no_share(world: World, enter: Enter) -> None:
    """Sent as it is, days that are no number would be those of a key that never expires."""
    page, before = enter("owner", "keys"), world.office.keys.told()
    page.get_by_label("Analyst", exact=True).fill("kim")
    for days in ("90 days", ""):
        page.get_by_label("Valid for days").fill(days)
        page.get_by_role("button", name="Make a key").click()
        page.get_by_text("Valid for days must be a number.").wait_for()
    assert world.office.keys.told() == before
    page.evaluate("location.hash = '#/d/loans/budget'")
    allot = page.get_by_role("form", name="Allot")
    allot.get_by_label("Analyst").fill("kim")
    allot.get_by_label("Epsilon").fill("much")
    allot.get_by_role("button", name="Allot").click()
    page.get_by_text("Epsilon must be a number.").wait_for()
    allot.get_by_label("Epsilon").fill("0,25")
    allot.get_by_role("button", name="Allot").click()
    page.get_by_role("rowheader", name="kim").wait_for()
    assert left(world, "kim") == 0.25
    terms = page.get_by_role("form", name="Change the whole budget")
    terms.get_by_label("Reason").fill("more")
    terms.get_by_label("Epsilon").fill("lots")
    terms.get_by_label("Delta").fill("0.001")
    terms.get_by_role("button", name="Change").click()
    page.get_by_text("Epsilon must be a number.").wait_for()
    assert world.office.desks.owner("loans").facts().terms.delta == 1e-4


@in_browser
def test_jobs_tell_what_came_of_them(world: World, enter: Enter) -> None:
    world.ask("ann", plan("histogram", columns="age", bins=4, epsilon=0.01))
    world.ask("ann", plan("mean", column="nowhere", epsilon=0.01))
    world.ask("ann", plan("mean", column="age", epsilon=500.0))
    page = enter("owner", "jobs")
    rows = page.locator("tbody tr")
    assert "analyst ann" in rows.nth(0).inner_text() and "has epsilon=" in rows.nth(0).inner_text()
    page.get_by_role("row", name=re.compile("^Histogram.*analyst ann")).first.get_by_role(
        "link", name="Answer"
    ).click()
    page.get_by_role("heading", name="Histogram of age").wait_for()
    page.get_by_role("link", name="Ledger").click()
    page.get_by_role("link", name="stored", exact=True).first.click()
    page.locator("article.release").wait_for()


@in_browser
def test_a_revoked_key_is_shown_the_door(world: World, enter: Enter) -> None:
    key, holder = world.office.keys.new("analyst", analyst="ann")
    world.keys["gone"] = key
    page = enter("gone", "d/loans")
    world.office.keys.revoke(holder.key)
    page.get_by_role("link", name="Budget").click()
    page.get_by_text("Your key has expired or was revoked.").wait_for()


@in_browser
def test_an_auditor_sees_chains_and_certificates_without_answers(world: World, enter: Enter) -> None:
    world.ask("ann", plan("histogram", columns="defaulted", epsilon=0.1))
    said = {"check": "laplace", "kind": "exact", "held": True, "unit": "epsilon", "said": "It holds."}
    report = {"created": "2026-01-01", "findings": [{**said, "promised": 1.0, "found": 0.99}]}
    (world.folder / "audit.json").write_text(json.dumps(report))
    page = enter("auditor", "audit")
    page.get_by_text("1 of 1 checks held").wait_for()
    page.get_by_role("button", name="Verify the ledger").click()
    page.get_by_text(re.compile("The chain holds over all")).wait_for()
    page.get_by_role("link", name=re.compile("Histogram of defaulted")).click()
    page.get_by_text("Replacing one record moves these 2 numbers").wait_for()
    assert page.locator(".picture, .downloads").count() == 0
    assert page.get_by_role("link", name="Ask").count() == 0


def tab_to(page: Any, text: str) -> None:
    """Press Tab until what has this text or label has the focus."""
    labels = "(document.activeElement.labels?.[0]?.textContent ?? '')"
    words = f"document.activeElement.textContent + '|' + {labels}"
    for _ in range(80):
        page.keyboard.press("Tab")
        if text in page.evaluate(words):
            return
    raise AssertionError(f"{text} is not reached by keyboard")


@in_browser
def test_a_question_is_asked_by_keyboard_alone(world: World, enter: Enter) -> None:
    page = enter(None)
    page.keyboard.type(world.keys["ann"])
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Data sets").wait_for()
    tab_to(page, "Ask a question")
    page.keyboard.press("Enter")
    page.get_by_label("What do you want to know?").wait_for()
    tab_to(page, "What do you want to know?")
    page.keyboard.type("noisy counts")
    tab_to(page, "Histogram")
    page.keyboard.press("Enter")
    page.get_by_text("Choose columns.").wait_for()
    tab_to(page, "late_payments")
    page.keyboard.press("Space")
    tab_to(page, "How much epsilon to spend")
    page.keyboard.press("ArrowRight")
    page.locator(".cost").wait_for()
    tab_to(page, "Release")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Histogram of late_payments").wait_for()
    assert page.evaluate("document.activeElement.id") == "result", "the answer is read next"


PLACES = {
    "ann": {
        "": "Data sets",
        "d/loans": "loans",
        "d/loans/ask": "Ask loans",
        "d/loans/ask/shap_values": "SHAP values of loans",
        "d/loans/releases": "Releases of loans",
        "jobs": "Jobs",
    },
    "owner": {"d/loans/budget": "Budget of loans", "d/loans/ledger": "Ledger of loans", "keys": "Keys"},
    "auditor": {"audit": "Audit"},
}


def serious(checker: Any, page: Any, **options: Any) -> list[tuple[str, str]]:
    found = checker.run(page, options=options).response["violations"]
    told = [
        (fault["id"], fault["nodes"][0]["html"][:120]) for fault in found if fault["impact"] in GRAVE
    ]
    return [(page.url.rpartition("#")[2], *fault) for fault in told]


GRAVE = ("serious", "critical")


@in_browser
@pytest.mark.parametrize("who", [None, *PLACES])
def test_nothing_serious_stands_in_the_way_of_anybody(enter: Enter, who: str | None) -> None:
    """Every view as axe-core sees it, the colours of the dark one too, and on a phone."""
    checker = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page, found, wide = enter(who), [], []
    for place, title in ({"": "Sign in"} if who is None else PLACES[who]).items():
        page.evaluate(f"location.hash = '#/{place}'")
        sync_api.expect(page).to_have_title(f"{title} · discreet")
        page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
        found += serious(checker, page)
        page.emulate_media(color_scheme="dark")
        found += serious(checker, page, runOnly=["color-contrast"])
        page.emulate_media(color_scheme="light")
        page.set_viewport_size({"width": 360, "height": 700})
        wide += [place] * page.evaluate("document.documentElement.scrollWidth > innerWidth")
        page.set_viewport_size({"width": 1200, "height": 800})
    assert found == [] and wide == []


@in_browser
def test_a_data_set_that_cannot_be_opened_says_why_and_shows_what_was_released(
    world: World, enter: Enter, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.ask("ann", plan("histogram", columns="age", bins=4, epsilon=0.01))

    def closed(*_: Any) -> Session:
        raise dc.errors.DataRefused("data must be there.", rule="file")

    with monkeypatch.context() as closing:
        closing.setattr(Desks, "owner", closed)
        for who in ("ann", "owner", "auditor"):
            page = enter(who)
            page.get_by_text("It cannot be asked now: data must be there.").wait_for()
            page.get_by_role("link", name="Releases of loans").click()
            page.get_by_role("link", name="Histogram of age").first.wait_for()
            page.evaluate("location.hash = '#/d/loans/ledger'")
            page.get_by_role("columnheader", name="Loss").wait_for()
        page = enter("auditor", "audit")
        page.get_by_role("button", name="Verify the ledger").click()
        page.get_by_text("The chain holds").wait_for()
        closing.setattr(Desks, "admit", closed)  # and not even its ledger
        page = enter("auditor", "audit")
        page.get_by_role("button", name="Verify the ledger").click()
        page.get_by_text("data must be there.").wait_for()
        enter("owner", "keys").get_by_role("checkbox", name="loans").wait_for()


@in_browser
def test_every_question_has_a_form_or_says_why_not(world: World, enter: Enter) -> None:
    page, plans = enter("ann", "d/loans/ask"), dc.describe_plans()
    stay = page.locator(".plan.away")
    assert {text.split("\n")[0] for text in stay.all_inner_texts()} == {
        "Any curve",
        "Any ranking",
        "Choose",
    }
    assert all("function" in text for text in stay.locator(".why").all_inner_texts())
    links = page.locator("a.plan").evaluate_all("(all) => all.map((one) => one.hash)")
    assert len(links) == len(plans) - 3
    untold = {"epsilon", "delta", "rho", "n_jobs"}  # how many workers there are is the service's
    for link in links:
        asked = plans[link.rsplit("/", 1)[1]]
        page.evaluate(f"location.hash = {json.dumps(link)}")
        sync_api.expect(page.locator(".question [data-plan]")).to_have_attribute(
            "data-plan", asked["name"]
        )
        wanted = [
            one["name"]
            for one in asked["arguments"]
            if one["name"] not in untold
            and one["kind"] not in ("function", "coreset")
            and len(one.get("choices", "ab")) > 1
        ]
        assert page.locator(".question .field").count() == len(wanted), asked["name"]


def test_the_page_is_small_and_loads_nothing_from_elsewhere() -> None:
    files = [file for file in PAGE.iterdir() if file.is_file()]
    assert sum(file.stat().st_size for file in files) < 200_000
    for file in files:
        text = file.read_text()
        assert not re.search(r"https?://(?!www\.w3\.org/)", text), file.name
        assert not re.search(
            r"\beval\(|innerHTML|insertAdjacentHTML|document\.write|localStorage", text
        )
    html = (PAGE / "index.html").read_text()
    assert not re.search(r"<style|style=|<script>|\son\w+=", html)
