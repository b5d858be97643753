"""Attacks over epsilon: on exact answers, on published noise, on ours, each beside its ceiling.

Records are made-up loans; the record under attack and what stands in its place are as far apart as the
schema allows. ``figure 7`` repeats the attacks of Ma, Wu and Yan (2026) on a histogram: a logistic
regression on its entropy and total, and the nearer of two candidate histograms. Their noise of scale
1/epsilon is ours where a record is removed, and half of ours where one is replaced.

An attack is *above* (marked !) if the sure part of any of its figures (accuracy, area under the curve,
true positives) exceeds the ceiling of the epsilon that was claimed, corrected for all attacks made.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks import attacks_background
from benchmarks.harness import print_table, save_results
from benchmarks.tables_columns import Column, even_column, real_columns
from discreet.audit.attacks import scenes
from discreet.audit.attacks.attributes import attack_attribute, attribute_tables
from discreet.audit.attacks.ceiling import NOTHING_PROMISED, Ceiling
from discreet.audit.attacks.difference import attack_repeats, difference_target
from discreet.audit.attacks.linkage import attack_linkage, linkage
from discreet.audit.attacks.membership import attack_membership
from discreet.audit.attacks.scoring import AttackResult, score_attack
from discreet.audit.attacks.targets import Target, exact_target, sums_target
from discreet.plans import Plan
from discreet.tables.histogram.plan import histogram
from discreet.value.plan import data_shapley

Rows = list[dict[str, Any]]

EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0, math.inf)
_AT_ONCE = 400
"""Attacks that share the doubt; no run makes more."""

_NEVER_SEEN = 1e6
"""An epsilon whose noise rounds to nothing: rows from exact tables."""

NAIVE = "1/epsilon under replacement"


def row_of(result: AttackResult, epsilon: float, noise: str = "ours") -> dict[str, Any]:
    """Return an attack's figures as a flat row."""
    row: dict[str, Any] = {
        "attack": result.attack,
        "target": result.target.replace("exact ", ""),
        "noise": noise if math.isfinite(epsilon) else "none",
        "epsilon": epsilon if math.isfinite(epsilon) else "exact",
    }
    names = {"accuracy": "accuracy", "auc": "auc", "tpr at 1 % fpr": "tpr"}
    for name, short in names.items():
        rate, roof = result.rates.get(name, (None, None))
        row[short] = None if rate is None else rate.value
        if short == "accuracy" and rate is not None:
            row |= {"low": rate.low, "high": rate.high}
        row[f"{short} ceiling"] = roof
    return row | {"trials": result.accuracy.trials, "above": result.beats(attacks=_AT_ONCE)}


def membership(trials: int) -> Rows:
    """Attack noisy sums by their likelihood ratio, exact ones by a threshold."""
    plans = scenes.PLANS | {"layered valuation": _layered}
    tables = scenes.neighbours()
    rows = []
    for name, plan in plans.items():
        for epsilon in EPSILONS:
            if math.isinf(epsilon):
                target = exact_target(plan(1.0), tables, scenes.SCHEMA, name=name)
                rows.append(row_of(attack_membership(target, attack="threshold", trials=200), epsilon))
                continue
            target = sums_target(plan(epsilon), tables, scenes.SCHEMA, name=name)
            rows.append(row_of(attack_membership(target, trials=trials), epsilon))
    return rows


def _layered(epsilon: float) -> Plan:
    """Return the values of three records, by refits of a logistic regression."""
    import pandas as pd
    from sklearn.linear_model import LogisticRegression

    test = pd.DataFrame([scenes.extreme("low"), scenes.extreme("high")])
    return data_shapley(
        LogisticRegression(),
        test=test,
        records=[0, 1, scenes.ROWS],
        audience="public",
        rounds=1,
        epsilon=epsilon,
    )


def learned(trials: int) -> Rows:
    """Attack whole results by what a threshold learned: synthetic rows."""
    rows = []
    for epsilon in EPSILONS:
        used = min(epsilon, _NEVER_SEEN)
        found = attack_membership(scenes.synthetic_scene(used), attack="threshold", trials=trials)
        rows.append(row_of(_unpromised(found, epsilon), epsilon))
    return rows


def links(trials: int) -> Rows:
    """Link candidates to a histogram by their likelihood, to synthetic rows by the nearest."""
    tables, plan = scenes.candidate_tables(), histogram(scenes.CELLS, epsilon=1.0)
    rows = [
        row_of(attack_linkage(scenes.linkage_scene(e), trials=20 * trials), e) for e in EPSILONS[:-1]
    ]
    exact = exact_target(plan, tables, scenes.SCHEMA, name="histogram of two columns")
    rows.append(row_of(attack_linkage(exact, trials=trials, guess=_seen(exact)), math.inf))
    guess = scenes.nearest_candidate()
    for epsilon in EPSILONS[:-1]:
        found = attack_linkage(scenes.rows_scene(epsilon), trials=trials, guess=guess)
        rows.append(row_of(found, epsilon))
    held = [scenes.table_with(record) for record in scenes.candidates().to_dict("records")]
    bare = linkage(_published, held, guess, ceiling=NOTHING_PROMISED, trials=trials)
    return [*rows, row_of(replace(bare, target="synthetic rows"), math.inf)]


def _published(table: Any, seed: int) -> Any:
    """Return the rows themselves, shuffled: a table without names."""
    return table[scenes.WIDE].sample(frac=1.0, random_state=seed).to_numpy(dtype=float)


def _seen(exact: Target) -> Callable[[Any], int]:
    """Return the guess that knows every candidate's exact answer."""
    known = [exact.draw(which, 1, 0)[0] for which in range(exact.tables)]
    return lambda output: int(np.argmin([np.abs(output - one).sum() for one in known]))


def attributes(trials: int) -> Rows:
    """Guess a value of a known record from a histogram and from SHAP values."""
    purposes = attribute_tables(scenes.neighbours()[0], scenes.SCHEMA, "purpose")
    cases = {
        "purpose": ("histogram", lambda e: histogram(scenes.CELLS, epsilon=e), purposes),
        "late_payments": ("SHAP values", scenes.late_plan, scenes.late_tables()),
    }
    rows = []
    for column, (name, plan, tables) in cases.items():
        for epsilon in EPSILONS[:-1]:
            target = sums_target(plan(epsilon), tables, scenes.SCHEMA, name=name)
            rows.append(row_of(attack_attribute(target, column=column, trials=trials), epsilon))
        exact = exact_target(plan(1.0), tables, scenes.SCHEMA, name=name)
        found = attack_attribute(exact, column=column, trials=200, guess=_seen(exact))
        rows.append(row_of(found, math.inf))
    return rows


def differences(trials: int) -> Rows:
    """Subtract overlapping histograms; take ten stored or fresh answers together."""
    rest, relation = [scenes.others()] * 2, "add-remove"
    rows = []
    for epsilon in EPSILONS[:-1]:
        whole = scenes.sums_scene("histogram", epsilon, relation)
        part = sums_target(scenes.PLANS["histogram"](epsilon), rest, scenes.SCHEMA, relation)
        apart = difference_target(whole, part)
        rows.append(row_of(attack_membership(apart, attack="threshold", trials=trials), epsilon))
        for fresh in (False, True):
            rows.append(row_of(attack_repeats(whole, times=10, fresh=fresh, trials=trials), epsilon))
    plan, tables = scenes.PLANS["histogram"](1.0), scenes.neighbours(relation)
    bare = difference_target(
        exact_target(plan, tables, scenes.SCHEMA, relation),
        exact_target(plan, rest, scenes.SCHEMA, relation),
    )
    return [*rows, row_of(attack_membership(bare, attack="threshold", trials=200), math.inf)]


def figure_7(trials: int) -> Rows:
    """Repeat the published attacks beside the likelihood ratio, on published noise and on ours."""
    column = next((c for c in real_columns() if c.name == "adult age"), even_column()).sample(1_000)
    rows = []
    for epsilon in EPSILONS[:-1]:
        for noise, target in _figure_7_targets(column, epsilon):
            here, gone = target.draw(0, trials, 1), target.draw(1, trials, 2)
            for found in (
                _on_entropy(here, gone, target),
                _nearer(here, gone, target),
                attack_membership(target, trials=trials),
            ):
                rows.append(row_of(found, epsilon, noise))
    tables, plan, name = _figure_7_tables(column), histogram("x", bins=30, epsilon=1.0), _name(column)
    exact = exact_target(plan, tables, column.schema, name=name)
    return [*rows, row_of(attack_membership(exact, attack="threshold", trials=200), math.inf)]


def _figure_7_targets(column: Column, epsilon: float) -> Iterator[tuple[str, Target]]:
    """Yield histograms of 30 bins with our noise and with the published one."""
    tables, plan, name = (
        _figure_7_tables(column),
        histogram("x", bins=30, epsilon=epsilon),
        _name(column),
    )
    yield "ours", sums_target(plan, tables, column.schema, name=name)
    naive = sums_target(plan, tables, column.schema, "add-remove", name=name)
    yield NAIVE, naive.under(Ceiling(epsilon))
    apart = [tables[0], tables[0].iloc[:-1]]
    yield "ours, removed", sums_target(plan, apart, column.schema, "add-remove", name=name)


def _figure_7_tables(column: Column) -> list[Any]:
    """Return neighbours: one record is the least or the greatest there is."""
    import pandas as pd

    ends = (column.high, column.low)
    return [pd.DataFrame({"x": np.append(column.values[1:], end)}) for end in ends]


def _name(column: Column) -> str:
    return f"histogram of {column.name}"


def _on_entropy(here: Any, gone: Any, target: Target) -> AttackResult:
    """Learn from entropy and total of half the releases, by a logistic regression."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    def features(counts: Any) -> Any:
        shares = np.maximum(counts, 0.0)
        shares /= shares.sum(axis=1, keepdims=True)
        logs = np.log(np.where(shares > 0, shares, 1.0))
        return np.column_stack([-(shares * logs).sum(axis=1), counts.sum(axis=1)])

    half = len(here) // 2
    model = make_pipeline(StandardScaler(), LogisticRegression())
    model.fit(features(np.vstack([here[:half], gone[:half]])), np.repeat([1, 0], half))
    scores = [model.decision_function(features(part[half:])) for part in (here, gone)]
    return score_attack(*scores, target.ceiling, attack="entropy and total", target=target.name)


def _nearer(here: Any, gone: Any, target: Target) -> AttackResult:
    """Take the candidate whose expected release is nearer in L2."""
    ends = target.draw(0, 20_000, 3).mean(axis=0), target.draw(1, 20_000, 4).mean(axis=0)
    move, middle = np.rint(ends[0] - ends[1]), (ends[0] + ends[1]) / 2
    scores = [(part - middle) @ move for part in (here, gone)]
    return score_attack(
        *scores, target.ceiling, attack="nearer in L2", target=target.name, threshold=0.0
    )


def _unpromised(found: AttackResult, epsilon: float) -> AttackResult:
    """Return an attack on rows whose noise is never seen, with the ceiling of none."""
    return found if math.isfinite(epsilon) else replace(found, ceiling=NOTHING_PROMISED)


PARTS: dict[str, Callable[[bool], Rows]] = {
    # name: the part, given whether it must be quick
    "membership": lambda quick: membership(1_000 if quick else 20_000),
    "learned membership": lambda quick: learned(100 if quick else 1_000),
    "linkage": lambda quick: links(60 if quick else 600),
    "attributes": lambda quick: attributes(2_000 if quick else 20_000),
    "differences": lambda quick: differences(2_000 if quick else 20_000),
    "figure 7": lambda quick: figure_7(2_000 if quick else 20_000),
    "backgrounds": attacks_background.rows,
}


def main() -> None:
    """Run all parts, or some of them, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer trials")
    parser.add_argument("--only", nargs="*", help="names of parts")
    options = parser.parse_args()
    rows: Rows = []
    for name, part in PARTS.items():
        if options.only and name not in options.only:
            continue
        found = part(options.quick)
        for table in _tables(found):
            print_table(name, table)
        rows += [{"part": name, **row} for row in found]
    save_results("attacks", rows, summarise(rows))


def _tables(rows: Rows) -> list[Rows]:
    """Return rows over epsilon, or, of modules that tell other figures, rows of one kind together."""
    if all("accuracy ceiling" in row for row in rows):
        return [over_epsilon(rows)]
    kinds: dict[tuple[str, ...], Rows] = {}
    for row in rows:
        kinds.setdefault(tuple(row), []).append(row)
    return list(kinds.values())


def over_epsilon(rows: Rows) -> Rows:
    """Return accuracies with a column per epsilon, every ceiling below the attacks that it is for."""
    exact = {row["target"]: row["accuracy"] for row in rows if row["epsilon"] == "exact"}
    lines: dict[tuple[str, ...], tuple[dict[str, Any], dict[str, Any]]] = {}
    for row in rows:
        if row["epsilon"] == "exact":
            continue
        place = {name: row[name] for name in ("attack", "target", "noise")}
        empty = ({**place}, {"attack": "ceiling", "target": "", "noise": ""})
        line, roof = lines.setdefault(tuple(place.values()), empty)
        column, mark = f"{row['epsilon']:g}", "!" if row["above"] else ""
        line[column], roof[column] = f"{row['accuracy']:.3f}{mark}", f"{row['accuracy ceiling']:.3f}"
    groups: dict[tuple[str, ...], Rows] = {}
    for line, roof in lines.values():
        line["exact"] = f"{exact[line['target']]:.3f}" if line["target"] in exact else ""
        roof["exact"] = ""
        groups.setdefault(tuple(roof.values()), []).append(line)
    names = tuple(next(iter(lines.values()))[1])
    return [
        one for roof, group in groups.items() for one in (*group, dict(zip(names, roof, strict=True)))
    ]


def summarise(rows: Rows) -> dict[str, Any]:
    """Return how many attacks were made and which were above a ceiling; ours must not be."""
    above = [row.get("noise", row["target"]) for row in rows if row.get("above")]
    summary: dict[str, Any] = {
        "attacks": len(rows),
        "above a ceiling of ours": sum(whose.startswith("ours") for whose in above),
        "above a ceiling that others claim": sum(not whose.startswith("ours") for whose in above),
    }
    for name, value in summary.items():
        print(f"{name}: {value}")
    return summary


if __name__ == "__main__":
    main()
