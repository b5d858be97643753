"""``discreet price``, ``diagnose`` and ``release``: the same questions, with and without spending.

Every question is one function from its own options to a ``Plan``; ``add_question`` makes all
commands from it. A new plan needs one such function and one line in ``QUESTIONS``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.output import JsonOption, print_json
from discreet.cli.project import (
    DEFAULT_PROJECT,
    AnalystOption,
    DatasetOption,
    ProjectOption,
    open_session,
)
from discreet.cli.questions_explain import (
    ask_accumulated_effects,
    ask_feature_interaction,
    ask_partial_dependence,
    ask_permutation_importance,
)
from discreet.cli.questions_select import ask_choose, ask_percentile, ask_quantiles
from discreet.cli.questions_shap import (
    ask_background,
    ask_shap_dependence,
    ask_shap_importance,
    ask_shap_ranking,
    ask_shap_values,
)
from discreet.cli.questions_synthesis import ask_deniable_rows, ask_functional_mean, ask_synthesize
from discreet.cli.questions_tables import ask_entropy, ask_histogram, ask_mutual_information
from discreet.cli.questions_trees import ask_decision_tree, ask_random_forest
from discreet.cli.questions_value import ask_data_shapley
from discreet.errors import ReleaseError, SettlementFailed
from discreet.plans import Plan, Release

price_app = typer.Typer(help="Say what a plan would cost and how noisy it would be. Spends nothing.")
release_app = typer.Typer(help="Answer a plan and spend its budget.")
diagnose_app = typer.Typer(
    help="Try a plan's answers on the table, for the curator alone. Exact, no release, spends nothing."
)


QUESTIONS: dict[str, Callable[..., Plan]] = {
    "histogram": ask_histogram,
    "partial-dependence": ask_partial_dependence,
    "shap-ranking": ask_shap_ranking,
    "shap-values": ask_shap_values,
    "shap-importance": ask_shap_importance,
    "background": ask_background,
    "shap-dependence": ask_shap_dependence,
    "feature-interaction": ask_feature_interaction,
    "accumulated-effects": ask_accumulated_effects,
    "permutation-importance": ask_permutation_importance,
    "choose": ask_choose,
    "percentile": ask_percentile,
    "quantiles": ask_quantiles,
    "decision-tree": ask_decision_tree,
    "random-forest": ask_random_forest,
    "data-shapley": ask_data_shapley,
    "entropy": ask_entropy,
    "mutual-information": ask_mutual_information,
    "synthesize": ask_synthesize,
    "deniable-rows": ask_deniable_rows,
    "functional-mean": ask_functional_mean,
}


def price_plan(
    plan: Plan,
    project: ProjectOption = DEFAULT_PROJECT,
    dataset: DatasetOption = None,
    analyst: AnalystOption = None,
    queries: Annotated[
        int | None, typer.Option(help="Compare ways to answer so many questions like this one.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Show the price of a plan."""
    price = open_session(project, dataset, analyst=analyst).price(plan, queries=queries)
    if json:
        print_json(price.to_json())
    else:
        typer.echo(str(price))


def diagnose_plan(
    plan: Plan, project: ProjectOption = DEFAULT_PROJECT, dataset: DatasetOption = None
) -> None:
    """Show how a plan's answers come out on this table."""
    typer.echo(str(open_session(project, dataset).diagnose(plan)))


def release_plan(
    plan: Plan,
    project: ProjectOption = DEFAULT_PROJECT,
    dataset: DatasetOption = None,
    analyst: AnalystOption = None,
    out: Annotated[Path | None, typer.Option(help="Write the release to this JSON file.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw it into this picture file.")] = None,
    fresh: Annotated[bool, typer.Option(help="Pay for new noise even if it was asked before.")] = False,
    json: JsonOption = False,
) -> None:
    """Release a plan and show the answer."""
    session = open_session(project, dataset, analyst=analyst)
    try:
        release = session.release(plan, fresh=fresh)
    except SettlementFailed as failed:
        keep_answer(failed, Path(".") if out is None else out.parent, json)
        raise
    except KeyboardInterrupt as interrupt:
        typer.echo(str(interrupt) or "Interrupted.", err=True)
        raise typer.Exit(130) from None
    if out is not None:
        release.save(out)
    if plot is not None:
        draw(release, plot)
    if json:
        print_json(release.to_json())
    else:
        frame = release.value.to_frame()
        shown = frame if frame.index.name is None else frame.reset_index()
        typer.echo(shown.to_string(index=False))
        typer.echo(f"\n{release.guarantee}\nleft: {session.remaining}")


def keep_answer(failed: SettlementFailed, folder: Path, json: bool) -> None:
    """Print an answer that the ledger did not store, and write it where it can be stored from."""
    if not json:
        typer.echo(failed.release.value.to_frame().to_string(index=False))
        typer.echo(f"\n{failed.release.guarantee}")
    try:
        kept = failed.save(folder / f"unsettled-{failed.reservation.id}.json")
        typer.echo(f"Store the answer later with: discreet budget settle {kept}", err=True)
    except ReleaseError as error:  # a full disk may be why the ledger failed
        typer.echo(f"The answer is above and nowhere else. {error}", err=True)


def draw(release: Release, path: Path) -> None:
    """Draw a release into a file, without a screen."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    release.plot(figure.add_subplot())
    figure.savefig(path, dpi=150)


def add_question(name: str, ask: Callable[..., Plan]) -> None:
    """Add one question to all applications."""
    asked = ((price_app, price_plan), (diagnose_app, diagnose_plan), (release_app, release_plan))
    for app, act in asked:
        app.command(name)(_joined(ask, act))


def _joined(ask: Callable[..., Plan], act: Callable[..., None]) -> Callable[..., None]:
    """Return a command that has the options of the question and of the action."""
    own = inspect.signature(ask, eval_str=True).parameters
    shared = dict(list(inspect.signature(act, eval_str=True).parameters.items())[1:])

    def command(**values: Any) -> None:
        act(ask(**{name: values[name] for name in own}), **{name: values[name] for name in shared})

    parameters = [
        p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in (*own.values(), *shared.values())
    ]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    command.__doc__ = ask.__doc__
    return command


for _name, _ask in QUESTIONS.items():
    add_question(_name, _ask)
