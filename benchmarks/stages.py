"""What plans of several stages gain by being priced together, from public facts alone.

For every plan, at an epsilon and a delta: stages that are each promised by themselves are answered at
the plan's own epsilon; together they keep it at a larger one. Told are that epsilon, and how far the
answer will be off beside the same plan with promises that are added. Plans that share one rho among
their stages themselves stand beside the same plan at the epsilon at which the promises of its stages,
each with an equal part of delta, add up to what was asked for.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import discreet as dc
from benchmarks.harness import print_table, save_results
from discreet.plans import Plan, Program, Setting
from discreet.plans.persons import ready
from discreet.privacy.accounting.joint import joint_epsilon
from discreet.session.together import error_of, ready_together, rounded

ROWS, DELTA = 20_000, 1e-6
_TRIES = 4
"""After so many the promises add up to what was asked for, to a part in a hundred."""


def main() -> None:
    """Price every plan both ways, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one epsilon and one relation")
    options = parser.parse_args()
    relations = ("replace-one",) if options.quick else ("replace-one", "add-remove")
    epsilons = (1.0,) if options.quick else (0.1, 1.0, 5.0)
    rows = [
        priced(plan, relation)
        for relation in relations
        for epsilon in epsilons
        for plan in plans(epsilon)
    ]
    print_table("stages priced together", rows)
    save_results("stages", rows, {"plans that gain": sum(row["error"] < 0.99 for row in rows)})


def plans(epsilon: float) -> Iterator[Plan]:
    """Return plans of several stages, as they are asked if nothing else is said."""
    model, promise = _model(), {"epsilon": epsilon, "delta": DELTA}
    loans = dc.samples.loans(20)
    columns = ["age", "income", "loan"]
    yield dc.background(**promise)
    yield dc.random_forest("defaulted", **promise)
    yield dc.decision_tree("defaulted", **promise)
    yield dc.evaluate(model, bins=16, **promise)
    yield dc.partial_dependence(model, "age", **promise)
    yield dc.partial_dependence(model, "age", rug=True, **promise)
    yield dc.accumulated_effects(model, "age", **promise)
    yield dc.permutation_importance(model, sampling="marginal", **promise)
    yield dc.shap_importance(model, background=loans, **promise)
    yield dc.shap_dependence(model, "late_payments", background=loans, **promise)
    yield dc.model_card(model, **promise)
    yield dc.functional_mean(columns, **promise)
    yield dc.variance("income", clip="auto", **promise)
    yield dc.synthesize(**promise)
    yield dc.additive_model("defaulted", **promise)
    yield dc.fit("defaulted", choose="held-out", **promise)


def _model() -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    loans = dc.samples.loans(2_000)
    features = loans[["age", "income", "late_payments"]]
    return make_pipeline(StandardScaler(), LogisticRegression()).fit(features, loans["defaulted"])


def priced(plan: Plan, relation: str) -> dict[str, Any]:
    """Return a plan's epsilon and error with stages together, beside those with stages alone."""
    setting = Setting(dc.samples.loan_schema(), relation, ROWS if relation == "replace-one" else None)
    alone = added(plan, setting)
    by, together = ready_together(plan, setting)
    return {
        "plan": plan.plan_name,
        "relation": relation,
        "epsilon": plan.epsilon,
        "events": len(together.events),
        "answered at": by.epsilon,
        "error": error_of(together) / error_of(alone),
    }


def added(plan: Plan, setting: Setting) -> Program:
    """Return a plan with stages whose promises add up to its own."""
    asked, program = plan, ready(plan, setting)
    for _ in range(_TRIES if program.joint else 0):
        stages = [stage for stage in program.stages if stage.events]
        sums = sum(joint_epsilon(stage.events, plan.delta / len(stages)) for stage in stages)
        asked = asked.paid(epsilon=rounded(asked.epsilon * plan.epsilon / sums), delta=plan.delta)
        program = ready(asked, setting)
    return program


if __name__ == "__main__":
    main()
