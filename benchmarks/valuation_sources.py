"""What sources are worth: are private Shapley values of vendors and groups near the exact ones?

Adult from the folder that DISCREET_DATA names; epsilon = 1, delta = 1e-6, replace-one, 1,000 public
test rows. Sources: eight vendors whose labels are flipped in 0 to 45 % of their records, the 6 values
of ``relationship``, the 12 commonest of ``occupation``. *Ratio* is the root mean square error of the
values over the spread of the exact ones in the same game (below .5 they can be used), *rank* Spearman's
correlation with them, *held* how many bands held, *told* the error as a share of what it is compared
with in the price, before anything is paid.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

import discreet as dc
from benchmarks.harness import print_table, save_results
from benchmarks.valuation_tasks import folder
from discreet.audit.hunting.runs import SimulatedReleaser
from discreet.data import PrivateTable
from discreet.plans import Setting
from discreet.value.sources.game import SourceGame
from discreet.value.sources.result import SourceCells, SourceValues, as_test

NUMBERS = {
    "age": dc.Number(17, 90, step=1, missing=False),
    "education-num": dc.Number(1, 16, step=1, missing=False),
    "hours-per-week": dc.Number(1, 99, step=1, missing=False),
}
CATEGORIES = ("workclass", "marital-status", "occupation", "relationship", "race", "sex")
SOURCES = ("vendor", "relationship", "occupation")
PUBLISHED = {("vendor", 1_000): 1.50, ("vendor", 20_000): 0.26, ("relationship", 1_000): 0.76}
PUBLISHED |= {("relationship", 20_000): 0.49, ("occupation", 1_000): 1.18, ("occupation", 20_000): 0.39}
"""The ratios of the study that chose this design, with columns and cells of its own."""

VENDORS, MOST_FLIPPED, COMMONEST, TEST = 8, 0.45, 12, 1_000


def main() -> None:
    """Value the sources at every size and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="vendors alone, few releases")
    options = parser.parse_args()
    if folder() is None:
        raise SystemExit("Set DISCREET_DATA to the folder with Adult.")
    sources, draws = (("vendor",), 5) if options.quick else (SOURCES, 12)
    rows = [measure(source, n, draws) for source in sources for n in (1_000, 5_000, 20_000)]
    print_table("values of sources on Adult, epsilon = 1, delta = 1e-6", rows)
    summary = {f"{row['source']} n={row['n']}": round(row["ratio"], 2) for row in rows}
    save_results("valuation_sources", rows, summary)


def load(source: str, n: int, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame, dc.Schema]:
    """Return records, public test rows and the schema of a task."""
    path = folder()
    assert path is not None
    raw = pd.read_csv(path / "adult_full.csv", skipinitialspace=True)
    raw["income"] = raw["income"].str.contains(">50K").astype(int)
    draw = np.random.default_rng(seed)
    vendor = draw.integers(0, VENDORS, len(raw))
    columns: dict[str, dc.Number | dc.Category] = dict(NUMBERS)
    for name in CATEGORIES:  # the public codebook's; here read from the whole public file
        known = raw[name].value_counts().index[: COMMONEST if name == "occupation" else None]
        columns[name] = dc.Category(*map(str, known), missing=False)
    columns["vendor"] = dc.Category(
        *(f"vendor {i}" for i in range(VENDORS)), missing=False, other=False
    )
    columns["income"] = dc.Category(0, 1, missing=False, other=False)
    schema = dc.Schema(columns, target="income")
    raw["vendor"] = [f"vendor {i}" for i in vendor]
    order = draw.permutation(len(raw))
    train, test = raw.iloc[order[:n]].copy(), raw.iloc[order[-TEST:]]
    if source == "vendor":
        flipped = draw.random(n) < np.linspace(0, MOST_FLIPPED, VENDORS)[vendor[order[:n]]]
        train["income"] = np.where(flipped, 1 - train["income"], train["income"])
    return train[list(columns)], test[list(columns)], schema


def measure(source: str, n: int, draws: int) -> dict[str, Any]:
    """Return one row: how good releases of one task are."""
    train, test, schema = load(source, n)
    features = None if source == "vendor" else [c for c in (*NUMBERS, *CATEGORIES) if c != source]
    terms: dict[str, Any] = {"test": test, "features": features and features[:6]}
    setting, table = Setting(schema, "replace-one", n), PrivateTable(train, schema)
    program = dc.source_values(source, **terms, epsilon=1.0, delta=1e-6).prepare(setting)
    exactly = dc.source_values(source, **terms, epsilon=1e7).prepare(setting)
    raw = exactly.finish(SimulatedReleaser(table, 0))
    start = time.perf_counter()
    found = [program.finish(SimulatedReleaser(table, seed)) for seed in range(draws)]
    spent = (time.perf_counter() - start) / draws
    assert isinstance(raw, SourceValues) and all(isinstance(each, SourceValues) for each in found)
    exact = exact_values(raw, found[0])  # type: ignore[arg-type]
    values = np.array([each.values for each in found])  # type: ignore[attr-defined]
    held = [(each.low <= exact) & (exact <= each.high) for each in found]  # type: ignore[attr-defined]
    return {
        "source": source,
        "n": n,
        "sources": len(exact),
        "ratio": float(np.sqrt(np.mean((values - exact) ** 2)) / exact.std()),
        "published": PUBLISHED.get((source, n)),
        "rank": float(np.mean([spearmanr(exact, each)[0] for each in values])),
        "held": float(np.mean(held)),
        "told": program.expected_error["value"].relative(),
        "seconds": spent,
    }


def exact_values(raw: SourceValues, like: SourceValues) -> np.ndarray:
    """Return the values of exact counts with the smoothing of a release."""
    cells = SourceCells.of(raw._cells.schema, like.source, like.features, like.bins)
    game = SourceGame(cells.layout, as_test(like.test), like.score, like.noise_std)
    return game.values(np.rint(raw.counts))


if __name__ == "__main__":
    main()
