"""Plain statistics by OpenDP and diffprivlib: mean errors over many releases at one true guarantee.

The relation is replace-one. OpenDP counts that as two records of its symmetric distance, and is told
the number of records, which is public. diffprivlib's sums, means, variances and quantiles hold it as
they are; its histogram is for add-remove, so it gets half of epsilon. In groups a record that changes
its group leaves one and enters another: every group gets half of epsilon, and its size is private.

Each peer computes its statistic once; its own noise is then drawn on it again and again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.peers.script import serve

QUANTILES = {"median": 0.5, "quantile 0.9": 0.9}
GROUPED = " by group"
CANDIDATES = 1_025


def answer(
    arrays: dict[str, Any], columns: dict[str, dict[str, Any]], epsilons: list[float], draws: int
) -> list[dict[str, Any]]:
    """Return a row per peer, column, statistic and epsilon: the mean error and its standard error.

    Args:
      arrays: the values of columns by name; their groups, as numbers from 0, by ``<name> by``.
      columns: what is public of them: ``low``, ``high``, ``step``, the number of
        ``groups`` and the ``edges`` of cells.
      epsilons: budgets of one release each.
      draws: releases.
    """
    rows = []
    for name, facts in columns.items():
        told = Told(arrays[name], arrays[f"{name} by"], **facts)
        for peer in (OpenDP(told, draws), Diffprivlib(told, draws)):
            for statistic, released in peer.statistics().items():
                for epsilon in epsilons:
                    row = {"peer": peer.name, "column": name, "epsilon": epsilon}
                    rows += [row | found for found in told.errors(statistic, released(epsilon))]
    return rows


@dataclass(frozen=True)
class Told:
    """What is asked of one column, and the exact answers."""

    values: Any
    by: Any
    low: float
    high: float
    step: float | None
    groups: int
    edges: list[float]

    @property
    def rows(self) -> int:
        """The public number of records."""
        return len(self.values)

    @property
    def candidates(self) -> Any:
        """Values to choose a quantile from: the step grid, if there is one, else an even one."""
        points = CANDIDATES if self.step is None else round((self.high - self.low) / self.step) + 1
        return np.linspace(self.low, self.high, points)

    def parts(self) -> list[Any]:
        """The values of every group."""
        return [self.values[self.by == group] for group in range(self.groups)]

    @property
    def middle(self) -> float:
        """The middle of the bounds: records above it are counted, variances are measured from it."""
        return (self.low + self.high) / 2

    @property
    def half(self) -> float:
        """Half the width of the bounds."""
        return (self.high - self.low) / 2

    def exact(self, statistic: str) -> Any:
        """Return what would be released without noise."""
        if statistic == "count above the middle":
            return np.array([np.sum(self.values > self.middle)])
        plain: dict[str, Callable[[Any], Any]] = {
            "count": len,
            "sum": np.sum,
            "mean": lambda part: part.mean() if len(part) else 0.0,
            "variance": np.var,
            "histogram": lambda part: np.histogram(part, self.edges)[0],
        }
        plain |= {
            name: lambda part, q=level: np.quantile(part, q, method="inverted_cdf")
            for name, level in QUANTILES.items()
        }
        asked = plain[statistic.removesuffix(GROUPED)]
        return np.ravel([asked(part) for part in self._asked(statistic)])

    def _asked(self, statistic: str) -> list[Any]:
        return self.parts() if statistic.endswith(GROUPED) else [self.values]

    def errors(self, statistic: str, answers: Any) -> list[dict[str, Any]]:
        """Return rows of the mean error of answers, and its standard error; of quantiles in two ways.

        Who gives no answer is as far off as can be.
        """
        exact = self.exact(statistic)
        answers = np.reshape(answers, (len(answers), np.size(exact)))
        level = QUANTILES.get(statistic.removesuffix(GROUPED))
        if level is None:
            return [_mean_error(statistic, np.abs(answers - exact).mean(axis=1))]
        if self.step is not None:
            answers = self.low + self.step * np.rint((answers - self.low) / self.step)
        pairs = zip(self._asked(statistic), answers.T, strict=True)
        ranks = np.mean([_ranks_off(part, level, own) for part, own in pairs], axis=0)
        return [
            _mean_error(f"{statistic}, ranks", ranks),
            _mean_error(f"{statistic}, values", np.abs(answers - exact).mean(axis=1)),
        ]


def _ranks_off(values: Any, level: float, answers: Any) -> Any:
    """Return by how many records answers are off the rank of a quantile."""
    ordered, wanted = np.sort(values), level * len(values)
    low, high = (np.searchsorted(ordered, answers, side=side) for side in ("left", "right"))
    return np.maximum(0, np.maximum(wanted - high, low - wanted))


def _mean_error(statistic: str, errors: Any) -> dict[str, Any]:
    if len(errors) == 0:
        return {"statistic": statistic, "error": float("inf"), "se": 0.0}
    spread = float(errors.std() / np.sqrt(len(errors)))
    return {"statistic": statistic, "error": float(errors.mean()), "se": spread}


Released = Callable[[float], Any]


class OpenDP:
    """Its transformations once, and its noise on what they return."""

    name = "OpenDP"

    def __init__(self, told: Told, draws: int) -> None:
        import opendp.prelude as dp

        dp.enable_features("contrib")
        self.dp, self.told, self.draws = dp, told, draws
        atoms = dp.atom_domain(bounds=(told.low, told.high), nan=False)
        self.sized = dp.vector_domain(atoms, size=told.rows), dp.symmetric_distance()
        self.unsized = dp.vector_domain(atoms), dp.symmetric_distance()

    def statistics(self) -> dict[str, Released]:
        """Return what it answers."""
        t = self.dp.t
        found: dict[str, Released] = {
            "sum": self._noisy(self.sized >> t.then_sum()),
            "mean": self._noisy(self.sized >> t.then_mean()),
            "variance": self._noisy(self.sized >> t.then_variance(ddof=0)),
            "histogram": lambda epsilon: self._integers(self.told.exact("histogram"), 2 / epsilon),
        }
        above = self.told.exact("count above the middle")
        found["count above the middle"] = lambda epsilon: self._integers(above, 1 / epsilon)
        found |= {name: self._quantile(alpha) for name, alpha in QUANTILES.items()}
        return found | self._by_group()

    def _by_group(self) -> dict[str, Released]:
        told = self.told
        sums, sizes = (told.exact(f"{name} by group") for name in ("sum", "count"))
        most = (self.unsized >> self.dp.t.then_sum()).map(1)
        counts = told.exact("histogram by group")

        def means(epsilon: float) -> Any:
            noisy = self._floats(sums, 4 * most / epsilon), self._integers(sizes, 4 / epsilon)
            return np.clip(noisy[0] / np.maximum(noisy[1], 1), told.low, told.high)

        def variances(epsilon: float) -> Any:
            apart = [part - told.middle for part in told.parts()]
            first, second = ([np.sum(part**power) for part in apart] for power in (1, 2))
            return spread_of(
                told,
                self._floats(first, 6 * told.half / epsilon),
                self._floats(second, 6 * told.half**2 / epsilon),
                self._integers(sizes, 6 / epsilon),
            )

        found: dict[str, Released] = {
            "count by group": lambda epsilon: self._integers(sizes, 2 / epsilon),
            "sum by group": lambda epsilon: self._floats(sums, 2 * most / epsilon),
            "mean by group": means,
            "variance by group": variances,
            "histogram by group": lambda epsilon: self._integers(counts, 2 / epsilon),
        }
        return found | {name + GROUPED: self._quantiles(alpha) for name, alpha in QUANTILES.items()}

    def _noisy(self, transformation: Any) -> Released:
        raw = transformation(self.told.values)
        return lambda epsilon: self._floats([raw], transformation.map(2) / epsilon)

    def _floats(self, raw: Any, scale: float) -> Any:
        dp = self.dp
        space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l1_distance(T=float)
        noisy = dp.m.make_laplace(*space, scale=scale)(np.tile(np.asarray(raw, float), self.draws))
        return np.reshape(noisy, (self.draws, -1))

    def _integers(self, raw: Any, scale: float) -> Any:
        dp = self.dp
        space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
        tiled = np.tile(np.asarray(raw, np.int64), self.draws)
        return np.reshape(dp.m.make_laplace(*space, scale=scale)(tiled), (self.draws, -1))

    def _quantile(self, alpha: float) -> Released:
        return self._chosen(self.told.values, alpha, 2)

    def _quantiles(self, alpha: float) -> Released:
        """Every group with half of epsilon: a record leaves one and comes into another."""
        each = [self._chosen(part, alpha, 1) for part in self.told.parts()]
        return lambda epsilon: np.column_stack([released(epsilon / 2) for released in each])

    def _chosen(self, values: Any, alpha: float, moved: int) -> Released:
        dp, candidates = self.dp, self.told.candidates
        score = self.unsized >> dp.t.then_quantile_score_candidates(candidates.tolist(), alpha=alpha)
        scores = np.array(score(values), dtype=float)
        one = score >> dp.m.then_noisy_max(dp.max_divergence(), scale=1.0, negate=True)
        generator = np.random.default_rng(0)

        def released(epsilon: float) -> Any:
            # Permute-and-flip chooses as the greatest of scores with exponential noise does.
            gain = -scores * epsilon / one.map(moved)
            return [
                candidates[np.argmax(gain + generator.exponential(size=len(candidates)))]
                for _ in range(self.draws)
            ]

        return released


def spread_of(told: Told, first: Any, second: Any, sizes: Any) -> Any:
    """Return variances from noisy sums of distances from the middle, of their squares, and sizes."""
    records = np.maximum(sizes, 1)
    return np.clip(second / records - (first / records) ** 2, 0.0, told.half**2)


class Diffprivlib:
    """Its tools, called once; the mechanism they made is then asked again and again."""

    name = "diffprivlib"

    def __init__(self, told: Told, draws: int) -> None:
        self.told, self.draws = told, draws

    def statistics(self) -> dict[str, Released]:
        """Return what it answers."""
        from diffprivlib.tools import histograms, utils

        found: dict[str, Released] = {
            name: self._replayed(utils, mechanism, tool)
            for name, mechanism, tool in (
                ("sum", "LaplaceTruncated", utils.sum),
                ("mean", "LaplaceTruncated", utils.mean),
                ("variance", "LaplaceBoundedDomain", utils.var),
            )
        }

        edges = np.array(self.told.edges)
        ends = (edges[0], edges[-1])

        def counts(values: Any, epsilon: float, bounds: Any) -> None:
            histograms.histogram(values, epsilon=epsilon / 2, bins=edges, range=ends)

        def above(values: Any, epsilon: float, bounds: Any) -> None:
            utils.count_nonzero(values > self.told.middle, epsilon=epsilon)

        found["histogram"] = self._replayed(histograms, "GeometricTruncated", counts)
        found["count above the middle"] = self._replayed(utils, "GeometricTruncated", above)
        found |= {name: self._quantile(alpha) for name, alpha in QUANTILES.items()}
        return found | self._by_group()

    def _replayed(self, module: Any, mechanism: str, tool: Any) -> Released:
        bounds = (self.told.low, self.told.high)
        return lambda epsilon: _again(
            module,
            mechanism,
            lambda: tool(self.told.values, epsilon=epsilon, bounds=bounds),
            self.draws,
        )

    def _by_group(self) -> dict[str, Released]:
        from diffprivlib.tools import histograms, utils

        told = self.told
        # Its answers end at the number of records it is given: it is given all, those of others as 0.
        ends = (min(told.low, 0.0), max(told.high, 0.0))

        def summed(values: Any, ends: tuple[float, float], epsilon: float) -> Any:
            return self._each(
                utils,
                "LaplaceTruncated",
                lambda group: utils.sum(
                    np.where(told.by == group, values, 0.0), epsilon=epsilon / 2, bounds=ends
                ),
            )

        def sums(epsilon: float) -> Any:
            return summed(told.values, ends, epsilon)

        def variances(epsilon: float) -> Any:
            apart, half = told.values - told.middle, told.half
            first = summed(apart, (-half, half), epsilon / 3)
            return spread_of(
                told, first, summed(apart**2, (0.0, half**2), epsilon / 3), sizes(epsilon / 3)
            )

        def sizes(epsilon: float) -> Any:
            return self._each(
                utils,
                "GeometricTruncated",
                lambda group: utils.count_nonzero(told.by == group, epsilon=epsilon / 2),
            )

        def cells(epsilon: float) -> Any:
            return self._each(
                histograms,
                "GeometricTruncated",
                lambda group: histograms.histogram(
                    told.values[told.by == group],
                    epsilon=epsilon / 2,
                    bins=np.array(told.edges),
                    range=(told.edges[0], told.edges[-1]),
                ),
            )

        def means(epsilon: float) -> Any:
            found = sums(epsilon / 2) / np.maximum(sizes(epsilon / 2), 1)
            return np.clip(found, told.low, told.high)

        found: dict[str, Released] = {
            "count by group": sizes,
            "sum by group": sums,
            "mean by group": means,
            "variance by group": variances,
            "histogram by group": cells,
        }
        return found | {name + GROUPED: self._quantiles(alpha) for name, alpha in QUANTILES.items()}

    def _each(self, module: Any, mechanism: str, tool: Callable[[int], object]) -> Any:
        found = [
            _again(module, mechanism, lambda group=group: tool(group), self.draws)
            for group in range(self.told.groups)
        ]
        return np.hstack(found)

    def _quantile(self, alpha: float) -> Released:
        return self._chosen(self.told.values, alpha)

    def _quantiles(self, alpha: float) -> Released:
        each = [self._chosen(part, alpha) for part in self.told.parts()]

        def released(epsilon: float) -> Any:
            found = [one(epsilon / 2) for one in each]
            return [] if any(len(own) == 0 for own in found) else np.column_stack(found)

        return released

    def _chosen(self, values: Any, alpha: float) -> Released:
        from diffprivlib.tools import quantiles

        told, generator = self.told, np.random.default_rng(0)
        ends = np.sort(np.append(values, [told.low, told.high]))

        def released(epsilon: float) -> Any:
            bounds = (told.low, told.high)
            try:
                made = _made(
                    quantiles,
                    "Exponential",
                    lambda: quantiles.quantile(values, alpha, epsilon=epsilon, bounds=bounds),
                )
            except RuntimeError:  # where many records are equal no interval has a probability
                return []
            # Its choice walks through as many intervals as there are records: drawn here from its law.
            law = made[0][0]._probabilities
            places = np.searchsorted(law, generator.random(self.draws)).clip(0, len(ends) - 2)
            return ends[places] + generator.random(self.draws) * (ends[places + 1] - ends[places])

        return released


def _again(module: Any, mechanism: str, call: Callable[[], object], draws: int) -> Any:
    """Return what the mechanisms of one call answer to the same values, many times."""
    made = _made(module, mechanism, call)
    return np.array([[own.randomise(value) for own, (value,) in made] for _ in range(draws)])


def _made(module: Any, mechanism: str, call: Callable[[], object]) -> list[tuple[Any, Any]]:
    """Return the mechanisms that a call uses, with what they were asked."""
    original, seen = getattr(module, mechanism), []

    class Seen(original):  # type: ignore[misc, valid-type]
        def randomise(self, *value: Any) -> Any:
            seen.append((self, value))
            return super().randomise(*value)

    setattr(module, mechanism, Seen)
    try:
        call()
    finally:
        setattr(module, mechanism, original)
    return [(_plain(own, original), value) for own, value in seen]


def _plain(own: Any, kind: type) -> Any:
    own.__class__ = kind
    return own


if __name__ == "__main__":
    serve(answer)
