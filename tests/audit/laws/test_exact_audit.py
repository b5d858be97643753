"""Exact audits: anybody's law, the search for the worst pair, what is kept when something fails."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator

import numpy as np
import pytest

from discreet.audit.finding import finding_from_json
from discreet.audit.laws.exact_audit import exact
from discreet.audit.laws.mechanisms import SUBJECTS, subject_of
from discreet.audit.laws.neighbours import FAR, moved_scores
from discreet.errors import ArgumentError
from discreet.mechanisms import (
    ExponentialMechanism,
    InverseSensitivity,
    PermuteAndFlip,
    SelectThenMeasure,
    count_noise,
)
from discreet.privacy.certificate import certify_cells


def respond(bit: int) -> list[float]:
    keep = math.e / (1 + math.e)
    return [keep, 1 - keep][:: 1 - 2 * bit]


def geometric(count: int) -> dict[int, float]:
    """Noise of scale one on a count from 0 to 20."""
    window = np.arange(-40, 61)
    return dict(zip(window.tolist(), math.tanh(0.5) * np.exp(-np.abs(window - count)), strict=True))


def test_pairs_of_ones_own_law() -> None:
    audit = exact(respond, pairs=[(0, 1)], epsilon=1.0)
    assert audit.epsilon == pytest.approx(1.0, abs=1e-9)
    assert audit.kept and audit.complete and audit.tries == 1
    assert audit.worst in ("0 against 1", "1 against 0")
    assert audit.curve([0.0, 1.0]) == pytest.approx([math.tanh(0.5), 0.0], abs=1e-12)
    assert not exact(respond, pairs=[(0, 1)], epsilon=0.9).kept
    assert exact(respond, pairs=[(0, 1)], epsilon=0.9, delta=0.1).kept


def test_the_domain_is_searched_whole_if_it_is_small() -> None:
    def steps(count: int) -> Iterator[int]:
        yield from (c for c in (count - 1, count + 1) if 0 <= c <= 20)

    audit = exact(geometric, neighbours=steps, start=0, epsilon=1.0)
    assert audit.complete and audit.tries == 40
    assert audit.epsilon == pytest.approx(1.0, abs=1e-6)


def test_the_search_climbs_to_a_pair_that_is_far_away() -> None:
    """The loss of the exponential mechanism grows as one of 40 candidates falls behind."""
    mechanism = ExponentialMechanism(1, 1.0)

    def law(scores: tuple[int, ...]) -> np.ndarray:
        return mechanism.probabilities(np.array(scores))

    near = exact(law, pairs=[((0, 0, 0), (1, -1, -1))], epsilon=1.0)
    found = exact(
        law, neighbours=lambda s: moved_scores(s, 1), start=(0, 0, 0), epsilon=1.0, tries=3_000
    )
    assert near.epsilon < 0.7 < 0.95 < found.epsilon <= 1.0
    assert found.kept and not found.complete


def test_a_mechanism_knows_its_law_and_its_promise() -> None:
    audit = exact(PermuteAndFlip(1, 0.7))
    assert audit.promise.epsilon == 0.7 and 0.99 < audit.tightness <= 1 + 1e-9
    assert not exact(PermuteAndFlip(1, 0.7), epsilon=0.6).kept
    assert exact(InverseSensitivity(1.0)).kept
    assert audit.promise.events == (PermuteAndFlip(1, 0.7).event,)


def test_what_hands_its_work_on_is_audited_as_what_it_is() -> None:
    noise = count_noise(certify_cells(2), relation="replace-one", epsilon=1.0)
    measured = SelectThenMeasure(noise, (0, 1))
    assert exact(measured).epsilon == pytest.approx(exact(noise).epsilon)


def test_every_mechanism_that_is_exported_is_known() -> None:
    import discreet.mechanisms as room

    kinds = [getattr(room, name) for name in room.__all__ if isinstance(getattr(room, name), type)]
    mechanisms = [kind for kind in kinds if hasattr(kind, "release")]
    assert len(mechanisms) > 10
    assert [kind for kind in mechanisms if not issubclass(kind, tuple(SUBJECTS))] == []


def test_an_unknown_object_is_named() -> None:
    with pytest.raises(ArgumentError, match="got dict"):
        subject_of({})
    with pytest.raises(ArgumentError, match="got int"):
        exact(3, pairs=[(0, 1)], epsilon=1.0)


def test_the_curve_is_part_of_the_promise() -> None:
    """At epsilon 1 all is well; but the event that is told is that of twice the noise."""
    from discreet.audit.laws.subject import Promise, Subject
    from discreet.privacy.accounting import GaussianEvent

    window = np.arange(-600, 601)

    def law(move: int) -> np.ndarray:
        weights = np.exp(-0.5 * ((window - move) / 40.0) ** 2)
        return weights / weights.sum()

    for multiplier, kept in ((0.99, True), (2.0, False)):
        promise = Promise(3.0, 0.05, (GaussianEvent(multiplier, 0.0),))
        audit = exact(Subject("noise", law, promise, lambda: [(0, 40)]))
        assert audit.delta < 0.05
        assert audit.kept is kept


def test_findings_and_plain_data_say_the_same() -> None:
    audit = exact(respond, pairs=[(0, 1)], epsilon=0.5)
    plain, finding = audit.to_json(), audit.finding()
    assert json.loads(json.dumps(plain))["found"]["epsilon"] == pytest.approx(1.0)
    assert finding.held is plain["kept"] is False
    assert "exceeds epsilon 0.5" in finding.said and "200% of the promise" in finding.said
    assert finding_from_json(json.loads(json.dumps(finding.to_json()))) == finding


def test_an_infinite_loss_can_be_written_down() -> None:
    audit = exact(lambda bit: [1.0, 0.0][:: 1 - 2 * bit], pairs=[(0, 1)], epsilon=1.0)
    assert audit.epsilon == math.inf and audit.delta == 1.0
    assert json.loads(json.dumps(audit.to_json()))["found"]["epsilon"] == "inf"
    assert "is inf." in audit.finding().said


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"pairs": [], "epsilon": 1.0}, "at least one pair of neighbours"),
        ({"epsilon": 1.0}, "pairs or neighbours must be given"),
        ({"pairs": [(0, 1)]}, "epsilon must be a positive finite number"),
        ({"pairs": [(0, 1)], "epsilon": -1.0}, "epsilon must be"),
        ({"pairs": [(0, 1)], "epsilon": 1.0, "delta": 1.0}, "delta must be"),
        ({"pairs": [(0, 1)], "epsilon": 1.0, "tries": 0}, "tries must be"),
        ({"pairs": [(0, 1)], "epsilon": 1.0, "seconds": 0}, "seconds must be"),
        ({"neighbours": lambda x: [1 - x], "epsilon": 1.0}, "start must be an input"),
        ({"pairs": [3], "epsilon": 1.0}, "pairs must be pairs of inputs, got 3"),
        ({"neighbours": lambda x: [], "start": 0, "epsilon": 1.0}, "at least one pair"),
    ],
)
def test_wrong_arguments_are_named(given: dict, word: str) -> None:
    with pytest.raises(ArgumentError, match=word):
        exact(respond, **given)


def test_what_was_measured_before_something_went_wrong_is_kept() -> None:
    def breaks(x: int) -> list[float]:
        if x > 2:
            raise ValueError("no such input")
        return respond(x % 2)

    audit = exact(breaks, pairs=[(0, 1), (2, 3)], epsilon=1.0)
    assert audit.tries == 1 and not audit.complete
    assert "no such input" in audit.stopped and "no such input" in audit.finding().said
    with pytest.raises(ValueError, match="no such input"):
        exact(breaks, pairs=[(3, 4)], epsilon=1.0)


def test_an_interrupt_keeps_what_was_measured() -> None:
    def interrupted() -> Iterator[tuple[int, int]]:
        yield 0, 1
        raise KeyboardInterrupt

    audit = exact(respond, pairs=interrupted(), epsilon=1.0)
    assert audit.stopped == "It was interrupted." and not audit.complete


def test_tries_and_seconds_end_an_audit() -> None:
    pairs = [(0, 1)] * 500
    assert exact(respond, pairs=pairs, epsilon=1.0, tries=7).tries == 7
    short = exact(respond, pairs=pairs, epsilon=1.0, seconds=1e-9)
    assert short.tries == 16 and not short.complete


def test_inputs_that_cannot_be_remembered_are_fine() -> None:
    audit = exact(
        lambda bits: respond(bits[0]), neighbours=lambda b: [[1 - b[0]]], start=[[0]], epsilon=1
    )
    assert audit.kept and audit.complete and audit.tries == 2


def test_the_picture_shows_the_promise_and_the_truth() -> None:
    display = exact(ExponentialMechanism(1, 1.0)).plot()
    labels = [line.get_label() for line in display.ax_.get_lines()]
    assert labels[:2] == ["true, worst pairs", "promised"]
    true, promised = (line.get_ydata() for line in display.ax_.get_lines()[:2])
    both = ~np.isnan(promised) & ~np.isnan(true)
    assert both.any() and (true[both] <= promised[both] + 1e-12).all()
    assert "stays within epsilon 1" in display.ax_.get_title(loc="left").replace("\n", " ")
    assert (
        exact(respond, pairs=[(0, 1)], epsilon=0.5).plot(display.ax_, title="mine").ax_ is display.ax_
    )


def test_deltas_are_numbers_along_the_axis() -> None:
    """Displays write no formula, such as matplotlib has for powers of ten."""
    display = exact(ExponentialMechanism(1, 1.0)).plot()
    display.figure_.canvas.draw()
    ticks = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert {"1e-08", "0.01", "1"} <= {*ticks} and not any("$" in text for text in ticks)


def test_far_is_far_enough() -> None:
    law = ExponentialMechanism(1, 1.0).probabilities(np.array([0, FAR]))
    assert 1e-9 < law[0] < 1e-4
