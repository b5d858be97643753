"""The questions of the command line are the plans of the library."""

from __future__ import annotations

import math

from discreet.cli.questions_tables import ask_entropy, ask_histogram, ask_mutual_information
from discreet.tables.entropy.plan import entropy, mutual_information
from discreet.tables.histogram.plan import histogram


def test_questions_make_the_same_plans() -> None:
    pairs = [
        (ask_histogram(["age"], 0.5), histogram("age", epsilon=0.5)),
        (ask_histogram(["age"], 0.5, ranges=True), histogram("age", ranges=True, epsilon=0.5)),
        (ask_entropy(["age"], 0.5), entropy("age", epsilon=0.5)),
        (ask_entropy(["age"], 0.5, order=math.inf), entropy("age", order=math.inf, epsilon=0.5)),
        (ask_entropy(["age"], 0.5, given=["job"]), entropy("age", given="job", epsilon=0.5)),
        (ask_mutual_information("a", "b", 0.5), mutual_information("a", "b", epsilon=0.5)),
    ]
    assert all(asked.key == planned.key for asked, planned in pairs)
