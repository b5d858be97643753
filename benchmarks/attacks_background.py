"""Attacks on what explanations and models tell of rows: reconstruction, fingerprints, shadow models.

``rows(quick)`` returns flat rows for ``benchmarks.attacks``: what was attacked (exact answers, a
published mechanism, ours), how often the attack was right with its 95 % interval, and the ceiling.

Table 8 of Alissaiei (2026) is redone as far as its description goes: normal records with a planted sign
per column, an MLP of 32 tanh units, K = 400 coalitions, the published sizes of noise. Which query was
explained, which target the MLP learned and which table gave the baseline are not said.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np

from benchmarks.shap_tasks import fit, load, paper_masks
from discreet.audit.attacks.ceiling import NOTHING_PROMISED, Ceiling
from discreet.audit.attacks.scoring import DOUBT, AttackResult, Rate
from discreet.audit.attacks.simulated import backgrounds, reconstruction, shadow
from discreet.audit.attacks.simulated import fingerprinting as marks
from discreet.audit.attacks.simulated.encoded import EncodedTable, noisy_sums, prepared
from discreet.audit.attacks.verdict import ATTACKS
from discreet.engines.shapley.bootstrap import BootstrapSensitivity, bootstrap_sensitivity
from discreet.engines.shapley.kernel import kernel_values
from discreet.explain.shap.background import background
from discreet.explain.shap.values import shap_values
from discreet.models import LinearForm, Model
from discreet.randomness import SimulatedNoise, public_generator
from discreet.schema import FloatArray, Number, Schema

Rows = list[dict[str, Any]]

PUBLISHED_8 = {
    0.25: (0.503, 0.514),
    0.5: (0.503, 0.524),
    1.0: (0.504, 0.545),
    2.0: (0.510, 0.552),
    4.0: (0.520, 0.560),
    8.0: (0.540, 0.574),
    16.0: (0.559, 0.578),
}
"""Accuracy of the published attack on Mechanisms A and B, by epsilon; 0.579 without noise."""

SIGMA_A, SIGMA_B = 9.22, 0.79
"""Published noise of the MLP at epsilon 1 (Tables 15 and 8); it falls with one over epsilon."""

DELTA = 1e-5
COLUMNS, RECORDS = 20, 100


def rows(quick: bool) -> Rows:
    """Return all rows."""
    return [
        *reconstruction_rows(quick),
        *tracing_rows(quick),
        *table_8_rows(quick),
        *shadow_rows(quick),
    ]


def reconstruction_rows(quick: bool) -> Rows:
    """Return what is found of queries, of one record and of all records of a background."""
    known, queries, trials = (600, 200, 300) if quick else (5_000, 2_000, 5_000)
    return [
        *_query_rows(known, queries, quick),
        *_record_rows(trials, quick),
        *_background_rows(5 if quick else 40, quick),
    ]


def _query_rows(known: int, queries: int, quick: bool) -> Rows:
    size = {"known": known, "queries": queries}
    noisy = published_query_noise(1.0)
    found = [
        ("exact", "none", reconstruction.reconstruct_queries(**size)),
        (
            f"Mechanism B (sigma {noisy:.2f}), protects the background",
            1.0,
            reconstruction.reconstruct_queries(noise_std=noisy, **size),
        ),
    ]
    found += [
        ("ours", epsilon, reconstruction.reconstruct_queries(epsilon=epsilon, **size))
        for epsilon in ((1.0, 4.0) if quick else (0.5, 1.0, 2.0, 4.0, 8.0, 16.0))
    ]
    return [
        _row("query from SHAP values", target, epsilon, one.within, one.limit, one.blind)
        | {"mean error": one.error[0], "blind error": one.blind_error}
        for target, epsilon, one in found
    ]


def published_query_noise(epsilon: float) -> float:
    """Return the noise of Algorithm 1 on the values of a query of the same model and background."""
    setting = reconstruction.ExplainedQueries()
    weights = np.array(reconstruction.WEIGHTS[: setting.columns])
    form = LinearForm(weights, -0.5 * float(weights.sum()), True)
    masks = paper_masks(setting.columns, 400)
    (query,) = setting.draw(1, 3)
    swaps = bootstrap_sensitivity(form, query, setting.public_rows(), masks, greatest=1.0)
    return swaps.noise_scale(epsilon, DELTA)


def _record_rows(trials: int, quick: bool) -> Rows:
    found: Rows = []
    for released, told in (("values", "SHAP values"), ("background", "paid-once background")):
        for epsilon in (None, 1.0, *(() if quick else (0.5, 2.0, 4.0, 8.0))):
            one = backgrounds.guess_record(released=released, epsilon=epsilon, trials=trials)
            target = "exact" if epsilon is None else "ours"
            attack = f"one record behind {told}"
            found.append(_attack_row(attack, target, epsilon, one) | {"blind": 1 / one.candidates})
    return found


def _background_rows(trials: int, quick: bool) -> Rows:
    found: Rows = []
    for epsilon in (None, 1.0, *(() if quick else (10.0, 1_000.0))):
        shares, blind = backgrounds.reconstruct_background(epsilon=epsilon, trials=trials)
        records = Rate(float(shares.sum() * 8), 8 * trials)
        target = "exact" if epsilon is None else "ours"
        found.append(_row("all 8 records by least squares", target, epsilon, records, 1.0, blind))
    return found


def tracing_rows(quick: bool) -> Rows:
    """Return how well records are traced by means, over n, d and epsilon."""
    trials = 300 if quick else 1_000
    sizes = ((8, 60),) if quick else ((8, 60), (20, 100), (100, 20))
    found: Rows = []
    for n, d in sizes:
        releases = [(None, "exact", marks.exact_means, NOTHING_PROMISED)]
        for epsilon in (1.0,) if quick else (0.5, 1.0, 4.0, 16.0):
            releases += [(epsilon, *release) for release in _traced(n, d, epsilon)]
        for epsilon, target, release, ceiling in releases:
            one = marks.trace_records(
                release, rows=n, columns=d, ceiling=ceiling, target=target, trials=trials
            )
            row = _attack_row(f"fingerprint, n={n}, d={d}", target, epsilon, one)
            found.append(row | {"blind": 0.5, "auc": one.auc.value})
    return found


def _traced(n: int, d: int, epsilon: float) -> Iterable[tuple[str, marks.Means, Ceiling]]:
    promise, with_delta = Ceiling(epsilon), Ceiling(epsilon, DELTA)
    noisy = marks.gaussian_means(published_mean_noise(n, d, epsilon))
    return [
        ("Mechanism B", noisy, with_delta),
        ("ours: background", marks.background_means(n, d, epsilon=epsilon), promise),
        ("ours: SHAP values", marks.shap_means(n, d, epsilon=epsilon), promise),
        (
            "ours: background, delta",
            marks.background_means(n, d, epsilon=epsilon, delta=DELTA),
            with_delta,
        ),
    ]


def published_mean_noise(n: int, d: int, epsilon: float) -> float:
    """Return the noise on a mean that Algorithm 1's noise on a linear model's values comes to."""
    return _swaps(n, d).noise_scale(epsilon, DELTA) * d


@cache
def _swaps(n: int, d: int) -> BootstrapSensitivity:
    """Return what Algorithm 1 sees of one table of signs, explained by equal weights."""
    table = public_generator(n + d).choice([-1.0, 1.0], (n, d))
    form = LinearForm(np.full(d, 1.0 / d), 0.0, False)
    masks = paper_masks(d, 400)
    greatest = 2.0 / np.sqrt(d) / n
    return bootstrap_sensitivity(form, np.zeros(d), table, masks, greatest=greatest, resamples=50)


def table_8_rows(quick: bool) -> Rows:
    """Return Table 8: signs read off attributions, by the published estimator and by a better one."""
    planted = marks.plant_secrets(20 if quick else 200, rows=RECORDS, columns=COLUMNS, seed=1)
    learned = marks.plant_secrets(20 if quick else 200, rows=RECORDS, columns=COLUMNS, seed=2)
    found: Rows = []
    for query in range(1 if quick else 5):  # which one was explained is not published
        exact, baseline = (
            _at_the_mean(tables, query) for tables in (planted.tables, np.zeros((1, 1, COLUMNS)))
        )
        direction = _direction(learned, _at_the_mean(learned.tables, query) - baseline)
        told = "exact" if quick else f"exact, query {query}"
        found.append(_secret_row(told, "none", planted, exact, baseline, direction, 0.579))
    for epsilon in (1.0,) if quick else PUBLISHED_8:
        for name, sigma, figure in zip("AB", (SIGMA_A, SIGMA_B), PUBLISHED_8[epsilon], strict=True):
            noise = public_generator(int(100 * epsilon)).normal(size=exact.shape)
            noisy = exact + sigma / epsilon * noise
            target = f"Mechanism {name}"
            found.append(_secret_row(target, epsilon, planted, noisy, baseline, direction, figure))
        found += _our_secret_rows(planted, learned, epsilon)
    return found


def _at_the_mean(tables: FloatArray, place: int) -> FloatArray:
    """Return the published attributions of one query: the model at the background's mean."""
    model, masks = fit("synth_gaussian", "MLP"), paper_masks(COLUMNS, 400)
    query = load("synth_gaussian").held_out[place : place + 1]
    values = [kernel_values(model.predictor, query, table, masks, value="mean")[0] for table in tables]
    return np.array(values)


def _direction(planted: marks.Planted, above: FloatArray) -> FloatArray:
    """Return the sign that goes with a column's secret, from tables that the attacker made up."""
    return np.where((above * planted.secrets).mean(axis=0) >= 0, 1.0, -1.0)


def _our_secret_rows(planted: marks.Planted, learned: marks.Planted, epsilon: float) -> Rows:
    """Return the same secrets behind our SHAP values and behind our background of means."""
    schema = Schema({f"column {place}": Number(-3.0, 3.0, missing=False) for place in range(COLUMNS)})
    model = Model(fit("synth_gaussian", "MLP").estimator, bounds=schema)
    query = load("synth_gaussian").held_out[0]
    plans = {
        "ours: SHAP values": shap_values(model, query, coalitions=400, epsilon=epsilon, delta=DELTA),
        "ours: background": background("mean", epsilon=epsilon, delta=DELTA),
    }
    found: Rows = []
    for target, plan in plans.items():
        program = prepared(plan, schema, RECORDS)
        seen, known = (
            noisy_sums(program, tuple(schema), tables, seed) / RECORDS
            for seed, tables in enumerate((planted.tables, learned.tables))
        )
        (stage,) = program.stages
        empty = EncodedTable(tuple(schema), np.zeros((RECORDS, COLUMNS)), SimulatedNoise(0))
        baseline = empty.exact(stage) * stage.noise.step / RECORDS
        direction = _direction(learned, known - baseline)
        found.append(_secret_row(target, epsilon, planted, seen, baseline, direction, None))
    return found


def _secret_row(
    target: str,
    epsilon: Any,
    planted: marks.Planted,
    released: FloatArray,
    baseline: FloatArray,
    direction: FloatArray,
    published: float | None,
) -> dict[str, Any]:
    """Return a row of Table 8. All records carry the secret: a promise for one allows everything."""
    plain = marks.read_secrets(planted, released, baseline)
    informed = marks.read_secrets(planted, released, baseline, direction)
    row = _row("planted signs (Table 8)", target, epsilon, informed, 1.0, 0.5)
    return row | {"published estimator": plain.value, "published": published}


def shadow_rows(quick: bool) -> Rows:
    """Return what shadow models tell of plain and private trees and forests."""
    models = 25 if quick else 100
    learners: list[tuple[str, Any, shadow.Learner]] = [
        ("exact: scikit-learn tree", "none", shadow.plain_tree()),
        ("exact: scikit-learn forest", "none", shadow.plain_forest(3 if quick else 5)),
    ]
    for epsilon in (1.0,) if quick else (0.5, 1.0, 4.0, 16.0):
        learners.append(("ours: tree", epsilon, shadow.private_tree(epsilon=epsilon)))
        learners.append(("ours: forest", epsilon, shadow.private_forest(epsilon=epsilon)))
    found: Rows = []
    for others in ("known",) if quick else ("known", "drawn"):
        for target, epsilon, learner in learners:
            for attack in ("likelihood ratio",) if quick else ("likelihood ratio", "confidence"):
                one = shadow.attack_training(
                    learner, attack=attack, others=others, shadows=models, shown=models
                )
                row = _attack_row(f"shadow, {attack}, {others} rows", target, epsilon, one)
                found.append(row | {"blind": 0.5, "auc": one.auc.value})
    return found


def _attack_row(attack: str, target: str, epsilon: Any, found: AttackResult) -> dict[str, Any]:
    told = "none" if epsilon is None or found.ceiling is NOTHING_PROMISED else epsilon
    return _row(attack, target, told, found.accuracy, found.ceiling.guess(found.candidates))


def _row(
    attack: str, target: str, epsilon: Any, rate: Rate, ceiling: float, blind: float = 0.5
) -> dict[str, Any]:
    return {
        "attack": attack,
        "target": target,
        "epsilon": "none" if epsilon is None else epsilon,
        "right": rate.value,
        "low": rate.low,
        "high": rate.high,
        "ceiling": ceiling,
        "blind": blind,
        "above": rate.at_least(DOUBT / ATTACKS) > ceiling,
    }
