"""What ``discreet price``, ``diagnose`` and ``release`` do with a plan, or with several of a file.

``questions`` makes a plan of what was typed, ``plan_files`` reads several.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cards import Card
from discreet.cards.models import OwnerPrices
from discreet.cards.plan_files import PlanFile
from discreet.cli.commands import as_typed
from discreet.cli.output import JsonOption, print_json, say
from discreet.cli.project import (
    DEFAULT_PROJECT,
    AnalystOption,
    DatasetOption,
    ProjectOption,
    open_session,
)
from discreet.cli.serving.remote import KeyFileOption, ServerOption, open_remote, refuse_here
from discreet.cli.speech import in_options
from discreet.cli.writing import (
    PICTURES,
    TABLES,
    check_file,
    check_folder,
    draw_alone,
    shown_frame,
    write_table,
)
from discreet.client import ModelElsewhere, RemoteSession
from discreet.errors import ReleaseError, SettlementFailed
from discreet.plans import Plan, Release
from discreet.plans.results.result import filled_columns
from discreet.privacy.accounting import total
from discreet.schema import Schema
from discreet.session import Price, Remaining, Session

_LONGEST, _MOST_ROWS = 60, 60

Asked = Plan | Mapping[str, Plan]
"""One plan, or several by the names that their file gives them."""


def price_plan(
    asked: Asked,
    project: ProjectOption = DEFAULT_PROJECT,
    dataset: DatasetOption = None,
    analyst: AnalystOption = None,
    queries: Annotated[
        int | None, typer.Option(help="Compare strategies to answer so many questions like this one.")
    ] = None,
    card: Annotated[
        Path | None, typer.Option(help="Price it by this card of a data set, without rows and ledger.")
    ] = None,
    save: Annotated[
        Path | None, typer.Option(help="Write a plan file here, for 'discreet card answer'.")
    ] = None,
    server: ServerOption = None,
    key_file: KeyFileOption = None,
    json: JsonOption = False,
) -> None:
    """Say what a plan would cost and how noisy it would be. Spends nothing."""
    check_file("--save", save)
    refuse_here(server, analyst=analyst, card=card)
    source: Session | Card | RemoteSession
    if server is not None:
        source = open_remote(server, key_file, dataset)
    else:
        source = open_session(project, dataset, analyst=analyst) if card is None else Card.load(card)
    plans = _by_name(asked, source.schema)
    if save is not None:
        PlanFile.of(source.dataset, source.schema, list(plans.values())).save(save)
    try:
        tell_price(plans, source.price(list(plans.values()), queries=queries), json)
    except OwnerPrices as owner:  # with a plan file there is something to send to the owner
        if save is None:
            raise
        say(str(owner))


def tell_price(plans: Mapping[str, Plan], price: Price, json: bool) -> None:
    """Print a price, with plans as they would be typed."""
    if json:
        print_json(price.to_json())
        return
    said = str(price)
    for name, plan in plans.items():  # a price names plans as Python writes them
        said = said.replace(repr(plan), f"{name}, {tell_plan(plan.describe())}".removeprefix(", "))
    typer.echo(said)


def diagnose_plan(
    asked: Asked, project: ProjectOption = DEFAULT_PROJECT, dataset: DatasetOption = None
) -> None:
    """Try a plan's answers on the table, for the curator alone. Exact, no release, spends nothing."""
    session = open_session(project, dataset)
    for name, plan in _by_name(asked, session.schema).items():
        typer.echo(f"{name}\n" * bool(name) + str(session.diagnose(plan)))


def release_plan(
    asked: Asked,
    project: ProjectOption = DEFAULT_PROJECT,
    dataset: DatasetOption = None,
    analyst: AnalystOption = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write the release to this JSON file (several get numbers); of --plans to this folder."
        ),
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(help="Write the answer to this CSV or Parquet file; of --plans to this folder."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw it into this picture file; of --plans into this folder.")
    ] = None,
    fresh: Annotated[bool, typer.Option(help="Pay for new noise even if it was asked before.")] = False,
    heuristics: Annotated[
        bool, typer.Option("--heuristics", help="Allow noise that nobody proved; the owner's to say.")
    ] = False,
    workers: Annotated[
        int | None, typer.Option(help="Threads that read rows; as many as there are cores.")
    ] = None,
    server: ServerOption = None,
    key_file: KeyFileOption = None,
    json: JsonOption = False,
) -> None:
    """Answer a plan and spend its budget."""
    files = _Files(out, table, plot, many=not isinstance(asked, Plan))
    files.check()
    refuse_here(server, analyst=analyst, heuristics=heuristics, workers=workers)
    session: Session | RemoteSession
    if server is not None:
        session = open_remote(server, key_file, dataset)
    else:
        options = {"analyst": analyst, "heuristics": heuristics, "workers": workers}
        session = open_session(project, dataset, **options)
    plans = _by_name(asked, session.schema)
    try:
        releases: list[Release] = session.release(list(plans.values()), fresh=fresh)
    except SettlementFailed as failed:
        keep_answer(failed, files.folder, json)
        raise
    except KeyboardInterrupt as interrupt:
        typer.echo(in_options(str(interrupt), {}) or "Interrupted.", err=True)
        raise typer.Exit(130) from None
    answers = dict(zip(_answer_names(plans, releases), releases, strict=True))
    if json:
        print_json(_as_json(session, answers))
    else:
        _tell(session, answers)
    files.write(answers)  # last: what cannot be written has been shown


def _answer_names(plans: Mapping[str, Plan], releases: Sequence[Release]) -> list[str]:
    """Return the names of answers; a plan that only a server could take apart has several, numbered."""
    if len(plans) == len(releases):
        return list(plans)
    asking = [_asking(plans, release) for release in releases]
    numbers = [asking[:place].count(name) + 1 for place, name in enumerate(asking)]
    return [f"{name}-{number}".removeprefix("-") for name, number in zip(asking, numbers, strict=True)]


def _asking(plans: Mapping[str, Plan], release: Release) -> str:
    """Return the name of the plan that a release answers, as far as it can be told."""
    of_kind = [name for name, plan in plans.items() if plan.plan_name == release.plan["kind"]]
    return of_kind[0] if of_kind else ""


def _by_name(asked: Asked, schema: Schema) -> dict[str, Plan]:
    """Return plans by their names; one that asks for several answers becomes several, with numbers."""
    found = {}
    for name, plan in ({"": asked} if isinstance(asked, Plan) else asked).items():
        parts = _parts(plan, schema)
        for number, part in enumerate(parts, start=1):
            found[name if len(parts) == 1 else f"{name}-{number}".removeprefix("-")] = part
    return found


def _parts(plan: Plan, schema: Schema) -> Sequence[Plan]:
    """Return the plans that are asked; whoever has the model takes apart what depends on it."""
    try:
        return plan.parts(schema)
    except ModelElsewhere:
        return (plan,)


class _Files:
    """Where answers go: each to its file, or those of a batch to folders under their names."""

    def __init__(self, out: Path | None, table: Path | None, plot: Path | None, *, many: bool) -> None:
        self.places = {"--out": out, "--table": table, "--plot": plot}
        self.many = many

    @property
    def folder(self) -> Path:
        """Where an answer is kept that the ledger did not store."""
        out = self.places["--out"]
        return Path(".") if out is None else out if self.many else out.parent

    def check(self) -> None:
        """Refuse what could not be written, before anything is charged."""
        endings: dict[str, tuple[str, ...]] = {"--table": TABLES, "--plot": PICTURES}
        for option, path in self.places.items():
            if self.many:
                check_folder(option, path)
            else:
                check_file(option, path, endings.get(option, ()))

    def write(self, answers: Mapping[str, Release]) -> None:
        """Write every file; one that fails does not keep the others from being written."""
        failed: list[str] = []
        for name, release in answers.items():
            for option, path in self.places.items():
                try:
                    if path is not None:
                        _write(option, release, self._place(option, path, name))
                except ReleaseError as error:
                    failed.append(str(error))
        if failed:
            raise ReleaseError(
                f"{' '.join(failed)} The answer is above and in the ledger; asking again costs nothing."
            )

    def _place(self, option: str, path: Path, name: str) -> Path:
        ending = {"--out": ".json", "--table": ".csv", "--plot": ".png"}[option]
        if self.many:
            return path / f"{name}{ending}"
        return path.with_name(f"{path.stem}-{name}{path.suffix}") if name else path


def _write(option: str, release: Release, path: Path) -> None:
    if option == "--out":
        release.save(path)
    elif option == "--table":
        write_table(release, path)
    else:
        draw_alone(release.plot, path)


def tell_plan(plan: Mapping[str, Any]) -> str:
    """Return what was asked as it would be typed, by the names of options."""
    told = {name: value for name, value in plan["arguments"].items() if value not in (None, [], {})}
    listed = ", ".join(f"{as_typed(name)} {_brief(value)}" for name, value in told.items())
    return f"{as_typed(plan['kind'])}: {listed}, epsilon {plan['epsilon']:g}"


def _brief(value: Any) -> str:
    """Return an argument that fits a line: models by their kind, long ones by their beginning."""
    if isinstance(value, dict) and "kind" in value:
        return str(value["kind"])
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def tell_answer(release: Release, frame: Any = None) -> str:
    """Return an answer and what is promised of it, to be read; of a long one the beginning.

    Args:
      release: the answer.
      frame: another table of it.
    """
    frame = shown_frame(release) if frame is None else frame
    more = len(frame) - _MOST_ROWS
    rest = f"\n... and {more:,} rows more; --table FILE writes all" if more > 0 else ""
    text = filled_columns(frame).head(_MOST_ROWS).to_string(index=False)
    return f"{text}{rest}\n\n{release.guarantee}"


def _tell(session: Session | RemoteSession, answers: Mapping[str, Release]) -> None:
    for name, release in answers.items():
        say(f"{name}: {release.title}\n" * bool(name) + tell_answer(release))
        if release.charged is not None and not release.charged.loss:
            say(f"free: it was answered before, on {release.created}")
        say("\n" * bool(name), nl=False)
    shared = session.balance.population
    whose = "" if shared is None else f" of population {shared}"
    say(f"charged: {_charged(session, answers)}; left{whose}: {session.remaining}")


def _charged(session: Session | RemoteSession, answers: Mapping[str, Release]) -> Remaining:
    """Return what was charged for all answers; one that was asked twice was charged once."""
    once = {release.id: release.charged for release in answers.values()}
    amounts = [amount for amount in once.values() if amount is not None]
    return replace(session.remaining, amount=total(amounts))


def _as_json(session: Session | RemoteSession, answers: Mapping[str, Release]) -> dict[str, Any]:
    """Return a release with what it cost now, or those of a batch by their names."""
    plain = {name: release.to_json() for name, release in answers.items()}
    books = {
        "charged": _charged(session, answers).to_json(),
        "remaining": session.remaining.to_json(),
    }
    return {**plain[""], **books} if "" in plain else {"releases": plain, **books}


def keep_answer(failed: SettlementFailed, folder: Path, json: bool) -> None:
    """Print an answer that the ledger did not store, and write it where it can be stored from."""
    if not json:
        for release in failed.releases:
            say(tell_answer(release))
    try:
        kept = failed.save(folder / f"unsettled-{failed.reservation.id}.json")
        typer.echo(f"Store the answer later with: discreet budget settle {kept}", err=True)
    except ReleaseError as error:  # a full disk may be why the ledger failed
        typer.echo(f"The answer is above and nowhere else. {error}", err=True)
