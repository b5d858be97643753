"""Answers that were stored: listed, one by one, as pictures, tables and pages."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Response
from fastapi.concurrency import run_in_threadpool

from discreet.errors import NotFound
from discreet.ledger import Entry
from discreet.plans import Release
from discreet.plans.results.pictures.canvas import INK, LIGHT_INK, Paper
from discreet.plans.results.pictures.svg import INKED
from discreet.reporting import report
from discreet.service.access.keys import Caller
from discreet.service.access.visibility import audience_of, may_see_value
from discreet.service.asked.job import stored_release
from discreet.service.office import AnOffice, Anyone, Asker, Office
from discreet.service.routes.answers import ListedRelease, ReleaseTold, sends, shows

router = APIRouter(prefix="/v1/datasets/{dataset}/releases", tags=["releases"])

ReleaseId = Annotated[str, Path(max_length=64)]
Dark = Annotated[bool, Query(description="On a dark ground.")]

_MOST_LISTED = 20_000
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[+-][0-9]+(\.[0-9]+)?")
_WIDTH, _DOTS = 5.2, 180
_PAPER, _SLATE = "#ffffff", "#1a202c"


@router.get("", responses=shows(list[ListedRelease]))
def releases(dataset: str, caller: Anyone, office: AnOffice) -> list[dict[str, Any]]:
    """Return the stored answers that this key may see, newest first; an auditor sees that they are."""
    office.desks.admit(caller, dataset)
    entries = reversed(_answered(office, dataset))
    return [_listed(office, entry) for entry in entries if _may_know(caller, entry)]


@router.get("/{id}", responses=shows(ReleaseTold))
def release(dataset: str, id: ReleaseId, caller: Anyone, office: AnOffice) -> dict[str, Any]:
    """Return a stored answer with its certificate; for an auditor without the answer itself."""
    found = _find(office, caller, dataset, id).to_json()
    return found if caller.role != "auditor" else {k: v for k, v in found.items() if k != "value"}


@router.get("/{id}/picture.svg", response_class=Response, responses=sends("image/svg+xml"))
async def picture_svg(
    dataset: str, id: ReleaseId, caller: Asker, office: AnOffice, dark: Dark = False
) -> Response:
    """Return the picture of an answer."""
    drawn = await _drawn(office, caller, dataset, id, lambda found: draw(found, "svg", dark=dark))
    return Response(drawn, media_type="image/svg+xml")


@router.get("/{id}/picture.png", response_class=Response, responses=sends("image/png"))
async def picture_png(
    dataset: str, id: ReleaseId, caller: Asker, office: AnOffice, dark: Dark = False
) -> Response:
    """Return the picture of an answer."""
    drawn = await _drawn(office, caller, dataset, id, lambda found: draw(found, "png", dark=dark))
    return Response(drawn, media_type="image/png")


@router.get("/{id}/table.csv", response_class=Response, responses=sends("text/csv"))
def table(dataset: str, id: ReleaseId, caller: Asker, office: AnOffice) -> Response:
    """Return an answer as a table."""
    frame, text = _find(office, caller, dataset, id).value.to_frame(), io.StringIO()
    told = frame.rename(_as_text).rename(columns=_as_text).rename_axis(index=_as_text).map(_as_text)
    told.to_csv(text, index=frame.index.name is not None)
    return Response(text.getvalue(), media_type="text/csv; charset=utf-8")


def _as_text(cell: Any) -> Any:
    """Return a cell as spreadsheets show it: a text that begins like a formula is run by them."""
    if not isinstance(cell, str):
        return cell
    formula = cell.startswith(_FORMULAS) and not _NUMBER.fullmatch(cell)
    # A lone return is written without quotes, and what follows it stands on a line of its own.
    return ("'" if formula else "") + cell.replace("\r", "\n")


@router.get("/{id}/page", response_class=Response, responses=sends("text/html"))
async def page(dataset: str, id: ReleaseId, caller: Asker, office: AnOffice) -> Response:
    """Return an answer as a page of its own, which opens anywhere."""
    html = await _drawn(office, caller, dataset, id, lambda found: report([found]).html)
    # To be saved: its pictures and styles are inside it, which the policy of this site forbids to show.
    headers = {"content-disposition": "; ".join(("attachment", f'filename="{id}.html"'))}
    return Response(html, media_type="text/html; charset=utf-8", headers=headers)


async def _drawn(
    office: Office, caller: Caller, dataset: str, id_: str, draw_it: Callable[[Release], Any]
) -> Any:
    """Return what is drawn of a stored answer, on the thread for pictures."""
    found = await run_in_threadpool(_find, office, caller, dataset, id_)
    return await office.pictures.do(caller.name, lambda: draw_it(found))


def _answered(office: Office, dataset: str) -> list[Entry]:
    history = office.desks.ledger(dataset).history(dataset)
    return [entry for entry in history if entry.kind == "reserve" and entry.settled]


def _may_know(caller: Caller, entry: Entry) -> bool:
    return caller.role == "auditor" or may_see_value(caller, entry.note["plan"], entry.analyst)


def _listed(office: Office, entry: Entry) -> dict[str, Any]:
    """Return what a list tells of a stored answer; it is read once, because it never changes."""
    place = entry.dataset, entry.id
    told = office.listed.get(place)
    if told is None:
        found = stored_release(office.desks.ledger(entry.dataset), entry.dataset, entry.id)
        told = office.listed[place] = {**_summary(found), "analyst": entry.analyst}
        if len(office.listed) > _MOST_LISTED:
            office.listed.clear()
    return told


def _summary(found: Release) -> dict[str, Any]:
    promise = found.guarantee
    return {
        "id": found.id,
        "title": found.title,
        "plan": found.plan,
        "created": found.created,
        "dataset": found.dataset,
        "version": found.version,
        "epsilon": promise.epsilon,
        "delta": promise.delta,
        "certified": promise.certified,
        "grade": promise.grade,
        "public": audience_of(found.plan) == "everyone",
    }


def _find(office: Office, caller: Caller, dataset: str, id_: str) -> Release:
    """Return a stored answer that a caller may see; that another's is there is not told."""
    office.desks.admit(caller, dataset)
    known = {entry.id: entry for entry in _answered(office, dataset)}
    if id_ not in known or not _may_know(caller, known[id_]):
        raise NotFound("release must be one that this key may see, got another.")
    return stored_release(office.desks.ledger(dataset), dataset, id_)


def draw(release: Release, form: Literal["svg", "png"], *, dark: bool = False) -> bytes:
    """Return a picture; to be drawn one at a time, because Matplotlib's settings are everybody's."""
    import matplotlib.style

    ground, ink = (_SLATE, LIGHT_INK) if dark else (_PAPER, INK)
    look = {**dict.fromkeys(INKED, ink), "axes.facecolor": ground}
    target = io.BytesIO()
    with matplotlib.style.context(["default", look]):
        figure = release.plot(Paper(_WIDTH, ground)).figure_
        figure.savefig(target, format=form, dpi=_DOTS, facecolor=ground)
    return target.getvalue()
