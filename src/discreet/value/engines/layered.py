"""Layered Shapley values: a fixed number of coalitions of every size, with a stated error.

Marginals of layer k are clipped to [-c_k, c_k], where c_k is what is known of them: the width of the
score's range, or less by a stability certificate; the clip then changes nothing. A smaller clip makes
the estimate that of the clipped game.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.errors import ArgumentError
from discreet.numerics import check_whole
from discreet.randomness import IntArray
from discreet.schema import FloatArray
from discreet.value.engines.designs import (
    LayeredDesign,
    balanced_design,
    independent_design,
    layer_rounds,
    stated_error,
)
from discreet.value.engines.estimates import Estimates, resumed
from discreet.value.engines.games import Chains, Game
from discreet.value.engines.running import Progress, run_chains, showing
from discreet.value.engines.stability import Stability

_MOST_MEMBERS = 2**24
"""Coalitions of more records than have this many members together are drawn later: 128 MB."""


def layer_clips(players: int, width: float, stability: Stability | None = None) -> FloatArray:
    """Return what bounds the marginals of layers 0..n-1: the width, or what a certificate says."""
    sizes = np.arange(players, dtype=np.float64)
    whole = np.full(players, float(width))
    return whole if stability is None else np.minimum(whole, stability.removal(sizes))


def layered_shapley(
    game: Game,
    *,
    clips: FloatArray,
    records: Sequence[int] | None = None,
    alpha: float = 0.05,
    beta: float = 0.05,
    rounds: IntArray | None = None,
    balanced: bool = True,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: Progress = None,
    continue_from: Estimates | None = None,
) -> Estimates:
    """Estimate Shapley values from coalitions of every size.

    Args:
      game: the utility of coalitions.
      clips: c_k of every layer, see ``layer_clips``.
      records: whom to value; None for all.
      alpha: the error that is exceeded with probability ``beta`` at most, for one value.
      beta: see ``alpha``.
      rounds: rounds of every layer instead of ``alpha``.
      balanced: whether a round uses every other record equally often.
      seed: of the public choice of coalitions; every record has its own.
      n_jobs: see ``run_chains``.
      progress: see ``run_chains``.
      continue_from: what an interrupted call with the same arguments returned.

    Guarantees:
      - A value is off by more than the stated alpha with probability at most beta. [hoeffding-weighted]
    """
    clips = np.asarray(clips, dtype=np.float64)
    if clips.shape != (game.players,) or not (clips >= 0).all():
        raise ArgumentError(
            f"clips must be a number of at least 0 for each of {game.players} layers, got {clips!r}."
        )
    counts = layer_rounds(clips, alpha, beta) if rounds is None else np.asarray(rounds)
    check_whole("seed", seed, 0)
    chosen = np.arange(game.players) if records is None else np.asarray(records, dtype=np.int64)
    if ((chosen < 0) | (chosen >= game.players)).any():
        raise ArgumentError(f"records must be among 0 to {game.players - 1}, got {records!r}.")
    draw = balanced_design if balanced else independent_design
    key = ("layered", game.players, tuple(chosen.tolist()), tuple(counts.tolist()), balanced, seed)

    def design_of(record: int) -> LayeredDesign:
        return draw(game.players, counts, (seed << 32) + record)

    per_record = 2 * design_of(0).total
    done = resumed(continue_from, key)
    work = np.full((len(chosen), per_record), np.nan) if done is None else done.copy()
    results = np.full((2, len(chosen)), np.nan)
    finished = True
    with showing("layered Shapley", work.size, progress) as advance:
        for part in _batches(len(chosen), design_of(0)):
            designs = [design_of(int(record)) for record in chosen[part]]
            chains = joined([d.chains(int(r)) for d, r in zip(designs, chosen[part], strict=True)])
            run = run_chains(game, chains, n_jobs=n_jobs, progress=advance, done=work[part].ravel())
            work[part] = run.values.reshape(-1, per_record)
            for place, design, values in zip(part, designs, work[part], strict=True):
                found = marginals(design, values)
                results[0, place] = layered_value(design, found, clips)
                results[1, place] = layered_error(design, found, clips)
            if not run.finished:
                finished = False
                break
    return Estimates(
        chosen,
        results[0],
        results[1],
        int(np.sum(~np.isnan(work))),
        "layered",
        finished,
        (stated_error(clips, counts, beta), beta),
        (key, work),
    )


def marginals(design: LayeredDesign, values: FloatArray) -> list[FloatArray]:
    """Return the marginals of every layer from the values of ``design.chains``."""
    differences = values[1::2] - values[0::2]
    return np.split(differences, np.cumsum(design.counts)[:-1])


def layered_value(
    design: LayeredDesign, layer_marginals: Sequence[FloatArray], clips: FloatArray
) -> float:
    """Return the mean over layers of the mean clipped marginal.

    Guarantees:
      - Unbiased for the Shapley value of clipped marginals, every coalition of a layer being uniform.
        [hoeffding-weighted]
    """
    pairs = zip(layer_marginals, clips, strict=True)
    return float(sum(np.clip(found, -c, c).mean() for found, c in pairs) / design.players)


def layered_error(
    design: LayeredDesign, layer_marginals: Sequence[FloatArray], clips: FloatArray
) -> float:
    """Return the standard error from the spread of rounds.

    A layer with a single round shows no spread: it counts with the greatest variance, c_k^2.
    """
    variance = 0.0
    for k in range(1, design.players - 1):
        rounds = int(design.rounds[k])
        if rounds == 1:
            variance += float(clips[k]) ** 2
            continue
        clipped = np.clip(layer_marginals[k], -clips[k], clips[k])
        variance += float(clipped.reshape(rounds, -1).mean(axis=1).var(ddof=1)) / rounds
    return float(np.sqrt(variance)) / design.players


def _batches(records: int, design: LayeredDesign) -> list[IntArray]:
    """Return the places of records whose coalitions are held in memory together."""
    members = int(np.sum(design.counts * (np.arange(design.players) + 1)))
    step = max(1, _MOST_MEMBERS // members)
    return [np.arange(first, min(first + step, records)) for first in range(0, records, step)]


def joined(parts: Sequence[Chains]) -> Chains:
    """Return the chains of all parts, one after another."""
    orders = [part.order(c) for part in parts for c in range(len(part))]
    sizes = [part.sizes_of(c) for part in parts for c in range(len(part))]
    return Chains.of(orders, sizes)
