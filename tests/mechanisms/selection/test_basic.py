"""Selection: exact laws, over all neighbours of small score vectors, and what the code really does."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest

from discreet.audit.laws.neighbours import moved_scores, small_vectors
from discreet.errors import ArgumentError
from discreet.mechanisms import (
    AboveThreshold,
    ExponentialMechanism,
    GapChoice,
    NoisyMax,
    PermuteAndFlip,
    TopK,
)
from discreet.mechanisms.selection.pick import Selection
from discreet.numerics import to_units
from discreet.privacy.accounting import BoundedRangeEvent, PureEvent, event_cost, total
from discreet.randomness import SimulatedNoise, SystemNoise
from tests.oracles.laws import Law, as_law, max_divergence
from tests.oracles.selection import (
    ScriptedNoise,
    permute_and_flip,
    released_law,
    winner_and_gap,
)

EPSILONS = (0.1, 1.0, 5.0)
Scores = tuple[int, ...]


def worst_loss(law: Callable[[Scores], Law], candidates: int, sensitivity: int, spread: int) -> float:
    """Return the greatest log-ratio between neighbours, over all small score vectors."""
    known: dict[Scores, Law] = {}

    def of(scores: Scores) -> Law:
        least = min(scores)
        shifted = tuple(s - least for s in scores)
        if shifted not in known:
            known[shifted] = law(shifted)
        return known[shifted]

    worst = 0.0
    for scores in small_vectors(candidates, spread):
        for other in moved_scores(scores, sensitivity):
            worst = max(worst, max_divergence(of(scores), of(other)))
    return worst


def without_factor_two(kind: type[Selection]) -> type[Selection]:
    """Return the planted fault: noise for scores that all move the same way."""

    class Halved(kind):  # type: ignore[misc,valid-type]
        @property
        def scale(self) -> float:
            return self.sensitivity / self.epsilon

    return Halved


def law_of(mechanism: ExponentialMechanism | PermuteAndFlip | NoisyMax) -> Callable[[Scores], Law]:
    return lambda scores: as_law(mechanism.probabilities(np.array(scores)))


# One winner


@pytest.mark.proves("exponential")
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("sensitivity", [1, 2])
def test_exponential_keeps_epsilon_and_its_range(epsilon: float, sensitivity: int) -> None:
    mechanism = ExponentialMechanism(sensitivity, epsilon)
    assert worst_loss(law_of(mechanism), 3, sensitivity, 3) <= epsilon * (1 + 1e-12)
    for scores in small_vectors(3, 3):
        first = mechanism.probabilities(np.array(scores))
        for other in moved_scores(scores, sensitivity):
            losses = np.log(first / mechanism.probabilities(np.array(other)))
            assert losses.max() - losses.min() <= epsilon * (1 + 1e-12)


@pytest.mark.proves("permute-and-flip")
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("sensitivity", [1, 2])
def test_permute_and_flip_keeps_epsilon(epsilon: float, sensitivity: int) -> None:
    mechanism = PermuteAndFlip(sensitivity, epsilon)
    assert worst_loss(law_of(mechanism), 3, sensitivity, 3) <= epsilon * (1 + 1e-9)
    assert worst_loss(law_of(mechanism), 2, sensitivity, 5) <= epsilon * (1 + 1e-9)


@pytest.mark.refutes("exponential")
def test_exponential_without_the_factor_two_is_caught() -> None:
    wrong = without_factor_two(ExponentialMechanism)(1, 1.0)
    assert worst_loss(law_of(wrong), 3, 1, 6) > 1.1  # type: ignore[arg-type]


@pytest.mark.refutes("permute-and-flip")
def test_permute_and_flip_without_the_factor_two_is_caught() -> None:
    wrong = without_factor_two(PermuteAndFlip)(1, 1.0)
    assert worst_loss(law_of(wrong), 3, 1, 4) > 1.1  # type: ignore[arg-type]


@pytest.mark.proves("permute-and-flip")
@pytest.mark.parametrize("candidates", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_permute_and_flip_law_is_that_of_walking_through_orders(
    candidates: int, epsilon: float
) -> None:
    mechanism = PermuteAndFlip(1, epsilon)
    for scores in list(small_vectors(candidates, 3))[:: max(1, 4 ** (candidates - 3))]:
        law = mechanism.probabilities(np.array(scores))
        assert law == pytest.approx(permute_and_flip(scores, mechanism.scale), abs=1e-13)


@pytest.mark.refutes("permute-and-flip")
def test_the_exponential_law_is_not_taken_for_permute_and_flip() -> None:
    scores = (0, 1, 4)
    walked = permute_and_flip(scores, PermuteAndFlip(1, 1.0).scale)
    assert ExponentialMechanism(1, 1.0).probabilities(np.array(scores)) != pytest.approx(
        walked, abs=1e-3
    )


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_permute_and_flip_is_never_worse(epsilon: float) -> None:
    for scores in small_vectors(3, 4):
        errors = max(scores) - np.array(scores)
        flip = PermuteAndFlip(1, epsilon).probabilities(np.array(scores))
        power = ExponentialMechanism(1, epsilon).probabilities(np.array(scores))
        assert flip @ errors <= power @ errors + 1e-12


@pytest.mark.parametrize("spread", [0, 3, 200, 2_000_000])
def test_laws_of_many_candidates_are_finite_and_sum_to_one(spread: int) -> None:
    scores = np.random.default_rng(7).integers(0, spread + 1, 2000)
    for mechanism in (ExponentialMechanism(1, 0.1), PermuteAndFlip(1, 0.1)):
        law = mechanism.probabilities(scores)
        assert np.isfinite(law).all() and (law >= 0).all()
        assert law.sum() == pytest.approx(1.0, abs=1e-9)
        best, worst = scores.argmax(), scores.argmin()
        assert law[best] >= law[worst]
        assert np.allclose(law[scores == scores[best]], law[best], rtol=1e-9)  # ties are equal


# The winner and its gap


@pytest.mark.proves("free-gap")
@pytest.mark.parametrize(("candidates", "spread"), [(2, 4), (3, 2), (4, 1)])
@pytest.mark.parametrize("epsilon", [2.0, 5.0])
def test_winner_and_gap_together_keep_epsilon(candidates: int, spread: int, epsilon: float) -> None:
    mechanism = NoisyMax(1, epsilon)
    law = lambda scores: winner_and_gap(scores, mechanism.scale)  # noqa: E731
    assert worst_loss(law, candidates, 1, spread) <= epsilon * (1 + 1e-9)


@pytest.mark.proves("free-gap")
def test_winner_and_gap_with_a_greater_sensitivity() -> None:
    mechanism = NoisyMax(2, 2.0)
    law = lambda scores: winner_and_gap(scores, mechanism.scale)  # noqa: E731
    assert worst_loss(law, 3, 2, 1) <= 2.0 * (1 + 1e-9)


@pytest.mark.refutes("free-gap")
def test_noise_of_half_the_scale_is_caught() -> None:
    law = lambda scores: winner_and_gap(scores, NoisyMax(1, 1.0).scale / 2)  # noqa: E731
    assert worst_loss(law, 3, 1, 2) > 1.5


@pytest.mark.proves("free-gap")
@pytest.mark.parametrize("scores", [(0, 0), (0, 2), (0, 0, 0), (0, 1, 1), (2, 0, 1)])
def test_a_release_has_the_law_of_winner_and_gap(scores: Scores) -> None:
    """Run the release on every noise vector and every uniform choice it can meet."""
    mechanism = NoisyMax(1, 6.0)
    expected = winner_and_gap(scores, mechanism.scale)

    def release(source: ScriptedNoise) -> tuple[int, int]:
        choice = mechanism.release(np.array(scores), source)
        assert choice.gap >= 0
        return choice.index, choice.gap

    seen = released_law(release, len(scores), 7)
    for outcome in expected.keys() | seen.keys():
        assert seen.get(outcome, 0.0) == pytest.approx(expected.get(outcome, 0.0), abs=1e-8)


@pytest.mark.refutes("free-gap")
def test_a_release_that_forgets_the_spread_is_caught() -> None:
    mechanism = NoisyMax(1, 6.0)

    def release(source: ScriptedNoise) -> tuple[int, int]:
        noisy = source.laplace(mechanism.scale, 3)
        tied = np.flatnonzero(noisy == noisy.max())
        winner = int(tied[source.below(len(tied))])
        return winner, int(noisy[winner] - np.delete(noisy, winner).max())

    seen = released_law(release, 3, 7)
    expected = winner_and_gap((0, 0, 0), mechanism.scale)
    assert any(abs(seen[outcome] - expected[outcome]) > 1e-3 for outcome in seen if outcome in expected)


@pytest.mark.parametrize("scores", [(0,), (0, 0), (0, 3), (0, 0, 0, 0), (5, 1, 0)])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_winner_law_is_the_margin_of_the_joint_law(scores: Scores, epsilon: float) -> None:
    mechanism = NoisyMax(1, epsilon)
    law = mechanism.probabilities(np.array(scores))
    assert law.sum() == pytest.approx(1.0, abs=1e-9)
    if len(scores) > 1:
        joint = winner_and_gap(scores, mechanism.scale)
        for i, share in enumerate(law):
            assert share == pytest.approx(
                sum(p for outcome, p in joint.items() if outcome[0] == i),
                abs=1e-9,  # type: ignore[index]
            )


# The k best


def top_k_law(mechanism: TopK) -> Callable[[Scores], Law]:
    def law(scores: Scores) -> Law:
        orders = itertools.permutations(range(len(scores)), mechanism.k)
        return {order: mechanism.probability(np.array(scores), order) for order in orders}

    return law


@pytest.mark.proves("top-k")
@pytest.mark.parametrize("law", ["exponential", "permute-and-flip"])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_ordered_answer_keeps_epsilon(law: str, k: int) -> None:
    mechanism = TopK(1, 1.5, k, law)  # type: ignore[arg-type]
    assert worst_loss(top_k_law(mechanism), 3, 1, 2) <= 1.5 * (1 + 1e-9)
    for scores in ((0, 1, 4), (0, 0, 0)):
        assert sum(top_k_law(mechanism)(scores).values()) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.refutes("top-k")
@pytest.mark.parametrize("law", ["exponential", "permute-and-flip"])
def test_the_whole_epsilon_at_every_step_is_caught(law: str) -> None:
    class Undivided(TopK):
        @property
        def _share(self) -> float:
            return self.epsilon

    wrong = Undivided(1, 1.5, 2, law)  # type: ignore[arg-type]
    assert worst_loss(top_k_law(wrong), 3, 1, 2) > 1.6


@pytest.mark.proves("top-k")
def test_one_gumbel_per_candidate_is_peeling() -> None:
    """The density of the order of Gumbel variables, integrated, is the product over the steps."""
    mechanism = TopK(1, 2.0, 2)
    scores = np.array([0, 1, 3, 3])
    places = np.linspace(-40, 80, 400_001)
    t = mechanism.step.scale
    z = (places[None, :] - scores[:, None]) / t
    density, below = np.exp(-z - np.exp(-z)) / t, np.exp(-np.exp(-z))
    width = places[1] - places[0]
    for first, second in itertools.permutations(range(4), 2):
        rest = [i for i in range(4) if i not in (first, second)]
        # second is at x, first above it, all others below it
        share = np.sum(density[second] * (1 - below[first]) * np.prod(below[rest], axis=0)) * width
        assert mechanism.probability(scores, (first, second)) == pytest.approx(share, abs=1e-9)


@pytest.mark.parametrize(("epsilon", "k"), [(1.0, 3), (0.1, 7), (1 / 3, 3), (2.5, 1)])
@pytest.mark.parametrize("law", ["exponential", "permute-and-flip"])
def test_k_steps_are_billed_at_no_more_than_epsilon(epsilon: float, k: int, law: str) -> None:
    mechanism = TopK(1, epsilon, k, law)  # type: ignore[arg-type]
    assert len(mechanism.events) == k
    bill = total([event_cost("basic", event, event.epsilon, 0.0) for event in mechanism.events])
    assert to_units(epsilon) - k <= bill.loss <= to_units(epsilon)
    kind = BoundedRangeEvent if law == "exponential" else PureEvent
    assert all(isinstance(event, kind) for event in mechanism.events)


# The first above


@pytest.mark.proves("above-threshold")
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize("threshold", [0, 2])
def test_above_threshold_keeps_epsilon_over_many_scores(epsilon: float, threshold: int) -> None:
    assert worst_threshold_loss(AboveThreshold(1, epsilon), threshold) <= epsilon * (1 + 1e-9)


@pytest.mark.proves("above-threshold")
def test_above_threshold_with_a_greater_sensitivity() -> None:
    assert worst_threshold_loss(AboveThreshold(2, 1.0), 1) <= 1.0 * (1 + 1e-9)


def worst_threshold_loss(mechanism: AboveThreshold, threshold: int) -> float:
    """Return the greatest loss over short vectors, and over long ones that all move one way."""

    def law(scores: Scores) -> Law:
        return as_law(mechanism.probabilities(np.array(scores), threshold))

    d = mechanism.sensitivity
    worst = 0.0
    for scores in itertools.product(range(-2, 4), repeat=2):
        worst = max(worst, *(max_divergence(law(scores), law(o)) for o in moved_scores(scores, d)))
    for base, length in itertools.product((-3, 0, 2), (3, 10, 40)):
        low, high = (base,) * length, (base + d,) * (length - 1) + (base - d,)
        worst = max(
            worst, max_divergence(law(low), law(high)), max_divergence(law(low[:1] * length), law(high))
        )
    return worst


@pytest.mark.refutes("above-threshold")
def test_less_noise_on_threshold_or_scores_is_caught() -> None:
    class Halved(AboveThreshold):
        @property
        def scale(self) -> float:
            return self.sensitivity / self.epsilon

    assert worst_threshold_loss(Halved(1, 1.0), 0) > 1.3


@pytest.mark.refutes("above-threshold")
def test_noise_on_scores_as_small_as_on_the_threshold_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from discreet.mechanisms.selection import basic as selection

    honest = selection._laplace_below
    monkeypatch.setattr(selection, "_laplace_below", lambda v, scale: honest(v, scale / 2))
    assert worst_threshold_loss(AboveThreshold(1, 1.0), 0) > 1.2


@pytest.mark.proves("above-threshold")
@pytest.mark.parametrize(("scores", "threshold"), [((0,), 0), ((0, 1), 1), ((2, 0), 1)])
def test_a_release_has_the_law_of_above_threshold(scores: Scores, threshold: int) -> None:
    mechanism = AboveThreshold(1, 8.0)
    expected = mechanism.probabilities(np.array(scores), threshold)
    seen = released_law(
        lambda source: mechanism.release(np.array(scores), threshold, source), 1 + len(scores), 12
    )
    for i, share in enumerate(expected):
        outcome = i if i < len(scores) else None
        assert seen.get(outcome, 0.0) == pytest.approx(share, abs=1e-7)
    assert expected.sum() == pytest.approx(1.0, abs=1e-12)


# Releasing, names, wrong arguments


@pytest.mark.parametrize("source", [SystemNoise(), SimulatedNoise(3)], ids=["system", "simulated"])
def test_releases_find_an_obvious_winner(source: SystemNoise | SimulatedNoise) -> None:
    scores = np.array([0, 1000, 500, 0])
    assert ExponentialMechanism(1, 1.0).release(scores, source) == 1
    assert PermuteAndFlip(1, 1.0).release(scores, source) == 1
    choice = NoisyMax(1, 1.0).release(scores, source)
    assert isinstance(choice, GapChoice) and choice.index == 1 and 300 < choice.gap < 700
    for law in ("exponential", "permute-and-flip"):
        assert TopK(1, 1.0, 2, law).release(scores, source) == [1, 2]  # type: ignore[arg-type]
        assert sorted(TopK(1, 1.0, 4, law).release(scores, source)) == [0, 1, 2, 3]  # type: ignore[arg-type]
    assert AboveThreshold(1, 1.0).release(scores, 500, source) in (1, 2)
    assert AboveThreshold(1, 1.0).release(scores, 2000, source) is None
    assert AboveThreshold(1, 1.0).release(scores, -(10**6), source) == 0


def test_select_is_asked_with_the_stated_scale() -> None:
    source = ScriptedNoise((2, 1, 0))
    assert TopK(1, 1.0, 3).release(np.array([1, 2, 3]), source) == [2, 1, 0]
    assert source.scales[0] >= 6.0


def test_events() -> None:
    assert ExponentialMechanism(1, 0.5).event == BoundedRangeEvent(0.5)
    assert PermuteAndFlip(1, 0.5).event == PureEvent(0.5, "permute-and-flip")
    assert NoisyMax(1, 0.5).event == PureEvent(0.5, "laplace noisy max")
    assert AboveThreshold(1, 0.5).event == PureEvent(0.5, "above threshold")


KINDS = (ExponentialMechanism, PermuteAndFlip, NoisyMax, AboveThreshold)


@pytest.mark.parametrize("kind", KINDS)
def test_scales_are_rounded_up(kind: type[Selection]) -> None:
    for sensitivity, epsilon in itertools.product((1, 3, 7), (0.1, 0.3, 1.7)):
        assert kind(sensitivity, epsilon).scale > 2 * sensitivity / epsilon


@pytest.mark.parametrize("epsilon", [0, 0.0, -1.0, math.nan, math.inf, True, "1", None])
def test_wrong_epsilon(epsilon: float) -> None:
    for build in (*KINDS, lambda s, e: TopK(s, e, 2)):
        with pytest.raises(ArgumentError, match="epsilon must be a positive finite number, got"):
            build(1, epsilon)


@pytest.mark.parametrize("sensitivity", [0, -1, 1.0, True, "1", None])
def test_wrong_sensitivity(sensitivity: int) -> None:
    for build in (*KINDS, lambda s, e: TopK(s, e, 2)):
        with pytest.raises(ArgumentError, match="sensitivity must be a whole number"):
            build(sensitivity, 1.0)


BAD_SCORES = [[], [0.5, 1.0], [[1, 2]], ["a"], [True, False], [math.nan]]


@pytest.mark.parametrize("scores", BAD_SCORES)
def test_wrong_scores(scores: list[object]) -> None:
    raw, source = np.array(scores), SimulatedNoise(0)
    calls = [
        *(lambda m=m: m.release(raw, source) for m in (k(1, 1.0) for k in KINDS[:3])),
        *(lambda m=m: m.probabilities(raw) for m in (k(1, 1.0) for k in KINDS[:3])),
        lambda: TopK(1, 1.0, 1).release(raw, source),
        lambda: AboveThreshold(1, 1.0).release(raw, 0, source),
        lambda: AboveThreshold(1, 1.0).probabilities(raw, 0),
    ]
    for call in calls:
        with pytest.raises(ArgumentError, match="scores must be a non-empty vector"):
            call()


def test_wrong_top_k() -> None:
    for k in (0, -1, 1.0, True):
        with pytest.raises(ArgumentError, match="k must be a whole number"):
            TopK(1, 1.0, k)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=r"at most 2, got 3\. Ask for no more"):
        TopK(1, 1.0, 3).release(np.array([1, 2]), SimulatedNoise(0))
    with pytest.raises(ArgumentError, match=r"law must be .* Laplace noise drawn once"):
        TopK(1, 1.0, 2, "laplace")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="epsilon / k must be"):
        TopK(1, 1e-12, 2)
    for order in ((0,), (0, 0), (0, 5), (0, 1, 2)):
        with pytest.raises(ArgumentError, match="2 different candidates"):
            TopK(1, 1.0, 2).probability(np.array([1, 2, 3]), order)


def test_one_candidate_has_no_runner_up() -> None:
    with pytest.raises(ArgumentError, match="the number of candidates must be"):
        NoisyMax(1, 1.0).release(np.array([3]), SimulatedNoise(0))


@pytest.mark.parametrize("threshold", [0.5, math.nan, "0", None, 2**63])
def test_wrong_threshold(threshold: int) -> None:
    with pytest.raises(ArgumentError, match="threshold must be a whole number"):
        AboveThreshold(1, 1.0).release(np.array([3]), threshold, SimulatedNoise(0))


def test_noise_too_large_for_64_bits_is_refused() -> None:
    for mechanism in (NoisyMax(2**40, 1e-6), AboveThreshold(2**40, 1e-6)):
        with pytest.raises(ArgumentError, match="A noise scale must be"):
            args = (0,) if isinstance(mechanism, AboveThreshold) else ()
            mechanism.release(np.array([1, 2]), *args, SystemNoise())
